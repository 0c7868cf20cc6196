// Gates in the engine: each of the seven reasons keeps it from drafting, is written down where it
// began and where it ended, and changes no token.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "reference/decode/engine.h"
#include "tests/reference/engine_cases.h"

namespace draftproof::reference::decode {
namespace {

using draft::GateReason;
using draft::GateSwitch;

struct Gate {
  std::string name;
  GateReason reason;
  std::function<void(EngineConfig&, RequestSpec&)> close;
};

const std::vector<Gate>& gates() {
  static const std::vector<Gate> list = {
      {"short_output", GateReason::kShortOutput,
       [](EngineConfig& config, RequestSpec& spec) {
         config.gates.expected_tokens_min = 4;
         spec.expected_tokens = 3;
       }},
      {"poor_acceptance", GateReason::kPoorAcceptance,
       [](EngineConfig& config, RequestSpec&) {
         config.gates.accepted_min = Exact(config.draft_count) + 1;
       }},
      {"saturated_batch", GateReason::kSaturatedBatch,
       [](EngineConfig& config, RequestSpec&) { config.gates.running_max = 0; }},
      {"saturated_by_the_budget", GateReason::kSaturatedBatch,
       [](EngineConfig& config, RequestSpec&) { config.budget.draft_tokens = 0; }},
      {"little_memory", GateReason::kLittleMemory,
       [](EngineConfig& config, RequestSpec&) {
         config.gates.free_blocks_min = config.target_cache.page_count + 1;
       }},
      {"unsupported", GateReason::kUnsupported,
       [](EngineConfig& config, RequestSpec& spec) {
         config.adapter_count = 2;
         config.adapters_without_drafts = {1};
         spec.adapter = 1;
       }},
      {"out_of_domain", GateReason::kOutOfDomain,
       [](EngineConfig&, RequestSpec& spec) { spec.is_in_domain = false; }},
      {"too_hot", GateReason::kOutOfDomain,
       [](EngineConfig& config, RequestSpec&) { config.gates.temperature_max = Exact(1) / 2; }},
      {"cold_draft", GateReason::kColdDraft,
       [](EngineConfig& config, RequestSpec&) { config.draft_load_steps = 1000; }},
  };
  return list;
}

class EngineGates : public testing::TestWithParam<Gate> {};

TEST_P(EngineGates, KeepsFromDraftingAndSaysWhy) {
  EngineConfig config = small_engine();
  RequestSpec spec;
  spec.prompt = {1, 2, 3};
  spec.seed = 4;
  GetParam().close(config, spec);
  Engine engine(config);
  const RequestId id = engine.submit(spec);
  finish_all(engine);
  const HostRequest& request = engine.request(id);
  ASSERT_EQ(request.switches.size(), 1U);
  EXPECT_EQ(request.switches[0].reason, GetParam().reason);
  // Acceptance is known from the first draft on only; every other reason is there from the start.
  const bool is_learned = GetParam().reason == GateReason::kPoorAcceptance;
  EXPECT_EQ(request.metrics.drafted > 0, is_learned);
  if (!is_learned) {
    EXPECT_EQ(request.switches[0].length, 4);
  }
  EXPECT_EQ(output_of(request), outputs(without_drafts(config), {spec})[0]);
}

INSTANTIATE_TEST_SUITE_P(Engine, EngineGates, testing::ValuesIn(gates()),
                         [](const auto& tested) { return tested.param.name; });

TEST(EngineGates, LeaveALineWhereTheyOpenToo) {
  EngineConfig config = small_engine();
  config.draft_load_steps = 3;  // the prefill's and two verifications
  Engine engine(config);
  RequestSpec spec;
  spec.prompt = {1, 2, 3};
  const RequestId id = engine.submit(spec);
  finish_all(engine);
  const std::vector<GateSwitch> due = {{4, GateReason::kColdDraft}, {6, GateReason::kNone}};
  EXPECT_EQ(engine.request(id).switches, due);
  EXPECT_GT(engine.request(id).metrics.drafted, 0);
}

TEST(EngineGates, WriteNothingWhereNoneCloses) {
  Engine engine(small_engine());
  RequestSpec spec;
  spec.prompt = {1, 2, 3};
  const RequestId id = engine.submit(spec);
  finish_all(engine);
  EXPECT_TRUE(engine.request(id).switches.empty());
  EXPECT_GT(engine.request(id).metrics.drafted, 0);
}

}  // namespace
}  // namespace draftproof::reference::decode
