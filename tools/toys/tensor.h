// Tensors as files hold them: a name, a shape and little-endian bytes. Only values that a format
// holds exactly are stored in it, so that one model has one law in every format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::tools::toys {

enum class TensorFormat : std::uint8_t { kF32, kF16, kBf16 };
/// "f32", "f16", "bf16"
std::string_view to_string(TensorFormat format);
/// Throws Error(kInput) that lists them at --dtype.
TensorFormat tensor_format(std::string_view name);

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> shape;  ///< slowest first: rows, columns
  TensorFormat format = TensorFormat::kF32;
  std::string bytes;
};

/// Precondition: the format holds every value exactly, and the shape their number.
Tensor tensor_of(std::string name, std::vector<std::uint64_t> shape, TensorFormat format,
                 const std::vector<float>& values);

/// The `size` low bytes of a number, lowest first.
void append_little_endian(std::string& bytes, std::uint64_t value, int size);

}  // namespace draftproof::tools::toys
