// Acceptance. coin * draft has at most 48 significant bits and is exact in double. A kernel rounds
// it to fp32; rounding is monotone and leaves target, an fp32 number, in place. So
//   coin * draft >= target  =>  rounded >= target: "less" never accepts what it must reject;
//   coin * draft <  target  =>  rounded <= target: equality is possible, and only where target
//     exceeds the product by no more than half a unit in the last place, <= 2^-24 of the product
//     plus the absolute part (2^-150 for a subnormal product, 2^-126 where subnormals count as 0).
// "less or equal" is the mirror image: it may accept what it must reject, inside the same distance.
#include "oracle/replay.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "oracle/curand_stream.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

using reference::Token;

std::string nine_digits(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.9g", value);
  return buffer;
}

struct Acceptance {
  bool exact = false;
  bool is_near = false;
};

/// One request under replay: its rows, its coins, its decisions.
class Replay {
 public:
  Replay(const ReplayRule& rule, const ReplayRequest& request)
      : rule_(rule),
        request_(request),
        stream_(request.seed, request.subsequence, request.offset),
        draft_count_(static_cast<int>(request.draft.size())) {}

  int draft_count() const { return draft_count_; }

  std::span<const float> target_row(int position) const {
    return request_.target_rows.subspan(position * request_.vocab_size, request_.vocab_size);
  }
  std::span<const float> draft_row(int position) const {
    if (position == draft_count_) return {};
    return request_.draft_rows.subspan(position * request_.vocab_size, request_.vocab_size);
  }
  double target_of_drafted(int position) const {
    return target_row(position)[request_.draft[position]];
  }
  double draft_of_drafted(int position) const {
    return draft_row(position)[request_.draft[position]];
  }
  Token drafted(int position) const { return request_.draft[position]; }
  float coin(std::uint64_t draw) const { return stream_.coin(draw); }

  Acceptance acceptance(int position, std::uint64_t draw) const {
    const double product = coin(draw) * draft_of_drafted(position);
    const double target = target_of_drafted(position);
    const double slack =
        product * 0x1p-24 + (rule_.rounding.flushes_subnormals ? 0x1p-126 : 0x1p-150);
    if (rule_.accept == AcceptRule::kLess)
      return {product < target, product < target && target - product <= slack};
    return {product <= target, product > target && product - target <= slack};
  }

  /// Every count of acceptances that rounding allows, the exact one first.
  std::vector<int> possible_accepted() const {
    std::vector<int> possible;
    std::optional<int> exact;
    for (int position = 0; position < draft_count_; ++position) {
      const Acceptance decision = acceptance(position, accept_draw(rule_, position));
      if (!decision.exact && !exact) exact = position;
      if (!decision.exact || decision.is_near) possible.push_back(position);
      if (!decision.exact && !decision.is_near) break;
      if (position + 1 == draft_count_) possible.push_back(draft_count_);
    }
    if (draft_count_ == 0) possible.push_back(0);
    const auto first = std::find(possible.begin(), possible.end(), exact.value_or(draft_count_));
    DRAFTPROOF_CHECK(first != possible.end());
    std::rotate(possible.begin(), first, first + 1);
    return possible;
  }

  PickBand pick(int accepted) const {
    return pick_band(target_row(accepted), draft_row(accepted),
                     coin(final_draw(rule_, draft_count_, accepted)), rule_.pick, rule_.rounding);
  }

  std::string accept_story(int position) const {
    const std::uint64_t draw = accept_draw(rule_, position);
    return "position " + std::to_string(position) + ": draft(" + std::to_string(drafted(position)) +
           ") = " + nine_digits(draft_of_drafted(position)) +
           ", target = " + nine_digits(target_of_drafted(position)) +
           ", coin = " + nine_digits(coin(draw)) + " (word " + std::to_string(stream_.word(draw)) +
           ")";
  }
  std::string pick_story(int accepted, const PickBand& band) const {
    const std::uint64_t draw = final_draw(rule_, draft_count_, accepted);
    std::string story = std::string(accepted == draft_count_ ? "bonus" : "recovered") +
                        " token at position " + std::to_string(accepted) +
                        ", coin = " + nine_digits(coin(draw));
    if (!band.has_mass) return story + ", no mass to draw from";
    story += ": token " + std::to_string(band.exact);
    if (band.candidates > 1)
      story += " (rounding allows " + std::to_string(band.candidates) + " tokens, " +
               std::to_string(band.first) + " to " + std::to_string(band.last) + ")";
    return story;
  }

