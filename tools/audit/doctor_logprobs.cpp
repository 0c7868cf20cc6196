// Doctor: reported probabilities: whether they come, sum to one, are of the model's row or of the
// shaped one, are those of a known law, and whether prompts can be scored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reference/error.h"
#include "tools/audit/doctor_bench.h"

namespace draftproof::tools::audit {
namespace {

using properties::Completion;
using properties::LogprobKind;
using properties::SamplingRequest;
using properties::TokenLogprob;

/// Candidates asked for: all of a small vocabulary, as many as every server gives otherwise.
constexpr int kWholeVocabulary = 64;
constexpr int kFewCandidates = 5;
/// Probabilities are printed from float32 sums of some thousand terms.
constexpr double kSumSlack = 1e-3;
constexpr double kSameSlack = 1e-3;

int candidates_of(const Patient& patient) {
  const int count = patient.record.capabilities.vocab_size;
  return count > 0 && count <= kWholeVocabulary ? count : kFewCandidates;
}

double sum_of(const std::vector<TokenLogprob>& candidates) {
  double sum = 0;
  for (const TokenLogprob& each : candidates) sum += std::exp(each.logprob);
  return sum;
}

/// The largest difference over tokens that both name; nullopt: they have none in common.
std::optional<double> difference(const std::vector<TokenLogprob>& one,
                                 const std::vector<TokenLogprob>& other) {
  std::map<reference::Token, double> known;
  for (const TokenLogprob& each : one) known[each.token] = std::exp(each.logprob);
  std::optional<double> most;
  for (const TokenLogprob& each : other) {
    const auto found = known.find(each.token);
    if (found == known.end()) continue;
    most = std::max(most.value_or(0), std::fabs(found->second - std::exp(each.logprob)));
  }
  return most;
}

/// Tokens that came with probability 1 and no candidates: nobody computed them.
std::size_t empty_positions(const Completion& completion) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < completion.logprobs.size(); ++i)
    if (completion.logprobs[i] == 0 &&
        (i >= completion.top_logprobs.size() || completion.top_logprobs[i].empty()))
      ++count;
  return count;
}

Finding sums(const std::string& subject, const Completion& completion, int candidates,
             int vocab_size) {
  Finding finding{subject, "its probabilities sum to one", Standing::kNotKnown, "", "", false};
  double least = 2;
  double most = 0;
  for (const auto& each : completion.top_logprobs) {
    if (each.empty()) continue;
    least = std::min(least, sum_of(each));
    most = std::max(most, sum_of(each));
  }
  if (most == 0) {
    finding.says = "no candidates came";
    return finding;
  }
  const bool is_whole = candidates == vocab_size;
  finding.says =
      fmt::format("sums of {} candidates are in [{:.6f}, {:.6f}]", candidates, least, most);
  if (most > 1 + kSumSlack || (is_whole && least < 1 - kSumSlack)) {
    finding.standing = Standing::kFails;
    finding.remedy = "do not believe its logprobs";
  } else if (is_whole) {
    finding.standing = Standing::kHolds;
  } else {
    finding.says += ", below one as far as they go";
    finding.standing = Standing::kHolds;
  }
  return finding;
}

/// Raw ones are of the model, whatever the temperature; processed ones follow it.
void probe_kind(Bench& bench, Patient& patient, const Completion& plain) {
  const std::string subject = to_string(patient.arm);
  SamplingRequest cold = bench.request(0, 0.5, 1);
  cold.logprob_count = candidates_of(patient);
  const Completion cooled = bench.ask_one(patient, cold);
  Finding finding{subject, "its logprobs are of the kind it says", Standing::kNotKnown, "", "",
                  false};
  const LogprobKind said = patient.record.capabilities.logprobs;
  if (plain.top_logprobs.empty() || cooled.top_logprobs.empty()) {
    finding.says = "no candidates came";
  } else if (const auto moved = difference(plain.top_logprobs[0], cooled.top_logprobs[0])) {
    const LogprobKind shown = *moved <= kSameSlack ? LogprobKind::kRaw : LogprobKind::kProcessed;
    finding.says = fmt::format(
        "{}: halving the temperature changes a probability by {:.2g}",
        shown == LogprobKind::kRaw ? "raw (of the model)" : "processed (of what is drawn)", *moved);
    finding.standing = shown == said ? Standing::kHolds : Standing::kLimited;
    if (shown != said) {
      finding.remedy = "vLLM: --logprobs-mode raw_logprobs";
      patient.record.capabilities.logprobs = shown;
    }
  } else {
    finding.says = "no candidate came at both temperatures";
  }
  bench.add(std::move(finding));
}

