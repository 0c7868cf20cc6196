// Token histories as strings, so that a lookup's cases can be read: 'a' is token 0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

inline Context text(std::string_view letters) {
  Context tokens;
  for (const char letter : letters) tokens.push_back(letter - 'a');
  return tokens;
}

inline std::string spelled(const std::vector<Token>& tokens) {
  std::string letters;
  for (const Token token : tokens) letters.push_back(static_cast<char>('a' + token));
  return letters;
}

/// Every string of exactly `length` letters out of the first `letter_count`.
inline std::vector<std::string> all_texts(int letter_count, int length) {
  std::vector<std::string> texts = {""};
  for (int i = 0; i < length; ++i) {
    std::vector<std::string> longer;
    for (const std::string& start : texts)
      for (int letter = 0; letter < letter_count; ++letter)
        longer.push_back(start + static_cast<char>('a' + letter));
    texts = std::move(longer);
  }
  return texts;
}

/// One request that was asked behind each of these histories; the accepted count is what the
/// growth of the history says.
inline LookupEvents asked(const std::vector<std::string>& histories, int request = 0) {
  LookupEvents events;
  for (const std::string& history : histories) {
    if (!events.empty()) {
      const auto grown = history.size() - events.back().history.size();
      events.push_back(
          {LookupEvent::Kind::kVerified, request, static_cast<int>(grown) - 1, text(history)});
    }
    events.push_back({LookupEvent::Kind::kAsked, request, 0, text(history)});
  }
  return events;
}

}  // namespace draftproof::reference::draft
