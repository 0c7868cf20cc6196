// Optima.
#include "reference/law/optimum.h"

#include <algorithm>
#include <numeric>

#include "reference/error.h"
#include "reference/law/decoding.h"
#include "reference/law/maximum_flow.h"
#include "reference/law/rules/drawn_children.h"

namespace draftproof::reference::law {
namespace {

using Offer = std::set<std::vector<Token>>;

bool is_chain(const ModelCase& tiny) { return tiny.parents == chain_parents(tiny.draft_count()); }

int depth_of(const ModelCase& tiny) {
  int deepest = 0;
  for (int node = 0; node < tiny.draft_count(); ++node) {
    int depth = 0;
    for (int above = node; above >= 0; above = tiny.parents[above]) ++depth;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

/// Paths of `remaining` more tokens below `node`, from its before.size()-th child on.
OfferLaw offered_below(const ModelCase& tiny, const Context& context, int node, int remaining,
                       std::vector<Token>& before) {
  const Offer nothing;
  const Offer the_end = {std::vector<Token>{}};
  if (remaining == 0) return {{the_end, Exact(1)}};
  const std::vector<int> children = rules::shape_children(tiny, node);
  const auto ways = before.size() == children.size()
                        ? std::vector<rules::DrawnChild>{}
                        : rules::next_child(tiny, context, before, children.size());
  if (ways.empty()) return {{nothing, Exact(1)}};
  const int child = children[before.size()];
  OfferLaw law;
  for (const rules::DrawnChild& way : ways) {
    std::vector<Token> none;
    const OfferLaw own =
        offered_below(tiny, rules::longer(context, way.token), child, remaining - 1, none);
    before.push_back(way.token);
    const OfferLaw others = offered_below(tiny, context, node, remaining, before);
    before.pop_back();
    for (const auto& [first, chance] : own) {
      Offer begun;
      for (std::vector<Token> path : first) {
        path.insert(path.begin(), way.token);
        begun.insert(std::move(path));
      }
      for (const auto& [second, other_chance] : others) {
        Offer both = begun;
        both.insert(second.begin(), second.end());
        law[std::move(both)] += way.probability * chance * other_chance;
      }
    }
  }
  return law;
}

/// One path so far: its probabilities, and the largest of 1, R_1, .., R_i.
struct Path {
  Context tokens;
  Exact target = 1;
  Exact draft = 1;
  Exact largest_ratio = 1;
};

/// Sum of `value` over all drafted paths of at least one token.
Exact sum_over_paths(const ModelCase& tiny, const Path& path, Exact (*value)(const Path&)) {
  const int node = static_cast<int>(path.tokens.size());
  if (node == tiny.draft_count()) return 0;
  Exact sum = 0;
  for (const rules::DrawnChild& way : rules::next_child(tiny, path.tokens, {}, 1)) {
    Path next{rules::longer(path.tokens, way.token),
              Exact(path.target * tiny.target->row(path.tokens)[way.token]),
              Exact(path.draft * way.probability), path.largest_ratio};
    next.largest_ratio = std::max(next.largest_ratio, Exact(next.target / next.draft));
    sum += value(next) + sum_over_paths(tiny, next, value);
  }
  return sum;
}

}  // namespace

OfferLaw offers(const ModelCase& tiny, int depth) {
  DRAFTPROOF_CHECK(depth >= 1, std::to_string(depth));
  std::vector<Token> none;
  return offered_below(tiny, {}, -1, depth, none);
}

Exact matched_by_flow(const OfferLaw& offers, const SequenceLaw& target) {
  // 0: source, 1: sink, then the offers, then the sequences.
  const int first_sequence = 2 + static_cast<int>(offers.size());
  MaximumFlow flow(first_sequence + static_cast<int>(target.size()));
  std::map<std::vector<Token>, int> number;
  for (const auto& [sequence, probability] : target) {
    number[sequence] = first_sequence + static_cast<int>(number.size());
    flow.add_edge(number[sequence], 1, probability);
  }
  int node = 2;
  for (const auto& [offer, probability] : offers) {
    flow.add_edge(0, node, probability);
    for (const auto& path : offer)
      if (number.contains(path)) flow.add_edge(node, number[path], probability);
    ++node;
  }
  return flow.maximum(0, 1);
}

Exact matched_by_sets(const OfferLaw& offers, const SequenceLaw& target) {
  constexpr std::size_t kSequencesMax = 20;
  if (target.size() > kSequencesMax)
    throw Error(ErrorKind::kInput, std::to_string(target.size()) +
                                       " sequences have too many subsets; take at most " +
                                       std::to_string(kSequencesMax));
  std::map<std::vector<Token>, unsigned> bit;
  for (const auto& [sequence, probability] : target)
    bit[sequence] = 1U << static_cast<unsigned>(bit.size());
  // An offered path that the target never takes may join H for nothing, so it needs no bit.
  std::map<unsigned, Exact> offered;
  for (const auto& [offer, probability] : offers) {
    unsigned mask = 0;
    for (const auto& path : offer)
      if (const auto found = bit.find(path); found != bit.end()) mask |= found->second;
    offered[mask] += probability;
  }
  Exact least = 1;
  for (unsigned set = 0; set < (1U << bit.size()); ++set) {
    Exact cut = 1;
    for (const auto& [sequence, probability] : target)
      if (set & bit[sequence]) cut += probability;
    for (const auto& [mask, probability] : offered)
      if ((mask & ~set) == 0) cut -= probability;
    least = std::min(least, cut);
  }
  return least;
}

Exact optimum_of_independent(const LawRow& target, const LawRow& draft, int count) {
  DRAFTPROOF_CHECK(target.size() == draft.size() && count >= 0, std::to_string(count));
  std::vector<std::size_t> order;
  for (std::size_t v = 0; v < draft.size(); ++v)
    if (draft[v] > 0) order.push_back(v);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return target[a] * draft[b] < target[b] * draft[a];
  });
  Exact least = count == 0 ? 0 : 1;
  Exact target_mass = 0;
  Exact draft_mass = 0;
  for (std::size_t v : order) {
    target_mass += target[v];
    draft_mass += draft[v];
    Exact all_inside = 1;
    for (int i = 0; i < count; ++i) all_inside *= draft_mass;
    least = std::min(least, Exact(target_mass + 1 - all_inside));
  }
  return least;
}

Exact optimum_of_largest_then_drawn(const LawRow& target, const LawRow& draft, int count) {
  DRAFTPROOF_CHECK(target.size() == draft.size() && count >= 1, std::to_string(count));
  std::vector<std::size_t> order(draft.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return draft[b] < draft[a]; });
  const auto fixed = std::min(order.size(), static_cast<std::size_t>(count - 1));
  Exact matched = 0;
  Exact rest = 1;
  for (std::size_t i = 0; i < fixed; ++i) {
    matched += target[order[i]];
    rest -= draft[order[i]];
  }
  for (std::size_t i = fixed; i < order.size() && rest > 0; ++i)
    matched += std::min(target[order[i]], Exact(draft[order[i]] / rest));
  return matched;
}

