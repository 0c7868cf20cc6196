// The recorded cases of fixtures/regressions: each reads, and where it applies to the reference it
// holds, recorded answer included.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "oracle/explain.h"
#include "properties/property.h"
#include "reference/verify/verifiers.h"

namespace draftproof::properties {
namespace {

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> list;
  for (const auto& entry :
       std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR "/fixtures/regressions"))
    if (entry.path().extension() == ".json") list.push_back(entry.path());
  return list;
}

Case read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return case_from_json(text.str(), path.filename().string());
}

/// Cases of properties of a device say nothing about the reference.
bool applies(const Case& value) {
  const auto reference = reference::verify::make_verifier(value.rule);
  return property(value.property).exemption(reference->traits()).empty();
}

oracle::Verdict replayed(const Case& value) {
  const auto reference = reference::verify::make_verifier(value.rule);
  return property(value.property).replay({reference.get(), reference.get()}, value);
}

TEST(Regressions, HoldOnTheReference) {
  int count = 0;
  for (const auto& path : files()) {
    const Case value = read(path);
    if (!applies(value)) continue;
    const oracle::Verdict verdict = replayed(value);
    EXPECT_EQ(verdict.kind, oracle::VerdictKind::kUpheld) << path << "\n"
                                                          << oracle::explain(verdict);
    ++count;
  }
  EXPECT_GT(count, 20);
}

TEST(Regressions, AreWrittenBackAsTheSameCase) {
  for (const auto& path : files()) {
    const Case value = read(path);
    EXPECT_EQ(to_json(case_from_json(to_json(value), "again")), to_json(value)) << path;
  }
}

TEST(Regressions, AWrongRecordedAnswerIsSeen) {
  int count = 0;
  for (const auto& path : files()) {
    Case value = read(path);
    if (!applies(value) || value.expected.empty()) continue;
    value.expected[0].accepted_count += 1;
    EXPECT_EQ(replayed(value).kind, oracle::VerdictKind::kViolated) << path;
    ++count;
  }
  EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace draftproof::properties
