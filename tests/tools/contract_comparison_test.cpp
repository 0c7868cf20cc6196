// The comparison of contracts as users see it. Goal: numbers that can be read off, and every text
// that is no row, request or history named.
#include "tools/draftproof/contract_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reference/error.h"
#include "reference/scalar.h"
#include "tests/tools/schema.h"

namespace draftproof::tools {
namespace {

using testing::HasSubstr;

LawSettings settings_of(std::string target, std::vector<std::string> presets) {
  LawSettings settings;
  settings.target = std::move(target);
  settings.contracts.presets = std::move(presets);
  if (!settings.contracts.presets.empty()) settings.preset = settings.contracts.presets.front();
  return settings;
}

/// At this temperature the scale is 1: whole logits weigh powers of two.
constexpr double kUnit = 0x1.71547652b82fep+0;

LawSettings joint_and_sequential() {
  LawSettings settings = settings_of("0,-1,-2,-3", {"sglang", "sglang-spec", "vllm"});
  settings.temperature = kUnit;
  settings.top_k = 2;
  settings.top_p = .6;
  return settings;
}

std::string complaint_of(const LawSettings& settings) {
  try {
    contract_report(settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "";
}

TEST(ContractComparison, GivesDistancesExactlyAndSaysWhatPartsThem) {
  const auto json = nlohmann::json::parse(contracts_json(contract_report(joint_and_sequential())));
  EXPECT_EQ(json["distances"][0][1]["total_variation"], "1/3");
  EXPECT_EQ(json["distances"][0][1]["parting"], "top-p");
  EXPECT_TRUE(json["distances"][0][1]["divergence_nats"].is_null()) << "infinite";
  EXPECT_NEAR(json["distances"][1][0]["divergence_nats"].get<double>(), 0.405465, 1e-6);
  EXPECT_EQ(json["distances"][1][2]["total_variation"], "0");
  EXPECT_EQ(json["contracts"][0]["law"], nlohmann::json({"2/3", "1/3", "0", "0"}));
  EXPECT_EQ(json["contracts"][1]["steps"].back()["step"], "top-p");
}

TEST(ContractComparison, IsAPageThatCanBeRead) {
  const std::string page = contracts_page(contract_report(joint_and_sequential()));
  EXPECT_THAT(page, HasSubstr("top-k and top-p together"));
  EXPECT_THAT(page, HasSubstr("| sglang      | sglang-spec |        0.333333 |   1/3 |"));
  EXPECT_THAT(page, HasSubstr("| sglang-spec | vllm        |               0 |     0 |"));
  EXPECT_THAT(page, HasSubstr("nothing: equal"));
}

TEST(ContractComparison, ShowsTheRowBehindEveryStepOfOneContract) {
  LawSettings settings = settings_of("1,1,0", {"sglang-spec"});
  settings.contracts.frequency_penalty = 0.5;
  settings.contracts.history = "0,0";
  settings.contracts.drafted = "1";
  const ContractReport report = contract_report(settings);
  ASSERT_EQ(report.steps.size(), 1U);
  ASSERT_EQ(report.steps[0].size(), 2U);
  EXPECT_THAT(report.steps[0][1].logits, testing::ElementsAre(0, 1, 0)) << "frozen";
  EXPECT_THAT(contracts_page(report), testing::Not(HasSubstr("How far apart")));
}

TEST(ContractComparison, ReadsEveryOption) {
  LawSettings settings = settings_of("3,2,1,0", {"vllm", "default"});
  ContractSettings& contracts = settings.contracts;
  contracts.repetition_penalty = 1.5;
  contracts.presence_penalty = .25;
  contracts.last_n = -1;
  contracts.logit_bias = {"0:-inf", "1:.5"};
  contracts.allowed_ids = "0, 1,3";
  contracts.bad_words = "2;1,3";
  contracts.min_tokens = 4;
  contracts.end_tokens = "3";
  contracts.mask = "0,1,2";
  contracts.prompt = "2";
  contracts.history = "1";
  const ContractReport report = contract_report(settings);
  const auto& read = report.comparison.laws[0].use.request.adjustments;
  EXPECT_EQ(read.penalties, (reference::Penalties{1.5, 0, .25, -1}));
  EXPECT_EQ(read.logit_bias, (std::vector<reference::TokenBias>{{0, -HUGE_VAL}, {1, .5}}));
  EXPECT_EQ(read.allowed_ids, (std::vector<reference::Token>{0, 1, 3}));
  EXPECT_EQ(read.bad_words, (std::vector<std::vector<reference::Token>>{{2}, {1, 3}}));
  EXPECT_EQ(read.grammar_mask, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(report.history, (reference::History{{2}, {1}, {}}));
  EXPECT_EQ((*report.comparison.laws[0].row.law)[1], 1);
}

// 1 + 2^-24 + 2^-60 lies above the middle of two fp32 numbers; a double in between would put it on
// the middle, and ties to even would then bring it down to 1.
TEST(ContractComparison, RoundsALogitOnce) {
  LawSettings settings = joint_and_sequential();
  settings.target = "0,1152921573326323713/1152921504606846976";
  EXPECT_EQ(contract_report(settings).logits[1], 1 + 0x1p-23f);
}

TEST(ContractComparison, FillsInWhatEachEngineDefaultsTo) {
  LawSettings settings = settings_of(".3,.25,.2,.15,.1", {"llama.cpp", "default"});
  settings.contracts.is_probabilities = true;
  const auto distance = [&] { return *contract_report(settings).comparison.distance[0][1]; };
  EXPECT_EQ(distance().total_variation, 0);
  settings.contracts.uses_defaults = true;
  EXPECT_EQ(distance().parting, reference::Parameter::kTemperature);
  settings.temperature = 1;
  EXPECT_EQ(distance().total_variation, 0) << "top-p .95 and min-p .05 keep all five";
  settings.target = ".5,.3,.16,.04";
  EXPECT_EQ(distance().parting, reference::Parameter::kTopP);
}

TEST(ContractComparison, ShowsARefusalBesideTheOthers) {
  LawSettings settings = settings_of("1,0", {"vllm-spec", "vllm"});
  settings.min_p = .5;
  const ContractReport report = contract_report(settings);
  EXPECT_THAT(contracts_page(report), HasSubstr("refuses the min-p: no law"));
  const auto json = nlohmann::json::parse(contracts_json(report));
  EXPECT_EQ(json["contracts"][0]["refusal"], "refuses the min-p");
  EXPECT_TRUE(json["distances"][0][1].is_null());
}

TEST(ContractComparison, IsAskedForByMoreThanPlainShaping) {
  EXPECT_FALSE(asks_for_contracts(settings_of("0,1", {})));
  EXPECT_FALSE(asks_for_contracts(settings_of("0,1", {"vllm"})));
  EXPECT_TRUE(asks_for_contracts(settings_of("0,1", {"vllm", "sglang"})));
  EXPECT_TRUE(asks_for_contracts(settings_of("0,1", {"vllm-spec"})));
  LawSettings settings = settings_of("0,1", {});
  settings.contracts.history = "1";
  EXPECT_TRUE(asks_for_contracts(settings));
}

TEST(ContractComparison, NamesTheOptionAtFault) {
  const auto complaint = [](const auto& change) {
    LawSettings settings = settings_of("1,0", {"vllm", "sglang"});
    change(settings);
    return complaint_of(settings);
  };
  EXPECT_EQ(complaint([](LawSettings&) {}), "");
  EXPECT_THAT(complaint([](auto& s) { s.target = "1,0;2,0"; }), HasSubstr("--target: several"));
  EXPECT_THAT(complaint([](auto& s) { s.target = "1,x"; }), HasSubstr("--target: 'x'"));
  EXPECT_THAT(complaint([](auto& s) { s.target = ""; }), HasSubstr("--target: no token"));
  EXPECT_THAT(complaint([](auto& s) { s.draft = "1,0"; }), HasSubstr("--draft: "));
  EXPECT_THAT(complaint([](auto& s) { s.contracts.presets[1] = "sglag"; }),
              HasSubstr("unknown preset 'sglag'"));
  EXPECT_THAT(complaint([](auto& s) { s.contracts.history = "0,-1"; }), HasSubstr("--history"));
  EXPECT_THAT(complaint([](auto& s) { s.contracts.drafted = "2"; }),
              HasSubstr("token 2 is outside the vocabulary of 2"));
  EXPECT_THAT(complaint([](auto& s) { s.contracts.logit_bias = {"1"}; }),
              HasSubstr("--logit-bias: \"1\" has no colon"));
  EXPECT_THAT(complaint([](auto& s) { s.contracts.mask = "2"; }), HasSubstr("--mask: token 2"));
  EXPECT_THAT(complaint([](auto& s) { s.contracts.bad_words = "0;;1"; }),
              HasSubstr("bad_words: a word without a token"));
  EXPECT_THAT(complaint([](auto& s) { s.contracts.repetition_penalty = 0; }),
              HasSubstr("repetition_penalty"));
  EXPECT_THAT(complaint([](auto& s) {
                s.contracts.is_probabilities = true;
                s.target = ".5,.6";
              }),
              HasSubstr("probabilities sum to 11/10"));
}

TEST(ContractComparison, ConformsToItsSchema) {
  if (!tests::can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  LawSettings settings = joint_and_sequential();
  settings.min_p = .1;
  settings.contracts.presets.push_back("vllm-spec");
  const std::string json = contracts_json(contract_report(settings));
  EXPECT_EQ(tests::schema_complaint("contracts.schema.json", json), "");
  auto broken = nlohmann::json::parse(json);
  broken["contracts"][0].erase("source");
  EXPECT_THAT(tests::schema_complaint("contracts.schema.json", broken.dump()), HasSubstr("source"));
}

}  // namespace
}  // namespace draftproof::tools
