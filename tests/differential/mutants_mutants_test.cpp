// Both directions of the promise that the properties are worth something: every mutant dies by the
// property it names, and every property kills something. And the other half: no control is flagged.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "fixtures/mutants/catalog.h"
#include "properties/case.h"
#include "properties/property.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/golden_update.h"
#include "tests/differential/kernel_mutants.h"

namespace draftproof::tests {
namespace {

using fixtures::MutantInfo;
using fixtures::MutantKind;
using oracle::VerdictKind;

properties::Settings smoke() {
  properties::Settings settings;
  settings.battery = properties::Battery::kSmoke;
  return settings;
}

std::unique_ptr<reference::Verifier> twin_of(const MutantInfo& info) {
  if (auto twin = fixtures::make_twin(info.name)) return twin;
  return reference::verify::make_verifier(fixtures::make_mutant(info.name)->traits().rule);
}

oracle::Verdict judged(const std::string& property, const MutantInfo& info) {
  const auto verifier = fixtures::make_mutant(info.name);
  const auto twin = twin_of(info);
  return properties::property(property).check({verifier.get(), twin.get()}, smoke());
}

std::vector<MutantInfo> of_kind(MutantKind kind) {
  std::vector<MutantInfo> chosen;
  for (const MutantInfo& info : fixtures::mutants()) {
    if (info.kind == kind) chosen.push_back(info);
  }
  return chosen;
}

class EveryMutant : public testing::TestWithParam<MutantInfo> {};

TEST_P(EveryMutant, DiesByThePropertyItNames) {
  const auto verdict = judged(GetParam().killed_by, GetParam());
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated)
      << GetParam().killed_by << ": " << verdict.evidence;
  EXPECT_TRUE(verdict.witness.has_value());
}

std::string name_of(const testing::TestParamInfo<MutantInfo>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Mutants, EveryMutant, testing::ValuesIn(of_kind(MutantKind::kMutant)),
                         name_of);

class EveryCommonModeFault : public testing::TestWithParam<MutantInfo> {};

TEST_P(EveryCommonModeFault, DiesByThePropertyItNames) {
  const auto verdict = judged(GetParam().killed_by, GetParam());
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated) << verdict.evidence;
}

/// That its twin hides it from parity is for the kernels below to show; here it is its own twin.
TEST_P(EveryCommonModeFault, IsSeenByParityWithTheSoundReference) {
  const auto fault = fixtures::make_mutant(GetParam().name);
  const auto sound = reference::verify::make_verifier(fault->traits().rule);
  const auto verdict =
      properties::property("kernel_equals_reference").check({fault.get(), sound.get()}, smoke());
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated) << verdict.evidence;
}

INSTANTIATE_TEST_SUITE_P(Mutants, EveryCommonModeFault,
                         testing::ValuesIn(of_kind(MutantKind::kCommonMode)), name_of);

class EveryControl : public testing::TestWithParam<MutantInfo> {};

TEST_P(EveryControl, IsUpheldByAllThatApplies) {
  const auto traits = fixtures::make_mutant(GetParam().name)->traits();
  int applied = 0;
  for (const properties::Property& property : properties::catalog()) {
    if (!property.exemption(traits).empty()) continue;
    const auto verdict = judged(property.id, GetParam());
    EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << property.id << ": " << verdict.evidence;
    ++applied;
  }
  EXPECT_GE(applied, 4);
}

INSTANTIATE_TEST_SUITE_P(Mutants, EveryControl, testing::ValuesIn(of_kind(MutantKind::kControl)),
                         name_of);

oracle::Verdict judged(const std::string& property, const KernelMutant& mutant,
                       reference::Verifier& twin) {
  const DeviceSubject subject = make_kernel_mutant(mutant);
  return properties::property(property).check({subject.verifier.get(), &twin}, smoke());
}

