#include "tools/draftproof/typed_row.h"

#include <cmath>

#include "reference/error.h"
#include "reference/scalar.h"

namespace draftproof::tools {

void refuse(const std::string& message, const std::string& place) {
  throw Error(ErrorKind::kInput, message, place);
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  return parts;
}

float logit_of(const std::string& text, const std::string& place) {
  if (text == "-inf") return -INFINITY;
  try {
    return reference::exact_from_text(text).convert_to<float>();
  } catch (const Error& error) {
    refuse(error.message() + "; a logit may also be -inf", place);
  }
}

}  // namespace draftproof::tools
