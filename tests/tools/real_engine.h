// A real engine under audit: toys on disk, arms that are started, a matrix that is collected and
// judged, as the command does it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reference/error.h"
#include "tools/audit/audit_run.h"
#include "tools/toys/toy_files.h"

namespace draftproof::tests {

namespace fs = std::filesystem;
using oracle::Verdict;
using oracle::VerdictKind;

/// Skips without the engine, and says what brings it.
class RealEngine : public testing::Test {
 protected:
  explicit RealEngine(std::string engine) : engine_(std::move(engine)) {}

  void SetUp() override {
    const char* build = std::getenv("DRAFTPROOF_BUILD");
    const fs::path fetched =
        fs::path(build ? build : std::string(DRAFTPROOF_SOURCE_DIR) + "/build") / "engines" /
        engine_;
    python_ = fs::absolute(fetched / "venv/bin/python3");
    if (!fs::exists(fetched / "complete"))
      GTEST_SKIP() << "no " << engine_ << ": run tools/engines/fetch.sh " << engine_;
    folder_ = fs::path(testing::TempDir()) /
              (engine_ + "_" + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  void write_toy(const tools::toys::ToySpec& spec, const std::string& name,
                 const std::string& tokenizer = "llama",
                 tools::toys::TensorFormat dtype = tools::toys::TensorFormat::kF32) const {
    tools::toys::write_toy(
        spec, {.folder = folder_, .name = name, .dtype = dtype, .tokenizer = tokenizer});
  }
  std::string gguf(const std::string& name) const { return (folder_ / (name + ".gguf")).string(); }

  using Options = std::map<std::string, std::string>;
  /// Verdicts by "AUDIT SETTING" of the arms with these options; `rest` is TOML behind the arms.
  std::map<std::string, Verdict> audit(const Options& baseline, const Options& speculative,
                                       const std::string& rest) {
    const fs::path file = folder_ / "draftproof.toml";
    std::ofstream(file) << arm("baseline", baseline) << arm("speculative", speculative)
                        << "[target]\ntoy = \"" << (folder_ / "target.toy.json").string() << "\"\n"
                        << rest;
    const tools::audit::AuditConfig config = tools::audit::load_config(file, {}).config;
    tools::audit::Arms arms(config, folder_ / "arms");
    facts_ = arms.facts(properties::Arm::kSpeculative);
    const tools::audit::RunRecord record = tools::audit::record_of(config, arms);
    tools::audit::ToyLaw law;
    const auto judge = tools::audit::judge_settings(record, law, folder_.string(), file.string());
    fs::remove(folder_ / "run.sqlite");
    tools::store::ObservationStore store(folder_ / "run.sqlite",
                                         tools::store::ObservationStore::Mode::kCreate);
    properties::audits::Evidence evidence;
    std::vector<std::size_t> settings(record.matrix.settings.size());
    for (std::size_t i = 0; i < settings.size(); ++i) settings[i] = i;
    const tools::audit::CollectResult result =
        collect_into(store, evidence, arms,
                     {config, record, judge, settings, [] { return false; },
                      [](std::size_t, std::uint64_t, std::uint64_t) {}});
    EXPECT_EQ(result.end, tools::audit::CollectEnd::kComplete) << result.reason;
    counters_ = arms.client(properties::Arm::kSpeculative).facts().counters;
    std::map<std::string, Verdict> verdicts;
    for (Verdict& each : properties::audits::judge(record.matrix, evidence, judge)) {
      std::string name = each.property + " " + each.setting;
      verdicts[std::move(name)] = std::move(each);
    }
    return verdicts;
  }

  /// Properties that came out so, in whatever setting.
  static std::vector<std::string> of_kind(const std::map<std::string, Verdict>& verdicts,
                                          VerdictKind kind) {
    std::vector<std::string> names;
    for (const auto& [name, verdict] : verdicts)
      if (verdict.kind == kind) names.push_back(name);
    return names;
  }
  static std::string told(const std::map<std::string, Verdict>& verdicts) {
    std::string text;
    for (const auto& [name, verdict] : verdicts)
      text += name + ": " + std::string(to_string(verdict.kind)) + ", " + verdict.evidence + "\n";
    return text;
  }
  void expect(const std::map<std::string, Verdict>& verdicts, const std::string& name,
              VerdictKind kind) const {
    const auto found = verdicts.find(name);
    ASSERT_NE(found, verdicts.end()) << name << " is none of\n" << told(verdicts);
    EXPECT_EQ(found->second.kind, kind) << told(verdicts);
  }

  fs::path folder_;
  tools::engines::ArmFacts facts_;
  std::map<std::string, double> counters_;

 private:
  std::string arm(const std::string& name, const Options& options) const {
    std::string text = "[arm." + name + "]\nrunner = \"" + engine_ + "\"\n[arm." + name +
                       ".runner_options]\npython = \"" + python_.string() + "\"\n";
    for (const auto& [option, value] : options) text += option + " = \"" + value + "\"\n";
    return text;
  }

  std::string engine_;
  fs::path python_;
};

}  // namespace draftproof::tests