/// At temperature 1 without filters both kinds are the model's law.
void probe_truth(Bench& bench, Patient& patient, const SamplingRequest& request,
                 const Completion& completion) {
  const auto* target = bench.settings().target;
  if (target == nullptr) return;
  double most = 0;
  std::size_t compared = 0;
  std::vector<reference::Token> emitted;
  for (std::size_t i = 0; i < completion.top_logprobs.size(); ++i) {
    const std::vector<double> law = target->next(request, emitted);
    for (const TokenLogprob& each : completion.top_logprobs[i]) {
      if (each.token < 0 || static_cast<std::size_t>(each.token) >= law.size()) continue;
      most = std::max(
          most, std::fabs(std::exp(each.logprob) - law[static_cast<std::size_t>(each.token)]));
      ++compared;
    }
    if (i < completion.token_ids.size()) emitted.push_back(completion.token_ids[i]);
  }
  if (compared == 0) return;
  bench.add({to_string(patient.arm), "its logprobs are the toy's",
             most <= kSameSlack ? Standing::kHolds : Standing::kFails,
             fmt::format("{} probabilities differ from the law by {:.2g} at most", compared, most),
             most <= kSameSlack ? "" : "another model, or another toy, is served", false});
}

}  // namespace

void probe_logprobs(Bench& bench, Patient& patient) {
  const std::string subject = to_string(patient.arm);
  if (patient.record.capabilities.logprobs == LogprobKind::kNone) {
    bench.add(
        {subject, "reports logprobs", Standing::kLimited, "its protocol carries none", "", false});
    return;
  }
  SamplingRequest request = bench.request(bench.settings().prompts.size() - 1, 1, 8);
  request.logprob_count = candidates_of(patient);
  if (patient.record.capabilities.takes_seed) request.seed = bench.next_seed();
  const Completion completion = bench.ask_one(patient, request);
  const std::string failure = failure_in({completion});
  if (!failure.empty() || completion.logprobs.empty()) {
    bench.add({subject, "reports logprobs", Standing::kLimited,
               failure.empty() ? "none came, though they were asked for" : failure,
               "audits of logprobs will be inconclusive here", false});
    return;
  }
  const std::size_t empty = empty_positions(completion);
  Finding finding{subject,
                  "reports logprobs",
                  empty == 0 ? Standing::kHolds : Standing::kLimited,
                  fmt::format("of {} tokens, with {} candidates", completion.logprobs.size(),
                              request.logprob_count),
                  "",
                  false};
  if (empty > 0) {
    finding.says = fmt::format(
        "{} of {} tokens came with probability 1 and no candidates: nobody computed them", empty,
        completion.logprobs.size());
    finding.remedy = "take laws from the baseline arm; llama.cpp fills none in for drafts";
  }
  bench.add(std::move(finding));
  bench.add(
      sums(subject, completion, request.logprob_count, patient.record.capabilities.vocab_size));
  SamplingRequest first = bench.request(0, 1, 1);
  first.logprob_count = candidates_of(patient);
  probe_kind(bench, patient, bench.ask_one(patient, first));
  probe_truth(bench, patient, request, completion);
}

void probe_scores(Bench& bench, Patient& patient) {
  const std::string subject = to_string(patient.arm);
  const SamplingRequest request = bench.request(0, 0, 6);
  Finding finding{subject,
                  "scores prompts",
                  Standing::kLimited,
                  "its protocol has no logprobs of prompts: one server alone cannot be judged",
                  "",
                  false};
  if (request.prompt.empty() || !patient.record.capabilities.returns_token_ids) {
    finding.says = "its prompts are texts here: no score can be laid beside its tokens";
    bench.add(std::move(finding));
    return;
  }
  const Completion completion = bench.ask_one(patient, request);
  properties::Prompt tokens = request.prompt;
  tokens.insert(tokens.end(), completion.token_ids.begin(), completion.token_ids.end());
  const auto scores = patient.client->score(tokens, candidates_of(patient));
  if (!scores.empty()) {
    // Greedy tokens are the likeliest ones of their rows, unless somebody else scores.
    std::size_t likeliest = 0;
    for (std::size_t i = request.prompt.size(); i < std::min(tokens.size(), scores.size()); ++i) {
      const auto best = std::max_element(
          scores[i].begin(), scores[i].end(),
          [](const auto& left, const auto& right) { return left.logprob < right.logprob; });
      likeliest += best != scores[i].end() && best->token == tokens[i] ? 1U : 0U;
    }
    finding.says = fmt::format("{} of {} greedy tokens are the likeliest by their score", likeliest,
                               completion.token_ids.size());
    finding.standing =
        likeliest == completion.token_ids.size() ? Standing::kHolds : Standing::kLimited;
    if (2 * likeliest < completion.token_ids.size()) {
      finding.standing = Standing::kFails;
      finding.remedy = "its scores are of another model or another place; do not rescore here";
    }
  }
  bench.add(std::move(finding));
}

}  // namespace draftproof::tools::audit
