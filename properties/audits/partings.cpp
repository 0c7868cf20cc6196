#include "properties/audits/partings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using oracle::PartingKind;
using reference::Token;

/// Fewer gaps than this measure nothing.
constexpr std::uint64_t kGapsMin = 32;
/// Two units of bfloat16 at logits of 16 to 32 (2 x 2^-3), one for each of the two logits. A floor
/// that was measured below it may not have met the batch shapes of a verification, so that partings
/// below this margin are not called faults by measurement alone.
constexpr double kMeasuredFaultMin = 0.25;

/// A row as far as it is known: logits of some tokens, and that all others are at most `rest`.
struct KnownRow {
  std::vector<Token> tokens;
  std::vector<double> logits;
  double rest = -std::numeric_limits<double>::infinity();
  std::string source;

  bool is_known() const { return !logits.empty(); }
  double top() const { return *std::max_element(logits.begin(), logits.end()); }
  std::optional<std::size_t> place_of(Token token) const {
    const auto found = std::find(tokens.begin(), tokens.end(), token);
    if (found == tokens.end()) return {};
    return static_cast<std::size_t>(found - tokens.begin());
  }
};

bool has_plain_row(const SamplingRequest& request) {
  return request.adjustments == reference::Adjustments{} && request.grammar.empty();
}

/// The target's row behind the common tokens: shaping aside, which greedy decoding does not look
/// at, and with penalties and bans, which it does.
KnownRow exact_row(const KnownTarget& target, const SamplingRequest& request,
                   std::span<const Token> emitted) {
  SamplingRequest plain = request;
  plain.sampling = {};
  KnownRow row;
  row.source = "the target's own logits";
  for (const double share : target.next(plain, emitted)) {
    row.tokens.push_back(static_cast<Token>(row.tokens.size()));
    row.logits.push_back(std::log(share));
  }
  return row;
}

/// What the baseline reported there. Raw candidates only, and of requests that change no row: those
/// are the logits up to one constant.
KnownRow reported_row(const CheckContext& context, const Transcript& baseline,
                      std::size_t position) {
  KnownRow row;
  const auto& reported = baseline.completion.top_logprobs;
  if (context.settings.baseline.logprobs != LogprobKind::kRaw || !has_plain_row(baseline.request) ||
      position >= reported.size() || reported[position].size() < 2)
    return row;
  row.source = "the baseline's reported logprobs";
  for (const TokenLogprob& candidate : reported[position]) {
    if (std::isnan(candidate.logprob)) return {};
    row.tokens.push_back(candidate.token);
    row.logits.push_back(candidate.logprob);
  }
  row.rest = *std::min_element(row.logits.begin(), row.logits.end());
  const auto& emitted = baseline.completion.token_ids;
  // A greedy token that is not at its own row's maximum: the numbers are of another row.
  if (position < emitted.size()) {
    const auto own = row.place_of(emitted[position]);
    if (!own || row.logits[*own] < row.top()) return {};
  }
  return row;
}

KnownRow row_at(const CheckContext& context, const Transcript& baseline, std::size_t position) {
  if (context.settings.target == nullptr) return reported_row(context, baseline, position);
  const std::span<const Token> emitted = baseline.completion.token_ids;
  return exact_row(*context.settings.target, baseline.request, emitted.first(position));
}

/// The kind under both bounds: what lies between them is not decided.
void decide(OutputParting& parted, const MarginBound& bound) {
  oracle::Parting& parting = parted.parting;
  if (parting.kind == PartingKind::kFault && parting.margin <= bound.fault &&
      parting.behind_top <= bound.fault) {
    parting.kind = PartingKind::kUndecided;
    parted.because = "apart by " + rounded(parting.margin) + ", above the measured bound of " +
                     rounded(bound.near) + " and below " + rounded(bound.fault) +
                     ", the rounding that bfloat16 may bring";
  }
}

