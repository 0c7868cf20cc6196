// Control of length, gates, combined drafters and speculation ahead: their laws are the target's
// exactly, their lengths are those of their formulas, and what they decide is what they say.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/draft/compose/parallel_draft.h"
#include "reference/draft/compose/speculation_ahead.h"
#include "reference/draft/expected.h"
#include "reference/draft/length/confidence.h"
#include "reference/draft/length/gates.h"
#include "reference/draft/length/past_length.h"
#include "reference/draft/method_parts.h"
#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

constexpr int kHorizon = 3;

std::vector<Method> all_methods() { return composed_methods(); }

TEST(ComposedMethods, HaveTheTargetsLawExactly) {
  for (const Method& method : all_methods()) {
    EXPECT_EQ(method.toys.size(), 5u) << method.name;
    for (const std::string& name : method.toys)
      EXPECT_EQ(law::sequence_distance(method.make(model::toy(name)), kHorizon), 0)
          << method.name << " " << name;
  }
}

TEST(ComposedMethods, EmitInTheirFirstIterationWhatTheirFormulaSays) {
  for (const Method& method : all_methods())
    for (const std::string& name : method.toys)
      EXPECT_EQ(law::expected_emitted(law::emission_law(method.make(model::toy(name)))),
                method.expected_emitted(model::toy(name)))
          << method.name << " " << name;
}

const Method& named(const std::vector<Method>& methods, const std::string& name) {
  for (const Method& method : methods)
    if (method.name == name) return method;
  throw Error(ErrorKind::kInput, name);
}

Exact ratio_length(const model::Toy& toy, const Context& context, int draft_count) {
  return expected_by_ratio(*toy.target, context, draft_count,
                           [&](const std::vector<Token>& drafted) {
                             Context behind = context;
                             behind.insert(behind.end(), drafted.begin(), drafted.end());
                             return toy.draft->row(behind);
                           });
}

/// The second iteration's length: the formula with `draft_count`, which may depend on how many
/// tokens the first one emitted, behind everything that it may have emitted.
Exact second_length(const Method& method, const model::Toy& toy,
                    const std::function<int(const law::History&)>& draft_count) {
  Exact sum = 0;
  for (const auto& [history, probability] : law::history_law(method.make(toy), 1))
    sum += probability * ratio_length(toy, history.tokens, draft_count(history));
  return sum;
}

TEST(LengthMethods, DraftNextWhatThePastSays) {
  const model::Toy& toy = model::toy("near");
  const std::vector<Method> methods = length_methods();
  const auto second = [&](const std::string& name) {
    return law::expected_by_iteration(named(methods, name).make(toy), 2)[1].value();
  };
  // One token was drafted: kept (2 emitted) or not.
  EXPECT_EQ(second("heuristic-length"),
            second_length(named(methods, "heuristic-length"), toy,
                          [](const law::History& h) { return h.emitted_counts[0] == 2 ? 3 : 1; }));
  // Average (0 + kept) / 2: 1/2 does not exceed 1 - 1/2, 0 is at most 1/2 - 1/4.
  EXPECT_EQ(second("average-length"),
            second_length(named(methods, "average-length"), toy,
                          [](const law::History& h) { return h.emitted_counts[0] == 2 ? 1 : 0; }));
  EXPECT_EQ(second("acceptance-gate"),
            second_length(named(methods, "acceptance-gate"), toy,
                          [](const law::History& h) { return h.emitted_counts[0] >= 2 ? 2 : 0; }));
  EXPECT_EQ(second("length-schedule"), second_length(named(methods, "length-schedule"), toy,
                                                     [](const law::History&) { return 1; }));
}

