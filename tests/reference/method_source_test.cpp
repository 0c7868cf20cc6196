// Methods as draft sources: all of them run through a plain verify loop, or are refused by name.
#include "reference/decode/method_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/draft/functions.h"
#include "reference/error.h"
#include "tests/reference/draft_cases.h"
#include "tests/reference/naive_request.h"

namespace draftproof::reference::decode {
namespace {

MethodParts parts_of(std::string_view name, std::string_view toy = "") {
  const draft::Method& method = draft::method(name);
  return method_engine_parts(method, model::toy(toy.empty() ? method.toys.front() : toy));
}

bool is_refused(const draft::Method& method) {
  try {
    method_engine_parts(method, model::toy(method.toys.front()));
    return false;
  } catch (const Error&) {
    return true;
  }
}

std::vector<const draft::Method*> served_methods() {
  std::vector<const draft::Method*> served;
  for (const draft::Method& method : draft::methods())
    if (!is_refused(method)) served.push_back(&method);
  return served;
}

TEST(MethodSource, ServesAllMethodsButThoseWhoseRuleHasNoVerifierOfMasses) {
  std::vector<std::string> refused;
  for (const draft::Method& method : draft::methods())
    if (is_refused(method)) refused.push_back(method.name);
  EXPECT_THAT(refused, testing::ElementsAre("lookahead"));
  EXPECT_EQ(served_methods().size(), 72u);
}

TEST(MethodSource, NamesTheRuleThatItCannotServe) {
  try {
    parts_of("lookahead");
    FAIL() << "served";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("method 'lookahead': its rule 'lookahead'"));
  }
}

TEST(MethodSource, RunsEveryServedMethodForTwentySteps) {
  for (const draft::Method* method : served_methods()) {
    int drafted = 0;
    for (const std::string& toy : method->toys) {
      SCOPED_TRACE(method->name + " on " + toy);
      const MethodParts parts = method_engine_parts(*method, model::toy(toy));
      EXPECT_EQ(parts.rule, method->rule);
      EXPECT_EQ(parts.drafts->name(), method->name);
      EXPECT_EQ(parts.drafts->model(), nullptr);
      NaiveRequest request(parts, 1, 7);
      const std::size_t prompt_size = request.tokens.size();
      law::Memory shared;
      for (int i = 0; i < 20; ++i) drafted += request.step(shared);
      EXPECT_EQ(request.tokens.size(),
                prompt_size + 20 + static_cast<std::size_t>(request.accepted_count));
    }
    EXPECT_GT(drafted, 0) << method->name;
  }
}

TEST(MethodSource, DraftsForTheTargetThatTheMethodDerives) {
  const model::Toy& toy = model::toy("full-memory");
  const MethodParts parts = parts_of("eagle", toy.name);
  const law::Decoding decoding = draft::method("eagle").make(toy);
  const std::vector<Token> seen = {1, 2, 0};
  EXPECT_EQ(parts.target->row({.tokens = seen}),
            toy_language_model(decoding.target)->row({.tokens = seen}));
  EXPECT_EQ(parts.prompt, decoding.prompt);
  EXPECT_EQ(parts.draft_count, 4) << "two siblings with one child each";
}

/// Where the coin turns a draw over two tokens: exact for all 2^64 coins.
TEST(MethodSource, DrawsWithTheMassesOfTheRowItReports) {
  const MethodParts parts = parts_of("draft-model", "two-tokens");
  NaiveRequest request(parts, 1, 7);
  const auto draft_by = [&](std::uint64_t coin) {
    ScriptedCoins coins(coin);
    DraftTask task;
    task.tokens = request.tokens;
    task.draft_count_max = 1;
    task.coins = &coins;
    law::Memory own, shared;
    return parts.drafts->draft(task, own, shared);
  };
  const Draft draft = draft_by(0);
  ASSERT_EQ(draft.kind, RowKind::kProbabilities);
  ASSERT_EQ(draft.proposal.rows.size(), 1u);
  const LawRow& due = model::toy("two-tokens").draft->row(request.tokens);
  for (std::size_t v = 0; v < 2; ++v)
    EXPECT_EQ(draft.proposal.rows[0][v], static_cast<float>(due[v].convert_to<double>()));
  const MassRow law = from_probabilities(draft.proposal.rows[0]);
  const std::uint64_t turn = breakpoint(law.mass[0], law.total);
  EXPECT_EQ(draft_by(turn - 1).proposal.tokens, (std::vector<Token>{0}));
  EXPECT_EQ(draft_by(turn).proposal.tokens, (std::vector<Token>{1}));
}

/// A decoding over three tokens that drafts by `functions`.
law::Decoding decoding_of(draft::DraftFunctions functions, int draft_count = 4) {
  return draft::decoding_by(model::toy("full-memory").target, std::move(functions), "chain",
                            draft_count, {0});
}

Draft drafted_by(const DraftSource& source, const Coins& coins, int draft_count_max,
                 std::uint32_t request = 3) {
  const std::vector<Token> tokens = {0, 1};
  DraftTask task;
  task.coin_request = request;
  task.position = 20;
  task.iteration = 6;
  task.tokens = tokens;
  task.draft_count_max = draft_count_max;
  task.coins = &coins;
  law::Memory own, shared;
  return source.draft(task, own, shared);
}

TEST(MethodSource, AcceptsExactlyBelowTheProbability) {
  Exact probability;
  draft::DraftFunctions functions;
  functions.draft = [&](const law::StepBegin&, const law::Memory&, law::Chooser& chooser) {
    law::DraftTree tree;
    const bool kept = chooser.accept(probability, {1, Purpose::kDraft, 2});
    law::append(tree, kept ? 1 : 0, {});
    return tree;
  };
  const DraftSourcePtr source = method_source(decoding_of(functions), "test");
  const auto is_kept = [&](const Exact& threshold, std::uint64_t coin) {
    probability = threshold;
    ScriptedCoins coins(~coin);
    coins.set({3, 21, Purpose::kDraft, 2, 6}, coin);
    return drafted_by(*source, coins, 1).proposal.tokens.at(0) == 1;
  };
  constexpr std::uint64_t kThird = 6148914691236517205;  // 3 kThird = 2^64 - 1
  EXPECT_TRUE(is_kept(Exact(1, 3), kThird));
  EXPECT_FALSE(is_kept(Exact(1, 3), kThird + 1));
  EXPECT_FALSE(is_kept(Exact(1, 2), std::uint64_t{1} << 63));
  EXPECT_TRUE(is_kept(Exact(1, 2), (std::uint64_t{1} << 63) - 1));
  EXPECT_TRUE(is_kept(Exact(1), ~std::uint64_t{0}));
  EXPECT_FALSE(is_kept(Exact(0), 0));
}

TEST(MethodSource, AsksForCoinsOfTheDraftOnly) {
  draft::DraftFunctions functions;
  functions.draft = [](const law::StepBegin&, const law::Memory&, law::Chooser& chooser) {
    chooser.accept(Exact(1, 2), {0, Purpose::kAccept, 0});
    return law::DraftTree{};
  };
  const DraftSourcePtr source = method_source(decoding_of(functions), "test");
  EXPECT_THROW(drafted_by(*source, PhiloxCoins(1), 1), BrokenInvariant);
}

TEST(MethodSource, CutsADraftInItsOwnOrderAndWritesOneHotRowsOut) {
  const LawRow row = {Exact(1, 4), Exact(1, 4), Exact(1, 2)};
  draft::DraftFunctions functions;
  functions.draft = [&](const law::StepBegin& begin, const law::Memory&, law::Chooser&) {
    law::DraftTree tree;
    law::add_child(tree, -1, 2, row);
    law::add_child(tree, -1, 1, {});
    law::add_child(tree, 0, 0, row);
    EXPECT_EQ(begin.draft_count, 2) << "what the method drafts, if the task has room";
    return tree;
  };
  const DraftSourcePtr source = method_source(decoding_of(functions, 2), "test");
  const Draft whole = drafted_by(*source, PhiloxCoins(1), 5);
  const Proposal due{
      {2, 1, 0}, {{0.25f, 0.25f, 0.5f}, {0, 1, 0}, {0.25f, 0.25f, 0.5f}}, {-1, -1, 0}};
  EXPECT_EQ(whole.proposal, due);
  EXPECT_EQ(whole.kind, RowKind::kProbabilities);
  const Draft cut = drafted_by(*source, PhiloxCoins(1), 2);
  EXPECT_EQ(cut.proposal.tokens, (std::vector<Token>{2, 1}));
  EXPECT_EQ(cut.proposal.parents, (std::vector<int>{-1, -1}));
}

/// Learns every token it is told of, and drafts how many those are.
draft::DraftFunctions counting() {
  draft::DraftFunctions functions;
  functions.initial = [](const Context& context) {
    return law::Memory{static_cast<std::int64_t>(context.size()), 0};
  };
  functions.draft = [](const law::StepBegin& begin, const law::Memory& memory, law::Chooser&) {
    EXPECT_EQ(memory[0], static_cast<std::int64_t>(begin.context.size()));
    law::DraftTree tree;
    law::append(tree, static_cast<Token>(memory[1] % 3), {});
    return tree;
  };
  functions.commit = [](const law::StepEnd& end, const law::Memory& memory) {
    EXPECT_EQ(memory[0], static_cast<std::int64_t>(end.before.size()));
    EXPECT_EQ(end.request, 3);
    EXPECT_EQ(law::emission_of(end.draft, end.decision).tokens,
              Context(end.after.begin() + static_cast<std::ptrdiff_t>(end.before.size()),
                      end.after.end()));
    return law::Memory{static_cast<std::int64_t>(end.after.size()), memory[1] + 1};
  };
  return functions;
}

TEST(MethodSource, TellsTheDrafterWhatWasKept) {
  const DraftSourcePtr source = method_source(decoding_of(counting()), "test");
  std::vector<Token> tokens = {0, 1};
  law::Memory own, shared;
  DraftTask task;
  task.coin_request = 3;
  task.draft_count_max = 2;
  const PhiloxCoins coins(1);
  task.coins = &coins;
  const auto draft = [&] {
    task.tokens = tokens;
    return source->draft(task, own, shared);
  };
  const std::vector<int> first = {0};
  Draft drafted = draft();
  EXPECT_EQ(drafted.proposal.tokens, (std::vector<Token>{0}));
  tokens.insert(tokens.end(), {0, 2});
  source->commit(drafted, first, tokens, own, shared);
  drafted = draft();
  EXPECT_EQ(drafted.proposal.tokens, (std::vector<Token>{1}));
  tokens.push_back(1);  // accepted, and the request's end behind it
  source->commit(drafted, first, tokens, own, shared);
  drafted = draft();
  EXPECT_EQ(drafted.proposal.tokens, (std::vector<Token>{2}));

  EXPECT_EQ(draft().proposal.tokens, (std::vector<Token>{0})) << "the draft before was dropped";
  tokens.push_back(2);
  source->commit(Draft{}, {}, tokens, own, shared);
  EXPECT_EQ(draft().proposal.tokens, (std::vector<Token>{0})) << "a token came without a draft";
}

TEST(MethodSource, DraftsAnewWhenADraftWasDropped) {
  for (const draft::Method* method : served_methods()) {
    SCOPED_TRACE(method->name);
    const MethodParts parts = parts_of(method->name);
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      NaiveRequest request(parts, 1, seed);
      law::Memory shared;
      for (int i = 0; i < 5; ++i) request.step(shared);
      request.draft(shared);  // dropped
      NaiveRequest other = request;
      other.own = {};
      law::Memory others = shared;
      EXPECT_EQ(request.draft(shared), other.draft(others));
    }
  }
}