 private:
  const ReplayRule& rule_;
  const ReplayRequest& request_;
  CurandStream stream_;
  int draft_count_;
};

std::string list(std::span<const Token> tokens) {
  std::string result = "[";
  for (const Token token : tokens)
    result += (result.size() > 1 ? ", " : "") + std::to_string(token);
  return result + "]";
}

/// True when everything but the last token agrees with `accepted` acceptances.
bool has_shape(const Replay& run, const ReplayRule& rule, const ReplayAnswer& answer,
               int accepted) {
  for (int i = 0; i < accepted; ++i)
    if (answer.tokens[i] != run.drafted(i)) return false;
  for (int i = accepted + 1; i <= run.draft_count(); ++i)
    if (answer.tokens[i] != rule.pad) return false;
  return true;
}

struct Match {
  int accepted = 0;
  PickBand band;
};

/// A possible course of decisions that gives the answer's tokens.
std::optional<Match> matched(const Replay& run, const ReplayRule& rule, const ReplayAnswer& answer,
                             const std::vector<int>& possible) {
  for (const int accepted : possible) {
    if (!has_shape(run, rule, answer, accepted)) continue;
    const PickBand band = run.pick(accepted);
    const Token token = answer.tokens[accepted];
    if (band.may_vanish ||
        is_candidate(band, run.target_row(accepted), run.draft_row(accepted), token))
      return Match{accepted, band};
  }
  return std::nullopt;
}

/// Support of tokens that no course of decisions explains: the drafted ones while they agree, and
/// the first that does not.
void judge_support(const Replay& run, const ReplayRequest& request, const ReplayAnswer& answer,
                   ReplayJudgement& judgement) {
  for (int i = 0; i <= run.draft_count(); ++i) {
    const Token token = answer.tokens[i];
    if (token < 0 || static_cast<std::size_t>(token) >= request.vocab_size) return;
    if (!(run.target_row(i)[token] > 0))
      judgement.findings.push_back(
          {ReplayFault::kOutsideSupport, i, 0, "a token of positive target probability",
           "token " + std::to_string(token) + " of target probability 0", ""});
    if (i == run.draft_count() || token != run.drafted(i)) return;
  }
}

void judge_last_token(const Replay& run, const ReplayRequest& request, const ReplayAnswer& answer,
                      const Match& match, ReplayJudgement& judgement) {
  const Token token = answer.tokens[match.accepted];
  const std::string because =
      match.accepted < run.draft_count()
          ? run.accept_story(match.accepted) + "; " + run.pick_story(match.accepted, match.band)
          : run.pick_story(match.accepted, match.band);
  if (token < 0 || static_cast<std::size_t>(token) >= request.vocab_size) {
    judgement.findings.push_back({ReplayFault::kNoToken, match.accepted, 0,
                                  "a token id in [0, " + std::to_string(request.vocab_size) + ")",
                                  "token " + std::to_string(token), because});
  } else if (!(run.target_row(match.accepted)[token] > 0)) {
    judgement.findings.push_back(
        {ReplayFault::kOutsideSupport, match.accepted, 0, "a token of positive target probability",
         "token " + std::to_string(token) + " of target probability 0", because});
  }
}

void judge_counters(const Replay& run, const ReplayRule& rule, const ReplayAnswer& answer,
                    const Match& match, ReplayJudgement& judgement) {
  if (answer.emit_count != match.accepted)
    judgement.findings.push_back({ReplayFault::kCounter, match.accepted, 0,
                                  "emitted drafted tokens " + std::to_string(match.accepted),
                                  std::to_string(answer.emit_count), "the tokens say so"});
  std::int64_t least = match.accepted;
  std::int64_t most = match.accepted;
  const bool recounts =
      std::find(rule.order.begin(), rule.order.end(), DrawStep::kRecount) != rule.order.end();
  // The recount draws anew for the rejected token too, but does not count it twice.
  for (int i = match.accepted + 1; recounts && i < run.draft_count(); ++i) {
    const Acceptance decision = run.acceptance(i, static_cast<std::uint64_t>(i) + 1);
    least += decision.exact && !decision.is_near ? 1 : 0;
    most += decision.exact || decision.is_near ? 1 : 0;
  }
  if (answer.accept_count < least || answer.accept_count > most)
    judgement.findings.push_back({ReplayFault::kCounter, match.accepted, 0,
                                  "acceptable drafted tokens " + std::to_string(least) +
                                      (most > least ? " to " + std::to_string(most) : ""),
                                  std::to_string(answer.accept_count),
                                  "each recounted with its own coin"});
}

