#include "gpu/interface/cuda_executor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/emulator/code/decoded_module.h"
#include "gpu/launches/checks.h"

namespace draftproof::gpu::interface {
namespace {

using launches::kGood;

/// The driver's own words, which are static.
draftproof_result refusal(const CudaDriver& driver, CudaResult result) {
  const char* text = nullptr;
  if (driver.error_text(result, &text) != kCudaSuccess || text == nullptr)
    text = "the driver refused with a number that it has no words for; update the NVIDIA driver";
  return {DRAFTPROOF_DEVICE, text};
}

/// The context of an executor, current for as long as this object lives.
class Entered {
 public:
  Entered(const CudaDriver& driver, CudaContextHandle* context) : driver_(driver) {
    CudaContextHandle* current = nullptr;
    result_ = driver_.current_context(&current);
    if (result_ != kCudaSuccess || current == context) return;
    result_ = driver_.push_context(context);
    is_pushed_ = result_ == kCudaSuccess;
  }
  ~Entered() {
    CudaContextHandle* popped = nullptr;
    if (is_pushed_) driver_.pop_context(&popped);
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  CudaResult result() const { return result_; }

 private:
  const CudaDriver& driver_;
  CudaResult result_ = kCudaSuccess;
  bool is_pushed_ = false;
};

struct Function {
  std::string module;
  std::string entry;
  std::vector<std::size_t> parameter_bytes;
  CudaFunctionHandle* handle = nullptr;

  auto key() const { return std::pair<std::string_view, std::string_view>(module, entry); }
};

class CudaExecutor final : public Executor {
 public:
  explicit CudaExecutor(const CudaDriver& driver) : driver_(driver) {}
  ~CudaExecutor() override {
    if (context_ == nullptr) return;
    {
      const Entered entered(driver_, context_);
      if (entered.result() == kCudaSuccess)
        for (CudaModuleHandle* module : modules_) driver_.unload_module(module);
    }
    if (is_retained_) driver_.release_context(ordinal_);
  }
  CudaExecutor(const CudaExecutor&) = delete;
  CudaExecutor& operator=(const CudaExecutor&) = delete;

  draftproof_result open(std::int32_t device);
  draftproof_result load(const KernelTexts& texts);

  draftproof_capabilities capabilities() const noexcept override { return capabilities_; }
  draftproof_result resident_blocks(const KernelLaunch& launch,
                                    std::uint32_t& blocks) const noexcept override;
  draftproof_result run(const KernelLaunch& launch, void* stream) noexcept override;

 private:
  CudaResult read_capabilities();
  draftproof_result load_module(const std::string& name, const std::string& text);
  CudaResult prepare(Function& function, CudaModuleHandle* module) const;
  const Function* find(const KernelLaunch& launch) const noexcept;

