#include "tools/toys/gguf.h"

#include <bit>

namespace draftproof::tools::toys {
namespace {

// gguf_metadata_value_type.
constexpr std::uint32_t kUint32 = 4, kInt32 = 5, kFloat32 = 6, kBool = 7, kString = 8, kArray = 9;

class Writer {
 public:
  std::string bytes;

  void number(std::uint64_t value, int size) { append_little_endian(bytes, value, size); }
  void text(const std::string& value) {
    number(value.size(), 8);
    bytes += value;
  }

  void operator()(std::uint32_t value) { typed(kUint32, value, 4); }
  void operator()(std::int32_t value) { typed(kInt32, static_cast<std::uint32_t>(value), 4); }
  void operator()(float value) { typed(kFloat32, std::bit_cast<std::uint32_t>(value), 4); }
  void operator()(bool value) { typed(kBool, value ? 1 : 0, 1); }
  void operator()(const std::string& value) {
    number(kString, 4);
    text(value);
  }
  void operator()(const std::vector<std::string>& values) {
    array(kString, values.size());
    for (const std::string& value : values) text(value);
  }
  void operator()(const std::vector<float>& values) {
    array(kFloat32, values.size());
    for (const float value : values) number(std::bit_cast<std::uint32_t>(value), 4);
  }
  void operator()(const std::vector<std::int32_t>& values) {
    array(kInt32, values.size());
    for (const std::int32_t value : values) number(static_cast<std::uint32_t>(value), 4);
  }

  void align() { bytes.resize(aligned(bytes.size())); }
  static std::uint64_t aligned(std::uint64_t size) {
    return (size + kGgufAlignment - 1) / kGgufAlignment * kGgufAlignment;
  }

 private:
  void typed(std::uint32_t type, std::uint64_t value, int size) {
    number(type, 4);
    number(value, size);
  }
  void array(std::uint32_t type, std::size_t count) {
    number(kArray, 4);
    number(type, 4);
    number(count, 8);
  }
};

/// ggml_type.
std::uint32_t type_of(TensorFormat format) {
  return format == TensorFormat::kF32 ? 0 : format == TensorFormat::kF16 ? 1 : 30;
}

}  // namespace

std::string gguf_bytes(const GgufFile& file) {
  Writer writer;
  writer.bytes = "GGUF";
  writer.number(3, 4);
  writer.number(file.tensors.size(), 8);
  writer.number(file.metadata.size(), 8);
  for (const auto& [name, value] : file.metadata) {
    writer.text(name);
    std::visit(writer, value);
  }
  std::uint64_t offset = 0;
  for (const Tensor& tensor : file.tensors) {
    writer.text(tensor.name);
    writer.number(tensor.shape.size(), 4);
    // The format counts from the fastest dimension.
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size)
      writer.number(*size, 8);
    writer.number(type_of(tensor.format), 4);
    writer.number(offset, 8);
    offset += Writer::aligned(tensor.bytes.size());
  }
  writer.align();
  for (const Tensor& tensor : file.tensors) {
    writer.bytes += tensor.bytes;
    writer.align();
  }
  return std::move(writer.bytes);
}

}  // namespace draftproof::tools::toys
