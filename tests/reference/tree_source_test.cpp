// Trees: their shape, the row and coin of every node, what is cut and what is fed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "reference/decode/ledger.h"
#include "reference/error.h"
#include "reference/verify/verifiers.h"
#include "tests/reference/draft_cases.h"

namespace draftproof::reference::decode {
namespace {

constexpr int kVocab = 6;
constexpr float kNothing = -std::numeric_limits<float>::infinity();

LanguageModelPtr some_model(std::uint64_t seed = 3) {
  return hashed_model({.vocab_size = kVocab, .seed = seed});
}

int depth_of(const Proposal& proposal, int node) {
  return static_cast<int>(path_of(proposal, node).size());
}

std::vector<Token> children_of(const Proposal& proposal, int node) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < proposal.tokens.size(); ++i)
    if (parent_of(proposal, static_cast<int>(i)) == node) tokens.push_back(proposal.tokens[i]);
  return tokens;
}

/// The serial row behind a node's parent, without the siblings before it.
Row row_without_siblings(const DraftCase& draft_case, const LanguageModel& model,
                         const Proposal& proposal, int node) {
  const int parent = parent_of(proposal, node);
  Row row = draft_case.serial_row(model, path_of(proposal, parent));
  for (int before = 0; before < node; ++before)
    if (parent_of(proposal, before) == parent)
      row[static_cast<std::size_t>(proposal.tokens[static_cast<std::size_t>(before)])] = kNothing;
  return row;
}

void expect_breadth_first_with_cells(const DraftCase& draft_case, const Draft& draft) {
  const int count = static_cast<int>(draft.proposal.tokens.size());
  ASSERT_EQ(draft.proposal.parents.size(), draft.proposal.tokens.size());
  std::vector<int> with_children;
  for (int node = 0; node < count; ++node) {
    if (node > 0) {
      EXPECT_LE(parent_of(draft.proposal, node - 1), parent_of(draft.proposal, node));
    }
    if (!children_of(draft.proposal, node).empty()) with_children.push_back(node);
  }
  EXPECT_EQ(draft.fed_nodes, with_children);
  EXPECT_EQ(wrong_cell(draft_case, draft), std::nullopt);
}

TEST(TreeSource, GivesEveryNodeTheLikeliestChildrenOfItsRow) {
  const LanguageModelPtr model = some_model();
  DraftCase draft_case(random_tokens(3, 5, kVocab), kVocab, 20);
  const std::vector<int> widths = {3, 2, 1};
  const Draft draft = draft_case.draft(*tree_source(model, widths));
  ASSERT_EQ(draft.proposal.tokens.size(), 3u + 6u + 6u);
  EXPECT_EQ(draft.kind, RowKind::kOneHot);
  EXPECT_TRUE(draft.proposal.rows.empty());
  expect_breadth_first_with_cells(draft_case, draft);
  for (int node = -1; node < 9; ++node) {
    const Row row = draft_case.serial_row(*model, path_of(draft.proposal, node));
    std::vector<Token> due;
    for (int i = 0; i < widths[static_cast<std::size_t>(depth_of(draft.proposal, node))]; ++i) {
      Row rest = row;
      for (const Token token : due) rest[static_cast<std::size_t>(token)] = kNothing;
      due.push_back(static_cast<Token>(greedy_token(rest)));
    }
    EXPECT_EQ(children_of(draft.proposal, node), due);
  }
}

TEST(TreeSource, CutsWhatItWouldHaveAddedLast) {
  for (const auto make : {tree_source, sampled_tree_source}) {
    const DraftSourcePtr source = make(some_model(), {2, 2, 2});
    DraftCase whole_case(random_tokens(3, 5, kVocab), kVocab, 14);
    const Draft whole = whole_case.draft(*source);
    ASSERT_EQ(whole.proposal.tokens.size(), 14u);
    for (int count = 1; count <= 16; ++count) {
      DraftCase draft_case(random_tokens(3, 5, kVocab), kVocab, count);
      const Draft draft = draft_case.draft(*source);
      const auto size = static_cast<std::size_t>(std::min(count, 14));
      ASSERT_EQ(draft.proposal.tokens.size(), size);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(draft.proposal.tokens[i], whole.proposal.tokens[i]);
        EXPECT_EQ(draft.proposal.parents[i], whole.proposal.parents[i]);
      }
      expect_breadth_first_with_cells(draft_case, draft);
    }
  }
}

TEST(TreeSource, TakesTheLowestIdsFirstAndNothingOfNoProbability) {
  const auto model = std::make_shared<OneRow>(Row{0.0f, kNothing, 2.0f, -0.0f, 2.0f});
  DraftCase draft_case({0, 1}, 5, 9);
  EXPECT_EQ(draft_case.draft(*tree_source(model, {9})).proposal.tokens,
            (std::vector<Token>{2, 4, 0, 3}));
}