  const CudaDriver& driver_;
  CudaOrdinal ordinal_ = 0;
  CudaContextHandle* context_ = nullptr;
  bool is_retained_ = false;
  draftproof_capabilities capabilities_{};
  std::vector<CudaModuleHandle*> modules_;
  std::vector<Function> functions_;  ///< ascending by module and entry
};

draftproof_result CudaExecutor::open(std::int32_t device) {
  CudaResult result = kCudaSuccess;
  if (device == DRAFTPROOF_CURRENT_CONTEXT) {
    result = driver_.current_context(&context_);
    if (result == kCudaSuccess && context_ == nullptr)
      return {DRAFTPROOF_NULL_POINTER,
              "device: this thread has no current CUDA context; make one current, or give an "
              "ordinal"};
    if (result == kCudaSuccess) result = driver_.current_device(&ordinal_);
  } else {
    int count = 0;
    result = driver_.device_count(&count);
    if (result == kCudaSuccess && (device < 0 || device >= count))
      return {DRAFTPROOF_OUT_OF_RANGE,
              "device: no GPU has this ordinal; give one below the count of devices, or "
              "DRAFTPROOF_CURRENT_CONTEXT"};
    if (result == kCudaSuccess) result = driver_.device(&ordinal_, device);
  }
  if (result == kCudaSuccess) result = read_capabilities();
  if (result != kCudaSuccess) return refusal(driver_, result);
  if (capabilities_.compute_major < 8)
    return {DRAFTPROOF_UNSUPPORTED,
            "device: its compute capability is below 8.0; use a GPU of sm_80 or later"};
  if (capabilities_.is_cooperative == 0)
    return {DRAFTPROOF_UNSUPPORTED,
            "device: it launches nothing cooperatively; use one that does (not under MPS or a "
            "virtual GPU that forbids it)"};
  if (device != DRAFTPROOF_CURRENT_CONTEXT) {
    result = driver_.retain_context(&context_, ordinal_);
    if (result != kCudaSuccess) return refusal(driver_, result);
    is_retained_ = true;
  }
  return kGood;
}

CudaResult CudaExecutor::read_capabilities() {
  const auto read = [&](int attribute, std::uint32_t& value) {
    int number = 0;
    const CudaResult result = driver_.device_attribute(&number, attribute, ordinal_);
    value = number < 0 ? 0 : static_cast<std::uint32_t>(number);
    return result;
  };
  for (const auto& [attribute, value] :
       {std::pair{kCudaCapabilityMajor, &capabilities_.compute_major},
        std::pair{kCudaCapabilityMinor, &capabilities_.compute_minor},
        std::pair{kCudaMultiprocessorCount, &capabilities_.multiprocessor_count},
        std::pair{kCudaSharedBytesMax, &capabilities_.shared_bytes_max},
        std::pair{kCudaCooperativeLaunch, &capabilities_.is_cooperative}})
    if (const CudaResult result = read(attribute, *value); result != kCudaSuccess) return result;
  return driver_.device_name(capabilities_.name, sizeof(capabilities_.name), ordinal_);
}

draftproof_result CudaExecutor::load(const KernelTexts& texts) {
  const Entered entered(driver_, context_);
  if (entered.result() != kCudaSuccess) return refusal(driver_, entered.result());
  for (const auto& [name, text] : texts)
    if (const draftproof_result loaded = load_module(name, text); loaded.code != DRAFTPROOF_OK)
      return loaded;
  std::sort(functions_.begin(), functions_.end(),
            [](const Function& a, const Function& b) { return a.key() < b.key(); });
  return kGood;
}

draftproof_result CudaExecutor::load_module(const std::string& name, const std::string& text) {
  // The parser knows the entries and their parameters.
  const auto entries =
      emulator::decode(text, name + ".ptx", [](std::string_view) { return false; }).entries;
  modules_.push_back(nullptr);
  CudaResult result = driver_.load_module(&modules_.back(), text.c_str(), 0, nullptr, nullptr);
  if (result != kCudaSuccess) modules_.pop_back();
  for (const EntryInfo& entry : entries) {
    if (result != kCudaSuccess) break;
    Function function{name, entry.name, {}, nullptr};
    for (const ParameterInfo& parameter : entry.parameters)
      function.parameter_bytes.push_back(parameter.size);
    result = prepare(function, modules_.back());
    functions_.push_back(std::move(function));
  }
  return result == kCudaSuccess ? kGood : refusal(driver_, result);
}

/// Finds a function, and lets it have all the shared memory that there is: whoever launches it says
/// how much of that it takes. Asking for an attribute also loads what the driver would load late.
CudaResult CudaExecutor::prepare(Function& function, CudaModuleHandle* module) const {
  CudaResult result = driver_.function(&function.handle, module, function.entry.c_str());
  int own_bytes = 0;
  if (result == kCudaSuccess)
    result = driver_.function_attribute(&own_bytes, kCudaFunctionSharedBytes, function.handle);
  const int most = static_cast<int>(capabilities_.shared_bytes_max) - own_bytes;
  if (result == kCudaSuccess && most > 0)
    result = driver_.set_attribute(function.handle, kCudaMaxDynamicSharedBytes, most);
  return result;
}

const Function* CudaExecutor::find(const KernelLaunch& launch) const noexcept {
  const std::pair<std::string_view, std::string_view> key(launch.module, launch.entry);
  const auto found = std::lower_bound(
      functions_.begin(), functions_.end(), key,
      [](const Function& function, const auto& wanted) { return function.key() < wanted; });
  if (found == functions_.end() || found->key() != key ||
      found->parameter_bytes.size() != launch.argument_count)
    return nullptr;
  for (std::size_t i = 0; i < launch.argument_count; ++i)
    if (launch.arguments[i].bytes != found->parameter_bytes[i]) return nullptr;
  return &*found;
}

draftproof_result CudaExecutor::resident_blocks(const KernelLaunch& launch,
                                                std::uint32_t& blocks) const noexcept {
  const Function* const function = find(launch);
  if (function == nullptr) return kNoEntry;
  const Entered entered(driver_, context_);
  int count = 0;
  CudaResult result = entered.result();
  if (result == kCudaSuccess)
    result =
        driver_.resident_blocks(&count, function->handle, static_cast<int>(launch.block.count()),
                                launch.dynamic_shared_bytes);
  blocks = count < 0 ? 0 : static_cast<std::uint32_t>(count);
  return result == kCudaSuccess ? kGood : refusal(driver_, result);
}

draftproof_result CudaExecutor::run(const KernelLaunch& launch, void* stream) noexcept {
  const Function* const function = find(launch);
  if (function == nullptr) return kNoEntry;
  const Entered entered(driver_, context_);
  if (entered.result() != kCudaSuccess) return refusal(driver_, entered.result());
  std::array<void*, KernelLaunch::kArgumentsMax> parameters{};
  for (std::size_t i = 0; i < launch.argument_count; ++i)
    parameters[i] = const_cast<void*>(launch.arguments[i].data);
  auto* const queue = static_cast<CudaStreamHandle*>(stream);
  const CudaResult result =
      launch.is_cooperative
          ? driver_.launch_cooperative(function->handle, launch.grid.x, launch.grid.y,
                                       launch.grid.z, launch.block.x, launch.block.y,
                                       launch.block.z, launch.dynamic_shared_bytes, queue,
                                       parameters.data())
          : driver_.launch(function->handle, launch.grid.x, launch.grid.y, launch.grid.z,
                           launch.block.x, launch.block.y, launch.block.z,
                           launch.dynamic_shared_bytes, queue, parameters.data(), nullptr);
  return result == kCudaSuccess ? kGood : refusal(driver_, result);
}

}  // namespace

draftproof_result make_cuda_executor(const CudaDriver& driver, std::int32_t device,
                                     const KernelTexts& texts,
                                     std::unique_ptr<Executor>& executor) {
  executor = nullptr;
  auto made = std::make_unique<CudaExecutor>(driver);
  draftproof_result result = made->open(device);
  if (result.code == DRAFTPROOF_OK) result = made->load(texts);
  if (result.code == DRAFTPROOF_OK) executor = std::move(made);
  return result;
}

}  // namespace draftproof::gpu::interface
