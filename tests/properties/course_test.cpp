// Courses: counting, stopping, errors of the subject, witnesses, and the catalog that lists them.
#include "properties/course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reference/error.h"
#include "wrong_verifiers.h"

namespace draftproof::properties {
namespace {

using oracle::VerdictKind;
using ::testing::HasSubstr;

TEST(Catalog, NamesEveryPropertyOnceWithItsWords) {
  std::set<std::string> ids;
  for (const Property& each : catalog()) {
    EXPECT_TRUE(ids.insert(each.id).second) << each.id;
    EXPECT_EQ(each.statement.back(), '.') << each.id;
    EXPECT_FALSE(each.citation.empty()) << each.id;
  }
  EXPECT_EQ(ids.size(), 18u);
  EXPECT_EQ(catalog().front().id, "emitted_law_is_target_law");
  EXPECT_THROW(property("no_such"), Error);
}

TEST(Course, ThatIsStoppedEarlyIsInconclusive) {
  Altered verifier(nullptr);
  verifier.traits().is_watched = true;
  verifier.traits().block_threads = {32, 64};
  const auto twin = reference::verify::make_verifier("chain");
  for (const Property& each : catalog()) {
    int polls = 0;
    Settings settings;
    settings.stopped = [&] { return ++polls > 3; };
    const oracle::Verdict verdict = each.check({&verifier, twin.get()}, settings);
    EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive) << each.id;
  }
}

TEST(Course, AnErrorOfTheWorldIsInconclusiveAndNamed) {
  Altered verifier([](reference::Outcome&, reference::Batch&, const reference::Execution&) {
    throw Error(ErrorKind::kEnvironment, "device lost", "device 0");
  });
  const oracle::Verdict verdict = verdict_of("inputs_unchanged", verifier);
  EXPECT_EQ(verdict.kind, VerdictKind::kInconclusive);
  ASSERT_EQ(verdict.notes.size(), 1u);
  EXPECT_THAT(verdict.notes[0], HasSubstr("device 0: device lost"));
}

TEST(Course, ReportsProgressUpToItsTotal) {
  Altered verifier(nullptr);
  const auto twin = reference::verify::make_verifier("chain");
  std::uint64_t last_done = 0, last_total = 0;
  Settings settings;
  settings.battery = Battery::kSmoke;
  settings.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last_done);
    EXPECT_LE(done, total);
    last_done = done;
    last_total = total;
  };
  property("inputs_unchanged").check({&verifier, twin.get()}, settings);
  EXPECT_EQ(last_done, 240u);
  EXPECT_EQ(last_total, 240u);
}

TEST(Course, TheSameSeedTriesTheSameCases) {
  const auto found = [](std::uint64_t seed) {
    Altered verifier(each_outcome([](reference::RequestOutcome& out, const reference::Request&) {
      if (!out.emitted.empty() && out.emitted.back().token == 13) out.emitted.clear();
    }));
    const auto twin = reference::verify::make_verifier("chain");
    Settings settings;
    settings.battery = Battery::kSmoke;
    settings.seed = seed;
    return property("kernel_equals_reference").check({&verifier, twin.get()}, settings);
  };
  EXPECT_EQ(found(1).trials, found(1).trials);
  ASSERT_TRUE(found(1).witness);
  EXPECT_EQ(found(1).witness->case_json, found(1).witness->case_json);
}

TEST(Replay, FailsOnTheWitnessAndHoldsOnTheReference) {
  Altered wrong(each_outcome([](reference::RequestOutcome& out, const reference::Request&) {
    if (out.accepted_count > 0) out.emitted.push_back({0, reference::Reason::kBonus});
  }));
  const auto reference = reference::verify::make_verifier("chain");
  const Property& each = property("emitted_is_accepted_plus_one");
  const oracle::Verdict verdict = verdict_of(each.id, wrong);
  ASSERT_TRUE(verdict.witness);
  const Case least = case_from_json(verdict.witness->case_json, "witness");
  EXPECT_EQ(least.property, each.id);
  EXPECT_EQ(each.replay({&wrong, reference.get()}, least).kind, VerdictKind::kViolated);
  EXPECT_EQ(each.replay({reference.get(), reference.get()}, least).kind, VerdictKind::kUpheld);
}

TEST(Replay, HoldsASubjectToTheRecordedAnswer) {
  const auto reference = reference::verify::make_verifier("chain");
  Case value;
  value.property = "inputs_unchanged";
  value.batch.vocab_size = 2;
  value.batch.preset = reference::preset("default");
  reference::Request request;
  request.target_rows = {{0, 0}};
  value.batch.requests = {request};
  value.expected = {{0, {{0, reference::Reason::kBonus}}, reference::Status::kOk, 0}};
  const Property& each = property("inputs_unchanged");
  EXPECT_EQ(each.replay({reference.get(), reference.get()}, value).kind, VerdictKind::kUpheld);
  value.expected[0].emitted[0].token = 1;
  EXPECT_EQ(each.replay({reference.get(), reference.get()}, value).kind, VerdictKind::kViolated);
}

TEST(Replay, OfACaseOfAnotherRuleOrAnExemptSubjectSaysNothing) {
  const auto greedy = reference::verify::make_verifier("greedy");
  Case value;
  value.property = "inputs_unchanged";
  value.batch.vocab_size = 1;
  const oracle::Verdict other =
      property("inputs_unchanged").replay({greedy.get(), greedy.get()}, value);
  EXPECT_EQ(other.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(other.evidence, HasSubstr("rule 'chain'"));
  const oracle::Verdict exempt = property("race_free").replay({greedy.get(), greedy.get()}, value);
  EXPECT_EQ(exempt.kind, VerdictKind::kInconclusive);
  EXPECT_THAT(exempt.evidence, HasSubstr("does not apply"));
}

}  // namespace
}  // namespace draftproof::properties