TEST(TreeSource, SeesTheWindowBehindEveryPath) {
  const LanguageModelPtr model = some_model();
  for (const int window : {1, 2, 5}) {
    DraftCase draft_case(random_tokens(8, 5, kVocab), kVocab, 14,
                         {.page_size = 2, .window = window});
    draft_case.task.sampling.temperature = 2;
    const Draft draft = draft_case.draft(*sampled_tree_source(model, {2, 2, 2}));
    for (int node = 0; node < 14; ++node)
      EXPECT_EQ(draft.proposal.rows[static_cast<std::size_t>(node)],
                row_without_siblings(draft_case, *model, draft.proposal, node));
  }
}

TEST(TreeSource, GrowsNothingBehindARowThatCannotBeJudged) {
  const auto model =
      std::make_shared<OneRow>(Row{0.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f});
  for (const auto make : {tree_source, sampled_tree_source}) {
    DraftCase draft_case({0, 2}, 3, 9);
    EXPECT_TRUE(draft_case.draft(*make(model, {2, 2})).proposal.tokens.empty());
  }
}

TEST(TreeSource, RefusesShapesWithoutChildren) {
  EXPECT_THROW(tree_source(some_model(), {}), Error);
  EXPECT_THROW(sampled_tree_source(some_model(), {2, 0}), Error);
}

TEST(SampledTreeSource, DrawsSiblingsFromTheirRowWithoutThoseBeforeThem) {
  const LanguageModelPtr model = some_model();
  const DraftSourcePtr source = sampled_tree_source(model, {3, 2, 1});
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DraftCase draft_case(random_tokens(seed, 5, kVocab), kVocab, 15, {}, seed);
    draft_case.task.sampling.temperature = 1.5;
    const Draft draft = draft_case.draft(*source);
    EXPECT_EQ(draft.kind, RowKind::kLogits);
    ASSERT_EQ(draft.proposal.tokens.size(), 15u);
    expect_breadth_first_with_cells(draft_case, draft);
    std::vector<std::uint32_t> slots(4, 0);
    for (int node = 0; node < 15; ++node) {
      const Row row = row_without_siblings(draft_case, *model, draft.proposal, node);
      EXPECT_EQ(draft.proposal.rows[static_cast<std::size_t>(node)], row);
      const MassRow law = shape(row, draft_case.task.sampling, draft_case.task.preset);
      const int depth = depth_of(draft.proposal, node);
      EXPECT_EQ(
          draft.proposal.tokens[static_cast<std::size_t>(node)],
          verify::draw(draft_case.coin(depth, slots[static_cast<std::size_t>(depth)]++), law));
    }
  }
}

TEST(SampledTreeSource, ReadsOneCoinANodeAndNoneTwice) {
  const PhiloxCoins philox(4);
  const RecordingCoins coins(philox);
  DraftCase draft_case(random_tokens(3, 5, kVocab), kVocab, 15);
  draft_case.task.coins = &coins;
  draft_case.draft(*sampled_tree_source(some_model(), {3, 2, 1}));
  const std::set<CoinAddress> addresses(coins.reads().begin(), coins.reads().end());
  EXPECT_EQ(coins.reads().size(), 15u);
  EXPECT_EQ(addresses.size(), 15u);
  for (const CoinAddress& address : addresses) {
    EXPECT_EQ(address.purpose, Purpose::kDraft);
    EXPECT_EQ(address.iteration, 9u);
    EXPECT_TRUE(address.position >= 40 && address.position < 43);
  }
}

TEST(SampledTreeSource, HasAsManySiblingsAsThereIsProbabilityFor) {
  const auto model = std::make_shared<OneRow>(Row{0.0f, kNothing, 2.0f, kNothing});
  DraftCase draft_case({0, 1}, 4, 9);
  EXPECT_EQ(draft_case.draft(*sampled_tree_source(model, {4})).proposal.tokens.size(), 2u);
  DraftCase greedy({0, 1}, 4, 9);
  greedy.task.sampling.temperature = 0;
  EXPECT_EQ(greedy.draft(*sampled_tree_source(model, {4, 4})).proposal.tokens,
            (std::vector<Token>{2, 0, 2, 0, 2, 0}))
      << "the likeliest, as nothing is drawn";
}

