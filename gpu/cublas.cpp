// The suffix _v2 names the revision of a function that takes a handle first.
#include "gpu/cublas.h"

#include <dlfcn.h>

#include <limits>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

constexpr std::uint64_t kIntMax = std::numeric_limits<int>::max();

template <class Function>
void find_in_cublas(void* library, const std::string& path, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr)
    throw Error(ErrorKind::kEnvironment,
                "has no " + std::string(name) + "; install cuBLAS 12 or 13", path);
  function = reinterpret_cast<Function>(symbol);
}

const void* address_of(DevicePointer pointer) {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(pointer));
}

void check_product(const CublasProduct& product) {
  DRAFTPROOF_CHECK(product.input != 0 && product.weight != 0 && product.output != 0);
  for (const std::uint64_t size :
       {std::uint64_t{product.row_count}, std::uint64_t{product.input_width},
        std::uint64_t{product.output_width}, product.input_stride, product.weight_stride,
        product.output_stride})
    DRAFTPROOF_CHECK(size >= 1 && size <= kIntMax, std::to_string(size));
  DRAFTPROOF_CHECK(product.input_stride >= product.input_width);
  DRAFTPROOF_CHECK(product.weight_stride >= product.input_width);
  DRAFTPROOF_CHECK(product.output_stride >= product.output_width);
  DRAFTPROOF_CHECK(product.format == DRAFTPROOF_FLOAT32 || product.format == DRAFTPROOF_BFLOAT16);
}

}  // namespace

CublasLibrary open_cublas(const std::string& path) {
  std::string opened = path;
  void* library = nullptr;
  if (path.empty()) {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12"}) {
      opened = name;
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) break;
    }
  } else {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr)
    throw Error(ErrorKind::kEnvironment,
                "cuBLAS cannot be opened (" + (path.empty() ? "libcublas.so.13 and .12" : path) +
                    "); install it and name its folder in LD_LIBRARY_PATH, or use own kernels");
  CublasLibrary table{};
  find_in_cublas(library, opened, "cublasCreate_v2", table.create);
  find_in_cublas(library, opened, "cublasDestroy_v2", table.destroy);
  find_in_cublas(library, opened, "cublasGetVersion_v2", table.version);
  find_in_cublas(library, opened, "cublasSetStream_v2", table.set_stream);
  find_in_cublas(library, opened, "cublasSetMathMode", table.set_math_mode);
  find_in_cublas(library, opened, "cublasGemmEx", table.gemm);
  find_in_cublas(library, opened, "cublasGetStatusString", table.status_text);
  return table;
}

Cublas::Cublas(const CublasLibrary& library, CudaStreamHandle* stream) : library_(library) {
  require(library_.create(&handle_), "cannot make a handle");
  try {
    require(library_.version(handle_, &version_), "cannot read the version");
    require(library_.set_stream(handle_, stream), "cannot take the stream");
    require(library_.set_math_mode(handle_, kCublasDefaultMath), "cannot set the math mode");
  } catch (...) {
    library_.destroy(handle_);
    throw;
  }
}

Cublas::~Cublas() { library_.destroy(handle_); }

void Cublas::multiply(const CublasProduct& product) const {
  check_product(product);
  const int type = product.format == DRAFTPROOF_FLOAT32 ? kCudaFloat32 : kCudaBfloat16;
  const float one = 1.0f, zero = 0.0f;
  require(library_.gemm(
              handle_, kCublasTransposed, kCublasAsItIs, static_cast<int>(product.output_width),
              static_cast<int>(product.row_count), static_cast<int>(product.input_width), &one,
              address_of(product.weight), type, static_cast<int>(product.weight_stride),
              address_of(product.input), type, static_cast<int>(product.input_stride), &zero,
              const_cast<void*>(address_of(product.output)), kCudaFloat32,
              static_cast<int>(product.output_stride), kCublasCompute32F, kCublasGemmDefault),
          "refuses a product");
}

void Cublas::require(CublasStatus status, const char* what) const {
  if (status == kCublasSuccess) return;
  const char* const text = library_.status_text(status);
  throw Error(ErrorKind::kEnvironment,
              std::string(what) + ": " + (text == nullptr ? "unknown error" : text) + " (" +
                  std::to_string(status) + ")",
              "cuBLAS");
}

}  // namespace draftproof::gpu
