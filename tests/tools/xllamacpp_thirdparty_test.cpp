// llama.cpp's server, of the pinned wheel, under audit: what of its speculation keeps the law of a
// toy, and what gives it up by design. Needs tools/engines/fetch.sh xllamacpp; skipped without it.
#include "tests/tools/real_engine.h"

namespace draftproof::tests {
namespace {

using testing::IsEmpty;

class Xllamacpp : public RealEngine {
 protected:
  Xllamacpp() : RealEngine("xllamacpp") {}

  void SetUp() override {
    RealEngine::SetUp();
    if (IsSkipped()) return;
    const tools::toys::ToySpec& target = tools::toys::named_toy("attention");
    write_toy(target, "target");
    write_toy(tools::toys::draft_of(target, "near"), "near");
  }

  Options plain() const {
    return {{"model", gguf("target")},
            {"exact", ""},
            {"parallel", "4"},
            {"ctx-size", "2048"},
            {"threads", "1"}};
  }
  Options with(const Options& more) const {
    Options options = more;
    options.merge(plain());
    return options;
  }
  Options drafting(const Options& more) const {
    Options options = {{"spec-type", "draft-simple"}, {"spec-draft-model", gguf("near")}};
    options.insert(more.begin(), more.end());
    return with(options);
  }
};

/// One greedy and one sampled setting, prompts that lookups find something in.
constexpr const char* kMatrix = R"(
[sampling]
temperature = [0, 1]
top_k = 0
max_tokens = 8
[prompts]
builtin = []
ids = [[3, 4, 5, 6, 3, 4, 5, 6, 3, 4], [7]]
[run]
trials = 512
concurrency = 4
effect_tv = 0.2
)";
constexpr const char* kSameSeed = "[speculation]\npromises_same_seed = true\n";

TEST_F(Xllamacpp, GivesTheTokensOfTheSeedWithGreedyDrafts) {
  const auto verdicts = audit(plain(), drafting({}), std::string(kMatrix) + kSameSeed);
  EXPECT_THAT(of_kind(verdicts, VerdictKind::kViolated), IsEmpty()) << told(verdicts);
  expect(verdicts, "baseline_law t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "next_token_law t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "same_seed_identity t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "greedy_margin_parity t0-n8", VerdictKind::kUpheld);
}

TEST_F(Xllamacpp, GivesTheTokensOfTheSeedWithDraftsFromThePrompt) {
  const auto verdicts = audit(plain(),
                              with({{"spec-type", "ngram-simple"},
                                    {"spec-ngram-simple-size-n", "1"},
                                    {"spec-ngram-simple-size-m", "3"}}),
                              std::string(kMatrix) + kSameSeed);
  EXPECT_THAT(of_kind(verdicts, VerdictKind::kViolated), IsEmpty()) << told(verdicts);
  expect(verdicts, "same_seed_identity t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "next_token_law t1-n8", VerdictKind::kUpheld);
}

TEST_F(Xllamacpp, KeepsTheLawWithSampledDrafts) {
  const auto verdicts =
      audit(plain(), drafting({{"spec-draft-sampling", "probabilistic"}}), kMatrix);
  EXPECT_THAT(of_kind(verdicts, VerdictKind::kViolated), IsEmpty()) << told(verdicts);
  expect(verdicts, "next_token_law t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "greedy_margin_parity t0-n8", VerdictKind::kUpheld);
}

// The sibling that must fail: acceptance by a coin that never looked at the target.
TEST_F(Xllamacpp, LosesTheLawWithSyntheticAcceptance) {
  const auto verdicts = audit(plain(), drafting({{"spec-synth-len", "2"}}), kMatrix);
  expect(verdicts, "baseline_law t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "next_token_law t1-n8", VerdictKind::kViolated);
  expect(verdicts, "greedy_margin_parity t0-n8", VerdictKind::kViolated);
}

TEST_F(Xllamacpp, CountsSyntheticAcceptanceThatIsDeclaredAsLossyByDesign) {
  const auto verdicts =
      audit(plain(), drafting({{"spec-synth-len", "2"}}),
            std::string(kMatrix) + "[speculation]\ndeclared_lossy = \"synthetic acceptance\"\n");
  const auto found = verdicts.find("declared_distance t1-n8");
  ASSERT_NE(found, verdicts.end()) << told(verdicts);
  EXPECT_EQ(found->second.label, oracle::Label::kLossyByDesign) << told(verdicts);
  ASSERT_TRUE(found->second.effect);
  EXPECT_GT(found->second.effect->total_variation_bounds.low, 0);
  // Nobody said what it may cost.
  EXPECT_EQ(found->second.kind, VerdictKind::kViolated) << told(verdicts);
}

TEST_F(Xllamacpp, UpholdsSyntheticAcceptanceWithinTheBudgetThatWasDeclared) {
  const auto verdicts = audit(plain(), drafting({{"spec-synth-len", "2"}}),
                              std::string(kMatrix) +
                                  "[speculation]\ndeclared_lossy = \"synthetic acceptance\"\n"
                                  "[gate.approximate]\ntv = 1\n");
  EXPECT_THAT(of_kind(verdicts, VerdictKind::kViolated), IsEmpty()) << told(verdicts);
  const auto found = verdicts.find("next_token_law t1-n8");
  ASSERT_NE(found, verdicts.end()) << told(verdicts);
  EXPECT_EQ(found->second.label, oracle::Label::kLossyByDesign) << told(verdicts);
}

}  // namespace
}  // namespace draftproof::tests