Exact block_optimum(const ModelCase& tiny) {
  DRAFTPROOF_CHECK(is_chain(tiny), "not a chain");
  return 1 + sum_over_paths(tiny, {}, [](const Path& path) {
           return Exact(path.target / path.largest_ratio);
         });
}

Exact full_information_bound(const ModelCase& tiny) {
  DRAFTPROOF_CHECK(is_chain(tiny), "not a chain");
  return 1 + sum_over_paths(tiny, {},
                            [](const Path& path) { return std::min(path.target, path.draft); });
}

LosslessOptimum lossless_optimum(const ModelCase& tiny) {
  if (is_chain(tiny))
    return {block_optimum(tiny), "one path: no lossless rule emits more than block verification",
            true};
  const int deepest = depth_of(tiny);
  LosslessOptimum optimum{1, "every depth matched as well as possible on its own", false};
  for (int depth = 1; depth <= deepest; ++depth)
    optimum.emitted += matched_by_flow(offers(tiny, depth), target_law(*tiny.target, depth));
  if (tiny.siblings == SiblingDraw::kLargest) {
    optimum.statement = "a draft known beforehand: the target's probability of every path in it";
    optimum.is_reached = true;
  } else if (deepest == 1) {
    optimum.statement = "one position: the best coupling of candidates and target";
    optimum.is_reached = true;
  }
  return optimum;
}

}  // namespace draftproof::reference::law
