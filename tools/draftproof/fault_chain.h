// Fault chain: decoders that are wrong in one way, over one toy chain of ten tokens whose rows
// depend on the last token, with three drafted tokens an iteration. The law of an iteration behind
// every token is walked exactly and then drawn from, so samples cost a look-up and what they are
// expected to show is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/random.h"
#include "reference/law/decoding.h"
#include "reference/token.h"

namespace draftproof::tools {

inline constexpr int kChainVocabulary = 10;
inline constexpr int kChainDrafts = 3;

/// The toy's rows, by last token.
std::vector<std::vector<double>> chain_target_rows();
std::vector<std::vector<double>> chain_draft_rows();

/// One decoder over the toy.
class FaultChain {
 public:
  /// `decoding` over the toy; its prompt is set here.
  explicit FaultChain(const reference::law::Decoding& decoding);

  /// What one iteration behind `last` emits, drawn.
  const std::vector<reference::Token>& emitted(reference::Token last,
                                               properties::Random& random) const;
  /// How often token `next` comes behind token `last` in a long text: [last][next], sums to one.
  const std::vector<std::vector<double>>& pair_frequencies() const { return pairs_; }
  /// The law of the first token behind `last`.
  std::vector<double> first_token(reference::Token last) const;

 private:
  struct Iteration {
    std::vector<std::vector<reference::Token>> emissions;
    std::vector<double> cumulative;  ///< probabilities up to and with each
  };
  void sum_pairs();

  std::vector<Iteration> by_last_;
  std::vector<std::vector<double>> pairs_;
};

/// A fault of the table.
struct ChainFault {
  std::string name;
  std::string statement;
  std::string report;
  reference::law::Decoding decoding;
};

/// The right chain first, then faults, those of the smoke battery before others.
std::vector<ChainFault> chain_faults_of_table(bool is_smoke);

}  // namespace draftproof::tools