std::string margin_words(const oracle::Parting& parting, const KnownRow& row, std::size_t one,
                         std::size_t other) {
  const std::size_t lower = row.logits[one] < row.logits[other] ? one : other;
  return "by " + row.source + " they are apart by " + rounded(parting.margin) + ", and token " +
         std::to_string(row.tokens[lower]) + " is " + rounded(parting.behind_top) +
         " below the maximum; the bound is " + rounded(parting.bound);
}

OutputParting between(std::size_t position, Token one, Token other, KnownRow row,
                      const MarginBound& bound) {
  OutputParting parted;
  parted.parting.position = position;
  parted.parting.bound = bound.near;
  if (!row.is_known() || !bound.is_known) {
    parted.because =
        row.is_known() ? "no bound on the arithmetic is known" : "the row is not known";
    return parted;
  }
  // A token that the baseline did not report is at most its last candidate: margins are at least
  // what they then come out as, which is enough for a fault and for nothing else.
  bool is_least = false;
  for (const Token token : {one, other}) {
    if (row.place_of(token)) continue;
    is_least = true;
    row.tokens.push_back(token);
    row.logits.push_back(row.rest);
  }
  const std::size_t first = *row.place_of(one), second = *row.place_of(other);
  if (std::isinf(row.logits[first]) || std::isinf(row.logits[second])) {
    parted.parting.kind = PartingKind::kFault;
    parted.parting.margin = parted.parting.behind_top = std::numeric_limits<double>::infinity();
  } else {
    parted.parting = oracle::parting(position, static_cast<Token>(first),
                                     static_cast<Token>(second), row.logits, bound.near);
  }
  parted.because = margin_words(parted.parting, row, first, second);
  decide(parted, bound);
  if (is_least && parted.parting.kind != PartingKind::kFault) {
    parted.parting.kind = PartingKind::kUndecided;
    parted.because = "a token is not among the candidates that the baseline reported";
  }
  return parted;
}

std::set<Token> ending_tokens(const SamplingRequest& request) {
  std::set<Token> tokens(request.stop_token_ids.begin(), request.stop_token_ids.end());
  if (!request.ignores_end)
    tokens.insert(request.adjustments.end_tokens.begin(), request.adjustments.end_tokens.end());
  return tokens;
}

/// One output ended where the other goes on with `next`. The token that ended it is not told, and
/// is the likeliest of those that may; where none is known, `next` alone can be held against the
/// row.
OutputParting of_lengths(const CheckContext& context, const Transcript& baseline,
                         const Completion& shorter, const Completion& longer,
                         const MarginBound& bound) {
  const std::size_t position = shorter.token_ids.size();
  const Token next = longer.token_ids[position];
  const std::set<Token> endings = ending_tokens(baseline.request);
  OutputParting parted;
  parted.parting.position = position;
  parted.parting.bound = bound.near;
  if (position > 0 && endings.count(shorter.token_ids.back()) > 0) {
    parted.parting.kind = PartingKind::kFault;
    parted.because = "both emitted token " + std::to_string(shorter.token_ids.back()) +
                     ", which ends the output, and one went on behind it";
    return parted;
  }
  KnownRow row = row_at(context, baseline, position);
  if (!row.is_known() || !bound.is_known) return between(position, next, next, {}, bound);
  std::optional<Token> ending;
  for (const Token token : endings) {
    const auto place = row.place_of(token);
    if (place && (!ending || row.logits[*place] > row.logits[*row.place_of(*ending)]))
      ending = token;
  }
  if (ending) return between(position, *ending, next, std::move(row), bound);
  const auto place = row.place_of(next);
  const double behind = row.top() - (place ? row.logits[*place] : row.rest);
  parted.parting.margin = parted.parting.behind_top = behind;
  if (behind > bound.fault) {
    parted.parting.kind = PartingKind::kFault;
    parted.because = "one output ended there; token " + std::to_string(next) + " of the other is " +
                     rounded(behind) + " below the maximum by " + row.source;
  } else {
    parted.because = "one output ended there, with a token that is not told";
  }
  return parted;
}