/// What the source must not do: hand a drafter what it kept of a draft that was dropped. Ahead
/// drafts are then served for a context that they were not drawn for.
TEST(MethodSource, WouldDraftForAnotherContextIfItKeptTheMemoryOfADroppedDraft) {
  const MethodParts parts = parts_of("ssd");
  int different = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    NaiveRequest request(parts, 1, seed);
    law::Memory shared;
    request.draft(shared);
    ASSERT_EQ(request.own.at(2), 1) << "unsettled";
    NaiveRequest keeping = request;
    keeping.own.at(2) = 0;
    const Draft right = request.draft(shared);
    const Draft wrong = keeping.draft(shared);
    EXPECT_EQ(right.proposal.rows, wrong.proposal.rows);
    different += right == wrong ? 0 : 1;
  }
  EXPECT_GT(different, 0);
}

TEST(MethodSource, KeepsRequestsApart) {
  int apart_count = 0;
  for (const draft::Method* method : served_methods()) {
    SCOPED_TRACE(method->name);
    const MethodParts parts = parts_of(method->name);
    NaiveRequest first(parts, 1, 7), second(parts, 2, 8), alone(parts, 2, 8);
    law::Memory shared, of_alone;
    for (int i = 0; i < 6; ++i) {
      first.step(shared);
      second.step(shared);
      alone.step(of_alone);
    }
    if (!shared.empty()) continue;  // what one request leaves is the other's by design
    ++apart_count;
    EXPECT_EQ(second.tokens, alone.tokens);
    EXPECT_EQ(second.own, alone.own);
  }
  EXPECT_GE(apart_count, 65) << "of 72, the others share a memory";
}

