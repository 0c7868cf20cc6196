// What real engines answered once (fixtures/transcripts) comes out as its page says, on every run:
// the judge that convicts vLLM's CPU backend finds nothing in transformers, from lines alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "tools/audit/recorded_run.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;
using oracle::Verdict;
using oracle::VerdictKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;

const fs::path kFolder = fs::path(DRAFTPROOF_SOURCE_DIR) / "fixtures/transcripts";

std::map<std::string, Verdict> judged(const std::string& file, const std::string& contract) {
  const std::string path = (kFolder / file).string();
  tools::audit::RecordedRun run = tools::audit::read_run({path});
  run.record.toy = (kFolder / "attention.toy.json").string();
  run.record.judge.contract = contract;
  tools::audit::ToyLaw law;
  auto settings = tools::audit::judge_settings(run.record, law, kFolder.string(), path);
  settings.baseline.vocab_size = settings.speculative.vocab_size = law.target->vocab_size();
  std::map<std::string, Verdict> verdicts;
  for (Verdict& each : properties::audits::judge(run.record.matrix, run.evidence, settings)) {
    std::string name = each.property + " " + each.setting;
    verdicts[std::move(name)] = std::move(each);
  }
  return verdicts;
}

std::vector<std::string> violated(const std::map<std::string, Verdict>& verdicts) {
  std::vector<std::string> names;
  for (const auto& [name, verdict] : verdicts)
    if (verdict.kind == VerdictKind::kViolated) names.push_back(name);
  return names;
}

TEST(RecordedTranscripts, FindNothingInTransformers) {
  for (const char* file : {"assistant", "lookup", "early_exit"}) {
    const auto verdicts = judged("transformers/" + std::string(file) + ".jsonl", "transformers");
    EXPECT_THAT(violated(verdicts), IsEmpty()) << file;
    for (const char* name :
         {"baseline_law t1-n6", "next_token_law t1-n6", "greedy_margin_parity t0-n6"})
      EXPECT_EQ(verdicts.at(name).kind, VerdictKind::kUpheld) << file << ": " << name;
    EXPECT_THAT(verdicts.at("joint_law t1-n6").evidence, HasSubstr("too few to see less than TV"));
    EXPECT_THAT(verdicts.at("draft_efficiency t1-n6").evidence, HasSubstr("without both laws"));
    EXPECT_EQ(verdicts.at("draft_efficiency t1-n6").label, oracle::Label::kNotExercised);
  }
  const auto filtered = judged("transformers/assistant_topk.jsonl", "transformers");
  EXPECT_THAT(violated(filtered), IsEmpty());
  EXPECT_EQ(filtered.at("next_token_law t0.7-k4-n6").kind, VerdictKind::kUpheld);
}

TEST(RecordedTranscripts, ConvictVllmOnProcessorsWhereItSamples) {
  for (const char* file : {"draft_model", "ngram"}) {
    const auto verdicts = judged("vllm/" + std::string(file) + ".jsonl", "vllm");
    EXPECT_THAT(violated(verdicts), IsSupersetOf({"next_token_law t1-n6", "joint_law t1-n6",
                                                  "support_of_filters t1-n6"}))
        << file;
    EXPECT_EQ(verdicts.at("next_token_law t1-n6").label, oracle::Label::kLossy);
    EXPECT_EQ(verdicts.at("baseline_law t1-n6").kind, VerdictKind::kUpheld) << file;
    EXPECT_EQ(verdicts.at("greedy_margin_parity t0-n6").kind, VerdictKind::kUpheld) << file;
  }
}

}  // namespace
}  // namespace draftproof::tests
