// Goal: parity is no parity where anything differs: the alarm of every test that holds a kernel
// against the reference. Method: the reference against itself, with one thing of a tree's outcome,
// its inputs or its observations changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "tests/differential/parity.h"
#include "tests/properties/wrong_verifiers.h"

namespace draftproof::tests {
namespace {

using reference::Batch;
using reference::Request;
using testing::HasSubstr;

/// Two siblings, of which the second is the target's, and a child of it.
RandomCase tree_case() {
  RandomCase input;
  input.batch.vocab_size = 3;
  input.batch.preset = reference::preset("default");
  Request request;
  request.proposal.tokens = {1, 2, 0};
  request.proposal.parents = {-1, -1, 1};
  request.proposal.rows.assign(3, {0, 0, 0});
  request.target_rows.assign(4, {0, 1, 2});
  request.target_rows[3][0] = std::numeric_limits<float>::quiet_NaN();
  input.batch.requests.push_back(request);
  input.coins = std::make_unique<reference::PhiloxCoins>(1);
  return input;
}

/// What is said of the reference with this change; empty: nothing.
std::string said_of(properties::Altered::Change change) {
  properties::Altered subject(std::move(change), "tree-greedy");
  const auto reference = reference::verify::make_verifier("tree-greedy");
  return disparity(subject, *reference, tree_case()).value_or("");
}

std::string said_of_input(void (*change)(Request&)) {
  return said_of([change](reference::Outcome&, Batch& batch, const reference::Execution&) {
    change(batch.requests[0]);
  });
}

std::string said_of_outcome(void (*change)(reference::RequestOutcome&)) {
  return said_of(properties::each_outcome(
      [change](reference::RequestOutcome& outcome, const Request&) { change(outcome); }));
}

TEST(Parity, IsSaidOfTheSame) { EXPECT_EQ(said_of({}), ""); }

TEST(Parity, SeesAChangeOfAnyInput) {
  const auto kChanged = HasSubstr("an input was changed");
  EXPECT_THAT(said_of_input([](Request& own) { ++own.id; }), kChanged);
  EXPECT_THAT(said_of_input([](Request& own) { ++own.position; }), kChanged);
  EXPECT_THAT(said_of_input([](Request& own) { ++own.iteration; }), kChanged);
  EXPECT_THAT(said_of_input([](Request& own) { own.sampling.top_k = 3; }), kChanged);
  EXPECT_THAT(said_of_input([](Request& own) { ++own.proposal.tokens[2]; }), kChanged);
  EXPECT_THAT(said_of_input([](Request& own) { --own.proposal.parents[2]; }), kChanged);
  EXPECT_THAT(said_of_input([](Request& own) { own.proposal.rows[1][0] = -0.0f; }), kChanged);
  EXPECT_THAT(said_of_input([](Request& own) { own.target_rows[3][0] = 0; }), kChanged);
  EXPECT_THAT(said_of_input(
                  [](Request& own) { own.target_rows[3][0] = std::bit_cast<float>(0x7fc00001u); }),
              kChanged);
}

TEST(Parity, SeesAndTellsAChangeOfAnyPartOfAnOutcome) {
  EXPECT_THAT(said_of_outcome([](auto& own) { own.accepted_count = 2; }),
              HasSubstr("observed accepted 2"));
  EXPECT_THAT(said_of_outcome([](auto& own) { own.accepted_nodes = {0}; }),
              testing::AllOf(HasSubstr("nodes 1, status"), HasSubstr("nodes 0, status")));
  EXPECT_THAT(said_of_outcome([](auto& own) { own.emitted.back().token = 1; }),
              HasSubstr("observed accepted 1, emitted 2(accepted) 1("));
  EXPECT_THAT(said_of_outcome([](auto& own) { own.emitted.pop_back(); }), HasSubstr("observed"));
  EXPECT_THAT(said_of_outcome([](auto& own) { own.status = reference::Status::kNan; }),
              HasSubstr("status nan"));
  EXPECT_THAT(said_of([](reference::Outcome& outcome, Batch&, const reference::Execution&) {
                outcome.requests.clear();
              }),
              HasSubstr("wrong number of outcomes"));
}

TEST(Parity, SeesWhatADeviceSaw) {
  EXPECT_THAT(said_of([](reference::Outcome& outcome, Batch&, const reference::Execution&) {
                outcome.observations.push_back({});
                outcome.observations.back().check = "race";
                outcome.observations.back().severity = reference::Severity::kUnsafe;
              }),
              HasSubstr("race"));
}

}  // namespace
}  // namespace draftproof::tests