/// The greatest distance between how often the first two tokens behind the prompt are two certain
/// ones and how likely the target makes them, over `count` requests.
double worst_pair(const MethodParts& parts, int count) {
  const int vocab_size = parts.target->vocab_size();
  std::vector<int> seen(static_cast<std::size_t>(vocab_size * vocab_size), 0);
  const auto verifier_of = [&](std::uint64_t seed) { return NaiveRequest(parts, 1, seed); };
  for (int run = 0; run < count; ++run) {
    NaiveRequest request = verifier_of(static_cast<std::uint64_t>(run));
    const std::size_t base = request.tokens.size();
    law::Memory shared;
    while (request.tokens.size() < base + 2) request.step(shared);
    ++seen[static_cast<std::size_t>(request.tokens[base] * vocab_size + request.tokens[base + 1])];
  }
  const NaiveRequest empty = verifier_of(0);
  double worst = 0;
  for (Token x = 0; x < vocab_size; ++x)
    for (Token y = 0; y < vocab_size; ++y) {
      const double due = std::exp(static_cast<double>(empty.row_behind({})[x])) *
                         std::exp(static_cast<double>(empty.row_behind({x})[y]));
      EXPECT_TRUE(std::isfinite(due));
      const double found = seen[static_cast<std::size_t>(x * vocab_size + y)];
      worst = std::max(worst, std::abs(found / count - due));
    }
  return worst;
}

