// check calibration as a command: what it refuses, and that nothing unfinished counts as held. The
// checks themselves are run by tests/properties/calibration_statistical_test.cpp.
#include "tools/draftproof/commands/check_calibration.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "properties/calibration/calibration.h"
#include "reference/error.h"
#include "tests/tools/schema.h"

namespace draftproof::tools {
namespace {

CheckSettings calibration_settings() {
  CheckSettings settings;
  settings.properties = {kCalibration};
  settings.battery = properties::Battery::kSmoke;
  return settings;
}

std::pair<ExitCode, std::string> answered(const CheckSettings& settings) {
  std::ostringstream out, err;
  const ExitCode code = check_calibration(settings, {out, err});
  return {code, out.str()};
}

TEST(CheckCalibration, WithoutTimeIsInconclusiveAndNamesEveryCheck) {
  CheckSettings settings = calibration_settings();
  settings.time_limit_seconds = 0;
  settings.output.format = OutputFormat::kJson;
  const auto [code, text] = answered(settings);
  EXPECT_EQ(code, ExitCode::kInconclusive);
  const auto document = nlohmann::json::parse(text);
  EXPECT_EQ(document["exit_code"], 2);
  EXPECT_EQ(document["battery"], "smoke");
  ASSERT_EQ(document["checks"].size(), properties::calibration::calibrations().size());
  for (const auto& check : document["checks"]) EXPECT_NE(check["verdict"], "upheld") << check;
  settings.allows_inconclusive = true;
  EXPECT_EQ(answered(settings).first, ExitCode::kUpheld);
}

TEST(CheckCalibration, ConformsToItsSchema) {
  if (!tests::can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  CheckSettings settings = calibration_settings();
  settings.time_limit_seconds = 0;
  settings.output.format = OutputFormat::kJson;
  const std::string text = answered(settings).second;
  EXPECT_EQ(tests::schema_complaint("calibration.schema.json", text), "");
  auto wrong = nlohmann::json::parse(text);
  wrong["checks"][0]["verdict"] = "passed";
  EXPECT_NE(tests::schema_complaint("calibration.schema.json", wrong.dump()), "");
}

TEST(CheckCalibration, PrintsATableForReadersAndForIssues) {
  CheckSettings settings = calibration_settings();
  settings.time_limit_seconds = 0;
  const auto [code, text] = answered(settings);
  EXPECT_NE(text.find("tails_are_as_stated"), std::string::npos);
  EXPECT_NE(text.find("exit 2."), std::string::npos);
  settings.output.format = OutputFormat::kMarkdown;
  EXPECT_NE(answered(settings).second.find("| tails_are_as_stated |"), std::string::npos);
}

TEST(CheckCalibration, RefusesWhatSpeaksOfASubjectOrOfFiles) {
  const std::vector<std::function<void(CheckSettings&)>> wrong = {
      [](CheckSettings& settings) { settings.subject.subject = "reference"; },
      [](CheckSettings& settings) { settings.subject.rule = "chain"; },
      [](CheckSettings& settings) { settings.subject.kernels = {"a.ptx"}; },
      [](CheckSettings& settings) { settings.subject.device = "cuda"; },
      [](CheckSettings& settings) { settings.properties.push_back("race_free"); },
      [](CheckSettings& settings) { settings.reports = "junit"; },
      [](CheckSettings& settings) { settings.output.format = OutputFormat::kJsonLines; },
  };
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    CheckSettings settings = calibration_settings();
    wrong[i](settings);
    EXPECT_THROW(answered(settings), Error) << i;
  }
}

}  // namespace
}  // namespace draftproof::tools
