// A law that is not quite the engine's. Goal: a right engine is hardly ever convicted on it, also
// at the sizes where the drafting arm reaches its alarm before the baseline does. Method: both arms
// draw from a law that is .15 off the one that is told, in its places; so many tokens that alarms
// come about. Alarms alone would convict, and so would the baseline's e-value alone.
#include "judged_runs.h"
#include "properties/audits/law_sample.h"
#include "properties/random.h"

namespace draftproof::properties::audits {
namespace {

constexpr int kVocab = 16;

class EvenTarget final : public KnownTarget {
 public:
  int vocab_size() const override { return kVocab; }
  std::vector<double> next(const SamplingRequest&,
                           std::span<const reference::Token>) const override {
    return std::vector<double>(kVocab, 1.0 / kVocab);
  }
};

/// Every second token .15 / 8 likelier than it is said to be, the others as much less.
reference::Token drawn(Random& random) {
  constexpr double kOff = 0.15;
  const auto pair = static_cast<reference::Token>(random.below(kVocab / 2));
  return 2 * pair + (random.unit() < 0.5 + kOff ? 0 : 1);
}

TEST(WrongLaw, ConvictsHardlyAnyRightEngineWhicheverArmIsFirst) {
  constexpr std::uint64_t kRuns = 1000, kAnswers = 150;
  const EvenTarget told;
  std::uint64_t alarms = 0, beyond = 0, convicted = 0;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    Random random(derived_seed(seed, "a law that is off"));
    JudgedRun run(sampled_request(5));
    run.settings.target = &told;
    run.settings.baseline.vocab_size = run.settings.speculative.vocab_size = kVocab;
    for (std::uint64_t trial = 0; trial < kAnswers; ++trial)
      for (const Arm arm : {Arm::kBaseline, Arm::kSpeculative}) {
        Completion answer = tokens({});
        for (int i = 0; i < 5; ++i) answer.token_ids.push_back(drawn(random));
        run.add(arm, answer, trial);
      }
    const auto verdict = run.judged("next_token_law");
    convicted += verdict.kind == oracle::VerdictKind::kViolated ? 1 : 0;
    if (*verdict.log_e_value < *verdict.log_alarm) continue;
    const double baseline = *run.judged("baseline_law").log_e_value;
    if (baseline >= *verdict.log_alarm) continue;
    ++alarms;
    beyond += is_beyond_baseline(*verdict.log_e_value, baseline, *verdict.log_alarm) ? 1 : 0;
  }
  RecordProperty("alarms", static_cast<int>(alarms));
  RecordProperty("beyond", static_cast<int>(beyond));
  RecordProperty("convicted", static_cast<int>(convicted));
  EXPECT_LE(convicted, 5u);
  EXPECT_GE(beyond, 2 * std::max<std::uint64_t>(convicted, 1)) << "the places decided nothing";
  EXPECT_GE(alarms, 2 * beyond) << "the baseline's e-value decided nothing";
}

}  // namespace
}  // namespace draftproof::properties::audits
