// Planning and judging of breakpoint certificates (certificate.h). The plan walks the draft tree
// from the root; at each node it writes down the coins just below and at each predicted edge, the
// endpoints, and a random coin inside each interval.
#include "oracle/certificate.h"

#include <algorithm>
#include <optional>

#include "oracle/hidden_share.h"
#include "oracle/parity.h"
#include "oracle/threshold.h"
#include "reference/error.h"
#include "reference/scalar.h"

namespace draftproof::oracle {
namespace {

using reference::MassRow;
using reference::Token;

constexpr std::uint64_t kCoinMax = ~std::uint64_t{0};

/// SplitMix64 (Steele, Lea, Flood 2014): coins that no decision depends on.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [low, high); high <= 2^64.
  std::uint64_t between(Threshold low, Threshold high) {
    return static_cast<std::uint64_t>(low + ((Threshold{next()} * (high - low)) >> 64));
  }

 private:
  std::uint64_t state_;
};

/// One context of the tree with every edge on its coins' axes.
struct Node {
  std::vector<Threshold> accept;  ///< per token; only where has_draft
  std::vector<bool> has_draft;
  std::vector<Threshold> residual;
  Threshold residual_margin = 0;
  std::vector<Threshold> bonus;
};

/// The token drawn at `coin`: the first whose threshold lies above it.
int drawn(const std::vector<Threshold>& steps, std::uint64_t coin) {
  const auto at = std::upper_bound(steps.begin(), steps.end(), Threshold{coin});
  DRAFTPROOF_CHECK(at != steps.end());
  return static_cast<int>(at - steps.begin());
}

class Planner {
 public:
  Planner(const TreeLaw& law, const PlanOptions& options)
      : law_(law), options_(options), noise_(options.seed) {}

  Plan plan() {
    result_.vocab_size = law_.vocab_size;
    result_.draft_count = law_.draft_count;
    result_.margin = options_.margin;
    for (int length = 0; length <= law_.draft_count; ++length)
      nodes_.emplace_back(law_.target.at(length).size());
    std::vector<std::vector<Token>> contexts = {{}};
    for (int length = 0; length <= law_.draft_count; ++length) {
      std::vector<std::vector<Token>> next;
      for (const std::vector<Token>& context : contexts) visit(context, next);
      contexts = std::move(next);
    }
    return std::move(result_);
  }

 private:
  std::size_t index(const std::vector<Token>& tokens, std::size_t length) const {
    std::size_t number = 0;
    for (std::size_t i = 0; i < length; ++i) number = number * law_.vocab_size + tokens[i];
    return number;
  }

  Node& node(const std::vector<Token>& tokens, std::size_t length) {
    const std::size_t number = index(tokens, length);
    std::optional<Node>& slot = nodes_[length].at(number);
    if (slot) return *slot;
    slot.emplace();
    const MassRow& target = law_.target[length].at(number);
    if (static_cast<int>(length) == law_.draft_count) {
      slot->bonus = cumulative_thresholds(target);
      return *slot;
    }
    const MassRow& draft = law_.draft.at(length).at(number);
    slot->residual = residual_thresholds(target, draft);
    slot->residual_margin = residual_margin(target, draft, options_.margin);
    for (std::size_t token = 0; token < draft.mass.size(); ++token) {
      slot->has_draft.push_back(draft.mass[token] > 0);
      slot->accept.push_back(draft.mass[token] > 0
                                 ? rounded_accept_threshold(target, draft, token, options_.margin)
                                 : 0);
    }
    return *slot;
  }

  /// A token that the draft law at this context can draw; behind unreachable contexts any token.
  Token random_draft(const std::vector<Token>& tokens, std::size_t length) {
    const std::vector<reference::Mass>& mass = law_.draft.at(length).at(index(tokens, length)).mass;
    std::vector<Token> able;
    for (std::size_t v = 0; v < mass.size(); ++v)
      if (mass[v] > 0) able.push_back(static_cast<Token>(v));
    return able.empty() ? 0 : able[noise_.between(0, able.size())];
  }

  /// A coin on the accepting (rejecting) side of a threshold, clear of it; none when the side is
  /// too narrow.
  std::optional<std::uint64_t> side(Threshold threshold, bool accepting) {
    const Threshold away =
        threshold == 0 || threshold == kAlways ? Threshold{0} : Threshold{options_.margin};
    const Threshold low = accepting ? Threshold{0} : threshold + away;
    const Threshold high =
        accepting ? (threshold < away ? Threshold{0} : threshold - away) : kAlways;
    if (low >= high) return std::nullopt;
    return noise_.between(low, high);
  }

