// JSON nesting: how deep brackets go in a text that somebody else wrote. Values are copied, written
// and destroyed one frame of the stack a level (nlohmann's json), so that brackets by the hundred
// thousand end a program that parsed them without complaint. Such texts are refused before.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace draftproof::properties {

/// Deeper than anything of ours or of an engine's, and nothing to a stack.
inline constexpr std::size_t kNestingMax = 64;

/// Whether a bracket of `json` opens behind kNestingMax open ones. Texts that are no JSON have
/// either answer.
inline bool nests_too_deep(std::string_view json) {
  std::size_t depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_quoted) {
      if (c == '\\') ++i;
      if (c == '"') is_quoted = false;
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kNestingMax) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// Discarded where `text` is no JSON, or nests too deep to be handled.
template <typename Value>
Value json_or_discarded(std::string_view text) {
  if (nests_too_deep(text)) return Value(nlohmann::detail::value_t::discarded);
  return Value::parse(text, nullptr, false);
}

}  // namespace draftproof::properties
