// safetensors (github.com/huggingface/safetensors): eight bytes with the length of a JSON header,
// the header, the tensors one behind the other.
#pragma once

#include <string>
#include <vector>

#include "tools/toys/tensor.h"

namespace draftproof::tools::toys {

/// The whole file. The header is padded so that tensors begin at a multiple of 8.
std::string safetensors_bytes(const std::vector<Tensor>& tensors);

}  // namespace draftproof::tools::toys
