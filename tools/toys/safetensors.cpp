#include "tools/toys/safetensors.h"

#include <nlohmann/json.hpp>

namespace draftproof::tools::toys {

std::string safetensors_bytes(const std::vector<Tensor>& tensors) {
  // transformers refuses files that do not say which framework's layout they have.
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  std::uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    const char* const type = tensor.format == TensorFormat::kF32   ? "F32"
                             : tensor.format == TensorFormat::kF16 ? "F16"
                                                                   : "BF16";
    header[tensor.name] = {{"dtype", type},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  append_little_endian(bytes, text.size(), 8);
  bytes += text;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes;
  return bytes;
}

}  // namespace draftproof::tools::toys
