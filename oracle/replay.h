// Replay: judges a chain sampling kernel that draws its own random numbers, by drawing the same
// ones. Every decision is recomputed exactly from the bits of the rows and the
// coin; only inside the rounding band of its breakpoint may the kernel differ, and there the
// possible answers are known. No sampling error: the verdicts need no false-alarm budget.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/pick_band.h"
#include "reference/token.h"

namespace draftproof::oracle {

/// How a drafted token is accepted: coin * draft < target, or <=.
enum class AcceptRule : std::uint8_t { kLess, kLessOrEqual };

/// What coins are drawn for, in the kernel's order. kAccept: one a drafted token up to and
/// including the first that is rejected. kRecount: one for every token from the rejected one on,
/// none when all are accepted. kFinal: one for the recovered or the bonus token.
enum class DrawStep : std::uint8_t { kAccept, kRecount, kFinal };

struct ReplayRule {
  AcceptRule accept = AcceptRule::kLess;
  PickRule pick = PickRule::kGreater;
  PickRounding rounding;
  std::vector<DrawStep> order = {DrawStep::kAccept, DrawStep::kFinal};
  reference::Token pad = -1;
};

/// What one request was asked: `draft` tokens, as many draft rows, one more target row. Rows lie
/// one after another, are finite and not negative.
struct ReplayRequest {
  std::size_t vocab_size = 0;
  std::span<const reference::Token> draft;
  std::span<const float> draft_rows, target_rows;
  std::uint64_t seed = 0, subsequence = 0, offset = 0;
};

/// What it answered: draft.size() + 1 tokens, and what was added to the counters.
struct ReplayAnswer {
  std::span<const reference::Token> tokens;
  std::int64_t accept_count = 0;  ///< drafted tokens acceptable one by one
  std::int64_t emit_count = 0;    ///< drafted tokens emitted
};

enum class ReplayFault : std::uint8_t {
  kDecision,         ///< another token than the replay allows
  kOutsideSupport,   ///< a token of target probability zero
  kNoToken,          ///< no token where one is due
  kCertainRejected,  ///< a drafted token with target >= draft was rejected
  kCounter,          ///< a counter does not say what happened
};

/// "decision", "outside-support", ...
std::string_view to_string(ReplayFault fault);

struct ReplayFinding {
  ReplayFault fault = ReplayFault::kDecision;
  int position = 0;
  float coin = 0;  ///< kCertainRejected: the coin that rejected
  std::string expected, observed, because;
};

struct ReplayJudgement {
  std::uint64_t decisions = 0;       ///< acceptances and picks that were compared
  std::uint64_t accepts = 0;         ///< acceptances among them
  std::uint64_t near = 0;            ///< inside the band of their breakpoint
  std::uint64_t near_moved = 0;      ///< of these, where the answer is not the exact one
  std::uint64_t undefined = 0;       ///< picks from no mass at all: the rule says nothing
  std::uint64_t largest_coins = 0;   ///< decisions at the coin 1
  std::uint64_t smallest_coins = 0;  ///< decisions at a coin below 2^-24
  int candidates_max = 0;            ///< most tokens that one band left open
  std::vector<ReplayFinding> findings;
};

ReplayJudgement replay(const ReplayRule& rule, const ReplayRequest& request,
                       const ReplayAnswer& answer);

/// The index, in the request's stream, of the coin of the final draw after `accepted` acceptances.
std::uint64_t final_draw(const ReplayRule& rule, int draft_count, int accepted);
/// The index of the acceptance coin of a position that is reached.
std::uint64_t accept_draw(const ReplayRule& rule, int position);

}  // namespace draftproof::oracle