/// Judges the kept case of a mutant. With DRAFTPROOF_UPDATE_GOLDENS=1 one is looked for by the
/// standard battery, and kept, where the present one does not kill.
oracle::Verdict judged_by_kept_case(const KernelMutant& mutant, reference::Verifier& twin) {
  const DeviceSubject device = make_kernel_mutant(mutant);
  const properties::Subject subject{device.verifier.get(), &twin};
  const auto& property = properties::property(mutant.patch.kills);
  const std::string file =
      DRAFTPROOF_SOURCE_DIR "/fixtures/regressions/" + mutant.patch.name + ".json";
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  oracle::Verdict verdict;
  if (!text.str().empty()) {
    verdict = property.replay(subject, properties::case_from_json(text.str(), file));
  }
  if (verdict.kind == VerdictKind::kViolated || !is_golden_update()) return verdict;
  verdict = property.check(subject, {});
  if (verdict.witness) std::ofstream(file) << verdict.witness->case_json;
  return verdict;
}

bool is_common_mode(const KernelMutant& mutant) { return mutant.patch.name.starts_with("common_"); }

class EveryKernelMutant : public testing::TestWithParam<KernelMutant> {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no kernels embedded";
  }
  std::unique_ptr<reference::Verifier> twin() const {
    return is_common_mode(GetParam()) ? fixtures::make_twin(GetParam().patch.name)
                                      : reference::verify::make_verifier(GetParam().rule);
  }
};

TEST_P(EveryKernelMutant, DiesByThePropertyItNames) {
  auto verdict = judged(GetParam().patch.kills, GetParam(), *twin());
  // A few faults need more than the smoke battery has: a large vocabulary, a rare schedule. Their
  // least case was found by the standard battery and is kept.
  if (verdict.kind != VerdictKind::kViolated) verdict = judged_by_kept_case(GetParam(), *twin());
  EXPECT_EQ(verdict.kind, VerdictKind::kViolated)
      << GetParam().patch.kills << ": " << verdict.evidence;
}

class EveryCommonModeKernel : public EveryKernelMutant {};

TEST_P(EveryCommonModeKernel, IsInvisibleToParityWithItsTwin) {
  const auto verdict = judged("kernel_equals_reference", GetParam(), *twin());
  EXPECT_EQ(verdict.kind, VerdictKind::kUpheld) << verdict.evidence;
}

std::vector<KernelMutant> common_mode_kernels() {
  std::vector<KernelMutant> chosen;
  for (KernelMutant& mutant : kernel_mutants()) {
    if (is_common_mode(mutant)) chosen.push_back(std::move(mutant));
  }
  return chosen;
}

std::string patch_name(const testing::TestParamInfo<KernelMutant>& info) {
  return info.param.patch.name;
}

INSTANTIATE_TEST_SUITE_P(Mutants, EveryKernelMutant, testing::ValuesIn(kernel_mutants()),
                         patch_name);
INSTANTIATE_TEST_SUITE_P(Mutants, EveryCommonModeKernel, testing::ValuesIn(common_mode_kernels()),
                         patch_name);

TEST(EveryCommonModeFaultOfAKernel, HasATwinAndTheOtherWayRound) {
  std::set<std::string> patches;
  std::set<std::string> twins;
  for (const KernelMutant& mutant : kernel_mutants()) {
    if (is_common_mode(mutant)) patches.insert(mutant.patch.name);
  }
  for (const MutantInfo& info : of_kind(MutantKind::kCommonMode)) twins.insert(info.name);
  EXPECT_EQ(patches, twins);
}

TEST(EveryProperty, KillsSomething) {
  std::set<std::string> killers;
  for (const MutantInfo& info : fixtures::mutants()) killers.insert(info.killed_by);
  for (const KernelMutant& mutant : kernel_mutants()) killers.insert(mutant.patch.kills);
  for (const properties::Property& property : properties::catalog()) {
    EXPECT_TRUE(killers.contains(property.id)) << property.id << " kills no mutant";
  }
}

TEST(EveryMutantNames, APropertyThatExists) {
  for (const MutantInfo& info : fixtures::mutants()) {
    if (info.kind == MutantKind::kControl) continue;
    EXPECT_NO_THROW(properties::property(info.killed_by)) << info.name;
  }
  for (const KernelMutant& mutant : kernel_mutants()) {
    EXPECT_NO_THROW(properties::property(mutant.patch.kills)) << mutant.patch.name;
  }
}

}  // namespace
}  // namespace draftproof::tests