TEST(GateMethods, SwitchOffWhereTheirSignalSaysSo) {
  const model::Toy& toy = model::toy("near");
  const std::vector<Method> methods = gate_methods();
  EXPECT_EQ(methods.size(), 7u);
  const auto second = [&](const std::string& name) {
    return law::expected_by_iteration(named(methods, name).make(toy), 2)[1].value();
  };
  const auto if_emitted = [](const std::function<bool(int)>& drafts) {
    return [drafts](const law::History& h) { return drafts(h.emitted_counts[0]) ? 2 : 0; };
  };
  const auto expect = [&](const std::string& name,
                          const std::function<int(const law::History&)>& draft_count) {
    EXPECT_EQ(second(name), second_length(named(methods, name), toy, draft_count)) << name;
  };
  expect("gate-short-output", if_emitted([](int n) { return 4 - n >= 2; }));
  expect("gate-poor-acceptance", if_emitted([](int n) { return n >= 2; }));
  expect("gate-saturated-batch", if_emitted([](int n) { return n % 3 != 2; }));
  expect("gate-little-memory", if_emitted([](int n) { return n <= 1; }));
  expect("gate-cold-draft", if_emitted([](int n) { return n >= 1; }));
  expect("gate-unsupported", [](const law::History& h) { return h.tokens.back() != 1 ? 2 : 0; });
  expect("gate-out-of-domain", [](const law::History& h) { return h.tokens.back() != 0 ? 2 : 0; });
}

TEST(SpeculationAhead, StaysLosslessBySchemesFallbacksAndFanOut) {
  const model::Toy& toy = model::toy("two-tokens");
  for (const char* scheme : {"fresh", "position-keyed"}) {
    for (int fan_out : {0, 1, 2}) {
      law::Decoding decoding = named(composed_methods(), "ssd").make(toy);
      decoding.drafter = ahead_drafter(toy.draft, {1, fan_out, {}});
      decoding.coins = law::coin_scheme(scheme);
      EXPECT_EQ(law::sequence_distance(decoding, 3), 0) << scheme << " " << fan_out;
      decoding.drafter = ahead_drafter(toy.draft, {1, fan_out, Exact(1, 3)},
                                       policed_drafter(toy.draft, {}, ChainDraw::kLargest));
      EXPECT_EQ(law::sequence_distance(decoding, 3), 0) << "another drafter answers a miss";
    }
  }
}

// A hit is a draft like any other: with everything cached, lengths are those of plain drafting.
TEST(SpeculationAhead, IsAsLongAsPlainDraftingWhateverHits) {
  const model::Toy& toy = model::toy("two-tokens");
  law::Decoding decoding = named(composed_methods(), "ssd").make(toy);
  for (int fan_out : {0, 1, 2}) {
    decoding.drafter = ahead_drafter(toy.draft, {1, fan_out, {}});
    Exact sum = 0;
    for (const auto& [history, probability] : law::history_law(decoding, 1))
      sum += probability * ratio_length(toy, history.tokens, 1);
    EXPECT_EQ(law::expected_by_iteration(decoding, 2)[1], sum) << fan_out;
  }
}

TEST(SpeculationAhead, DampsTheLargestAndExpectsTheLikeliest) {
  const LawRow row = {Exact(1, 2), Exact(1, 4), Exact(1, 4)};
  EXPECT_EQ(drawn_row(row, {1, 1, Exact(1, 2)}), (LawRow{Exact(1, 3), Exact(1, 3), Exact(1, 3)}));
  EXPECT_EQ(drawn_row(row, {1, 2, Exact(0)}), (LawRow{0, 0, 1}));
  EXPECT_EQ(drawn_row(row, {1, 3, Exact(0)}), row) << "nothing would be left";
  EXPECT_EQ(drawn_row(row, {1, 1, {}}), row);
  EXPECT_EQ(expected_last(row, {}, 2), (std::vector<Token>{0, 1}));
  EXPECT_EQ(expected_last(row, 0, 2), (std::vector<Token>{1, 2})) << "not what was drafted";
  const std::vector<Speculation> list = {{0, 2, {1, 0}}, {1, 0, {}}};
  EXPECT_EQ(speculations_of(memory_of(list)), list);
}

