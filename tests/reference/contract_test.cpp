// Contracts: that the data is whole, that every parameter is carried out, refused or ignored as it
// says, and that the steps come in its order.
#include "reference/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reference/error.h"
#include "tests/reference/contract_rows.h"

namespace draftproof::reference {
namespace {

using testing::HasSubstr;

std::string complaint_of(std::string_view name, const RowRequest& request,
                         const std::vector<float>& row = kVisibleRow,
                         const History& history = kVisibleHistory) {
  try {
    law_of_row(contract(name), row, request, history);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "";
}

Distribution law(std::string_view name, const RowRequest& request,
                 const History& history = kVisibleHistory) {
  return law_of_row(contract(name), kVisibleRow, request, history);
}

TEST(Contracts, HaveDistinctNamesAndCoverEveryPreset) {
  std::set<std::string> names;
  for (const Contract& entry : contracts()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_EQ(&contract(entry.name), &entry);
    EXPECT_FALSE(entry.engine.empty() || entry.source.empty()) << entry.name;
    EXPECT_NO_THROW(contract(entry.bonus_row.empty() ? entry.name : entry.bonus_row));
  }
  for (const Preset& entry : presets()) {
    EXPECT_EQ(contract(entry.name).preset, entry);
    EXPECT_EQ(contract(entry.name).name, entry.name);
  }
}

TEST(Contracts, CarryOutRefuseOrIgnoreEveryParameterAsTheySay) {
  // The liveness audit of NVIDIA/TensorRT-LLM#17701: a parameter that is accepted and changes
  // nothing must be on record as ignored.
  for (const Contract& entry : contracts()) {
    for (const Parameter parameter : all_parameters()) {
      const RowRequest with = visible_request(parameter);
      const std::string where = entry.name + ", " + std::string(to_string(parameter));
      ASSERT_TRUE(is_set(with, parameter)) << where;
      if (refused(entry, with)) {
        EXPECT_THAT(complaint_of(entry.name, with), HasSubstr("refuses the")) << where;
        continue;
      }
      const bool is_ignored = testing::Value(ignored(entry, with), testing::Contains(parameter));
      const RowLaw on = row_law(entry, kVisibleRow, with, kVisibleHistory);
      const RowLaw off = row_law(entry, kVisibleRow, without(with, parameter), kVisibleHistory);
      EXPECT_EQ(on.law == off.law, is_ignored) << where;
    }
  }
}

TEST(Contracts, NameTheParameterThatTheyRefuse) {
  EXPECT_THAT(complaint_of("vllm-spec", visible_request(Parameter::kMinP)),
              HasSubstr("vllm-spec: refuses the min-p; leave it out"));
  EXPECT_THAT(complaint_of("vllm-spec", visible_request(Parameter::kLogitBias)),
              HasSubstr("refuses the logit bias"));
  EXPECT_THAT(complaint_of("tensorrt-llm", visible_request(Parameter::kPresence)),
              HasSubstr("refuses the presence penalty"));
  EXPECT_EQ(complaint_of("vllm", visible_request(Parameter::kMinP)), "");
}

TEST(Contracts, WithoutAdjustmentsAreTheirPresets) {
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    const Sampling sampling = random_request(random, {}).sampling;
    const std::vector<float> row = random_row(random);
    const History history = random_history(random);
    for (const Preset& entry : presets()) {
      if (entry.name == "sglang" && sampling.min_p > 0) continue;  // another path of the engine
      ASSERT_EQ(law_of_row(contract(entry.name), row, {sampling, {}}, history),
                distribution_of(shape(row, sampling, entry)))
          << entry.name;
    }
  }
}

TEST(Contracts, OfVllmGiveRowsOfADraftTheLawOfTheOrdinarySampler) {
  // Masks commute with finite penalties, so the other order of vllm-spec is the same law, and its
  // bonus rows (vllm) agree with its others.
  std::mt19937 random(4);
  int with_status = 0;
  for (int i = 0; i < 500; ++i) {
    const RowRequest request = random_request(random, contract("vllm-spec").refuses);
    const std::vector<float> row = random_row(random);
    const History history = random_history(random);
    const RowLaw spec = row_law(contract("vllm-spec"), row, request, history);
    const RowLaw plain = row_law(contract("vllm"), row, request, history);
    ASSERT_EQ(spec.status, plain.status);
    ASSERT_EQ(spec.law, plain.law);
    with_status += spec.status != Status::kOk;
  }
  EXPECT_LT(with_status, 250);
}

TEST(Contracts, OfSglangGiveRowsOfADraftAnotherLaw) {
  // The sibling that must say no: joint filters and frozen counts.
  std::mt19937 random(4);
  int differing = 0;
  for (int i = 0; i < 500; ++i) {
    const RowRequest request = random_request(random, {Parameter::kMinP});
    const std::vector<float> row = random_row(random);
    const History history = random_history(random);
    differing += row_law(contract("sglang-spec"), row, request, history).law !=
                 row_law(contract("sglang"), row, request, history).law;
  }
  EXPECT_GT(differing, 100);
}

TEST(Contracts, OfSglangChangePathWhenANegligibleMinPIsAskedFor) {
  const std::vector<float> row = logits_of({.3, .25, .2, .15, .1});
  const RowRequest joint{{1, 3, .7, 0}, {}};
  const RowRequest in_sequence{{1, 3, .7, 1e-9}, {}};
  const auto& sglang = contract("sglang");
  const Distribution before = law_of_row(sglang, row, joint, {});
  const Distribution after = law_of_row(sglang, row, in_sequence, {});
  EXPECT_NEAR(total_variation(before, after).convert_to<double>(), 4.0 / 15, 1e-6);
  EXPECT_EQ(after, law_of_row(contract("sglang-spec"), row, joint, {}));
}

TEST(Contracts, CountDraftedTokensInEveryRowButSglangs) {
  const RowRequest request = visible_request(Parameter::kFrequency);
  const History behind_a_draft = behind(kVisibleHistory, std::vector<Token>{2, 2});
  for (const Contract& entry : contracts()) {
    if (refused(entry, request)) continue;
    const Distribution row = law(entry.name, request, behind_a_draft);
    const Distribution serial = law(entry.name, request, committed(behind_a_draft));
    EXPECT_EQ(row == serial, entry.name != "sglang-spec") << entry.name;
  }
}

TEST(Contracts, BanTheEndTokensLongerWhereTheLengthIsFrozen) {
  const RowRequest request = visible_request(Parameter::kMinTokens);
  const History behind_a_draft = behind(kVisibleHistory, std::vector<Token>{2});
  EXPECT_GT(law("vllm-spec", request, behind_a_draft)[0], 0);
  EXPECT_EQ(law("sglang-spec", request, behind_a_draft)[0], 0);
  EXPECT_EQ(law("vllm-spec", request)[0], 0);
}

TEST(Contracts, PutBiasAndPenaltiesInTheirOrder) {
  // Bias, then division: (1 + 1) / 2 = 1. Division, then bias: 1 / 2 + 1 = 1.5.
  RowRequest request = visible_request(Parameter::kRepetition);
  request.adjustments.logit_bias = {{1, 1.0}};
  const std::vector<float> row = {0, 1};
  const History seen = {{}, {1}, {}};
  const auto logit = [&](std::string_view name) {
    return steps_of_row(contract(name), row, request, seen).back().logits[1];
  };
  EXPECT_EQ(logit("vllm"), 1);
  EXPECT_EQ(logit("llama.cpp"), 1);
  EXPECT_EQ(logit("transformers"), 1);
  EXPECT_EQ(logit("sglang"), 1.5F);
  EXPECT_EQ(logit("sglang-spec"), 1.5F);
}

TEST(Contracts, TellTheirStepsInOrderAndEndWithTheLaw) {
  RowRequest request = visible_request(Parameter::kTemperature);
  request.sampling.top_k = 3;
  request.adjustments = visible_request(Parameter::kFrequency).adjustments;
  request.adjustments.grammar_mask =
      visible_request(Parameter::kGrammarMask).adjustments.grammar_mask;
  const auto names = [&](std::string_view name) {
    std::vector<std::string> list;
    for (const StepLaw& step : steps_of_row(contract(name), kVisibleRow, request, kVisibleHistory))
      list.push_back(step.step);
    return list;
  };
  EXPECT_THAT(names("vllm"),
              testing::ElementsAre("the row", "grammar mask", "penalties", "temperature", "top-k"));
  EXPECT_THAT(names("llama.cpp"), testing::ElementsAre("the row", "penalties", "top-k",
                                                       "temperature", "grammar, by drawing again"));
  EXPECT_THAT(names("sglang"), testing::ElementsAre("the row", "penalties", "grammar mask",
                                                    "temperature", "top-k and top-p together"));
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    const Contract& entry = contracts()[random() % contracts().size()];
    const RowRequest any = random_request(random, entry.refuses);
    const std::vector<float> row = random_row(random);
    const History history = random_history(random);
    ASSERT_EQ(steps_of_row(entry, row, any, history).back().row.law,
              row_law(entry, row, any, history).law)
        << entry.name;
  }
}

TEST(Contracts, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    contract("vlm");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("'vlm'"), HasSubstr("sglang-spec")));
  }
}

