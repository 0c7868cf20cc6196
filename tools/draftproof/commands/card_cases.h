// Card cases: what a kernel of a card is run on. Shapes lie around the multiples of its tile, since
// a small vocabulary never reaches an unrolled path; laws are the nasty ones of the catalogue; and
// because the kernel draws its own coins, cases are built around the coins that it will draw: the
// largest, the smallest, and rows whose breakpoint is that very coin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/replay.h"
#include "properties/property.h"
#include "reference/token.h"

namespace draftproof::tools {

enum class CardLaw : std::uint8_t {
  kRandom,  ///< independent rows, Dirichlet(1)
  kPeaked,  ///< softmax of normal logits, as a language model's rows
  kClose,   ///< target within a few per cent of draft
  kEqual,   ///< target and draft the same bits
  kOneHotTarget,
  kOneHotDraft,
  kOneHotEqual,
  kDisjoint,   ///< no common support
  kZeros,      ///< many tokens without mass in either row
  kUndrafted,  ///< the drafted token has no draft probability
  kAcceptTie,  ///< coin * draft within two ulp of target
  kPickTie,    ///< coin * total within an ulp of a cumulative mass
  kTileEdges,  ///< mass only beside the edges of tiles
  kSubnormal,  ///< some probabilities below 2^-126
};
const std::vector<CardLaw>& all_card_laws();
std::string_view to_string(CardLaw law);

/// Which coin request 0 meets, and where.
enum class CardCoins : std::uint8_t {
  kAny,
  kLargestAccept,   ///< coin 1 at an acceptance
  kLargestFinal,    ///< coin 1 at the final draw
  kSmallestAccept,  ///< coin 2^-33
  kSmallestFinal,
};
std::string_view to_string(CardCoins coins);

struct CardCaseSpec {
  CardLaw law = CardLaw::kRandom;
  CardCoins coins = CardCoins::kAny;
  std::size_t request_count = 1, draft_count = 1, vocab_size = 3;
  std::uint64_t number = 0;  ///< makes its random numbers its own
};

struct CardCase {
  CardCaseSpec spec;
  std::uint64_t seed = 0, offset = 0;
  std::vector<float> draft_rows, target_rows;
  std::vector<reference::Token> draft;

  /// Request `index` with its part of the rows; the subsequence is its index.
  oracle::ReplayRequest request(std::size_t index) const;
};

/// The cases of a battery, cheap ones first. `tiles`: the tile sizes that occur.
std::vector<CardCaseSpec> card_case_plan(properties::Battery battery,
                                         const std::vector<std::size_t>& tiles);

/// A pure function of its arguments.
CardCase make_card_case(const CardCaseSpec& spec, const oracle::ReplayRule& rule, std::size_t tile,
                        std::uint64_t seed);

}  // namespace draftproof::tools
