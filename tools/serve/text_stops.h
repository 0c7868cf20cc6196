// Text stops: the first text of a list that a growing text contains. What could still become one is
// held back from a reader, who cannot be made to forget.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::tools::serve {

class TextStops {
 public:
  /// None of them empty.
  explicit TextStops(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  struct Found {
    std::size_t begin = 0;  ///< in the text
    std::size_t end = 0;
    std::string text;
  };
  /// The one that ends first among those that end behind `seen`; of several the longest. What lies
  /// before `seen` has been looked at.
  std::optional<Found> find(std::string_view text, std::size_t seen) const;

  /// How many bytes at the end of `text` may be the beginning of one.
  std::size_t held_back(std::string_view text) const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace draftproof::tools::serve
