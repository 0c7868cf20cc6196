#include "tools/serve/text_stops.h"

#include <algorithm>

namespace draftproof::tools::serve {

std::optional<TextStops::Found> TextStops::find(std::string_view text, std::size_t seen) const {
  std::optional<Found> first;
  for (const std::string& stop : texts_) {
    const std::size_t from = seen + 1 > stop.size() ? seen + 1 - stop.size() : 0;
    const std::size_t begin = text.find(stop, from);
    if (begin == std::string_view::npos) continue;
    const std::size_t end = begin + stop.size();
    if (!first || end < first->end || (end == first->end && begin < first->begin))
      first = Found{begin, end, stop};
  }
  return first;
}

std::size_t TextStops::held_back(std::string_view text) const {
  std::size_t held = 0;
  for (const std::string& stop : texts_) {
    for (std::size_t count = std::min(stop.size() - 1, text.size()); count > held; --count) {
      if (!text.ends_with(std::string_view(stop).substr(0, count))) continue;
      held = count;
      break;
    }
  }
  return held;
}

}  // namespace draftproof::tools::serve
