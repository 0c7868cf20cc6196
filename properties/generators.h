// Generators: nasty laws and batches. Kernels fail at the edges of tiles, at ties, at masses that
// vanish and where rows are equal, so such rows are the rule here and smooth ones the exception.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/case.h"
#include "properties/random.h"

namespace draftproof::properties {

/// What a generated case may contain.
struct CaseShape {
  std::string property;
  std::string rule = "chain";
  std::size_t vocab_size = 0;  ///< 0: generated, up to vocab_size_max
  std::size_t vocab_size_max = 64;
  int draft_count_max = 4;
  int request_count = 8;
  std::vector<reference::RowKind> draft_kinds = {
      reference::RowKind::kLogits, reference::RowKind::kProbabilities, reference::RowKind::kOneHot};
  std::vector<reference::LogitFormat> formats = {reference::LogitFormat::kFloat32,
                                                 reference::LogitFormat::kBfloat16,
                                                 reference::LogitFormat::kFloat16};
  std::vector<std::string> presets;  ///< empty: all
  bool with_placeholders = true;
  bool with_filters = true;  ///< top-k, top-p, min-p and temperatures other than 1
  /// Coins next to the exact edge of their decision: for subjects that promise the masses, since
  /// arithmetic that rounds may fall on either side.
  bool with_edge_coins = true;
  /// Every case where a slightly wrong mass, key or tie shows: rows with ties and zeros of both
  /// signs, filters that end inside ties or at an exact mass, scripted coins.
  bool is_at_edges = false;
  bool with_unjudgeable = false;  ///< NaN, +inf, empty rows, bad ids and probabilities
  bool with_trees = false;        ///< drafts are trees; for subjects that take them
};

/// A shape restricted to what a subject takes.
CaseShape shape_for(const reference::VerifierTraits& traits, std::string property);

/// The same seed gives the same case. Drawn through RapidCheck: small choices (sizes, kinds,
/// settings) are RapidCheck generators, rows are filled from a seed that they draw.
Case nasty_case(const CaseShape& shape, std::uint64_t seed);

/// A row of logits in one of the nasty styles, exactly representable in `format`, never NaN or
/// +inf, at least one finite value. |value| <= 128 except for masks.
reference::Row nasty_logits(Random& random, std::size_t vocab_size, reference::LogitFormat format);
/// As nasty_logits, with several tokens on each level, levels close together and zeros signed.
reference::Row tied_logits(Random& random, std::size_t vocab_size, reference::LogitFormat format);
/// A draft row for `target`: equal to it, a shift, a perturbation, disjoint or independent.
reference::Row related_logits(Random& random, const reference::Row& target,
                              reference::LogitFormat format);
/// Probabilities with zeros and ties that sum to about 1.
reference::Row nasty_probabilities(Random& random, std::size_t vocab_size);
reference::Sampling nasty_sampling(Random& random, std::size_t vocab_size);
/// 0, 1, the middle, the largest, or any coin.
std::uint64_t nasty_coin(Random& random);

/// Any token of the row with mass, by its mass or evenly. Precondition: the row is kOk.
reference::Token token_with_mass(Random& random, const reference::MassRow& row);

/// Gives one coin to every address that a chain can read (trees: draft_trees.h): accept, recovered
/// and bonus of every position of every request, drawn by nasty_coin or, if wanted, next to an edge
/// of its decision.
void script_coins(Case& value, Random& random, bool with_edges);

}  // namespace draftproof::properties
