// openvino-genai, of the pinned version, under audit: drafts from the prompt keep the law, and
// drafts of a model keep greedy decoding alone. Needs tools/engines/fetch.sh openvino-genai;
// skipped without it.
#include "tests/tools/real_engine.h"

namespace draftproof::tests {
namespace {

using testing::IsEmpty;

class OpenvinoGenai : public RealEngine {
 protected:
  OpenvinoGenai() : RealEngine("openvino-genai") {}

  void SetUp() override {
    RealEngine::SetUp();
    if (IsSkipped()) return;
    using tools::toys::TensorFormat;
    const tools::toys::ToySpec& target = tools::toys::named_toy("attention");
    write_toy(target, "target", "gpt2", TensorFormat::kF16);
    write_toy(tools::toys::draft_of(target, "near"), "near", "gpt2", TensorFormat::kF16);
  }

  Options plain() const {
    return {{"model", gguf("target")}, {"prefix-caching", "off"}, {"threads", "1"}};
  }
  Options with(const Options& more) const {
    Options options = more;
    options.merge(plain());
    return options;
  }
};

constexpr const char* kMatrix = R"(
top_k = 0
max_tokens = 8
[prompts]
builtin = []
ids = [[3, 4, 5, 6, 3, 4, 5, 6, 3, 4], [7]]
[run]
trials = 512
concurrency = 1
effect_tv = 0.2
)";

TEST_F(OpenvinoGenai, GivesTheTokensOfTheSeedWithDraftsFromThePrompt) {
  const auto verdicts = audit(plain(), with({{"prompt-lookup", ""}}),
                              std::string("[speculation]\npromises_same_seed = true\n") +
                                  "[sampling]\ntemperature = [0, 1]\n" + kMatrix);
  EXPECT_THAT(of_kind(verdicts, VerdictKind::kViolated), IsEmpty()) << told(verdicts);
  expect(verdicts, "baseline_law t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "next_token_law t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "same_seed_identity t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "greedy_margin_parity t0-n8", VerdictKind::kUpheld);
  EXPECT_GT(counters_["tokens_of_drafts"], 0) << "nothing was accepted: nothing was shown";
}

TEST_F(OpenvinoGenai, DecodesGreedilyAsWithoutADraftModel) {
  const auto verdicts = audit(plain(), with({{"draft-model", gguf("near")}}),
                              std::string("[sampling]\ntemperature = 0\n") + kMatrix);
  expect(verdicts, "greedy_margin_parity t0-n8", VerdictKind::kUpheld);
  EXPECT_GT(counters_["num_accepted_tokens"], 0);
}

// Sampler::validate_candidate weighs the draft's probability against that of another token, which
// the target drew: a finding about this version, and the sibling that must fail.
TEST_F(OpenvinoGenai, LosesTheLawWhereDraftsOfAModelAreSampled) {
  const auto verdicts = audit(plain(), with({{"draft-model", gguf("near")}}),
                              std::string("[sampling]\ntemperature = 1\n") + kMatrix);
  expect(verdicts, "baseline_law t1-n8", VerdictKind::kUpheld);
  expect(verdicts, "next_token_law t1-n8", VerdictKind::kViolated);
}

}  // namespace
}  // namespace draftproof::tests