TEST(ParallelDraft, DraftsAsManyAsTheSpeedRatio) {
  EXPECT_EQ(parallel_draft_count(10, 3), 3);
  EXPECT_EQ(parallel_draft_count(7, 2), 4) << "half rounds up";
  EXPECT_EQ(parallel_draft_count(1, 10), 1);
}

// The draft is the target: everything is kept, so every iteration emits 2 and never a bonus.
TEST(ParallelDraft, EmitsNoBonusBehindAWholeDraft) {
  const law::Decoding decoding = named(composed_methods(), "pearl").make(model::toy("equal"));
  for (const auto& expected : law::expected_by_iteration(decoding, 3))
    EXPECT_EQ(expected, Exact(2));
}

TEST(Confidence, StopsBeforeOrBehind) {
  const LawRow row = {Exact(1, 2), Exact(3, 8), Exact(1, 8)};
  EXPECT_FALSE(stop_before_unsure(Exact(1, 2)).stops_before(row));
  EXPECT_TRUE(stop_before_unsure(Exact(5, 8)).stops_before(row));
  EXPECT_FALSE(stop_before_close_call(Exact(1, 8)).stops_before(row));
  EXPECT_TRUE(stop_before_close_call(Exact(1, 4)).stops_before(row));
  EXPECT_FALSE(stop_before_close_call(1).stops_before({Exact(1)})) << "one token has no second";
  EXPECT_TRUE(stop_before_entropy(0.1).stops_before(row));
  EXPECT_FALSE(stop_before_entropy(0.1).stops_before({0, 1, 0})) << "no entropy";
  EXPECT_TRUE(stop_behind_unsure(Exact(1, 4)).stops_behind(row, 2));
  EXPECT_FALSE(stop_behind_unsure(Exact(3, 8)).stops_behind(row, 1));
}

/// What a policy's length becomes, iteration by iteration, if so many tokens are kept.
std::vector<int> lengths(const LengthPolicy& policy, const std::vector<int>& kept) {
  law::Memory own = policy.initial({});
  law::Memory shared;
  const Context none;
  const auto length = [&] { return policy.limit({none, 99, 0}, own, shared); };
  std::vector<int> list = {length()};
  for (const int count : kept) {
    law::DraftTree tree;
    for (int i = 0; i < list.back(); ++i) append(tree, 0, {});
    law::Decision decision;
    for (int i = 0; i < count; ++i) decision.accepted.push_back(i);
    policy.verified({none, tree, decision, none, 0}, own, shared);
    list.push_back(length());
  }
  return list;
}

TEST(PastLength, FollowsTheEnginesSchedules) {
  EXPECT_EQ(lengths(heuristic_length(2), {2, 4, 0, 1, 0, 0, 0, 0, 0}),
            (std::vector<int>{2, 4, 6, 5, 4, 3, 2, 1, 1, 1}));
  AverageLengthOptions options;  // from 3 on: average 2
  options.warmup = 1;
  options.interval = 1;
  // 2.2 (still warming up), 2.36, 2.488, 2.5904 > 2.5: up; 2.07 <= 2.25: down; 1.66: stays.
  EXPECT_EQ(lengths(average_length(options), {3, 3, 3, 3, 0, 0}),
            (std::vector<int>{3, 3, 3, 3, 5, 3, 3}));
  options.candidates = {0, 1};
  options.initial = 1;
  options.warmup = 0;
  // 0 is at most 1/2 - 1/4: off; then one probe, whatever the average.
  EXPECT_EQ(lengths(average_length(options), {0, 0, 1, 0}), (std::vector<int>{1, 0, 1, 0, 1}));
  options.initial = 7;
  EXPECT_THROW(average_length(options), Error);
  EXPECT_EQ(lengths(acceptance_gate(2, Exact(1)), {2, 0, 1, 0, 9}),
            (std::vector<int>{99, 99, 99, 0, 0, 0}))
      << "2 and 0, then 0 and 1: less than 1 on average, off for good";
}

