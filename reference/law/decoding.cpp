// Decodings: the laws of whole runs, state by state. A state is everything that a later iteration
// can depend on: the contexts, the memories, and what is known of coins that may be asked about
// again. States are finished in the order of how much they have emitted, which every iteration
// increases, so equal states meet before they are continued.
#include "reference/law/decoding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "reference/draft/model.h"
#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

/// One request in the middle of its decoding.
struct Progress {
  std::vector<Token> tokens;        // emitted behind the prompt, cut at the request's end
  std::vector<int> emitted_counts;  // only where histories are asked for
  bool is_over = false;
  Memory drafter;
  Memory scorer;

  auto key() const { return std::tie(tokens, emitted_counts, is_over, drafter, scorer); }
  friend bool operator<(const Progress& a, const Progress& b) { return a.key() < b.key(); }
};

struct State {
  std::vector<Progress> requests;
  Memory shared;
  RevealedCoins coins;

  auto key() const { return std::tie(requests, shared, coins); }
  friend bool operator<(const State& a, const State& b) { return a.key() < b.key(); }
};

using States = std::map<State, Exact>;

/// What a walk goes by.
struct Walk {
  const std::vector<Decoding>& batch;
  std::optional<int> horizon;          // tokens behind which nothing is asked for
  std::optional<int> iteration_count;  // iterations after which nothing is asked for
  WalkCost& cost;

  bool is_over(const Progress& request) const {
    if (request.is_over) return true;
    if (horizon && request.tokens.size() >= static_cast<std::size_t>(*horizon)) return true;
    return iteration_count &&
           request.emitted_counts.size() >= static_cast<std::size_t>(*iteration_count);
  }
};

Context behind(const Context& prompt, const std::vector<Token>& tokens) {
  Context context = prompt;
  context.insert(context.end(), tokens.begin(), tokens.end());
  return context;
}

int draft_count_of(const Decoding& decoding, const Progress& request) {
  if (!decoding.limits.token_count_max) return decoding.draft_count;
  // The iteration emits one token more than it accepts.
  const int remaining =
      *decoding.limits.token_count_max - static_cast<int>(request.tokens.size()) - 1;
  return std::clamp(remaining, 0, decoding.draft_count);
}

/// One iteration of one request.
void advance(const Walk& walk, int index, Progress& request, Memory& shared, Chooser& chooser) {
  const Decoding& decoding = walk.batch[index];
  const Context before = behind(decoding.prompt, request.tokens);
  const DraftTree draft = decoding.drafter->draft(
      {before, draft_count_of(decoding, request), index}, request.drafter, shared, chooser);
  const std::vector<LawRow> target = decoding.scorer->rows(before, draft, request.scorer);
  DRAFTPROOF_CHECK(target.size() == draft.nodes.size() + 1, "a row behind every node is due");
  const Decision decision = decoding.rule({draft, target}, chooser);
  const Emission emission = emission_of(draft, decision);
  DRAFTPROOF_CHECK(!emission.tokens.empty(), "an iteration that emits nothing never ends");

  std::vector<Token> all = request.tokens;
  all.insert(all.end(), emission.tokens.begin(), emission.tokens.end());
  const Context after = behind(decoding.prompt, all);
  const StepEnd end{before, draft, decision, after, index};
  decoding.drafter->commit(end, request.drafter, shared);
  decoding.scorer->commit(end, request.scorer);

  const Limits::Cut cut = decoding.limits.cut(all);
  request.is_over = cut.is_end;
  all.resize(cut.count);
  if (walk.horizon) all.resize(std::min(all.size(), static_cast<std::size_t>(*walk.horizon)));
  request.tokens = std::move(all);
  if (walk.iteration_count)
    request.emitted_counts.push_back(static_cast<int>(emission.tokens.size()));
}

/// What can no longer matter is forgotten, so that states that differ only in it are one.
void forget(const Walk& walk, State& state) {
  std::uint32_t base = ~std::uint32_t{0};
  for (std::size_t i = 0; i < state.requests.size(); ++i) {
    Progress& request = state.requests[i];
    if (walk.is_over(request)) {
      request.drafter.clear();
      request.scorer.clear();
      continue;
    }
    base = std::min(
        base, static_cast<std::uint32_t>(walk.batch[i].prompt.size() + request.tokens.size()));
  }
  const bool is_over = base == ~std::uint32_t{0};
  if (is_over) state.shared.clear();
  const CoinScheme& scheme = walk.batch.front().coins;
  std::erase_if(state.coins,
                [&](const auto& coin) { return is_over || !scheme.may_recur(coin.first, base); });
}