  /// A probe whose draft starts with `tokens`, of which all but the last `open` are accepted; every
  /// other coin and token is random. None when some prefix token cannot be accepted clearly.
  std::optional<Probe> prefix(const std::vector<Token>& tokens, std::size_t accepted) {
    const std::size_t draft_count = law_.draft_count;
    Probe probe;
    probe.draft = tokens;
    while (probe.draft.size() < draft_count)
      probe.draft.push_back(random_draft(probe.draft, probe.draft.size()));
    for (std::size_t i = 0; i < draft_count; ++i) {
      probe.accept_coins.push_back(noise_.next());
      probe.recovered_coins.push_back(noise_.next());
    }
    probe.bonus_coin = noise_.next();
    for (std::size_t i = 0; i < accepted; ++i) {
      const auto coin = side(node(tokens, i).accept[tokens[i]], true);
      if (!coin) return std::nullopt;
      probe.accept_coins[i] = *coin;
    }
    return probe;
  }

  /// Fills in what must come out. False when a decision on the way lies too close to an edge.
  bool settle(Probe& probe) {
    bool clear = true;
    const std::size_t draft_count = law_.draft_count;
    for (std::size_t i = 0; i < draft_count; ++i) {
      const Node& here = node(probe.draft, i);
      const Threshold threshold = here.accept[probe.draft[i]];
      clear = clear && is_clear(threshold, probe.accept_coins[i], options_.margin);
      if (probe.accept_coins[i] < threshold) {
        ++probe.expected.accepted_count;
        probe.expected.emitted.push_back({probe.draft[i], reference::Reason::kAccepted});
        continue;
      }
      const int token = drawn(here.residual, probe.recovered_coins[i]);
      probe.expected.emitted.push_back({token, reference::Reason::kRecovered});
      return clear && is_clear(here.residual, probe.recovered_coins[i], here.residual_margin);
    }
    const Node& last = node(probe.draft, draft_count);
    const int token = drawn(last.bonus, probe.bonus_coin);
    probe.expected.emitted.push_back({token, reference::Reason::kBonus});
    return clear && is_clear(last.bonus, probe.bonus_coin, options_.margin);
  }

  /// Adds the probe of one coin. Random coins behind the decision are drawn again while they lie
  /// too close to an edge; with a margin of 2^45 one in 2^18 does.
  template <class SetCoin>
  void add(const std::vector<Token>& tokens, std::size_t accepted, DecisionKind kind,
           bool is_interior, SetCoin set_coin) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      std::optional<Probe> probe = prefix(tokens, accepted);
      if (!probe || !set_coin(*probe)) return;
      probe->kind = kind;
      probe->is_interior = is_interior;
      if (!settle(*probe)) continue;
      result_.probes.push_back(std::move(*probe));
      return;
    }
  }

  void probe_accept(const std::vector<Token>& context, Token token) {
    std::vector<Token> tokens = context;
    tokens.push_back(token);
    const std::size_t at = context.size();
    const Threshold threshold = node(tokens, at).accept[token], margin = options_.margin;
    std::vector<std::uint64_t> coins = {0, kCoinMax};
    if (threshold > margin) coins.push_back(static_cast<std::uint64_t>(threshold - 1 - margin));
    if (threshold + margin < kAlways)
      coins.push_back(static_cast<std::uint64_t>(threshold + margin));
    std::sort(coins.begin() + 2, coins.end());
    coins.erase(std::unique(coins.begin(), coins.end()), coins.end());
    ++result_.decisions;
    for (std::uint64_t coin : coins)
      if (is_clear(threshold, coin, options_.margin))
        add(tokens, at, DecisionKind::kAccept, false, [&](Probe& probe) {
          probe.accept_coins[at] = coin;
          return true;
        });
    for (int i = 0; i < options_.interior_per_decision; ++i)
      for (bool accepting : {true, false})
        add(tokens, at, DecisionKind::kAccept, true, [&](Probe& probe) {
          const auto coin = side(threshold, accepting);
          if (coin) probe.accept_coins[at] = *coin;
          return coin.has_value();
        });
  }

  /// Probes both ends and the inside of the interval of every token that `steps` can draw.
  template <class SetCoin>
  void probe_draw(const std::vector<Token>& tokens, std::size_t accepted, DecisionKind kind,
                  const std::vector<Threshold>& steps, Threshold margin, SetCoin set_coin) {
    Threshold low = 0;
    for (Threshold high : steps) {
      if (high == low) continue;
      ++result_.decisions;
      // Edges at 0 and 2^64 are rounded by no one, so the margin does not apply to them.
      std::vector<Threshold> coins = {low == 0 ? low : low + margin};
      const Threshold last = high == kAlways ? kAlways - 1 : high - 1 - margin;
      if (last != coins.front()) coins.push_back(last);
      for (Threshold wide : coins) {
        const auto coin = static_cast<std::uint64_t>(wide);
        if (wide < low || wide >= high || !is_clear(steps, coin, margin)) continue;
        add(tokens, accepted, kind, false, [&](Probe& probe) { return set_coin(probe, coin); });
      }
      for (int i = 0; i < options_.interior_per_decision; ++i)
        add(tokens, accepted, kind, true,
            [&](Probe& probe) { return set_coin(probe, noise_.between(low, high)); });
      low = high;
    }
  }

  void probe_recovered(const std::vector<Token>& context) {
    const std::size_t at = context.size();
    const Node& here = node(context, at);
    std::vector<Token> rejectable;
    for (int token = 0; token < law_.vocab_size; ++token)
      if (here.has_draft[token] && here.accept[token] + options_.margin < kAlways)
        rejectable.push_back(token);
    // Once per rejected token, not once per node: a subject's residual might read that token.
    for (Token token : rejectable) {
      std::vector<Token> tokens = context;
      tokens.push_back(token);
      const Threshold threshold = here.accept[token];
      probe_draw(tokens, at, DecisionKind::kRecovered, here.residual, here.residual_margin,
                 [&, at](Probe& probe, std::uint64_t coin) {
                   const auto rejecting = side(threshold, false);
                   if (!rejecting) return false;
                   probe.accept_coins[at] = *rejecting;
                   probe.recovered_coins[at] = coin;
                   return true;
                 });
    }
  }

  void visit(const std::vector<Token>& context, std::vector<std::vector<Token>>& next) {
    const std::size_t length = context.size();
    const Node& here = node(context, length);
    if (static_cast<int>(length) == law_.draft_count) {
      probe_draw(context, length, DecisionKind::kBonus, here.bonus, options_.margin,
                 [](Probe& probe, std::uint64_t coin) {
                   probe.bonus_coin = coin;
                   return true;
                 });
      return;
    }
    for (int token = 0; token < law_.vocab_size; ++token) {
      if (!here.has_draft[token]) continue;
      probe_accept(context, token);
      if (here.accept[token] <= options_.margin) continue;
      next.push_back(context);
      next.back().push_back(token);
    }
    probe_recovered(context);
  }

  const TreeLaw& law_;
  const PlanOptions& options_;
  Noise noise_;
  Plan result_;
  std::vector<std::vector<std::optional<Node>>> nodes_;
};

