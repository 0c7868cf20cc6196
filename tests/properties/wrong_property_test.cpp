// Every property can fail: for each a verifier that is wrong in the way that it guards against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "oracle/explain.h"
#include "properties/laws.h"
#include "wrong_verifiers.h"

namespace draftproof::properties {
namespace {

using oracle::VerdictKind;
using reference::Batch;
using reference::Execution;
using reference::Outcome;
using reference::Reason;
using reference::Request;
using reference::RequestOutcome;
using reference::Status;

constexpr VerdictKind kViolated = VerdictKind::kViolated;

/// Accepts every drafted token.
void accept_everything(RequestOutcome& out, const Request& request) {
  if (out.status != Status::kOk || out.emitted.back().reason != Reason::kRecovered) return;
  const int count = draft_count(request);
  while (out.accepted_count < count)
    out.emitted[out.accepted_count++] = {request.proposal.tokens[out.accepted_count],
                                         Reason::kAccepted},
    out.emitted.push_back({0, Reason::kBonus});
}

/// Rejects the first drafted token, whatever the coin.
void reject_everything(RequestOutcome& out, const Request&) {
  if (out.status != Status::kOk || out.accepted_count == 0) return;
  out.accepted_count = 0;
  out.emitted.resize(1);
  out.emitted[0].reason = Reason::kRecovered;
}

Altered on_device(Altered::Change change) {
  Altered device(std::move(change));
  device.traits().is_watched = true;
  device.traits().block_threads = {32, 96, 256};
  return device;
}

TEST(WrongVerifier, ThatDrawsTheNextTokenFailsTheLaw) {
  Altered wrong([](Outcome& outcome, Batch& batch, const Execution&) {
    for (RequestOutcome& out : outcome.requests)
      if (!out.emitted.empty() && out.emitted.back().reason == Reason::kRecovered)
        out.emitted.back().token =
            (out.emitted.back().token + 1) % static_cast<int>(batch.vocab_size);
  });
  const oracle::Verdict verdict = verdict_of("emitted_law_is_target_law", wrong);
  EXPECT_EQ(verdict.kind, kViolated);
  ASSERT_TRUE(verdict.witness);
  EXPECT_FALSE(verdict.bound.has_value());
  const Case least = case_from_json(verdict.witness->case_json, "witness");
  EXPECT_LE(least.batch.vocab_size, 2u);
  EXPECT_EQ(least.batch.requests.size(), 1u);
}

TEST(WrongVerifier, OfAnUnknownRuleFailsTheLawByItsSample) {
  Altered wrong([](Outcome& outcome, Batch&, const Execution&) {
    for (RequestOutcome& out : outcome.requests)
      if (!out.emitted.empty() && out.emitted.back().token == 1) out.emitted.back().token = 0;
  });
  wrong.traits().rule = "other";
  const oracle::Verdict verdict = verdict_of("emitted_law_is_target_law", wrong);
  EXPECT_EQ(verdict.kind, kViolated);
  ASSERT_TRUE(verdict.witness);
  EXPECT_THAT(verdict.witness->observed, ::testing::HasSubstr("draws"));
  Altered right(nullptr);
  right.traits().rule = "other";
  EXPECT_EQ(kind_of("emitted_law_is_target_law", right), VerdictKind::kUpheld);
}

TEST(WrongVerifier, OfTheBlockRuleFailsFormAndLawToo) {
  Altered keeps(each_outcome([](RequestOutcome& out, const Request& request) {
                  if (out.status == Status::kOk || out.status_position == 0) return;
                  out.accepted_count = 1;
                  out.emitted = {{request.proposal.tokens[0], Reason::kAccepted}};
                }),
                "block");
  EXPECT_EQ(kind_of("emitted_is_accepted_plus_one", keeps), kViolated);
  Altered swaps(each_outcome([](RequestOutcome& out, const Request&) {
                  if (out.status == Status::kOk) out.emitted.back().token = 0;
                }),
                "block");
  EXPECT_EQ(kind_of("emitted_law_is_target_law", swaps), kViolated);
  EXPECT_EQ(kind_of("kernel_equals_reference", swaps), kViolated);
  Altered rejects(each_outcome(reject_everything), "block");
  EXPECT_EQ(kind_of("identity_draft_accepts_all", rejects), kViolated);
}

TEST(WrongVerifier, ThatDiffersInOneLargeTokenFailsParity) {
  Altered wrong(each_outcome([](RequestOutcome& out, const Request&) {
    if (!out.emitted.empty() && out.emitted.back().token > 20) --out.emitted.back().token;
  }));
  EXPECT_EQ(kind_of("kernel_equals_reference", wrong), kViolated);
}

TEST(WrongVerifier, ThatEmitsMaskedTokensFailsSupport) {
  Altered wrong(each_outcome(accept_everything));
  EXPECT_EQ(kind_of("nothing_outside_the_support", wrong), kViolated);
  EXPECT_EQ(kind_of("hostile_draft_rejects_all", wrong), kViolated);
}

TEST(WrongVerifier, ThatRejectsEverythingFailsAcceptance) {
  Altered wrong(each_outcome(reject_everything));
  EXPECT_EQ(kind_of("target_at_least_draft_is_accepted", wrong), kViolated);
  EXPECT_EQ(kind_of("identity_draft_accepts_all", wrong), kViolated);
}

TEST(WrongVerifier, ThatReadsTheLastRowFailsCausality) {
  Altered wrong([](Outcome& outcome, Batch& batch, const Execution&) {
    for (std::size_t r = 0; r < outcome.requests.size(); ++r) {
      RequestOutcome& out = outcome.requests[r];
      const float last = batch.requests[r].target_rows.back()[0];
      if (last == last || out.emitted.empty()) continue;
      out.emitted.back().token = 0;
    }
  });
  EXPECT_EQ(kind_of("nothing_after_the_first_rejection_matters", wrong), kViolated);
}

TEST(WrongVerifier, ThatDependsOnThePlaceFailsBatchOrder) {
  Altered wrong([](Outcome& outcome, Batch&, const Execution&) {
    if (outcome.requests.size() > 1) outcome.requests[1].emitted.clear();
  });
  EXPECT_EQ(kind_of("batch_order_does_not_matter", wrong), kViolated);
}

TEST(WrongVerifier, ThatDependsOnTheBatchSizeFailsCompanions) {
  Altered wrong([](Outcome& outcome, Batch&, const Execution&) {
    if (outcome.requests.size() > 3) outcome.requests[0].emitted.clear();
  });
  EXPECT_EQ(kind_of("companions_do_not_matter", wrong), kViolated);
}

TEST(WrongVerifier, ThatReadsPaddedSlotsOrTheLastIdFailsPadding) {
  Altered slots([](Outcome& outcome, Batch&, const Execution& execution) {
    if (execution.padded_draft_count > 0) outcome.requests[0].emitted.clear();
  });
  EXPECT_EQ(kind_of("padding_does_not_matter", slots), kViolated);
  Altered last_id([](Outcome& outcome, Batch& batch, const Execution&) {
    if (batch.vocab_size % 4 == 1) outcome.requests[0].emitted.clear();
  });
  EXPECT_EQ(kind_of("padding_does_not_matter", last_id), kViolated);
}

TEST(WrongVerifier, ThatDependsOnTheBlockOrTheScheduleFails) {
  Altered block = on_device([](Outcome& outcome, Batch& batch, const Execution& execution) {
    if (execution.block_threads == 96 && batch.vocab_size > 96) outcome.requests[0].emitted.clear();
  });
  EXPECT_EQ(kind_of("block_size_does_not_matter", block), kViolated);
  Altered schedule = on_device([](Outcome& outcome, Batch&, const Execution& execution) {
    if (execution.schedule == reference::ScheduleKind::kLastWarpFirst)
      outcome.requests[0].emitted.clear();
  });
  EXPECT_EQ(kind_of("schedule_does_not_matter", schedule), kViolated);
}

TEST(WrongVerifier, ThatWritesIntoItsInputsFails) {
  Altered row([](Outcome&, Batch& batch, const Execution&) {
    batch.requests.back().target_rows.back().back() = 0.75f;
  });
  EXPECT_EQ(kind_of("inputs_unchanged", row), kViolated);
  Altered sign([](Outcome&, Batch& batch, const Execution&) {
    for (float& value : batch.requests[0].target_rows[0])
      if (value == 0) value = -value;
  });
  EXPECT_EQ(kind_of("inputs_unchanged", sign), kViolated);
}

TEST(WrongVerifier, ThatForgetsAStatusFailsTheEdgeTable) {
  Altered forgets(each_outcome([](RequestOutcome& out, const Request&) {
    if (out.status != Status::kPositiveInfinity) return;
    out.status = Status::kOk;
    out.emitted.push_back({0, Reason::kBonus});
  }));
  EXPECT_EQ(kind_of("unjudgeable_rows_give_a_status", forgets), kViolated);
  Altered confuses(each_outcome([](RequestOutcome& out, const Request&) {
    if (out.status == Status::kNan) out.status = Status::kEmptyRow;
  }));
  EXPECT_EQ(kind_of("unjudgeable_rows_give_a_status", confuses), kViolated);
}

TEST(WrongVerifier, WithOneTokenTooManyOrAWrongReasonIsMalformed) {
  Altered longer(each_outcome([](RequestOutcome& out, const Request&) {
    if (out.accepted_count > 1) out.emitted.push_back({0, Reason::kBonus});
  }));
  EXPECT_EQ(kind_of("emitted_is_accepted_plus_one", longer), kViolated);
  Altered reason(each_outcome([](RequestOutcome& out, const Request&) {
    if (!out.emitted.empty()) out.emitted.back().reason = Reason::kBonus;
  }));
  EXPECT_EQ(kind_of("emitted_is_accepted_plus_one", reason), kViolated);
  Altered missing([](Outcome& outcome, Batch&, const Execution&) { outcome.requests.pop_back(); });
  EXPECT_EQ(kind_of("emitted_is_accepted_plus_one", missing), kViolated);
}

/// What a kernel leaves that never writes its outcomes: words that mean nothing.
TEST(WrongVerifier, WithWordsForAnOutcomeIsRefutedAndBreaksNoJudge) {
  const int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  for (const int word : {static_cast<int>(0xa5a5a5a5u), least, most}) {
    Altered wordy(each_outcome([=](reference::RequestOutcome& out, const reference::Request&) {
      out.accepted_count = word;
      out.status_position = word;
      for (reference::EmittedToken& each : out.emitted) each.token = word;
    }));
    EXPECT_EQ(kind_of("emitted_is_accepted_plus_one", wordy), VerdictKind::kViolated) << word;
    for (const Property& each : catalog())
      EXPECT_NO_THROW(kind_of(each.id, wordy)) << each.id << " " << word;
  }
  Altered silent([](reference::Outcome& outcome, reference::Batch&, const reference::Execution&) {
    outcome.requests.clear();
  });
  EXPECT_EQ(kind_of("emitted_is_accepted_plus_one", silent), VerdictKind::kViolated);
  for (const Property& each : catalog()) EXPECT_NO_THROW(kind_of(each.id, silent)) << each.id;
}

TEST(WrongVerifier, ThatAnswersTiesByTheHighestIdFailsGreedyLimits) {
  for (const std::string rule : {"chain", "greedy"}) {
    Altered wrong(each_outcome([](RequestOutcome& out, const Request& request) {
                    if (out.emitted.empty() || request.sampling.temperature != 0) return;
                    const std::size_t row = out.emitted.size() - 1;
                    const reference::Row& values = request.target_rows[row];
                    const float top = *std::max_element(values.begin(), values.end());
                    for (std::size_t v = 0; v < values.size(); ++v)
                      if (values[v] == top) out.emitted.back().token = static_cast<int>(v);
                  }),
                  rule);
    EXPECT_EQ(kind_of("greedy_limits", wrong), kViolated) << rule;
  }
}

TEST(WrongVerifier, ThatIsSeenRacingOrOverrunningFailsItsOwnPropertyOnly) {
  const auto seen = [](const std::string& check, reference::Severity severity) {
    return on_device([=](Outcome& outcome, Batch&, const Execution& execution) {
      reference::Observation each;
      each.check = check;
      each.place.kernel = "chain";
      each.message = "4 bytes";
      each.severity = severity;
      if (execution.block_threads == 256) outcome.observations.push_back(each);
    });
  };
  Altered race = seen("race", reference::Severity::kUnsafe);
  EXPECT_EQ(kind_of("race_free", race), kViolated);
  EXPECT_EQ(kind_of("memory_safe", race), VerdictKind::kUpheld);
  Altered bounds = seen("bounds", reference::Severity::kUnsafe);
  EXPECT_EQ(kind_of("race_free", bounds), VerdictKind::kUpheld);
  const oracle::Verdict verdict = verdict_of("memory_safe", bounds);
  EXPECT_EQ(verdict.kind, kViolated);
  EXPECT_EQ(verdict.observations.size(), 1u);
  Altered note = seen("race", reference::Severity::kNote);
  EXPECT_EQ(kind_of("race_free", note), VerdictKind::kUpheld);
}

/// Of every rule that the property applies to.
TEST(WrongVerifier, WithAWrongStatusUnderAnyRuleGivesAWrongStatus) {
  const char* id = "unjudgeable_rows_give_a_status";
  const auto has_status = [](const RequestOutcome& outcome) {
    return outcome.status != Status::kOk;
  };
  const std::vector<std::function<void(RequestOutcome&)>> changes = {
      [](auto& out) { out.status = Status::kMalformedTree; },
      [](auto& out) { ++out.status_position; }, [](auto& out) { out.status = Status::kOk; },
      [](auto& out) {
        out.emitted.push_back({0, Reason::kBonus});
      }};
  for (const char* rule : {"chain", "greedy", "block", "tree-greedy", "target-only",
                           "with-replacement", "without-replacement", "match"}) {
    Altered right({}, rule);
    EXPECT_EQ(kind_of(id, right), VerdictKind::kUpheld) << rule;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      Altered wrong(each_outcome([&](RequestOutcome& outcome, const Request&) {
                      if (has_status(outcome)) changes[i](outcome);
                    }),
                    rule);
      EXPECT_EQ(kind_of(id, wrong), kViolated) << rule << ", change " << i;
    }
  }
}

}  // namespace
}  // namespace draftproof::properties
