#include "properties/audits/law_sample.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "properties/audits/findings.h"
#include "properties/audits/words.h"
#include "properties/describe.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

/// An end that was reached, but is not among the tokens.
bool hides_its_end(const SamplingRequest& request, const Completion& completion) {
  if (completion.end != CompletionEnd::kStop) return false;
  if (static_cast<int>(completion.token_ids.size()) >= request.max_tokens) return false;
  const auto& stops = request.stop_token_ids;
  return completion.token_ids.empty() ||
         std::find(stops.begin(), stops.end(), completion.token_ids.back()) == stops.end();
}

std::span<const Token> within(const SamplingRequest& request, const std::vector<Token>& tokens) {
  const auto most = static_cast<std::size_t>(std::max(request.max_tokens, 0));
  return std::span<const Token>(tokens).first(std::min(most, tokens.size()));
}

}  // namespace

std::uint64_t LawSample::token_count() const {
  std::uint64_t count = 0;
  for (const Answer& answer : answers) count += answer.tokens.size();
  return count;
}

LawSample law_sample(const CheckContext& context, Arm arm, std::optional<Seeding> seeding) {
  LawSample sample;
  std::uint64_t from = 0;
  for (const std::uint64_t to : look_sizes(context, arm)) {
    for (const AuditCase* audit_case : context.cases) {
      if (seeding && audit_case->seeding != *seeding) continue;
      const auto& trials = context.evidence.of(audit_case->id, arm);
      for (auto at = trials.lower_bound(from); at != trials.end() && at->first < to; ++at) {
        const Completion& completion = at->second.completion;
        if (completion.end == CompletionEnd::kFailed) {
          ++sample.failed;
          continue;
        }
        if (sample.obstacle.empty() && hides_its_end(audit_case->request, completion))
          sample.obstacle = "answers end at a token that is not among those that came (" +
                            at->second.key.case_id + ", trial " + std::to_string(at->first) +
                            "): ask the engine to ignore its end token, or to give it";
        sample.answers.push_back(
            {audit_case, &at->second, within(audit_case->request, completion.token_ids)});
      }
    }
    sample.looks.push_back(sample.answers.size());
    from = to;
  }
  return sample;
}

std::string e_value_words(double log_e_value) {
  if (std::isinf(log_e_value) && log_e_value > 0) return "infinite";
  const double power = log_e_value / std::log(10.0);
  if (power < 3 && power > -3) return rounded(std::exp(log_e_value));
  return "10^" + short_number(std::round(10 * power) / 10);
}

std::string against_words(double log_e_value) {
  return "e-value " + e_value_words(log_e_value) +
         ";\na lossless engine ever comes to x with probability 1/x at most";
}

bool is_beyond_baseline(double log_e_value, double baseline_log_e_value, double log_alarm) {
  const double margin = 2 * std::max(0.0, baseline_log_e_value);
  return std::isinf(log_e_value) ? margin <= log_alarm : log_e_value >= log_alarm + margin;
}

void blame_the_law(const std::string& ground, oracle::Verdict& verdict) {
  verdict.kind = oracle::VerdictKind::kInconclusive;
  verdict.label = oracle::Label::kNone;
  verdict.witness.reset();
  verdict.evidence += ": but without drafts the law is off as well (" + ground +
                      "), so that it may be another one than this engine's";
}

void uphold_what_is_seen(const CheckContext& context, const Sight& sight,
                         oracle::Verdict& verdict) {
  const double visible = sight.total_variation;
  if (visible < 1 && visible <= std::max(sight.coarsest, context.settings.effect_tv)) {
    verdict.kind = oracle::VerdictKind::kUpheld;
    verdict.smallest_visible_effect = "TV " + rounded_up(visible) + " " + sight.of;
    return;
  }
  verdict.kind = oracle::VerdictKind::kInconclusive;
  verdict.evidence += visible < 1
                          ? ": too few to see less than TV " + rounded_up(visible) + " " + sight.of
                          : ": too few for an alarm, whatever the law";
  if (context.settings.tolerance > 0)
    verdict.evidence +=
        " (a slack of " + rounded(context.settings.tolerance) + " nats a token is paid for first)";
}

void conclude(const CheckContext& context, const LawSample& sample, double log_e_value,
              const Sight& sight, const std::string& of, oracle::Verdict& verdict) {
  verdict.trials = sample.answers.size();
  verdict.log_e_value = log_e_value;
  verdict.log_alarm = context.log_alarm;
  verdict.evidence = of;  // the e-value and its alarm stand in fields of their own
  if (sample.failed > 0)
    verdict.notes.push_back(std::to_string(sample.failed) +
                            " requests had no answer and are not in the sample");
  if (log_e_value >= context.log_alarm) {
    verdict.kind = oracle::VerdictKind::kViolated;
    verdict.label = oracle::Label::kLossy;
  } else if (are_too_many_lost(sample.failed, sample.judged.value_or(sample.answers.size()))) {
    verdict.kind = oracle::VerdictKind::kInconclusive;
    verdict.evidence += ": too many requests had no answer, and theirs may be those that show it";
  } else {
    uphold_what_is_seen(context, sight, verdict);
  }
}

bool is_nothing(const LawSample& sample, oracle::Verdict& verdict) {
  if (!sample.obstacle.empty()) {
    verdict.evidence = sample.obstacle;
    return true;
  }
  if (sample.token_count() > 0) return false;
  verdict.evidence = sample.failed > 0
                         ? "no request of " + std::to_string(sample.failed) + " had an answer"
                         : "no answers are there";
  return true;
}

}  // namespace draftproof::properties::audits
