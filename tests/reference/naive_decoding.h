// Decodings without any cleverness: the whole run of a batch as one straight-line program, with no
// state merged and no coin forgotten, under two sources of coins: the enumerator's, and a grid.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "reference/law/decoding.h"

namespace draftproof::reference::law {

/// Coins on a grid: every address takes each of 0, 1/size .. (size - 1)/size when first asked. A
/// program whose cuts are multiples of 1/size has the same law under it as under uniform coins.
class GridChooser final : public Chooser {
 public:
  GridChooser(int size, std::vector<int>& digits, const AddressOf& address_of)
      : size_(size), digits_(digits), address_of_(address_of) {}

  bool accept(const Exact& probability, const CoinUse& use) override {
    return coin(use) < probability;
  }
  Token draw(const LawRow& row, const CoinUse& use) override {
    const Exact value = coin(use);
    Exact sum = 0;
    for (std::size_t token = 0; token < row.size(); ++token) {
      sum += row[token];
      if (value < sum) return static_cast<Token>(token);
    }
    return kPlaceholder;
  }

 private:
  Exact coin(const CoinUse& use) {
    const auto [place, is_new] = known_.try_emplace(address_of_(use), known_.size());
    if (is_new && place->second == digits_.size()) digits_.push_back(0);
    return Exact(digits_[place->second], size_);
  }

  const int size_;
  std::vector<int>& digits_;
  const AddressOf& address_of_;
  std::map<CoinAddress, std::size_t> known_;
};

/// Runs `run` at every grid point of the coins it asks for; `finished` gets the point's weight.
template <class Run, class Finished>
void for_each_grid_point(int size, const AddressOf& address_of, const Run& run,
                         const Finished& finished) {
  std::vector<int> digits;
  do {
    GridChooser chooser(size, digits, address_of);
    run(chooser);
    Exact weight = 1;
    for (std::size_t i = 0; i < digits.size(); ++i) weight /= size;
    finished(weight);
    while (!digits.empty() && digits.back() == size - 1) digits.pop_back();
    if (!digits.empty()) ++digits.back();
  } while (!digits.empty());
}

/// One request of a naive run.
struct NaiveRequest {
  std::vector<Token> tokens;
  std::vector<int> counts;  // of every iteration, before cuts
  bool is_over = false;
  Memory drafter;
  Memory scorer;
};

/// Token by token, as if each had been emitted alone.
inline void emit(const Decoding& decoding, int horizon, Token token, NaiveRequest& request) {
  if (request.is_over) return;
  std::vector<Token>& tokens = request.tokens;
  tokens.push_back(token);
  const int count = static_cast<int>(tokens.size());
  request.is_over =
      count == horizon || token == decoding.limits.eos || count == decoding.limits.token_count_max;
  for (const std::vector<Token>& stop : decoding.limits.stops) {
    const auto size = static_cast<std::ptrdiff_t>(stop.size());
    if (count >= size && std::vector<Token>(tokens.end() - size, tokens.end()) == stop)
      request.is_over = true;
  }
}

inline Context joined(Context context, const std::vector<Token>& tokens) {
  context.insert(context.end(), tokens.begin(), tokens.end());
  return context;
}

/// `place` tells the coins where they are asked from.
inline std::vector<NaiveRequest> run_naively(const std::vector<Decoding>& batch, int horizon,
                                             Chooser& chooser, CoinPlace& place,
                                             std::size_t iteration_count = 1000) {
  std::vector<NaiveRequest> requests(batch.size());
  Memory shared;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    requests[i].drafter = batch[i].drafter->initial(batch[i].prompt);
    requests[i].scorer = batch[i].scorer->initial(batch[i].prompt);
    requests[i].is_over = horizon == 0;
  }
  while (true) {
    std::vector<std::size_t> running;
    std::vector<CoinPlace> places;
    std::vector<DraftTree> drafts;
    std::uint32_t emitted = 0;
    for (const NaiveRequest& request : requests)
      emitted += static_cast<std::uint32_t>(request.tokens.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (!requests[i].is_over) running.push_back(i);
    if (running.empty()) return requests;
    for (std::size_t i : running) {
      const Context context = joined(batch[i].prompt, requests[i].tokens);
      place = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(context.size()),
               static_cast<std::uint32_t>(places.size()), emitted};
      places.push_back(place);
      int count = batch[i].draft_count;
      if (const auto cap = batch[i].limits.token_count_max)
        count = std::min(count, *cap - static_cast<int>(requests[i].tokens.size()) - 1);
      drafts.push_back(batch[i].drafter->draft({context, count, static_cast<int>(i)},
                                               requests[i].drafter, shared, chooser));
    }
    for (std::size_t number = 0; number < running.size(); ++number) {
      const std::size_t i = running[number];
      const Context context = joined(batch[i].prompt, requests[i].tokens);
      const auto target = batch[i].scorer->rows(context, drafts[number], requests[i].scorer);
      place = places[number];
      const Decision decision = batch[i].rule({drafts[number], target}, chooser);
      const Emission emission = emission_of(drafts[number], decision);
      const Context after = joined(context, emission.tokens);
      const StepEnd end{context, drafts[number], decision, after, static_cast<int>(i)};
      batch[i].drafter->commit(end, requests[i].drafter, shared);
      batch[i].scorer->commit(end, requests[i].scorer);
      requests[i].counts.push_back(static_cast<int>(emission.tokens.size()));
      for (Token token : emission.tokens) emit(batch[i], horizon, token, requests[i]);
      if (requests[i].counts.size() == iteration_count) requests[i].is_over = true;
    }
  }
}

/// What batch_law() is, by one enumeration over whole runs: under the enumerator's coins, or on a
/// grid of `grid_size` values.
inline BatchLaw naive_batch_law(const std::vector<Decoding>& batch, int horizon,
                                int grid_size = 0) {
  CoinPlace place;
  std::vector<std::vector<Token>> sequences;
  BatchLaw law;
  const AddressOf address_of = [&](const CoinUse& use) {
    return batch.front().coins.address(use, place);
  };
  const auto run = [&](Chooser& chooser) {
    sequences.clear();
    for (NaiveRequest& request : run_naively(batch, horizon, chooser, place))
      sequences.push_back(std::move(request.tokens));
  };
  if (grid_size > 0) {
    for_each_grid_point(grid_size, address_of, run,
                        [&](const Exact& weight) { law[sequences] += weight; });
  } else {
    for_each_branch({}, address_of, run, [&](const Exact& probability, const RevealedCoins&) {
      law[sequences] += probability;
    });
  }
  return law;
}

/// Reads every coin of the draft and keeps the longest prefix whose last token passes; then draws
/// from the target. It is lossy, and it is not prefix-adapted: coins of positions behind the
/// emitted ones have been read, as in block verification.
inline Decision longest_passing(const Verification& step, Chooser& chooser) {
  int kept = 0;
  for (int node = 0; node < step.draft.size(); ++node) {
    const Exact& probability = step.behind(node - 1)[step.draft.nodes[node].token];
    if (chooser.accept(probability, {node, Purpose::kAccept})) kept = node + 1;
  }
  Decision decision;
  for (int node = 0; node < kept; ++node) decision.accepted.push_back(node);
  decision.last = chooser.draw(step.behind(kept - 1), {kept, Purpose::kBonus});
  return decision;
}

}  // namespace draftproof::reference::law
