// Iterations, stage by stage. Each drafter and each rule is a program of its own, so that a draft
// is drawn and scored once for all decisions about it; what a stage told about coins goes on to the
// next.
#include "reference/law/iteration.h"

#include <algorithm>
#include <optional>

#include "reference/error.h"
#include "reference/law/walk_size.h"

namespace draftproof::reference::law {
namespace {

/// A branch takes a microsecond or, of a large tree, a millisecond.
constexpr std::uint64_t kBranchesPerQuestion = 64;

int draft_count_of(const Decoding& decoding, const Progress& request) {
  if (!decoding.limits.token_count_max) return decoding.draft_count;
  // The iteration emits one token more than it accepts.
  const int remaining =
      *decoding.limits.token_count_max - static_cast<int>(request.tokens.size()) - 1;
  return std::clamp(remaining, 0, decoding.draft_count);
}

class Iteration {
 public:
  Iteration(const std::vector<Decoding>& batch, const State& state, int horizon, WalkCost& cost,
            const std::function<void(IterationBranch)>& finished)
      : batch_(batch),
        state_(state),
        horizon_(horizon),
        cost_(cost),
        finished_(finished),
        shared_(state.shared) {
    std::uint32_t batch_base = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch_base += static_cast<std::uint32_t>(state.requests[i].tokens.size());
      if (state.requests[i].is_over) continue;
      Running request;
      request.index = static_cast<int>(i);
      request.before = behind(batch[i].prompt, state.requests[i].tokens);
      request.place = {static_cast<std::uint32_t>(i),
                       static_cast<std::uint32_t>(request.before.size()),
                       static_cast<std::uint32_t>(running_.size()), 0};
      request.drafter = state.requests[i].drafter;
      base_min_ = std::min(base_min_, request.place.base);
      running_.push_back(std::move(request));
    }
    for (Running& request : running_) request.place.batch_base = batch_base;
    emissions_.resize(batch.size());
  }

  void run() { draft(0, state_.coins, Exact(1)); }

 private:
  /// A request that takes part.
  struct Running {
    int index = 0;
    Context before;
    CoinPlace place;
    Memory drafter;
    DraftTree draft;
    std::vector<LawRow> target;
    Decision decision;
  };

  const Decoding& decoding_of(const Running& request) const { return batch_[request.index]; }

  AddressOf address_of(const Running& request) const {
    return [this, place = request.place](const CoinUse& use) {
      return batch_.front().coins.address(use, place);
    };
  }

  void draft(std::size_t number, const RevealedCoins& coins, const Exact& reach) {
    if (number == running_.size()) {
      gather();
      decide(0, coins, reach);
      return;
    }
    Running& request = running_[number];
    const Decoding& decoding = decoding_of(request);
    const Progress& progress = state_.requests[request.index];
    const StepBegin begin{request.before, draft_count_of(decoding, progress), request.index};
    const Memory shared = shared_;
    for_each_branch(
        coins, address_of(request),
        [&](Chooser& chooser) {
          request.drafter = progress.drafter;
          shared_ = shared;
          request.draft = decoding.drafter->draft(begin, request.drafter, shared_, chooser);
        },
        [&](const Exact& probability, const RevealedCoins& after) {
          request.target = decoding.scorer->rows(request.before, request.draft, progress.scorer);
          DRAFTPROOF_CHECK(request.target.size() == request.draft.nodes.size() + 1,
                           "a row behind every node is due");
          draft(number + 1, after, Exact(reach * probability));
        });
    shared_ = shared;
  }

  void gather() {
    gathered_.clear();
    std::vector<Verification> rows;
    for (const Running& request : running_) rows.push_back({request.draft, request.target});
    for (std::size_t row = 0; row < running_.size(); ++row) {
      const Decoding& decoding = decoding_of(running_[row]);
      gathered_.emplace_back();
      if (decoding.gather) gathered_.back() = decoding.gather(rows, static_cast<int>(row));
    }
  }

  const DraftTree& draft_of(std::size_t number) const {
    return gathered_[number] ? gathered_[number]->draft : running_[number].draft;
  }

