// Decodings: the laws of whole runs, state by state. States are finished in the order of how much
// they have emitted, which every iteration increases, so equal states meet before they are
// continued.
#include "reference/law/decoding.h"

#include <algorithm>
#include <functional>
#include <map>

#include "reference/draft/model.h"
#include "reference/error.h"
#include "reference/law/iteration.h"

namespace draftproof::reference::law {
namespace {

/// As many tokens as the last of so many iterations begins behind at most, and one: a walk of that
/// horizon passes every state that the iterations begin in. Bounded, as it is for advice only.
int tokens_of_iterations(const std::vector<Decoding>& batch, int iteration_count) {
  int draft_count = 0;
  for (const Decoding& decoding : batch) draft_count = std::max(draft_count, decoding.draft_count);
  return std::min(iteration_count - 1, 1000) * (std::min(draft_count, 100) + 1) + 1;
}

/// What a walk goes by.
struct Walk {
  const std::vector<Decoding>& batch;
  std::optional<int> horizon;          // tokens behind which nothing is asked for
  std::optional<int> iteration_count;  // iterations after which nothing is asked for
  WalkCost& cost;

  bool is_long_enough(const Progress& request) const {
    return (horizon && request.tokens.size() >= static_cast<std::size_t>(*horizon)) ||
           (iteration_count &&
            request.emitted_counts.size() >= static_cast<std::size_t>(*iteration_count));
  }
  /// For the advice of a refusal: a horizon that reaches as far.
  int tokens_walked() const {
    return horizon ? *horizon : tokens_of_iterations(batch, iteration_count.value_or(1));
  }
};

bool is_over(const State& state) {
  return std::all_of(state.requests.begin(), state.requests.end(),
                     [](const Progress& request) { return request.is_over; });
}

/// Cuts what lies behind the request's end, and ends requests that are long enough.
void end_requests(const Walk& walk, const std::vector<Emission>& emissions, State& state) {
  for (std::size_t i = 0; i < state.requests.size(); ++i) {
    Progress& request = state.requests[i];
    if (request.is_over) continue;
    const Decoding& decoding = walk.batch[i];
    const int count = static_cast<int>(emissions[i].tokens.size());
    const Limits::Cut cut =
        decoding.end ? decoding.end(request.tokens, count) : decoding.limits.cut(request.tokens);
    request.tokens.resize(cut.count);
    if (walk.horizon)
      request.tokens.resize(
          std::min(request.tokens.size(), static_cast<std::size_t>(*walk.horizon)));
    if (walk.iteration_count) request.emitted_counts.push_back(count);
    request.is_over = cut.is_end || walk.is_long_enough(request);
  }
}

/// What can no longer matter is forgotten, so that states that differ only in it are one.
void forget(const Walk& walk, State& state) {
  std::uint32_t base = ~std::uint32_t{0};
  for (std::size_t i = 0; i < state.requests.size(); ++i) {
    Progress& request = state.requests[i];
    if (request.is_over) {
      request.drafter.clear();
      request.scorer.clear();
    } else {
      base = std::min(
          base, static_cast<std::uint32_t>(walk.batch[i].prompt.size() + request.tokens.size()));
    }
  }
  const bool is_last = is_over(state);
  if (is_last) state.shared.clear();
  const CoinScheme& scheme = walk.batch.front().coins;
  std::erase_if(state.coins,
                [&](const auto& coin) { return is_last || !scheme.may_recur(coin.first, base); });
}

std::size_t emitted(const State& state) {
  std::size_t count = 0;
  for (const Progress& request : state.requests) count += request.tokens.size();
  return count;
}

/// The states that one iteration leads to, with their probabilities. Merged here first, where
/// numbers are short.
States states_after(const Walk& walk, const State& state) {
  States reached;
  for_each_iteration(walk.batch, state, walk.tokens_walked(), walk.cost,
                     [&](IterationBranch branch) {
                       State& next = branch.next;
                       end_requests(walk, branch.emissions, next);
                       forget(walk, next);
                       reached[std::move(next)] += branch.probability;
                     });
  return reached;
}

/// Every state in which all requests are over.
States finished_states(const Walk& walk) {
  States finished;
  std::map<std::size_t, States> open;  // by tokens emitted
  State start = initial_state(walk.batch);
  for (Progress& request : start.requests) request.is_over = walk.is_long_enough(request);
  (is_over(start) ? finished : open[0])[start] = 1;
  while (!open.empty()) {
    const States states = std::move(open.begin()->second);
    open.erase(open.begin());
    walk.cost.states += states.size();
    for (const auto& [state, reach] : states)
      for (const auto& [next, probability] : states_after(walk, state))
        (is_over(next) ? finished : open[emitted(next)])[next] += reach * probability;
  }
  return finished;
}

}  // namespace

Limits::Cut Limits::cut(const std::vector<Token>& tokens) const {
  for (std::size_t count = 1; count <= tokens.size(); ++count) {
    const auto end = tokens.begin() + static_cast<std::ptrdiff_t>(count);
    bool is_end = eos && tokens[count - 1] == *eos;
    for (const std::vector<Token>& stop : stops)
      if (!stop.empty() && stop.size() <= count &&
          std::equal(stop.rbegin(), stop.rend(), std::make_reverse_iterator(end)))
        is_end = true;
    if (token_count_max && count >= static_cast<std::size_t>(*token_count_max)) is_end = true;
    if (is_end) return {count, true};
  }
  return {tokens.size(), false};
}

Decoding decoding_of(const ModelCase& tiny, RuleFunction rule) {
  Decoding decoding;
  decoding.target = tiny.target;
  decoding.scorer = model_scorer(tiny.target);
  decoding.drafter = draft::model_drafter(tiny);
  decoding.rule = std::move(rule);
  decoding.draft_count = tiny.draft_count();
  return decoding;
}

EmissionLaw emission_law(const Decoding& decoding, WalkCost* cost) {
  WalkCost own;
  WalkCost& count = cost ? *cost : own;
  const std::vector<Decoding> batch = {decoding};
  EmissionLaw law;
  for_each_iteration(batch, initial_state(batch), 1, count, [&](IterationBranch branch) {
    law[branch.emissions.front()] += branch.probability;
  });
  ++count.states;
  return law;
}

SequenceLaw sequence_law(const Decoding& decoding, int horizon, WalkCost* cost) {
  SequenceLaw law;
  for (const auto& [sequences, probability] : batch_law({decoding}, horizon, cost))
    law[sequences.front()] += probability;
  return law;
}

SequenceLaw target_law(const model::ToyModel& target, int horizon, const Context& prompt,
                       const Limits& limits) {
  SequenceLaw open = {{{}, Exact(1)}};
  SequenceLaw finished;
  for (int length = 0; length < horizon; ++length) {
    SequenceLaw longer;
    for (const auto& [sequence, reach] : open) {
      const LawRow& row = target.row(behind(prompt, sequence));
      for (Token token = 0; token < target.vocab_size(); ++token) {
        if (row[token] == 0) continue;
        std::vector<Token> next = sequence;
        next.push_back(token);
        (limits.cut(next).is_end ? finished : longer)[next] += reach * row[token];
      }
    }
    open = std::move(longer);
  }
  for (const auto& [sequence, reach] : open) finished[sequence] += reach;
  return finished;
}

Exact sequence_distance(const Decoding& decoding, int horizon, WalkCost* cost) {
  return total_variation(sequence_law(decoding, horizon, cost),
                         target_law(*decoding.target, horizon, decoding.prompt, decoding.limits));
}

HistoryLaw history_law(const Decoding& decoding, int iteration_count, WalkCost* cost) {
  WalkCost own;
  const std::vector<Decoding> batch = {decoding};
  HistoryLaw law;
  for (const auto& [state, probability] :
       finished_states({batch, std::nullopt, iteration_count, cost ? *cost : own})) {
    const Progress& request = state.requests.front();
    law[{request.tokens, request.emitted_counts}] += probability;
  }
  return law;
}

std::vector<std::optional<Exact>> expected_by_iteration(const Decoding& decoding,
                                                        int iteration_count, WalkCost* cost) {
  return expected_of_batch({decoding}, iteration_count, cost).front();
}

std::vector<std::vector<std::optional<Exact>>> expected_of_batch(const std::vector<Decoding>& batch,
                                                                 int iteration_count,
                                                                 WalkCost* cost) {
  WalkCost own;
  const Walk walk{batch, std::nullopt, std::nullopt, cost ? *cost : own};
  std::vector<std::vector<std::optional<Exact>>> expected(batch.size());
  States states = {{initial_state(batch), Exact(1)}};
  for (int k = 1; k <= iteration_count; ++k) {
    std::vector<Exact> took_place(batch.size());
    std::vector<Exact> count(batch.size());
    States later;
    for (const auto& [state, reach] : states) {
      for (std::size_t i = 0; i < batch.size(); ++i)
        if (!state.requests[i].is_over) took_place[i] += reach;
      States reached;
      const auto file = [&, &reach = reach](IterationBranch branch) {
        for (std::size_t i = 0; i < batch.size(); ++i)
          count[i] +=
              reach * branch.probability * static_cast<int>(branch.emissions[i].tokens.size());
        if (k == iteration_count) return;
        State& next = branch.next;
        end_requests(walk, branch.emissions, next);
        forget(walk, next);
        reached[std::move(next)] += branch.probability;
      };
      for_each_iteration(batch, state, tokens_of_iterations(batch, iteration_count), walk.cost,
                         file);
      for (const auto& [next, probability] : reached)
        if (!is_over(next)) later[next] += reach * probability;
    }
    walk.cost.states += states.size();
    for (std::size_t i = 0; i < batch.size(); ++i)
      expected[i].push_back(took_place[i] == 0 ? std::optional<Exact>()
                                               : Exact(count[i] / took_place[i]));
    states = std::move(later);
  }
  return expected;
}

BatchLaw batch_law(const std::vector<Decoding>& batch, int horizon, WalkCost* cost) {
  DRAFTPROOF_CHECK(!batch.empty() && horizon >= 0, std::to_string(horizon));
  WalkCost own;
  BatchLaw law;
  for (const auto& [state, probability] :
       finished_states({batch, horizon, std::nullopt, cost ? *cost : own})) {
    std::vector<std::vector<Token>> sequences;
    for (const Progress& request : state.requests) sequences.push_back(request.tokens);
    law[std::move(sequences)] += probability;
  }
  return law;
}

BatchLaw batch_target_law(const std::vector<Decoding>& batch, int horizon) {
  BatchLaw law = {{{}, Exact(1)}};
  for (const Decoding& decoding : batch) {
    const SequenceLaw own = target_law(*decoding.target, horizon, decoding.prompt, decoding.limits);
    BatchLaw longer;
    for (const auto& [sequences, reach] : law) {
      for (const auto& [sequence, probability] : own) {
        auto next = sequences;
        next.push_back(sequence);
        longer[std::move(next)] = reach * probability;
      }
    }
    law = std::move(longer);
  }
  return law;
}

Exact total_variation(const BatchLaw& first, const BatchLaw& second) {
  Exact sum = 0;
  for (const auto& [key, probability] : first) {
    const auto found = second.find(key);
    sum += found == second.end() ? probability : Exact(abs(probability - found->second));
  }
  for (const auto& [key, probability] : second)
    if (!first.contains(key)) sum += probability;
  return sum / 2;
}

}  // namespace draftproof::reference::law
