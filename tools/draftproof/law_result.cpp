#include "tools/draftproof/law_result.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::tools {
namespace {

namespace law = reference::law;

/// Branches that a terminal user waits some seconds for.
constexpr std::uint64_t kBranchesMax = 3'000'000;
/// Sequences that are compared one by one.
constexpr double kSequencesMax = 200'000;

int longest(const law::EmissionLaw& emission) {
  std::size_t length = 0;
  for (const auto& [emitted, probability] : emission)
    length = std::max(length, emitted.tokens.size());
  return static_cast<int>(length);
}

void check_size(const LawPlan& plan, int length, const std::string& option) {
  double sequences = 1;
  int fits = 0;
  for (int i = 0; i < length; ++i) {
    sequences *= plan.vocab_size();
    if (sequences <= kSequencesMax) fits = i + 1;
  }
  if (sequences <= kSequencesMax) return;
  throw Error(ErrorKind::kInput,
              "sequences of " + std::to_string(length) + " tokens of a vocabulary of " +
                  std::to_string(plan.vocab_size()) + " are too many to compare; " +
                  std::to_string(fits) + " tokens would work",
              option);
}

/// What the iterations emit together, whatever their lengths.
law::EmissionLaw together(const law::HistoryLaw& histories) {
  law::EmissionLaw law;
  for (const auto& [history, probability] : histories) law[{history.tokens, 0}] += probability;
  return law;
}

std::optional<reference::Exact> formula_of(const LawPlan& plan) {
  const bool is_at_start = plan.decoding.prompt == plan.toy.prompt;
  if (plan.method != nullptr) {
    // A method's formula is for the rule that engines verify it with.
    const bool has_own_rule = !plan.rule || plan.rule->name == plan.method->rule;
    if (!is_at_start || !has_own_rule || !plan.method->expected_emitted) return std::nullopt;
    return plan.method->expected_emitted(plan.toy);
  }
  if (!plan.decoding.prompt.empty() || !plan.rule->expected_emitted) return std::nullopt;
  return plan.rule->expected_emitted(*plan.tiny, plan.options);
}

}  // namespace

LawResult law_result(LawPlan plan) {
  LawResult result;
  result.plan = std::move(plan);
  const law::Decoding& decoding = result.plan.decoding;
  result.cost.branches_max = kBranchesMax;
  result.emission = law::emission_law(decoding, &result.cost);
  result.joint_length = longest(result.emission) * result.plan.iterations;
  if (result.plan.tokens) {
    check_size(result.plan, *result.plan.tokens, "--tokens");
    SequenceResult sequence;
    sequence.law = law::sequence_law(decoding, *result.plan.tokens, &result.cost);
    sequence.target =
        law::target_law(*decoding.target, *result.plan.tokens, decoding.prompt, decoding.limits);
    sequence.distance = law::total_variation(sequence.law, sequence.target);
    result.sequence = std::move(sequence);
  }
  check_size(result.plan, result.joint_length,
             result.plan.iterations > 1 ? "--iterations" : "--length");
  law::EmissionLaw emitted = result.emission;
  result.expected = {law::expected_emitted(result.emission)};
  if (result.plan.iterations > 1) {
    result.histories = law::history_law(decoding, result.plan.iterations, &result.cost);
    emitted = together(result.histories);
    result.expected = law::expected_by_iteration(decoding, result.plan.iterations, &result.cost);
    result.joint_length = std::max(result.joint_length, longest(emitted));
  }
  result.joint = law::extended_law(*decoding.target, emitted, result.joint_length, decoding.prompt);
  result.target = law::target_law(*decoding.target, result.joint_length, decoding.prompt);
  result.distance = law::total_variation(result.joint, result.target);
  result.formula = formula_of(result.plan);
  return result;
}

}  // namespace draftproof::tools
