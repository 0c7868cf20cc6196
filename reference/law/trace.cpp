// Traces: conditional probabilities read off an emission law.
#include "reference/law/trace.h"

namespace draftproof::reference::law {
namespace {

/// What an emission law says about one accepted prefix.
struct Passage {
  Exact reached = 0;  // the prefix was accepted
  LawRow went_on;     // ... and then this drafted token as well
  LawRow ended_with;  // ... and then this token ended the iteration
};

std::map<Context, Passage> passages(const EmissionLaw& law, int vocab_size) {
  std::map<Context, Passage> result;
  for (const auto& [emission, probability] : law) {
    Context prefix;
    for (int i = 0; i <= emission.accepted_count; ++i) {
      Passage& passage = result[prefix];
      passage.went_on.resize(static_cast<std::size_t>(vocab_size));
      passage.ended_with.resize(static_cast<std::size_t>(vocab_size));
      const bool goes_on = i < emission.accepted_count;
      passage.reached += probability;
      // A rule that emits no token behind a whole draft ends with none.
      if (i == static_cast<int>(emission.tokens.size())) break;
      const Token next = emission.tokens[i];
      (goes_on ? passage.went_on : passage.ended_with)[next] += probability;
      prefix.push_back(next);
    }
  }
  return result;
}

TraceStep step_of(const ModelCase& tiny, const Context& prefix, const Passage& passage) {
  TraceStep step;
  step.accepted = prefix;
  step.reached = passage.reached;
  step.target = tiny.target->row(prefix);
  if (prefix.size() < static_cast<std::size_t>(tiny.draft_count())) {
    step.draft = tiny.draft->row(prefix);
    for (Token x = 0; x < tiny.vocab_size(); ++x) {
      step.kept += passage.went_on[x] / passage.reached;
      const Exact drafted = passage.reached * step.draft[x];
      step.kept_by_token.push_back(drafted == 0 ? std::optional<Exact>()
                                                : Exact(passage.went_on[x] / drafted));
    }
  }
  Exact ended = 0;
  for (const Exact& probability : passage.ended_with) ended += probability;
  if (ended != 0)
    for (const Exact& probability : passage.ended_with) step.last.push_back(probability / ended);
  return step;
}

}  // namespace

std::vector<TraceStep> trace(const ModelCase& tiny, const EmissionLaw& law) {
  const std::map<Context, Passage> all = passages(law, tiny.vocab_size());
  std::vector<TraceStep> steps;
  for (std::size_t length = 0; length <= static_cast<std::size_t>(tiny.draft_count()); ++length)
    for (const auto& [prefix, passage] : all)
      if (prefix.size() == length) steps.push_back(step_of(tiny, prefix, passage));
  return steps;
}

}  // namespace draftproof::reference::law
