// Doctor: one arm by itself: that it obeys what it is told, repeats itself, and takes requests
// together.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "reference/error.h"
#include "tools/audit/doctor_bench.h"

namespace draftproof::tools::audit {
namespace {

using properties::Completion;
using properties::SamplingRequest;
using reference::Token;

constexpr int kAnswers = 8;
constexpr int kTokens = 12;

/// What no right answer to these requests can be; empty: nothing.
std::string malformed(const Patient& patient, const std::vector<SamplingRequest>& requests,
                      const std::vector<Completion>& completions) {
  const properties::Capabilities& can = patient.record.capabilities;
  for (std::size_t i = 0; i < completions.size(); ++i) {
    const Completion& each = completions[i];
    if (each.token_ids.empty() && each.text.empty()) return "an answer has no token";
    if (!can.returns_token_ids) continue;
    if (each.token_ids.size() > static_cast<std::size_t>(requests[i].max_tokens))
      return fmt::format("{} tokens came where {} were asked for at most", each.token_ids.size(),
                         requests[i].max_tokens);
    for (const Token id : each.token_ids)
      if (id < 0 || (can.vocab_size > 0 && id >= can.vocab_size))
        return fmt::format("the id {} came, which is outside of its vocabulary of {}", id,
                           can.vocab_size);
  }
  return "";
}

/// A wrong count is a finding about the engine (counter_identities), and nothing that keeps anybody
/// from judging its tokens.
void probe_counts(Bench& bench, const Patient& patient,
                  const std::vector<Completion>& completions) {
  for (const Completion& each : completions) {
    const auto came = static_cast<std::int64_t>(each.token_ids.size());
    if (!each.counters || each.counters->emitted == 0 || each.counters->emitted == came) continue;
    bench.add({to_string(patient.arm), "counts the tokens that it gives", Standing::kFails,
               fmt::format("it counts {} tokens where {} came", each.counters->emitted, came),
               "take no rate from these counters; counter_identities says how often", false});
    return;
  }
}

std::vector<SamplingRequest> seeded(Bench& bench, const Patient& patient, std::size_t prompt,
                                    double temperature, int count) {
  std::vector<SamplingRequest> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(bench.request(prompt, temperature, kTokens));
    if (patient.record.capabilities.takes_seed) requests.back().seed = bench.next_seed();
  }
  return requests;
}

/// top_k 1 leaves the likeliest token, whatever the temperature.
void probe_top_k(Bench& bench, Patient& patient) {
  const std::string subject = to_string(patient.arm);
  std::vector<SamplingRequest> greedy;
  std::vector<SamplingRequest> single;
  const std::size_t count = bench.settings().prompts.size();
  for (std::size_t i = 0; i < count; ++i) {
    greedy.push_back(bench.request(i, 0, 1));
    single.push_back(bench.request(i, 1.5, 1));
    single.back().sampling.top_k = 1;
    if (patient.record.capabilities.takes_seed) single.back().seed = bench.next_seed();
  }
  Finding finding{subject, "obeys top_k", Standing::kNotKnown, "", "", false};
  try {
    const auto wanted = bench.ask(patient, greedy);
    const auto got = bench.ask(patient, single);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < count; ++i)
      equal += wanted[i].token_ids == got[i].token_ids ? 1U : 0U;
    finding.says = fmt::format("{} of {} answers with top_k 1 are the greedy ones", equal, count);
    finding.standing = equal == count      ? Standing::kHolds
                       : 2 * equal < count ? Standing::kFails
                                           : Standing::kLimited;
    if (finding.standing == Standing::kFails)
      finding.remedy = "a server that drops top_k cannot be asked for few tokens";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInput) throw;
    finding.standing = Standing::kLimited;
    finding.says = error.what();
  }
  bench.add(std::move(finding));
}

std::size_t distinct(const std::vector<Completion>& completions) {
  std::set<std::vector<Token>> answers;
  for (const Completion& each : completions) answers.insert(each.token_ids);
  return answers.size();
}

}  // namespace

