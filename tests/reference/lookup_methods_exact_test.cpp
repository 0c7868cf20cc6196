// Lookups as methods: the law of what is decoded with them is the target's, exactly, and every
// iteration emits as many tokens as follow from what was found, over the emitted history and not
// only behind the prompt. The expected lengths are computed here without any rule or coin.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "reference/draft/lookup/ngram_pool.h"
#include "reference/draft/method.h"
#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

constexpr int kHorizon = 4;
constexpr int kIterations = 3;

std::vector<model::Toy> toys_of(const Method& method) {
  std::vector<model::Toy> toys;
  for (const std::string& name : method.toys) toys.push_back(model::toy(name));
  return toys;
}

/// Lookups never draw.
class NoCoins final : public law::Chooser {
 public:
  bool accept(const Exact&, const law::CoinUse&) override { return refuse() != 0; }
  Token draw(const LawRow&, const law::CoinUse&) override { return refuse(); }

 private:
  static Token refuse() { throw Error(ErrorKind::kInput, "a lookup asked for a coin"); }
};

struct Reached {
  Context context;
  law::Memory own;
  law::Memory shared;
  auto key() const { return std::tie(context, own, shared); }
  friend bool operator<(const Reached& a, const Reached& b) { return a.key() < b.key(); }
};

/// Draws from the target until it leaves the tree: what every one-hot rule amounts to. `has_bonus`:
/// a token is emitted behind a leaf too.
void follow(const law::Decoding& decoding, const law::DraftTree& tree, const Context& base,
            bool has_bonus, law::Decision decision, const Exact& reach,
            const std::function<void(const law::Decision&, const Exact&)>& ended) {
  Context context = base;
  for (const Token token : tree.tokens_to(decision.node())) context.push_back(token);
  // Equal tokens of several guesses go on together, so children are those of all equal paths.
  std::map<Token, int> children;
  for (int node = 0; node < tree.size(); ++node)
    if (tree.tokens_to(tree.nodes[node].parent) == tree.tokens_to(decision.node()))
      children.try_emplace(tree.nodes[node].token, node);
  if (children.empty() && !has_bonus && decision.node() >= 0) {
    ended(decision, reach);
    return;
  }
  const LawRow& row = decoding.target->row(context);
  for (std::size_t x = 0; x < row.size(); ++x) {
    if (row[x] == 0) continue;
    law::Decision next = decision;
    const auto child = children.find(static_cast<Token>(x));
    if (child == children.end()) {
      next.last = static_cast<Token>(x);
      ended(next, reach * row[x]);
    } else {
      next.accepted = tree.path(child->second);
      follow(decoding, tree, base, has_bonus, next, reach * row[x], ended);
    }
  }
}

/// Expected length of iterations 1 to kIterations.
std::vector<Exact> expected_by_following(const Method& method, const model::Toy& toy) {
  const law::Decoding decoding = method.make(toy);
  NoCoins none;
  std::map<Reached, Exact> now = {
      {{decoding.prompt, decoding.drafter->initial(decoding.prompt), {}}, Exact(1)}};
  std::vector<Exact> expected;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    std::map<Reached, Exact> next;
    Exact sum = 0;
    for (const auto& [at, probability] : now) {
      Reached state = at;
      const law::DraftTree tree = decoding.drafter->draft({at.context, decoding.draft_count, 0},
                                                          state.own, state.shared, none);
      follow(decoding, tree, at.context, method.rule != "lookahead", {}, probability,
             [&](const law::Decision& decision, const Exact& reach) {
               Reached end = state;
               for (const Token token : law::emission_of(tree, decision).tokens)
                 end.context.push_back(token);
               sum += reach * static_cast<int>(end.context.size() - at.context.size());
               decoding.drafter->commit({at.context, tree, decision, end.context, 0}, end.own,
                                        end.shared);
               next[end] += reach;
             });
    }
    expected.push_back(sum);
    now = std::move(next);
  }
  return expected;
}