std::size_t emitted(const State& state) {
  std::size_t count = 0;
  for (const Progress& request : state.requests) count += request.tokens.size();
  return count;
}

/// One iteration of every request that is not over.
void advance_all(const Walk& walk, const State& state, const Exact& reach,
                 const std::function<void(State, const Exact&)>& reached) {
  State next;
  CoinPlace place;
  const AddressOf address_of = [&](const CoinUse& use) {
    return walk.batch.front().coins.address(use, place);
  };
  const auto run = [&](Chooser& chooser) {
    next = {state.requests, state.shared, {}};
    for (std::size_t i = 0; i < next.requests.size(); ++i) {
      Progress& request = next.requests[i];
      if (walk.is_over(request)) continue;
      place = {static_cast<std::uint32_t>(i),
               static_cast<std::uint32_t>(walk.batch[i].prompt.size() + request.tokens.size())};
      advance(walk, static_cast<int>(i), request, next.shared, chooser);
    }
  };
  for_each_branch(state.coins, address_of, run,
                  [&](const Exact& probability, const RevealedCoins& coins) {
                    if (++walk.cost.branches > walk.cost.branches_max)
                      throw Error(ErrorKind::kInput,
                                  "more than " + std::to_string(walk.cost.branches_max) +
                                      " branches; take a smaller vocabulary, a shorter draft or "
                                      "fewer tokens");
                    next.coins = coins;
                    forget(walk, next);
                    reached(next, reach * probability);
                  });
}

/// Every state in which all requests are over.
States finished_states(const Walk& walk) {
  State start;
  for (const Decoding& decoding : walk.batch) {
    Progress request;
    request.drafter = decoding.drafter->initial(decoding.prompt);
    request.scorer = decoding.scorer->initial(decoding.prompt);
    start.requests.push_back(std::move(request));
  }
  States finished;
  std::map<std::size_t, States> open;  // by tokens emitted
  const auto file = [&](State state, const Exact& reach) {
    const bool is_over =
        std::all_of(state.requests.begin(), state.requests.end(),
                    [&](const Progress& request) { return walk.is_over(request); });
    States& states = is_over ? finished : open[emitted(state)];
    states[std::move(state)] += reach;
  };
  file(start, Exact(1));
  while (!open.empty()) {
    const States states = std::move(open.begin()->second);
    open.erase(open.begin());
    walk.cost.states += states.size();
    for (const auto& [state, reach] : states) advance_all(walk, state, reach, file);
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
  const CoinPlace place{0, static_cast<std::uint32_t>(decoding.prompt.size())};
  Emission emission;
  EmissionLaw law;
  for_each_branch(
      {}, [&](const CoinUse& use) { return decoding.coins.address(use, place); },
      [&](Chooser& chooser) {
        Memory drafter = decoding.drafter->initial(decoding.prompt);
        Memory shared;
        const DraftTree draft = decoding.drafter->draft(
            {decoding.prompt, draft_count_of(decoding, {}), 0}, drafter, shared, chooser);
        const std::vector<LawRow> target = decoding.scorer->rows(
            decoding.prompt, draft, decoding.scorer->initial(decoding.prompt));
        emission = emission_of(draft, decoding.rule({draft, target}, chooser));
      },
      [&](const Exact& probability, const RevealedCoins&) {
        ++count.branches;
        law[emission] += probability;
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
  std::vector<Exact> emitted(static_cast<std::size_t>(iteration_count));
  std::vector<Exact> reached(static_cast<std::size_t>(iteration_count));
  for (const auto& [history, probability] : history_law(decoding, iteration_count, cost)) {
    for (std::size_t k = 0; k < history.emitted_counts.size(); ++k) {
      reached[k] += probability;
      emitted[k] += probability * history.emitted_counts[k];
    }
  }
  std::vector<std::optional<Exact>> expected;
  for (std::size_t k = 0; k < emitted.size(); ++k)
    expected.push_back(reached[k] == 0 ? std::optional<Exact>() : Exact(emitted[k] / reached[k]));
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
