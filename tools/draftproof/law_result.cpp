#include "tools/draftproof/law_result.h"

#include <algorithm>
#include <ctime>

#include "reference/error.h"

namespace draftproof::tools {
namespace {

namespace law = reference::law;

/// Sequences that are compared one by one.
constexpr double kSequencesMax = 200'000;
/// A vocabulary of one token makes one sequence, however long.
constexpr int kTokensMax = 1000;

int longest(const law::EmissionLaw& emission) {
  std::size_t length = 0;
  for (const auto& [emitted, probability] : emission)
    length = std::max(length, emitted.tokens.size());
  return static_cast<int>(length);
}

std::string counted(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Refuses sequences too many to compare, with an advice made of how many tokens are not.
template <class Advice>
void check_size(const LawPlan& plan, int length, const std::string& option, const Advice& advice) {
  double sequences = 1;
  int fits = 0;
  for (int i = 0; i < std::min(length, kTokensMax) && sequences <= kSequencesMax; ++i) {
    sequences *= plan.vocab_size();
    if (sequences <= kSequencesMax) fits = i + 1;
  }
  if (sequences <= kSequencesMax && length <= kTokensMax) return;
  throw Error(ErrorKind::kInput,
              "sequences of " + counted(length, "token") + " of a vocabulary of " +
                  std::to_string(plan.vocab_size()) + " are too many to compare; " + advice(fits),
              option);
}

/// Where drafts alone make more sequences than can be compared, no walk has to find out.
void check_draft(const LawPlan& plan) {
  if (!plan.tiny) return;
  check_size(plan, plan.decoding.draft_count + 1, plan.shape_option, [](int fits) {
    return counted(std::max(fits - 1, 0), "drafted token") + " would work";
  });
}

/// `longest` tokens an iteration, as many as were asked for.
void check_iterations(const LawPlan& plan, int longest) {
  const double all = static_cast<double>(longest) * plan.iterations;
  const int length = static_cast<int>(std::min(all, 1e9));
  check_size(plan, length, plan.iterations > 1 ? "--iterations" : plan.shape_option, [&](int fits) {
    return fits >= longest ? counted(fits / longest, "iteration") + " would work"
                           : "one iteration has " + counted(longest, "token") + ", " +
                                 std::to_string(fits) + " would work: shorten the draft";
  });
}

/// What `walk` answers; a refusal gets the option that made the walk long, and the way to wait.
template <class Walk>
auto walked(const std::string& option, const Walk& walk) {
  try {
    return walk();
  } catch (const Error& error) {
    if (!error.place().empty()) throw;
    throw Error(error.kind(), error.message() + ", or a longer --time-limit", option);
  }
}

/// What the iterations emit together, whatever their lengths.
law::EmissionLaw together(const law::HistoryLaw& histories) {
  law::EmissionLaw law;
  for (const auto& [history, probability] : histories) law[{history.tokens, 0}] += probability;
  return law;
}

std::optional<reference::Exact> formula_of(const LawPlan& plan) {
  // Drafts that shrink to fit a request's end are not those of the formula.
  const auto& most = plan.decoding.limits.token_count_max;
  if (most && *most <= plan.decoding.draft_count) return std::nullopt;
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

std::optional<law::LosslessOptimum> optimum_of(const LawPlan& plan) {
  if (!plan.tiny || !plan.decoding.prompt.empty()) return std::nullopt;
  const bool is_sampling = plan.rule->decoded == law::DecodedLaw::kSampling;
  const bool is_drawn = plan.tiny->report == law::DraftReport::kLawDrawn;
  if (!is_sampling || !is_drawn || plan.tiny->draft_count() == 0) return std::nullopt;
  return law::lossless_optimum(*plan.tiny);
}

}  // namespace

std::function<bool()> time_is_up_after(double seconds) {
  const std::clock_t start = std::clock();
  return [start, seconds] {
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC > seconds;
  };
}

LawResult law_result(LawPlan plan) {
  LawResult result;
  result.plan = std::move(plan);
  const law::Decoding& decoding = result.plan.decoding;
  const int iterations = result.plan.iterations;
  check_draft(result.plan);
  result.cost.is_too_long = time_is_up_after(result.plan.seconds_max);
  law::WalkCost* const cost = &result.cost;
  result.emission =
      walked(result.plan.shape_option, [&] { return law::emission_law(decoding, cost); });
  check_iterations(result.plan, longest(result.emission));
  result.joint_length = longest(result.emission) * iterations;
  if (result.plan.tokens) {
    const int tokens = *result.plan.tokens;
    check_size(result.plan, tokens, "--tokens",
               [](int fits) { return counted(fits, "token") + " would work"; });
    SequenceResult sequence;
    sequence.law = walked("--tokens", [&] { return law::sequence_law(decoding, tokens, cost); });
    sequence.target = law::target_law(*decoding.target, tokens, decoding.prompt, decoding.limits);
    sequence.distance = law::total_variation(sequence.law, sequence.target);
    result.sequence = std::move(sequence);
  }
  law::EmissionLaw emitted = result.emission;
  result.expected = {law::expected_emitted(result.emission)};
  if (iterations > 1) {
    result.histories =
        walked("--iterations", [&] { return law::history_law(decoding, iterations, cost); });
    emitted = together(result.histories);
    result.expected = walked(
        "--iterations", [&] { return law::expected_by_iteration(decoding, iterations, cost); });
    result.joint_length = std::max(result.joint_length, longest(emitted));
  }
  result.joint = law::extended_law(*decoding.target, emitted, result.joint_length, decoding.prompt);
  result.target = law::target_law(*decoding.target, result.joint_length, decoding.prompt);
  result.distance = law::total_variation(result.joint, result.target);
  result.formula = formula_of(result.plan);
  result.optimum = optimum_of(result.plan);
  return result;
}

}  // namespace draftproof::tools