TEST(LookupMethods, HaveTheTargetsLawExactlyUnderTheirEnginesCoins) {
  for (const Method& method : lookup_methods())
    for (const model::Toy& toy : toys_of(method))
      EXPECT_EQ(law::sequence_distance(method.make(toy), kHorizon), 0)
          << method.name << " " << toy.name;
}

TEST(LookupMethods, EmitInEveryIterationWhatFollowsFromWhatWasFound) {
  for (const Method& method : lookup_methods()) {
    for (const model::Toy& toy : toys_of(method)) {
      const auto enumerated = law::expected_by_iteration(method.make(toy), kIterations);
      const std::vector<Exact> followed = expected_by_following(method, toy);
      for (int k = 0; k < kIterations; ++k)
        EXPECT_EQ(enumerated[k], followed[k]) << method.name << " " << toy.name << " " << k;
      EXPECT_EQ(followed[0], method.expected_emitted(toy)) << method.name << " " << toy.name;
    }
  }
}

TEST(LookupMethods, FindSomethingOnTheirFirstToy) {
  for (const Method& method : lookup_methods()) {
    EXPECT_EQ(method.toys.size(), 5u);
    const model::Toy& toy = model::toy(method.toys.front());
    Exact most = 0;
    for (const Exact& expected : expected_by_following(method, toy))
      most = std::max(most, expected);
    EXPECT_GT(most, 1) << method.name;
  }
}

TEST(LookupMethods, HaveTheirLengthByHandOnTheCopyingToy) {
  // 0 1 2 0 1 is followed by 2, 0 in the table, by 0, 1 in truth: 1/24, and then 1/24 again.
  for (const Method& method : lookup_methods()) {
    if (method.name != "ngram-vllm" && method.name != "prompt-lookup") continue;
    EXPECT_EQ(method.expected_emitted(model::toy("copying")), 1 + Exact(1, 24) + Exact(1, 576));
  }
}

TEST(LookupMethods, ShareTheirPoolWithoutChangingAnyLaw) {
  for (const Method& method : lookup_methods()) {
    law::Decoding first = method.make(model::toy("two-tokens"));
    law::Decoding second = first;
    second.prompt = {1, 1, 0, 1, 0};
    const std::vector<law::Decoding> batch = {first, second};
    EXPECT_EQ(law::total_variation(law::batch_law(batch, 2), law::batch_target_law(batch, 2)), 0)
        << method.name;
  }
}

TEST(LookupMethods, KeepTheirLawToTheEnd) {
  for (const Method& method : lookup_methods()) {
    law::Decoding decoding = method.make(model::toy("markov"));
    decoding.limits.eos = 1;
    decoding.limits.token_count_max = 3;
    EXPECT_EQ(law::sequence_distance(decoding, 3), 0) << method.name;
    decoding.limits = {};
    decoding.draft_count = 0;
    EXPECT_EQ(law::sequence_distance(decoding, 2), 0) << method.name;
  }
}

// What one request's pool says changes how many tokens another emits, and nothing else.
TEST(LookupMethods, OfAPublicPoolAreLongerForWhatOthersSaid) {
  for (const Method& method : lookup_methods()) {
    if (method.name != "ngram-trtllm") continue;
    law::Decoding alone = method.make(model::toy("copying"));
    alone.prompt = {2, 0, 1};
    law::Decoding other = alone;
    other.prompt = {0, 1, 0, 1, 0};
    const auto expected = law::expected_of_batch({other, alone}, 1);
    EXPECT_EQ(law::expected_by_iteration(alone, 1).front(), Exact(1)) << "nothing is known";
    // 0 1 was followed by 0, 1 in the other request; in truth by 0 (7/8 + 1/24), then by 1.
    const Exact copied = Exact(7, 8) + Exact(1, 24);
    EXPECT_EQ(expected[1].front(), 1 + copied + copied * copied);
  }
}

}  // namespace
}  // namespace draftproof::reference::draft