void count_coin(float coin, ReplayJudgement& judgement) {
  judgement.largest_coins += coin == 1.0f ? 1 : 0;
  judgement.smallest_coins += coin < 0x1p-24f ? 1 : 0;
}

/// Counts the decisions on the way to `match`.
void count_decisions(const Replay& run, const ReplayRule& rule, const ReplayAnswer& answer,
                     const Match& match, int exact_accepted, ReplayJudgement& judgement) {
  for (int i = 0; i < run.draft_count() && i <= match.accepted; ++i) {
    const Acceptance decision = run.acceptance(i, accept_draw(rule, i));
    ++judgement.accepts;
    judgement.near += decision.is_near ? 1 : 0;
    count_coin(run.coin(accept_draw(rule, i)), judgement);
  }
  count_coin(run.coin(final_draw(rule, run.draft_count(), match.accepted)), judgement);
  judgement.decisions = judgement.accepts;
  judgement.near_moved += match.accepted != exact_accepted ? 1 : 0;
  if (match.band.may_vanish) {
    ++judgement.undefined;
    return;
  }
  ++judgement.decisions;
  judgement.candidates_max = match.band.candidates;
  judgement.near += match.band.candidates > 1 ? 1 : 0;
  judgement.near_moved += answer.tokens[match.accepted] != match.band.exact ? 1 : 0;
}

}  // namespace

std::string_view to_string(ReplayFault fault) {
  switch (fault) {
    case ReplayFault::kDecision:
      return "decision";
    case ReplayFault::kOutsideSupport:
      return "outside-support";
    case ReplayFault::kNoToken:
      return "no-token";
    case ReplayFault::kCertainRejected:
      return "certain-rejected";
    case ReplayFault::kCounter:
      return "counter";
  }
  DRAFTPROOF_CHECK(false, std::to_string(static_cast<int>(fault)));
}

std::uint64_t accept_draw(const ReplayRule& rule, int position) {
  DRAFTPROOF_CHECK(!rule.order.empty() && rule.order.front() == DrawStep::kAccept);
  return static_cast<std::uint64_t>(position);
}

std::uint64_t final_draw(const ReplayRule& rule, int draft_count, int accepted) {
  std::uint64_t draws = 0;
  for (const DrawStep step : rule.order) {
    if (step == DrawStep::kAccept) draws += std::min(accepted + 1, draft_count);
    if (step == DrawStep::kRecount) draws += draft_count - accepted;
    if (step == DrawStep::kFinal) return draws;
  }
  DRAFTPROOF_CHECK(false, "the rule draws no final coin");
}

ReplayJudgement replay(const ReplayRule& rule, const ReplayRequest& request,
                       const ReplayAnswer& answer) {
  const std::size_t draft_count = request.draft.size();
  DRAFTPROOF_CHECK(answer.tokens.size() == draft_count + 1);
  DRAFTPROOF_CHECK(request.draft_rows.size() == draft_count * request.vocab_size);
  DRAFTPROOF_CHECK(request.target_rows.size() == (draft_count + 1) * request.vocab_size);
  const Replay run(rule, request);
  ReplayJudgement judgement;
  const std::vector<int> possible = run.possible_accepted();
  const std::optional<Match> match = matched(run, rule, answer, possible);
  if (!match) {
    const int accepted = possible.front();
    judgement.decisions = static_cast<std::uint64_t>(accepted) + 1;
    judgement.findings.push_back(
        {ReplayFault::kDecision, accepted, 0,
         "accepted " + std::to_string(accepted) + ", then " +
             run.pick_story(accepted, run.pick(accepted)),
         "tokens " + list(answer.tokens),
         accepted < run.draft_count() ? run.accept_story(accepted) : "every drafted token passes"});
    judge_support(run, request, answer, judgement);
    return judgement;
  }
  count_decisions(run, rule, answer, *match, possible.front(), judgement);
  judge_last_token(run, request, answer, *match, judgement);
  judge_counters(run, rule, answer, *match, judgement);
  const int rejected = match->accepted;
  if (rejected < run.draft_count() && run.target_of_drafted(rejected) > 0 &&
      run.target_of_drafted(rejected) >= run.draft_of_drafted(rejected))
    judgement.findings.push_back(
        {ReplayFault::kCertainRejected, rejected, run.coin(accept_draw(rule, rejected)),
         "accepted: target >= draft", "rejected", run.accept_story(rejected)});
  return judgement;
}

}  // namespace draftproof::oracle
