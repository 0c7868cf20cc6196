// GGUF, version 3 (github.com/ggml-org/ggml, docs/gguf.md): a header, typed metadata, tensor infos,
// and tensors at multiples of an alignment. Little-endian throughout.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tools/toys/tensor.h"

namespace draftproof::tools::toys {

using GgufValue =
    std::variant<std::uint32_t, std::int32_t, float, bool, std::string, std::vector<std::string>,
                 std::vector<float>, std::vector<std::int32_t>>;

struct GgufFile {
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<Tensor> tensors;
};

inline constexpr std::uint64_t kGgufAlignment = 32;  ///< the format's own default

/// The whole file.
std::string gguf_bytes(const GgufFile& file);

}  // namespace draftproof::tools::toys
