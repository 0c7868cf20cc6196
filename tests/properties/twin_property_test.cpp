// A right engine has no divergence from its twin, whatever happens to it.
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tests/properties/twin_runs.h"

namespace draftproof::properties::state {
namespace {

namespace decode = reference::decode;

struct RunCounts {
  std::int64_t replayed = 0, accepted = 0, drafted = 0, preempted = 0, finished = 0;
  std::map<decode::FinishReason, int> finishes;
};

/// Its rows behind token 3 cannot be judged.
class UnjudgeableBehindThree final : public decode::LanguageModel {
 public:
  explicit UnjudgeableBehindThree(decode::LanguageModelPtr model) : model_(std::move(model)) {}
  int vocab_size() const override { return model_->vocab_size(); }
  bool is_recurrent() const override { return model_->is_recurrent(); }
  void logits(const decode::Seen& seen, reference::Row& row) const override {
    model_->logits(seen, row);
    if (seen.tokens.back() == 3) row.assign(row.size(), -std::numeric_limits<float>::infinity());
  }

 private:
  decode::LanguageModelPtr model_;
};

template <typename AnyTwin>
std::optional<Divergence> diverges(std::uint64_t seed, int call_count, RunCounts& counts,
                                   bool is_unjudgeable = false) {
  Dice dice(seed);
  decode::EngineConfig config = run_config(dice);
  if (is_unjudgeable) config.target = std::make_shared<UnjudgeableBehindThree>(config.target);
  decode::Engine engine(config);
  AnyTwin twin(std::make_shared<const decode::EngineConfig>(config));
  engine.observe([&](const decode::VerificationRecord& record) { twin.verified(record); });
  for (int i = 0; i < call_count; ++i) {
    const Call call = call_at_random(dice, engine);
    if (auto divergence = twin.check(engine, boundary_of(call))) return divergence;
  }
  counts.replayed += twin.replayed_count();
  for (const auto& [id, host] : engine.state().host) {
    counts.accepted += host.metrics.accepted;
    counts.drafted += host.metrics.drafted;
    counts.preempted += host.epoch;
    ++counts.finishes[host.finish];
  }
  return std::nullopt;
}

TEST(Twin, FindsNothingInARightEngine) {
  RunCounts counts;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto divergence = diverges<Twin>(seed, 280, counts);
    EXPECT_FALSE(divergence) << "run " << seed << ": " << to_string(*divergence);
  }
  EXPECT_GT(counts.replayed, 5000);
  EXPECT_GT(counts.accepted, 1000);
  EXPECT_GT(counts.drafted, counts.accepted);
  EXPECT_GT(counts.preempted, 100);
  for (const auto reason :
       {decode::FinishReason::kEos, decode::FinishReason::kStop, decode::FinishReason::kLength,
        decode::FinishReason::kContext, decode::FinishReason::kCancelled})
    EXPECT_GT(counts.finishes[reason], 20) << decode::to_string(reason);
}

TEST(Twin, FindsNothingWhereRowsCannotBeJudged) {
  RunCounts counts;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    const auto divergence = diverges<Twin>(seed, 150, counts, true);
    EXPECT_FALSE(divergence) << "run " << seed << ": " << to_string(*divergence);
  }
  EXPECT_GT(counts.finishes[decode::FinishReason::kStatus], 50);
  EXPECT_GT(counts.accepted, 100);
}

TEST(NaiveTwin, ReportsARightEngine) {
  int reported = 0;
  RunCounts counts;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto divergence = diverges<NaiveTwin>(seed, 150, counts);
    if (!divergence) continue;  // nothing was ever judged
    ++reported;
    EXPECT_EQ(divergence->check, StateCheck::kTargetCells) << to_string(*divergence);
  }
  EXPECT_GT(reported, 35);
}

}  // namespace
}  // namespace draftproof::properties::state