void probe_answers(Bench& bench, Patient& patient) {
  const std::string subject = to_string(patient.arm);
  const bool can_draw = patient.record.capabilities.can_draw;
  const std::vector<SamplingRequest> requests =
      seeded(bench, patient, 0, can_draw ? 1.0 : 0.0, kAnswers);
  const auto completions = bench.ask(patient, requests);
  const std::string failure = failure_in(completions);
  const std::string wrong = malformed(patient, requests, completions);
  Finding finding{subject,
                  "answers what it is asked",
                  Standing::kHolds,
                  fmt::format("{} answers of {} tokens", kAnswers, kTokens),
                  "",
                  true};
  if (!failure.empty() || !wrong.empty()) {
    finding.standing = Standing::kFails;
    finding.says = failure.empty() ? wrong : failure;
    finding.remedy = "look into the server's log; `--engine` names its protocol";
  }
  bench.add(finding);
  if (finding.standing == Standing::kFails) return;
  probe_counts(bench, patient, completions);
  if (!can_draw) return;
  const std::size_t several = distinct(completions);
  Finding draws{subject,
                "draws at temperature 1",
                Standing::kHolds,
                fmt::format("{} different answers in {}", several, kAnswers),
                "",
                true};
  if (several == 1) {
    draws.standing = Standing::kFails;
    draws.says = "one answer to every seed: it takes no notice of the temperature, or the seed";
    draws.remedy = "audit greedy settings alone, or find out what overrides the temperature";
  }
  bench.add(std::move(draws));
  probe_top_k(bench, patient);
}

void probe_repeats(Bench& bench, Patient& patient) {
  const std::string subject = to_string(patient.arm);
  const std::size_t count = bench.settings().prompts.size();
  std::vector<SamplingRequest> greedy;
  for (std::size_t i = 0; i < count; ++i) greedy.push_back(bench.request(i, 0, kTokens));
  const auto repeats = [&](const std::vector<SamplingRequest>& requests) {
    // One at a time: what differs then is not the batch.
    const auto first = bench.ask(patient, requests, 1);
    const auto second = bench.ask(patient, requests, 1);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < requests.size(); ++i)
      equal += first[i].token_ids == second[i].token_ids ? 1U : 0U;
    return equal;
  };
  const std::size_t equal = repeats(greedy);
  Finding finding{subject,
                  "repeats greedy answers",
                  equal == count ? Standing::kHolds : Standing::kLimited,
                  fmt::format("{} of {} are equal, asked twice", equal, count),
                  "",
                  false};
  if (equal < count)
    finding.remedy =
        "parity cannot be stricter than the engine is with itself: vLLM VLLM_BATCH_INVARIANT=1, "
        "llama.cpp without prompt cache";
  bench.add(std::move(finding));
  if (!patient.record.capabilities.can_draw) return;
  if (!patient.record.capabilities.takes_seed) {
    bench.add(
        {subject, "obeys seeds", Standing::kLimited, "its protocol carries no seed", "", false});
    return;
  }
  const std::size_t same = repeats(seeded(bench, patient, 0, 1, kAnswers));
  bench.add({subject, "obeys seeds", same == kAnswers ? Standing::kHolds : Standing::kLimited,
             fmt::format("{} of {} seeded answers are equal, asked twice", same, kAnswers),
             same == kAnswers ? "" : "audits of seeds will be inconclusive here", false});
}

void probe_together(Bench& bench, Patient& patient) {
  const std::string subject = to_string(patient.arm);
  const SamplingRequest greedy = bench.request(0, 0, kTokens);
  const Completion alone = bench.ask_one(patient, greedy);
  const int together = std::max(2, bench.settings().concurrency);
  const std::vector<SamplingRequest> requests(static_cast<std::size_t>(2 * together), greedy);
  const auto begin = std::chrono::steady_clock::now();
  const auto completions = bench.ask(patient, requests, together);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const std::string failure = failure_in(completions);
  if (!failure.empty()) {
    bench.add({subject, "takes requests together", Standing::kFails,
               fmt::format("{} at a time: {}", together, failure), "--concurrency 1", false});
    return;
  }
  std::size_t tokens = 0;
  std::size_t equal = 0;
  for (const Completion& each : completions) {
    tokens += each.token_ids.size();
    equal += each.token_ids == alone.token_ids ? 1U : 0U;
  }
  patient.record.tokens_per_second = static_cast<double>(tokens) / std::max(seconds.count(), 1e-9);
  Finding finding{subject,
                  "takes requests together",
                  equal == requests.size() ? Standing::kHolds : Standing::kLimited,
                  fmt::format("{} at a time, {} of {} greedy answers as alone; {:.0f} tokens a "
                              "second",
                              together, equal, requests.size(), *patient.record.tokens_per_second),
                  "",
                  false};
  if (equal < requests.size())
    finding.remedy =
        "answers depend on the batch: near ties, or state that requests share; "
        "--concurrency 1 tells";
  bench.add(std::move(finding));
}

}  // namespace draftproof::tools::audit