TEST(PastLength, SharesABudgetInTheOrderOfRequests) {
  const LengthPolicy policy = shared_budget(3);
  law::Memory own;
  law::Memory shared;
  const Context none;
  law::DraftTree two;
  append(two, 0, {});
  append(two, 0, {});
  EXPECT_EQ(policy.limit({none, 2, 0}, own, shared), 2);
  policy.drafted({none, 2, 0}, two, own, shared);
  EXPECT_EQ(policy.limit({none, 2, 1}, own, shared), 1);
  policy.drafted({none, 2, 1}, {}, own, shared);
  EXPECT_EQ(policy.limit({none, 2, 2}, own, shared), 1) << "what the one before it left";
  EXPECT_EQ(policy.limit({none, 2, 0}, own, shared), 2) << "a round later all of it is there again";
}

TEST(PastLength, SharedByTwoRequestsKeepsBothLaws) {
  const law::Decoding decoding = named(length_methods(), "shared-budget").make(model::toy("near"));
  const std::vector<law::Decoding> batch = {decoding, decoding};
  EXPECT_EQ(law::total_variation(law::batch_law(batch, 2), law::batch_target_law(batch, 2)), 0);
}

TEST(Gates, GiveTheFirstReason) {
  GateLimits limits{5, 2, Exact(1), 4, 2, Exact(3, 2)};
  GateSignals signals;
  EXPECT_EQ(gate(signals, limits), GateReason::kNone);
  signals.load_time = 3;
  EXPECT_EQ(gate(signals, limits), GateReason::kNone) << "no deadline";
  signals.time_left = 2;
  EXPECT_EQ(gate(signals, limits), GateReason::kColdDraft);
  signals.temperature = 2;
  EXPECT_EQ(gate(signals, limits), GateReason::kOutOfDomain);
  signals.is_supported = false;
  EXPECT_EQ(gate(signals, limits), GateReason::kUnsupported);
  signals.free_blocks = 1;
  EXPECT_EQ(gate(signals, limits), GateReason::kLittleMemory);
  signals.running_count = 5;
  EXPECT_EQ(gate(signals, limits), GateReason::kSaturatedBatch);
  signals.accepted_counts = {9, 1, 0};
  EXPECT_EQ(gate(signals, limits), GateReason::kPoorAcceptance) << "the last two";
  signals.expected_tokens = 4;
  EXPECT_EQ(gate(signals, limits), GateReason::kShortOutput);
  EXPECT_EQ(name_of(GateReason::kShortOutput), "short output");
}

TEST(Gates, LeaveEverySwitchWithItsReason) {
  const model::Toy& toy = model::toy("equal");
  const DrafterPtr drafter =
      gated_drafter(policed_drafter(toy.draft, {}, ChainDraw::kLargest),
                    [](const law::StepBegin& begin) {
                      GateSignals signals;
                      signals.running_count = static_cast<int>(begin.context.size());
                      signals.free_blocks = begin.context.size() == 3 ? 0 : 9;
                      return signals;
                    },
                    {0, 2, 0, 1, 1, 9});
  law::Memory own = drafter->initial({});
  law::Memory shared;
  const law::AddressOf address = [](const law::CoinUse&) { return CoinAddress{}; };
  for (const std::size_t length : {0U, 1U, 2U, 3U, 0U}) {
    const Context context(length, 0);
    law::for_each_branch(
        {}, address,
        [&](law::Chooser& chooser) {
          drafter->draft({context, 1, 0}, own, shared, chooser);
        },
        [](const Exact&, const law::RevealedCoins&) {});
  }
  EXPECT_EQ(switches_of(own),
            (std::vector<GateSwitch>{{2, GateReason::kSaturatedBatch}, {0, GateReason::kNone}}));
}

}  // namespace
}  // namespace draftproof::reference::draft