TEST(Contracts, RowsWithoutALawAreAnErrorWithTheirStatus) {
  RowRequest request;
  request.adjustments.allowed_ids.emplace();
  EXPECT_THAT(complaint_of("vllm", request), HasSubstr("vllm: this row has no law: empty-row"));
  EXPECT_THAT(complaint_of("vllm", {}, kVisibleRow, {{}, {7}, {}}),
              HasSubstr("history: token 7 is outside the vocabulary of 5"));
}

TEST(Parameters, AreOffWhereTheySayAndOnlyThere) {
  const RowRequest plain;
  for (const Parameter parameter : all_parameters()) {
    EXPECT_FALSE(is_set(plain, parameter)) << to_string(parameter);
    const RowRequest with = visible_request(parameter);
    EXPECT_TRUE(is_set(with, parameter)) << to_string(parameter);
    EXPECT_FALSE(is_set(without(with, parameter), parameter)) << to_string(parameter);
  }
  for (const Sampling& off : {Sampling{1, -1, 1, 0}, Sampling{1, 0, 2, 0}, Sampling{1, 0, 1, -1}})
    for (const Parameter parameter : all_parameters())
      EXPECT_FALSE(is_set({off, {}}, parameter)) << to_string(parameter);
}

}  // namespace
}  // namespace draftproof::reference
