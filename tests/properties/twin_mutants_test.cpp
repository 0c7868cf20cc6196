// Every check of the twin says what it is there for: the engine is right, one thing is planted
// behind one of its calls, and the twin must name the check that the thing belongs to.
#include <gtest/gtest.h>

#include <set>

#include "tests/properties/planted_records.h"

namespace draftproof::properties::state {
namespace {

/// A run of a right engine; behind every call a copy of engine and twin is given to `look`.
template <typename Look>
void run(std::uint64_t seed, int call_count, Look look) {
  Dice dice(seed);
  const decode::EngineConfig config = run_config(dice);
  decode::Engine engine(config, decode::right_steps(), [](const kv::CacheConfig& cache, bool) {
    return std::make_unique<OpenCache>(cache);
  });
  Twin twin(std::make_shared<const decode::EngineConfig>(config));
  std::vector<VerificationRecord> records;
  engine.observe([&](const VerificationRecord& record) { records.push_back(record); });
  for (int i = 0; i < call_count; ++i) {
    records.clear();
    const Call call = call_at_random(dice, engine);
    look(engine, twin, records, boundary_of(call));
    for (const VerificationRecord& record : records) twin.verified(record);
    const auto divergence = twin.check(engine, boundary_of(call));
    ASSERT_FALSE(divergence) << "run " << seed << ": " << to_string(*divergence);
  }
}

class PlantedDifference : public testing::TestWithParam<Planted> {};

TEST_P(PlantedDifference, IsReportedByItsCheck) {
  const Planted& planted = GetParam();
  constexpr int kEnough = 12;
  int count = 0;
  for (std::uint64_t seed = 300; seed < 360 && count < kEnough; ++seed)
    run(seed, 80,
        [&](const decode::Engine& engine, const Twin& twin,
            const std::vector<VerificationRecord>& records, Boundary boundary) {
          if (count >= kEnough) return;
          if (planted.check == StateCheck::kRecurrent && !engine.config().target->is_recurrent())
            return;
          if (planted.check == StateCheck::kLogprobs &&
              std::any_of(engine.state().host.begin(), engine.state().host.end(),
                          [](const auto& host) { return host.second.spec.logprob_count < 0; }))
            return;
          decode::Engine wrong(engine);
          Twin asked = twin;
          bool is_planted = false;
          for (VerificationRecord record : records) {
            if (!is_planted && planted.in_record) is_planted = planted.in_record(record);
            asked.verified(record);
          }
          // The state of an engine is its own: only here it is changed from outside.
          if (planted.in_state)
            is_planted = planted.in_state(const_cast<EngineState&>(wrong.state()));
          if (!is_planted) return;
          ++count;
          const auto divergence = asked.check(wrong, boundary);
          ASSERT_TRUE(divergence) << "run " << seed;
          EXPECT_EQ(divergence->check, planted.check)
              << "run " << seed << ": " << to_string(*divergence);
        });
  EXPECT_GE(count, kEnough);
}

INSTANTIATE_TEST_SUITE_P(Twin, PlantedDifference, testing::ValuesIn(planted_differences()),
                         [](const auto& planted) {
                           std::string name = planted.param.name;
                           for (char& letter : name)
                             if (std::isalnum(static_cast<unsigned char>(letter)) == 0)
                               letter = '_';
                           return name;
                         });

TEST(PlantedDifferences, AreThereForEveryCheck) {
  std::set<StateCheck> checks;
  for (const Planted& planted : planted_differences()) checks.insert(planted.check);
  // What can be found again has a test of its own in twin_test.cpp.
  checks.insert(StateCheck::kPrefix);
  EXPECT_EQ(checks.size(), kStateCheckCount);
}

}  // namespace
}  // namespace draftproof::properties::state
