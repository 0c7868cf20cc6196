// Declared distance: a mode that gives the target's law up on purpose (synthetic acceptance,
// typical acceptance, thresholds below one) is not found, it is told, and then measured: LOSSY BY
// DESIGN, violated where nobody declared what it may cost, and held against its own budget where
// somebody did. Measured is the total variation of tokens 2 and 3 together, the first two that a
// draft reaches, for each prompt; the budget is for every prompt, so that the farthest decides.
//
// Upper bounds are of the cells as they are. Without a known law their number is not known either,
// which lower bounds pay for (oracle/distance.h): those are of 32 cells that sequences are hashed
// into, since no coarser view is farther apart.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "oracle/distance.h"
#include "oracle/family.h"
#include "properties/audits/address.h"
#include "properties/audits/findings.h"
#include "properties/audits/words.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

/// The first token is the prompt's own row's; drafts reach the next ones.
constexpr std::size_t kBehind = 1;
constexpr std::size_t kLength = 2;
constexpr std::size_t kCoarseCells = 32;
/// Above it the known law of pairs is not written out: V + V^2 rows a prompt.
constexpr int kPairVocabMax = 48;

/// Tokens 2 and 3 as far as they came.
std::vector<Token> cell_of(const Completion& completion) {
  const auto& tokens = completion.token_ids;
  if (tokens.size() <= kBehind) return {};
  const std::size_t end = std::min(tokens.size(), kBehind + kLength);
  return {tokens.begin() + kBehind, tokens.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::size_t coarse_cell(const std::vector<Token>& cell) {
  Address address(0);
  for (const Token token : cell) address.add(static_cast<std::uint64_t>(token));
  return address.hash() % kCoarseCells;
}

struct Sample {
  std::map<std::vector<Token>, std::uint64_t> cells;
  std::uint64_t count = 0, failed = 0;
};

Sample sample_of(const CheckContext& context, const AuditCase& audit_case, Arm arm) {
  Sample sample;
  for (const auto& [trial, transcript] : context.evidence.of(audit_case.id, arm)) {
    if (transcript.completion.end == CompletionEnd::kFailed) {
      ++sample.failed;
      continue;
    }
    ++sample.cells[cell_of(transcript.completion)];
    ++sample.count;
  }
  return sample;
}

void add_law(const KnownTarget& target, const SamplingRequest& request, double weight,
             std::vector<Token>& emitted, std::map<std::vector<Token>, double>& law) {
  if (emitted.size() == kBehind + kLength) {
    law[{emitted.begin() + kBehind, emitted.end()}] += weight;
    return;
  }
  const std::vector<double> next = target.next(request, emitted);
  for (std::size_t token = 0; token < next.size(); ++token) {
    if (next[token] <= 0) continue;
    emitted.push_back(static_cast<Token>(token));
    add_law(target, request, weight * next[token], emitted, law);
    emitted.pop_back();
  }
}

oracle::Effect against_law(const KnownTarget& target, const AuditCase& audit_case,
                           const Sample& sample, double miss) {
  std::map<std::vector<Token>, double> law;
  std::vector<Token> emitted;
  add_law(target, audit_case.request, 1, emitted, law);
  std::vector<std::uint64_t> counts;
  std::vector<double> shares;
  std::uint64_t told = 0;
  for (const auto& [cell, share] : law) {
    const auto found = sample.cells.find(cell);
    counts.push_back(found == sample.cells.end() ? 0 : found->second);
    shares.push_back(share);
    told += counts.back();
  }
  counts.push_back(sample.count - told);  // what the law does not give
  shares.push_back(0);
  return oracle::effect_of(counts, shares, miss);
}

oracle::Effect between(const Sample& speculative, const Sample& baseline, double miss) {
  std::vector<std::uint64_t> one, other;
  std::array<std::uint64_t, kCoarseCells> coarse_one = {}, coarse_other = {};
  for (const auto& [cell, count] : speculative.cells) {
    one.push_back(count);
    const auto found = baseline.cells.find(cell);
    other.push_back(found == baseline.cells.end() ? 0 : found->second);
    coarse_one[coarse_cell(cell)] += count;
  }
  for (const auto& [cell, count] : baseline.cells) {
    coarse_other[coarse_cell(cell)] += count;
    if (speculative.cells.count(cell) > 0) continue;
    one.push_back(0);
    other.push_back(count);
  }
  oracle::Effect effect = oracle::effect_between(one, other, miss / 2);
  effect.total_variation_bounds.low =
      oracle::effect_between(coarse_one, coarse_other, miss / 2).total_variation_bounds.low;
  effect.miss = miss;
  return effect;
}

/// Whether the joint law can be written out: nothing may end an output early.
bool has_written_law(const CheckContext& context) {
  const SamplingRequest& request = context.setting.request;
  return context.settings.target != nullptr &&
         context.settings.target->vocab_size() <= kPairVocabMax && request.ignores_end &&
         request.stop_token_ids.empty() &&
         request.max_tokens >= static_cast<int>(kBehind + kLength);
}

struct Measured {
  std::uint64_t trials = 0, prompts = 0, failed = 0;
  std::optional<oracle::Effect> farthest;  ///< by its lower bound, then by its estimate
  double high_max = 0;                     ///< the largest upper bound of all prompts
  const Transcript* example = nullptr;     ///< of the farthest prompt
};

Measured measured(const CheckContext& context) {
  Measured all;
  const bool has_law = has_written_law(context);
  const std::size_t looks = look_sizes(context, Arm::kSpeculative).size();
  if (looks == 0 || !(context.miss > 0)) return all;
  const double miss =
      oracle::share_of_look(context.miss, looks - 1) / static_cast<double>(context.cases.size());
  for (const AuditCase* audit_case : context.cases) {
    // Arms that share a seed are no two samples.
    if (!has_law && audit_case->seeding == Seeding::kShared) continue;
    const Sample speculative = sample_of(context, *audit_case, Arm::kSpeculative);
    all.failed += speculative.failed;
    if (speculative.count == 0) continue;
    oracle::Effect effect;
    if (has_law) {
      effect = against_law(*context.settings.target, *audit_case, speculative, miss);
    } else {
      const Sample baseline = sample_of(context, *audit_case, Arm::kBaseline);
      if (baseline.count == 0) continue;
      effect = between(speculative, baseline, miss);
    }
    effect.of = "tokens 2 and 3, prompt " + audit_case->prompt_name;
    all.trials += speculative.count;
    ++all.prompts;
    all.high_max = std::max(all.high_max, effect.total_variation_bounds.high);
    const auto rank = [](const oracle::Effect& each) {
      return std::pair(each.total_variation_bounds.low, each.total_variation);
    };
    if (all.farthest && rank(effect) <= rank(*all.farthest)) continue;
    all.farthest = effect;
    all.example = &context.evidence.of(audit_case->id, Arm::kSpeculative).begin()->second;
  }
  return all;
}

std::string told(const oracle::Effect& effect) {
  return "TV " + rounded(effect.total_variation) + " in [" +
         rounded(effect.total_variation_bounds.low) + ", " +
         rounded(effect.total_variation_bounds.high) + "]";
}

void convict(const CheckContext& context, oracle::Verdict& verdict, const Measured& all,
             const std::string& expected, const std::string& because) {
  refute(context, verdict, *all.example, oracle::Label::kLossyByDesign,
         {.let = "case " + all.example->key.case_id + ": " + words_of(all.example->request),
          .expected = expected,
          .observed = told(*all.farthest) + " for " + all.farthest->of,
          .because = because,
          .replay = "",
          .case_json = ""});
}

void settle(const CheckContext& context, oracle::Verdict& verdict, const Measured& all) {
  const LossyMode& mode = *context.settings.lossy;
  const std::string name = mode.name + ", says " + mode.source;
  if (!mode.budget_tv) {
    convict(context, verdict, all, "the target's law, or a declared distance from it",
            name +
                ": the law is given up on purpose, and nobody declared by how much "
                "([gate.approximate] tv)");
    return;
  }
  const double budget = *mode.budget_tv;
  if (all.farthest->total_variation_bounds.low > budget) {
    convict(context, verdict, all, "a total variation of at most " + rounded(budget),
            name + ": what it costs is above its own budget, whatever the sample");
    return;
  }
  if (all.high_max <= budget) {
    verdict.kind = oracle::VerdictKind::kUpheld;
    verdict.smallest_visible_effect =
        "a total variation above " + rounded_up(all.high_max) + " of tokens 2 and 3 at any prompt";
    return;
  }
  verdict.notes.push_back("the budget of " + rounded(budget) +
                          " lies within the bounds: more trials tell");
}

}  // namespace

oracle::Verdict declared_distance(const CheckContext& context) {
  oracle::Verdict verdict = begun(context);
  if (!context.settings.lossy) {
    verdict.evidence = "no mode that gives the law up was declared or recognised";
    return verdict;
  }
  const LossyMode& mode = *context.settings.lossy;
  verdict.label = oracle::Label::kLossyByDesign;
  const Measured all = measured(context);
  verdict.trials = all.trials;
  verdict.notes.push_back(mode.name + ", says " + mode.source);
  if (!all.farthest) {
    verdict.evidence = "no two samples of one prompt, nor one of a known law, to measure with";
    return verdict;
  }
  verdict.effect = all.farthest;
  verdict.evidence =
      told(*all.farthest) + " at the farthest of " + std::to_string(all.prompts) + " prompts" +
      (mode.budget_tv ? ", declared " + rounded(*mode.budget_tv) : ", and no distance is declared");
  settle(context, verdict, all);
  verdict = unless_too_many_lost(all.failed, all.trials, "requests failed", std::move(verdict));
  return unless_never_drafted(context, std::move(verdict));
}

}  // namespace draftproof::properties::audits