  void decide(std::size_t number, const RevealedCoins& coins, const Exact& reach) {
    if (number == running_.size()) {
      finish(coins, reach);
      return;
    }
    Running& request = running_[number];
    const std::vector<LawRow>& target =
        gathered_[number] ? gathered_[number]->target : request.target;
    const Verification step{draft_of(number), target};
    for_each_branch(
        coins, address_of(request),
        [&](Chooser& chooser) { request.decision = decoding_of(request).rule(step, chooser); },
        [&](const Exact& probability, const RevealedCoins& after) {
          emissions_[request.index] = emission_of(step.draft, request.decision);
          DRAFTPROOF_CHECK(!emissions_[request.index].tokens.empty(),
                           "an iteration that emits nothing never ends");
          decide(number + 1, after, Exact(reach * probability));
        });
  }

  void finish(const RevealedCoins& coins, const Exact& reach) {
    if (++cost_.branches > cost_.branches_max) refuse(cost_.branches_max);
    const bool asks = cost_.branches % kBranchesPerQuestion == 0 && cost_.is_too_long;
    if (asks && cost_.is_too_long()) refuse(cost_.branches);
    State next{state_.requests, shared_, {}};
    for (const auto& [address, known] : coins)
      if (batch_.front().coins.may_recur(address, base_min_)) next.coins.emplace(address, known);
    for (std::size_t number = 0; number < running_.size(); ++number) {
      const Running& request = running_[number];
      const Decoding& decoding = decoding_of(request);
      const std::vector<Token>& emitted = emissions_[request.index].tokens;
      Progress& progress = next.requests[request.index];
      progress.tokens.insert(progress.tokens.end(), emitted.begin(), emitted.end());
      progress.drafter = request.drafter;
      const Context after = behind(decoding.prompt, progress.tokens);
      const StepEnd end{request.before, draft_of(number), request.decision, after, request.index};
      decoding.drafter->commit(end, progress.drafter, next.shared);
      decoding.scorer->commit(end, progress.scorer);
    }
    finished_({reach, emissions_, std::move(next)});
  }

  bool keeps_memory() const {
    return !shared_.empty() ||
           std::any_of(state_.requests.begin(), state_.requests.end(), [](const Progress& request) {
             return !request.drafter.empty() || !request.scorer.empty();
           });
  }

  /// What fits is what has at most `affordable` branches.
  [[noreturn]] void refuse(std::uint64_t affordable) const {
    WalkShape shape;
    shape.vocab_size = static_cast<int>(running_.front().target.front().size());
    shape.horizon = horizon_;
    shape.request_count = static_cast<int>(batch_.size());
    for (const Running& request : running_)
      shape.node_count = std::max(shape.node_count, request.draft.size());
    shape.is_chain = running_.front().draft.is_chain();
    // The walk does not know the rule, so what it says is safe for one that reads every coin.
    shape.stops_at_first_failure = false;
    shape.states_meet = !batch_.front().coins.may_recur(CoinAddress{}, 0) && !keeps_memory();
    throw Error(ErrorKind::kInput, "more than " + std::to_string(affordable) + " branches; " +
                                       sizes_that_fit(shape, static_cast<double>(affordable)));
  }

  const std::vector<Decoding>& batch_;
  const State& state_;
  const int horizon_;
  WalkCost& cost_;
  const std::function<void(IterationBranch)>& finished_;
  Memory shared_;
  std::uint32_t base_min_ = ~std::uint32_t{0};
  std::vector<Running> running_;
  std::vector<std::optional<Gathered>> gathered_;
  std::vector<Emission> emissions_;
};

}  // namespace

State initial_state(const std::vector<Decoding>& batch) {
  State state;
  for (const Decoding& decoding : batch) {
    DRAFTPROOF_CHECK(!decoding.limits.token_count_max || *decoding.limits.token_count_max > 0,
                     "a request of no token takes part in no iteration");
    Progress request;
    request.drafter = decoding.drafter->initial(decoding.prompt);
    request.scorer = decoding.scorer->initial(decoding.prompt);
    state.requests.push_back(std::move(request));
  }
  return state;
}

Context behind(const Context& prompt, const std::vector<Token>& tokens) {
  Context context = prompt;
  context.insert(context.end(), tokens.begin(), tokens.end());
  return context;
}

void for_each_iteration(const std::vector<Decoding>& batch, const State& state, int horizon,
                        WalkCost& cost, const std::function<void(IterationBranch)>& finished) {
  Iteration(batch, state, horizon, cost, finished).run();
}

BatchEmissionLaw batch_emission_law(const std::vector<Decoding>& batch) {
  WalkCost cost;
  BatchEmissionLaw law;
  for_each_iteration(batch, initial_state(batch), 1, cost,
                     [&](IterationBranch branch) { law[branch.emissions] += branch.probability; });
  return law;
}

}  // namespace draftproof::reference::law
