// The reference upholds every property that applies to it; the sibling file wrong_property_test
// shows that each can fail.
#include <gtest/gtest.h>

#include "oracle/explain.h"
#include "wrong_verifiers.h"

namespace draftproof::properties {
namespace {

class Catalog : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> ids() {
  std::vector<std::string> list;
  for (const Property& each : catalog()) list.push_back(each.id);
  return list;
}

void expect_upheld(const std::string& id, reference::Verifier& verifier) {
  if (!property(id).exemption(verifier.traits()).empty()) return;
  const oracle::Verdict verdict = verdict_of(id, verifier);
  EXPECT_EQ(verdict.kind, oracle::VerdictKind::kUpheld) << oracle::explain(verdict);
  EXPECT_EQ(verdict.property, id);
  EXPECT_EQ(verdict.claim, property(id).claim);
  EXPECT_GT(verdict.trials, 0u);
  EXPECT_FALSE(verdict.smallest_visible_effect.empty());
  EXPECT_FALSE(verdict.witness.has_value());
}

TEST_P(Catalog, IsUpheldByTheChainReference) {
  expect_upheld(GetParam(), *reference::verify::make_verifier("chain"));
}

TEST_P(Catalog, IsUpheldByTheGreedyReference) {
  expect_upheld(GetParam(), *reference::verify::make_verifier("greedy"));
}

TEST_P(Catalog, IsUpheldByTheReferenceOfEveryOtherRule) {
  // A rule against itself: the slowest property, and all rules run the same code in it.
  const bool is_parity = GetParam() == "kernel_equals_reference";
  for (const std::string& rule : reference::verify::rules()) {
    SCOPED_TRACE(rule);
    if (rule != "chain" && rule != "greedy" && (!is_parity || rule == "block"))
      expect_upheld(GetParam(), *reference::verify::make_verifier(rule));
  }
}

TEST_P(Catalog, IsUpheldByAPretendedDeviceWithoutFaults) {
  Altered device(nullptr);
  device.traits().is_watched = true;
  device.traits().block_threads = {32, 96, 256};
  EXPECT_EQ(property(GetParam()).exemption(device.traits()), "");
  expect_upheld(GetParam(), device);
}

INSTANTIATE_TEST_SUITE_P(Properties, Catalog, ::testing::ValuesIn(ids()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace draftproof::properties