/// Exact for all coins: where the second coin turns, given each first sibling.
TEST(SampledTreeSource, DrawsTheSecondSiblingWithTheMassesThatAreLeft) {
  const Row row = {0.3f, -1.0f, 0.9f};
  const DraftSourcePtr source = sampled_tree_source(std::make_shared<OneRow>(row), {2});
  DraftCase draft_case({0, 1}, 3, 2);
  const auto law_of = [&](const Row& logits) {
    return shape(logits, draft_case.task.sampling, draft_case.task.preset);
  };
  const MassRow law = law_of(row);
  const std::vector<std::uint64_t> firsts = {0, breakpoint(law.mass[0], law.total),
                                             breakpoint(law.mass[0] + law.mass[1], law.total)};
  for (Token first = 0; first < 3; ++first) {
    const Token low = first == 0 ? 1 : 0;
    const Token high = first == 2 ? 1 : 2;
    Row rest = row;
    rest[static_cast<std::size_t>(first)] = kNothing;
    const MassRow left = law_of(rest);
    const std::uint64_t turn = breakpoint(left.mass[static_cast<std::size_t>(low)], left.total);
    for (const std::uint64_t second : {turn - 1, turn}) {
      ScriptedCoins coins;
      coins.set({5, 40, Purpose::kDraft, 0, 9}, firsts[static_cast<std::size_t>(first)]);
      coins.set({5, 40, Purpose::kDraft, 1, 9}, second);
      DraftCase fresh({0, 1}, 3, 2);
      fresh.task.coins = &coins;
      EXPECT_EQ(fresh.draft(*source).proposal.tokens,
                (std::vector<Token>{first, second < turn ? low : high}));
    }
  }
}

/// The greatest distance of an emitted token's frequency from its target probability, over so many
/// verifications of drafts of `source`, judged by `rule`.
double worst_frequency(const DraftSource& source, std::string_view rule, int count) {
  const Row target = {0.0f, 1.0f, -0.5f};
  const auto verifier = verify::make_verifier(rule);
  std::vector<int> seen(3, 0);
  for (int run = 0; run < count; ++run) {
    DraftCase draft_case({0, 1}, 3, 6, {}, static_cast<std::uint64_t>(run));
    const Draft draft = draft_case.draft(source);
    Batch batch;
    batch.vocab_size = 3;
    batch.preset = draft_case.task.preset;
    batch.draft_kind = draft.kind;
    Request request;
    request.id = draft_case.task.coin_request;
    request.position = draft_case.task.position;
    request.iteration = draft_case.task.iteration;
    request.proposal = draft.proposal;
    request.target_rows.assign(draft.proposal.tokens.size() + 1, target);
    batch.requests = {request};
    const Outcome outcome =
        verifier->verify(batch, PhiloxCoins(static_cast<std::uint64_t>(run)), {});
    EXPECT_EQ(outcome.requests[0].status, Status::kOk);
    ++seen[static_cast<std::size_t>(outcome.requests[0].emitted.at(0).token)];
  }
  const MassRow law = shape(target, {}, preset("default"));
  EXPECT_GT(law.total, 0u);
  double worst = 0;
  for (std::size_t v = 0; v < 3; ++v)
    worst = std::max(worst,
                     std::abs(seen[v] / static_cast<double>(count) -
                              static_cast<double>(law.mass[v]) / static_cast<double>(law.total)));
  return worst;
}

/// Hoeffding, three tokens: off by more than sqrt(ln(2 x 3 / a) / 2n) with probability below a, for
/// a = 10^-9 and n = 5,000 that is 0.0475.
TEST(SampledTreeSource, IsDrawnAsTheRulesForItSuppose) {
  const auto model = std::make_shared<OneRow>(Row{1.0f, 0.0f, 0.5f});
  const DraftSourcePtr source = sampled_tree_source(model, {2, 2});
  for (const std::string_view rule :
       {"without-replacement", "with-replacement", "traversal", "match"})
    EXPECT_LT(worst_frequency(*source, rule, 5'000), 0.0475) << rule;
}

TEST(SampledTreeSource, IsSeenToBeDrawnOtherwiseThanReported) {
  /// Reports the rows of another model.
  class Misreporting final : public DraftSource {
   public:
    std::string name() const override { return "misreporting"; }
    LanguageModelPtr model() const override { return inner_->model(); }
    Draft draft(const DraftTask& task, law::Memory& own, law::Memory& shared) const override {
      Draft draft = inner_->draft(task, own, shared);
      for (Row& row : draft.proposal.rows) row = {0.0f, 0.0f, 0.0f};
      return draft;
    }

   private:
    DraftSourcePtr inner_ =
        sampled_tree_source(std::make_shared<OneRow>(Row{1.0f, 0.0f, 0.5f}), {2, 2});
  };
  EXPECT_GT(worst_frequency(Misreporting(), "without-replacement", 5'000), 0.0475);
}

}  // namespace
}  // namespace draftproof::reference::decode
