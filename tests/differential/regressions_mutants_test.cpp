// The stored least cases. Those of reference mutants are what the witness table says (rewritten
// with DRAFTPROOF_UPDATE_GOLDENS=1) and refute the mutant they were kept for; all of them hold of
// the reference and of our kernels.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "fixtures/mutants/catalog.h"
#include "gpu/emulated_device.h"
#include "gpu/verifiers.h"
#include "properties/case.h"
#include "properties/property.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/golden_update.h"
#include "tests/fixtures/witnesses.h"

namespace draftproof::tests {
namespace {

using fixtures::witnesses::Witness;

const std::filesystem::path kFolder = DRAFTPROOF_SOURCE_DIR "/fixtures/regressions";

std::filesystem::path file_of(const Witness& witness) { return kFolder / (witness.name + ".json"); }

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

properties::Case case_of(const Witness& witness) {
  const auto& info = fixtures::mutant_info(witness.name);
  properties::Case result;
  result.property = info.killed_by;
  result.rule = fixtures::make_mutant(witness.name)->traits().rule;
  result.batch = witness.batch;
  result.coins = witness.coins.scripted();
  result.fallback_coin = witness.coins.fallback();
  result.execution = witness.execution;
  result.note = info.name + ": " + info.statement;
  result.expected = reference::verify::make_verifier(result.rule)
                        ->verify(result.batch, witness.coins, witness.execution)
                        .requests;
  return result;
}

/// Four rows of 32,000 tokens, each certain of another one: the last begins behind 2^16 elements,
/// which the smoke battery's vocabularies do not reach.
properties::Case large_rows() {
  properties::Case result;
  result.property = "kernel_equals_reference";
  result.batch.vocab_size = 32000;
  result.batch.preset = reference::preset("default");
  for (std::uint32_t id = 0; id < 4; ++id) {
    reference::Request request;
    request.id = id;
    request.target_rows = {reference::Row(32000, -fixtures::written::kInfinity)};
    request.target_rows[0][100 + id] = 0;
    result.batch.requests.push_back(request);
    result.expected.push_back(
        {0, {{static_cast<reference::Token>(100 + id), reference::Reason::kBonus}}, {}, 0});
  }
  result.note = "rows behind the first 2^16 elements of a batch";
  return result;
}

TEST(Regressions, AreWhatTheWitnessesSay) {
  std::set<std::string> known;
  for (const Witness& witness : fixtures::witnesses::all_witnesses()) {
    const auto file = file_of(witness);
    const std::string text = properties::to_json(case_of(witness));
    if (is_golden_update()) std::ofstream(file) << text;
    EXPECT_EQ(text_of(file), text) << file;
    known.insert(file.filename().string());
  }
  const auto file = kFolder / "large_rows.json";
  const std::string text = properties::to_json(large_rows());
  if (is_golden_update()) std::ofstream(file) << text;
  EXPECT_EQ(text_of(file), text) << file;
  EXPECT_GE(known.size(), 30u);
}

oracle::Verdict replayed(const properties::Case& recorded, reference::Verifier& verifier) {
  const auto twin = reference::verify::make_verifier(recorded.rule);
  return properties::property(recorded.property).replay({&verifier, twin.get()}, recorded);
}

std::vector<properties::Case> all_recorded() {
  std::vector<properties::Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".json") continue;
    cases.push_back(
        properties::case_from_json(text_of(entry.path()), entry.path().filename().string()));
  }
  return cases;
}

/// Replays every case whose property applies, and counts them.
std::size_t expect_upheld(const properties::Case& recorded, reference::Verifier& verifier) {
  const auto& property = properties::property(recorded.property);
  if (!property.exemption(verifier.traits()).empty()) return 0;
  const auto verdict = replayed(recorded, verifier);
  EXPECT_EQ(verdict.kind, oracle::VerdictKind::kUpheld) << recorded.note << verdict.evidence;
  return 1;
}

TEST(Regressions, HoldOfTheReference) {
  std::size_t count = 0;
  for (const auto& recorded : all_recorded()) {
    count += expect_upheld(recorded, *reference::verify::make_verifier(recorded.rule));
  }
  EXPECT_GE(count, 35u);
}

TEST(Regressions, HoldOfOurKernels) {
  if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no kernels embedded";
  const auto device = gpu::make_emulated_device();
  std::size_t count = 0;
  for (const auto& recorded : all_recorded()) {
    count += expect_upheld(recorded, *gpu::make_kernel_verifier(*device, recorded.rule));
  }
  EXPECT_GE(count, 35u);
}

TEST(Regressions, RefuteTheMutantTheyWereKeptFor) {
  for (const Witness& witness : fixtures::witnesses::all_witnesses()) {
    const auto recorded =
        properties::case_from_json(text_of(file_of(witness)), file_of(witness).string());
    const auto mutant = fixtures::make_mutant(witness.name);
    const auto verdict = replayed(recorded, *mutant);
    EXPECT_EQ(verdict.kind, oracle::VerdictKind::kViolated) << witness.name << verdict.evidence;
  }
}

}  // namespace
}  // namespace draftproof::tests