/// Gaps of the two likeliest tokens, as far as two runs have one history.
void measure(const Completion& one, const Completion& other, oracle::NoiseFloor& floor) {
  const std::size_t size = std::min(one.top_logprobs.size(), other.top_logprobs.size());
  for (std::size_t i = 0; i < size; ++i) {
    const auto& here = one.top_logprobs[i];
    const auto logprob_there = [&](Token token) {
      for (const TokenLogprob& candidate : other.top_logprobs[i])
        if (candidate.token == token) return candidate.logprob;
      return std::numeric_limits<double>::quiet_NaN();
    };
    if (here.size() >= 2) {
      const double gap = here[0].logprob - here[1].logprob;
      const double there = logprob_there(here[0].token) - logprob_there(here[1].token);
      if (std::isfinite(gap) && std::isfinite(there)) {
        floor.bound = std::max(floor.bound, std::fabs(gap - there));
        ++floor.gap_count;
      }
    }
    if (i >= one.token_ids.size() || i >= other.token_ids.size() ||
        one.token_ids[i] != other.token_ids[i])
      return;
  }
}

}  // namespace

std::optional<OutputParting> parting_of(const CheckContext& context, const Transcript& baseline,
                                        const Completion& output, const MarginBound& bound) {
  const Completion& expected = baseline.completion;
  const auto position = first_difference(expected, output);
  if (!position) {
    if (expected.end == output.end) return {};
    OutputParting parted;
    parted.parting.position = expected.token_ids.size();
    parted.parting.kind = PartingKind::kFault;
    parted.is_of_ends = true;
    parted.because = "the tokens are the same, and what ended them is not";
    return parted;
  }
  const std::size_t shorter = std::min(expected.token_ids.size(), output.token_ids.size());
  if (*position < shorter)
    return between(*position, expected.token_ids[*position], output.token_ids[*position],
                   row_at(context, baseline, *position), bound);
  const bool ends_first = expected.token_ids.size() == shorter;
  return of_lengths(context, baseline, ends_first ? expected : output,
                    ends_first ? output : expected, bound);
}

SelfControl self_control(const CheckContext& context) {
  SelfControl control;
  const MarginBound any = {0, 0, true, ""};
  const AuditCase* current = nullptr;
  const Transcript* first = nullptr;
  for_each_transcript(context, Arm::kBaseline,
                      [&](const AuditCase& audit_case, const Transcript& transcript) {
                        if (transcript.completion.end == CompletionEnd::kFailed) return;
                        if (&audit_case != current) {
                          current = &audit_case;
                          first = &transcript;
                          return;
                        }
                        ++control.compared;
                        measure(first->completion, transcript.completion, control.floor);
                        const auto parted = parting_of(context, *first, transcript.completion, any);
                        if (!parted) return;
                        ++control.parted;
                        if (parted->parting.kind != PartingKind::kUndecided)
                          control.margin_max = std::max(control.margin_max, parted->parting.margin);
                      });
  return control;
}

MarginBound margin_bound(const CheckContext& context, const SelfControl& control) {
  const double declared = std::max(context.settings.near_tie_bound, 2 * context.settings.tolerance);
  // Either arm may be off by the floor.
  const double measured = 2 * control.floor.bound;
  const bool has_floor = control.floor.gap_count >= kGapsMin;
  if (declared > 0 || context.settings.target != nullptr) {
    const bool is_measured = measured > declared;
    const double near = std::max(declared, measured);
    return {near, near, true,
            is_measured ? "measured, above the declared one of " + rounded(declared) : "declared"};
  }
  if (!has_floor) return {0, 0, false, "neither declared nor measured"};
  return {measured, std::max(measured, kMeasuredFaultMin), true,
          "measured in " + std::to_string(control.floor.gap_count) +
              " gaps of the baseline with itself"};
}

}  // namespace draftproof::properties::audits
