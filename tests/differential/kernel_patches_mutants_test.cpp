// Goal: the alarm rings. Method: every broken kernel of fixtures/mutants/kernels is held against
// the reference on random batches, and must be found wrong by its outcome, by what the device saw,
// or by a changed input; whether the property that a patch names kills it is the catalog's test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>
#include <string>

#include "reference/verify/verifiers.h"
#include "tests/differential/kernel_mutants.h"
#include "tests/differential/parity.h"
#include "tests/differential/random_trees.h"

namespace draftproof::tests {
namespace {

/// What gives the subject away, and after how many cases; nothing when it survives.
std::optional<std::string> finding(reference::Verifier& subject) {
  const auto reference = reference::verify::make_verifier(subject.traits().rule);
  RandomCases cases(21, {1, 2048, 6, 4});
  RandomCases batches(22, {4000, 4096, 8, 4});
  Grafter grafter(23);
  for (int i = 0; i < 120; ++i) {
    RandomCase input = i % 20 == 19 ? batches.next() : cases.next();
    if (subject.traits().takes_trees) grafter.graft(input);
    if (const auto found = disparity(subject, *reference, input))
      return "case " + std::to_string(i) + ": " + found->substr(0, 200);
  }
  return std::nullopt;
}

class KernelPatches : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }
};

TEST_F(KernelPatches, EveryBrokenKernelIsFound) {
  const auto mutants = kernel_mutants();
  EXPECT_GE(mutants.size(), 30u);
  for (const KernelMutant& mutant : mutants) {
    const auto found = finding(*make_kernel_mutant(mutant).verifier);
    EXPECT_TRUE(found) << mutant.patch.name << " survives: " << mutant.patch.statement;
    if (found) RecordProperty(mutant.patch.name, *found);
    if (std::getenv("DRAFTPROOF_TELL") != nullptr && found)
      std::cout << mutant.patch.name << ": " << *found << "\n";
  }
}

/// By the same cases, for every rule that a patch breaks.
TEST_F(KernelPatches, NothingIsFoundInKernelsAsCompiled) {
  std::set<std::string> rules;
  for (const KernelMutant& mutant : kernel_mutants()) rules.insert(mutant.rule);
  EXPECT_GE(rules.size(), 3u);
  const auto device = gpu::make_emulated_device();
  for (const std::string& rule : rules) {
    const auto found = finding(*gpu::make_kernel_verifier(*device, rule));
    EXPECT_FALSE(found) << rule << ": " << *found;
  }
}

}  // namespace
}  // namespace draftproof::tests
