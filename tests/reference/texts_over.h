// Every text of up to so many pieces of an alphabet, for tests that compare on all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace draftproof::tests {

/// The empty text first, then by the count of pieces. Pieces may be longer than one byte.
inline std::vector<std::string> texts_over(const std::vector<std::string>& alphabet,
                                           int piece_count_max) {
  std::vector<std::string> texts = {""};
  std::size_t begin = 0;
  for (int count = 1; count <= piece_count_max; ++count) {
    const std::size_t end = texts.size();
    for (std::size_t i = begin; i < end; ++i)
      for (const std::string& piece : alphabet) texts.push_back(texts[i] + piece);
    begin = end;
  }
  return texts;
}

}  // namespace draftproof::tests