/// Hoeffding, nine pairs and three methods: off by more than sqrt(ln(2 x 27 / a) / 2n) with
/// probability below a; for a = 10^-9 and n = 2,000 that is 0.0787.
TEST(MethodSource, IsLosslessOverTwoIterationsWithItsMemory) {
  for (const std::string_view name : {"ssd", "eagle", "hierarchical"})
    EXPECT_LT(worst_pair(parts_of(name), 2'000), 0.0787) << name;
}

TEST(MethodSource, IsSeenToBeLossyWhenItsRowsAreNotThoseItDrewFrom) {
  /// Reports rows back to front.
  class Misreporting final : public DraftSource {
   public:
    explicit Misreporting(DraftSourcePtr inner) : inner_(std::move(inner)) {}
    std::string name() const override { return "misreporting"; }
    Draft draft(const DraftTask& task, law::Memory& own, law::Memory& shared) const override {
      Draft draft = inner_->draft(task, own, shared);
      for (Row& row : draft.proposal.rows) std::reverse(row.begin(), row.end());
      return draft;
    }

   private:
    DraftSourcePtr inner_;
  };
  MethodParts parts = parts_of("draft-model", "textbook");
  parts.drafts = std::make_shared<Misreporting>(parts.drafts);
  EXPECT_GT(worst_pair(parts, 2'000), 0.0787);
}

}  // namespace
}  // namespace draftproof::reference::decode
