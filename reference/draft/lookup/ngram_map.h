// ngram-map-k and ngram-map-k4v: lookups of llama.cpp (common/ngram-map.cpp, read at 6870ab7e and
// as of 2026-04). Keys of one length are found by a table from their hash to the position where
// they were first seen, or else by a backward scan over what is not in the table yet. "k" drafts
// what followed the key there; "k4v" counts up to four different continuations and drafts only when
// one of them is at least twice as frequent as all others together, but still what followed the key
// at the position found, not the winner.
#pragma once

#include <array>
#include <map>

#include "reference/draft/lookup/lookup.h"

namespace draftproof::reference::draft {

/// The engine's defaults.
struct NgramMapOptions {
  std::size_t key_size = 12;
  std::size_t value_size = 48;
  int hits_min = 1;                  ///< times a key was looked for before k4v drafts
  std::size_t table_size = 1 << 18;  ///< slots of the hash table; 0: scan only
  bool counts_values = false;        ///< k4v
  /// A slot's next draft is as short as what was last accepted of it. A snapshot of 2026-04 has it
  /// that k never learns that, which its documentation says it does.
  bool learns_accepted = true;
};

class NgramMap {
 public:
  /// `history` is what there is before the first draft. Precondition: key_size, value_size >= 1.
  NgramMap(const NgramMapOptions& options, const Context& history);

  /// A draft behind `history`, of which the last token is being decoded and does not count as
  /// history. Empty unless the rest has 2 key_size + value_size tokens and the key is found.
  std::vector<Token> ask(const Context& history);
  /// How many tokens of the last draft were kept.
  void accepted(int count);

 private:
  static constexpr std::size_t kValueSlots = 4;
  struct Value {
    std::size_t position = 0;  // 0: unused
    int count = 0;
    int accepted_count = 0;
  };
  struct Key {
    std::size_t position = 0;
    std::size_t counted_to = 0;
    int asked_count = 0;
    std::array<Value, kValueSlots> values;
  };

  std::size_t slot(const Context& decoded, std::size_t position) const;
  std::size_t find(const Context& decoded, const std::vector<Token>& key) const;
  void enter(const Context& decoded);
  std::size_t key_number(const Context& decoded, std::size_t position,
                         const std::vector<Token>& key);
  void count_values(const Context& decoded, Key& known, const std::vector<Token>& key,
                    std::size_t position) const;
  std::vector<std::size_t> unentered(std::size_t length) const;

  NgramMapOptions options_;
  std::size_t begin_;        // length of the decoded history before the first draft
  std::size_t entered_ = 0;  // positions up to here are in the table
  std::map<std::size_t, std::size_t> table_;
  std::vector<Key> keys_;
  std::optional<std::pair<std::size_t, std::size_t>> last_;  // key and value of the last draft
};

/// The map after all events of the question's request, asked the last one.
std::vector<Token> ngram_map(const Question& question, const NgramMapOptions& options);

}  // namespace draftproof::reference::draft