void check(const TreeLaw& law) {
  DRAFTPROOF_CHECK(law.vocab_size > 0 && law.draft_count >= 0);
  const auto lengths = static_cast<std::size_t>(law.draft_count);
  DRAFTPROOF_CHECK(law.target.size() == lengths + 1 && law.draft.size() == lengths);
  std::size_t contexts = 1;
  for (std::size_t length = 0; length <= lengths; ++length) {
    DRAFTPROOF_CHECK(law.target[length].size() == contexts, "length " + std::to_string(length));
    DRAFTPROOF_CHECK(length == lengths || law.draft[length].size() == contexts,
                     "length " + std::to_string(length));
    contexts *= law.vocab_size;
  }
}

/// TV to ideal coins. Each realised threshold lies within margin + 1 coins of the exact one, and a
/// node that the margin leaves unprobed is reached with at most margin coins; a draw moves the ends
/// of each of its intervals by as much (hybrid over the nodes of a path).
reference::Exact bound_of(const Plan& plan) {
  const reference::BigInteger unit = 2 * reference::BigInteger(plan.margin) + 1;
  const reference::BigInteger halves = unit * (2 * plan.draft_count + plan.vocab_size);
  return reference::Exact(halves, reference::BigInteger(1) << 65);
}

}  // namespace

Plan plan(const TreeLaw& law, const PlanOptions& options) {
  check(law);
  return Planner(law, options).plan();
}

Certificate judge(const Plan& plan, const std::vector<reference::RequestOutcome>& outcomes,
                  double miss_probability) {
  Certificate result;
  result.decisions = plan.decisions;
  result.probes = std::min(plan.probes.size(), outcomes.size());
  for (std::size_t i = 0; i < result.probes; ++i) {
    if (plan.probes[i].is_interior) ++result.interior_probes;
    if (!first_difference(plan.probes[i].expected, outcomes[i])) continue;
    if (result.failed == 0) result.first_failed = i;
    ++result.failed;
  }
  if (result.failed > 0)
    result.kind = VerdictKind::kViolated;
  else if (!plan.probes.empty() && result.probes == plan.probes.size())
    result.kind = VerdictKind::kUpheld;
  if (result.kind == VerdictKind::kUpheld) result.bound = reference::to_string(bound_of(plan));
  result.assumption = threshold_assumption(result.interior_probes, miss_probability);
  return result;
}

}  // namespace draftproof::oracle
