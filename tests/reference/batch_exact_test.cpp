// Two requests in one batch: their joint law is a product where nothing is shared, and is not where
// coins are, although each request alone is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/law/iteration.h"
#include "tests/reference/naive_decoding.h"
#include "tests/reference/tiny_families.h"

namespace draftproof::reference::law {
namespace {

std::vector<Decoding> two(RuleFunction rule, std::string_view scheme, int vocab_size = 2,
                          int draft_count = 1) {
  std::vector<Decoding> batch;
  for (std::uint64_t seed : {3, 4}) {
    batch.push_back(
        decoding_of(family_case(Family::kFullMemory, vocab_size, draft_count, seed), rule));
    batch.back().coins = coin_scheme(scheme);
  }
  batch[1].prompt = {1};
  return batch;
}

SequenceLaw law_of_request(const BatchLaw& law, std::size_t request) {
  SequenceLaw own;
  for (const auto& [sequences, probability] : law) own[sequences[request]] += probability;
  return own;
}

BatchLaw product(const SequenceLaw& first, const SequenceLaw& second) {
  BatchLaw law;
  for (const auto& [a, one] : first)
    for (const auto& [b, other] : second) law[{a, b}] = one * other;
  return law;
}

TEST(BatchLaw, IsTheProductWhereNothingIsShared) {
  for (const char* scheme : {"fresh", "position-keyed", "offset-keyed", "one-coin"}) {
    for (const RuleFunction& rule : {RuleFunction(longest_passing), chain_rule()}) {
      const auto batch = two(rule, scheme);
      EXPECT_EQ(batch_law(batch, 2), product(sequence_law(batch[0], 2), sequence_law(batch[1], 2)))
          << scheme;
    }
  }
}

TEST(BatchLaw, IsThatOfTheWholeRunUnderEveryCoinScheme) {
  for (const CoinScheme& scheme : coin_schemes()) {
    const auto batch = two(longest_passing, scheme.name);
    EXPECT_EQ(batch_law(batch, 2), naive_batch_law(batch, 2)) << scheme.name;
  }
}

TEST(BatchLaw, OfSharedCoinsIsNoProductAlthoughEachRequestIsRight) {
  const auto batch = two(chain_rule(), "request-shared");
  const BatchLaw law = batch_law(batch, 2);
  EXPECT_GT(total_variation(law, batch_target_law(batch, 2)), 0);
  for (std::size_t i : {0U, 1U})
    EXPECT_EQ(law_of_request(law, i), target_law(*batch[i].target, 2, batch[i].prompt));
}

TEST(BatchLaw, OfSharedCoinsIsAProductForARuleThatReadsNone) {
  auto batch = two(law_rule("greedy").make({}), "request-shared", 3, 0);
  for (Decoding& decoding : batch) decoding.target = model::greedy_model(decoding.target);
  EXPECT_EQ(total_variation(batch_law(batch, 2), batch_target_law(batch, 2)), 0);
}

TEST(BatchLaw, OfCoinsKeyedByRowIsWrongOnceARequestLeaves) {
  // One token an iteration: both end together.
  auto batch = two(chain_rule(), "row-keyed", 2, 0);
  std::swap(batch[0].prompt, batch[1].prompt);
  EXPECT_EQ(total_variation(batch_law(batch, 2), batch_target_law(batch, 2)), 0);
  // The first has the longer prompt and ends early; the second then comes to the same positions.
  batch = two(chain_rule(), "row-keyed");
  std::swap(batch[0].prompt, batch[1].prompt);
  batch[0].limits.token_count_max = 2;
  EXPECT_GT(total_variation(batch_law(batch, 3), batch_target_law(batch, 3)), 0);
  for (Decoding& decoding : batch) decoding.coins = coin_scheme("position-keyed");
  EXPECT_EQ(total_variation(batch_law(batch, 3), batch_target_law(batch, 3)), 0);
}

TEST(BatchLaw, SeesADraftOfTheCompanionBeforeAnyDecision) {
  // The second request drafts what the first one drafted, and says so.
  class Copying final : public draft::Drafter {
   public:
    explicit Copying(std::shared_ptr<const draft::Drafter> own) : own_(std::move(own)) {}
    DraftTree draft(const StepBegin& begin, Memory& own, Memory& shared,
                    Chooser& chooser) const override {
      DraftTree tree;
      if (begin.request == 0) {
        tree = own_->draft(begin, own, shared, chooser);
        shared.assign(1, tree.nodes.front().token);
      } else if (!shared.empty()) {
        append(tree, static_cast<Token>(shared.front()), {});
      }
      return tree;
    }

   private:
    std::shared_ptr<const draft::Drafter> own_;
  };
  auto batch = two(chain_rule(), "fresh");
  const Exact alone = *expected_of_batch(batch, 1)[1][0];
  for (Decoding& decoding : batch) decoding.drafter = std::make_shared<Copying>(decoding.drafter);
  EXPECT_EQ(total_variation(batch_law(batch, 2), batch_target_law(batch, 2)), 0)
      << "whatever chose it, a one-hot report is honest (theorem E)";
  EXPECT_NE(*expected_of_batch(batch, 1)[1][0], alone);
}

TEST(BatchLaw, OfRowsGatheredFromTheCompanionIsWrong) {
  auto batch = two(chain_rule(), "fresh");
  const auto own_rows = [](const std::vector<Verification>& all, int row) {
    return Gathered{all[row].draft, all[row].target};
  };
  for (Decoding& decoding : batch) decoding.gather = own_rows;
  EXPECT_EQ(total_variation(batch_law(batch, 2), batch_target_law(batch, 2)), 0);
  for (Decoding& decoding : batch)
    decoding.gather = [](const std::vector<Verification>& all, int row) {
      return Gathered{all[row].draft, all[(row + 1) % all.size()].target};
    };
  EXPECT_GT(total_variation(batch_law(batch, 2), batch_target_law(batch, 2)), 0);
}

TEST(BatchEmissionLaw, IsTheProductOfTheRequestsOwn) {
  const auto batch = two(chain_rule(), "fresh");
  const BatchEmissionLaw law = batch_emission_law(batch);
  const EmissionLaw first = emission_law(batch[0]);
  const EmissionLaw second = emission_law(batch[1]);
  ASSERT_EQ(law.size(), first.size() * second.size());
  for (const auto& [emissions, probability] : law)
    ASSERT_EQ(probability, first.at(emissions[0]) * second.at(emissions[1]));
}

TEST(ExpectedOfBatch, IsThatOfEachRequestAloneWhereNothingIsShared) {
  const auto batch = two(chain_rule(), "fresh");
  const auto together = expected_of_batch(batch, 2);
  for (std::size_t i : {0U, 1U}) EXPECT_EQ(together[i], expected_by_iteration(batch[i], 2));
}

}  // namespace
}  // namespace draftproof::reference::law
