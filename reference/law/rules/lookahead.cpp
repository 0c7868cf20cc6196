// Multilevel sampling of Lookahead decoding: n-grams that begin where the base context ends,
// verified level by level together. Fu et al., "Break the sequential dependency of LLM inference
// using lookahead decoding" (ICML 2024, arXiv:2402.02057), algorithm 4; reference code of 2025-03,
// jacobi_sample_multilevel. Equal tokens of several n-grams are one node of a trie: once a token is
// accepted, every n-gram that has it goes on. Where a whole n-gram was accepted the reference code
// emits no bonus token, which keeps the law and costs length.
#include <algorithm>
#include <span>

#include "reference/law/rules/drawn_children.h"
#include "reference/law/rules/rules.h"

namespace draftproof::reference::law::rules {
namespace {

/// Accepts each candidate's token with what is left of the target's probability of it; a rejected
/// token is struck out. The accepted node, or -1.
int test_level(const DraftTree& draft, const std::vector<int>& candidates, int depth, LawRow& rest,
               Chooser& chooser) {
  int slot = 0;
  for (int candidate : candidates) {
    const auto token = static_cast<std::size_t>(draft.nodes[candidate].token);
    if (chooser.accept(rest[token], {depth, Purpose::kAccept, slot++})) return candidate;
    const Exact left = 1 - rest[token];
    rest[token] = 0;
    for (Exact& probability : rest) probability /= left;
  }
  return -1;
}

Decision lookahead(const Verification& step, bool has_bonus, Chooser& chooser) {
  const DraftTree& draft = step.draft;
  int deepest = 0;
  for (int node = 0; node < draft.size(); ++node) deepest = std::max(deepest, draft.depth(node));
  int node = -1;
  std::vector<int> candidates = draft.children(-1);
  while (true) {
    const int depth = draft.depth(node);
    LawRow rest = step.behind(node);
    const int accepted = test_level(draft, candidates, depth, rest, chooser);
    if (accepted < 0) {
      const bool is_whole = depth > 0 && depth == deepest;
      Decision decision{draft.path(node), {}};
      const Purpose purpose = candidates.empty() ? Purpose::kBonus : Purpose::kRecovered;
      if (!is_whole || has_bonus) decision.last = chooser.draw(rest, {depth, purpose});
      return decision;
    }
    std::vector<int> next;
    for (int candidate : candidates)
      if (draft.nodes[candidate].token == draft.nodes[accepted].token)
        for (int child : draft.children(candidate)) next.push_back(child);
    node = accepted;
    candidates = std::move(next);
  }
}

/// Probability that a path of `tokens` is in the tree that is drafted below `node`.
Exact drafted(const ModelCase& tiny, const Context& context, int node, std::vector<Token>& before,
              std::span<const Token> tokens) {
  if (tokens.empty()) return 1;
  const std::vector<int> children = shape_children(tiny, node);
  if (before.size() == children.size()) return 0;
  const int child = children[before.size()];
  Exact sum = 0;
  for (const DrawnChild& way : next_child(tiny, context, before, children.size())) {
    std::vector<Token> none;
    const Exact own = way.token == tokens.front() ? drafted(tiny, longer(context, way.token), child,
                                                            none, tokens.subspan(1))
                                                  : Exact(0);
    before.push_back(way.token);
    sum += way.probability * (own + (1 - own) * drafted(tiny, context, node, before, tokens));
    before.pop_back();
  }
  return sum;
}

/// Sum over paths of `remaining` more tokens of target x drafted.
Exact followed(const ModelCase& tiny, Context& path, int remaining) {
  std::vector<Token> none;
  if (remaining == 0) return drafted(tiny, {}, -1, none, path);
  Exact sum = 0;
  const LawRow target = tiny.target->row(path);
  for (Token x = 0; x < tiny.vocab_size(); ++x) {
    if (target[x] == 0) continue;
    path.push_back(x);
    sum += target[x] * followed(tiny, path, remaining - 1);
    path.pop_back();
  }
  return sum;
}

/// 1 + sum over nodes of the trie of the target's probability of their path, without the deepest
/// ones where there is no bonus.
Exact expected(const ModelCase& tiny, bool has_bonus) {
  int deepest = 0;
  for (int node = 0; node < tiny.draft_count(); ++node) {
    int depth = 0;
    for (int above = node; above >= 0; above = tiny.parents[above]) ++depth;
    deepest = std::max(deepest, depth);
  }
  Exact sum = 1;
  Context path;
  for (int depth = 1; depth <= (has_bonus ? deepest : deepest - 1); ++depth)
    sum += followed(tiny, path, depth);
  return sum;
}

}  // namespace

LawRule lookahead_rule() {
  LawRule rule;
  rule.name = "lookahead";
  rule.citation = "Fu et al., ICML 2024, algorithm 4; reference code (2025-03)";
  rule.acceptance = "each n-gram in turn: r(x), r = target at first; equal tokens go on together";
  rule.recovered = "target without the rejected tokens, normalised";
  rule.bonus = "none behind a whole n-gram; with bonus = 1: target";
  rule.conditions = "any n-grams of one length that do not depend on the coins";
  rule.shape = TakenShape::kTree;
  rule.options = {{"bonus", 0, 0, 1, "1: emit a token behind a whole n-gram too"}};
  rule.provenance = {"target K/V of window and guesses is dropped, the accepted guess's is copied",
                     "LookaheadDecoding (2025-03)",
                     "",
                     "one target pass over the window and all n-grams",
                     "not known",
                     "not known"};
  rule.make = [](const OptionValues& values) -> RuleFunction {
    return [has_bonus = values.at("bonus") != 0](const Verification& step, Chooser& chooser) {
      return lookahead(step, has_bonus, chooser);
    };
  };
  rule.expected_emitted = [](const ModelCase& tiny, const OptionValues& values) {
    return expected(tiny, values.at("bonus") != 0);
  };
  return rule;
}

}  // namespace draftproof::reference::law::rules
