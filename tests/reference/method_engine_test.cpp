// Every method that has a verifier of masses, in the engine: under sample-and-match, and under its
// own rule for greedy requests, it must emit what plain decoding emits, token for token.
#include <gtest/gtest.h>

#include "reference/decode/method_source.h"
#include "reference/decode/vocabulary_map.h"
#include "reference/error.h"
#include "tests/reference/engine_cases.h"

namespace draftproof::reference::decode {
namespace {

std::vector<MethodParts> all_parts() {
  std::vector<MethodParts> all;
  for (const draft::Method& method : draft::methods()) {
    if (method.rule == "lookahead") continue;
    all.push_back(method_engine_parts(method, model::toy(method.toys.front())));
  }
  return all;
}

EngineConfig config_of(const MethodParts& parts) {
  EngineConfig config;
  config.target = parts.target;
  config.drafts = parts.drafts;
  config.rule = parts.rule;
  config.draft_count = parts.draft_count;
  config.request_max = 2;
  return config;
}

/// Three requests, one of which waits for another to end.
std::vector<RequestSpec> requests_of(const MethodParts& parts, double temperature) {
  std::vector<RequestSpec> specs;
  for (int i = 0; i < 3; ++i) {
    RequestSpec spec;
    spec.prompt = parts.prompt;
    spec.prompt.push_back(static_cast<Token>(i % parts.target->vocab_size()));
    spec.max_tokens = 8 + 3 * i;
    spec.seed = static_cast<std::uint64_t>(40 + i);
    spec.sampling.temperature = temperature;
    specs.push_back(spec);
  }
  return specs;
}

TEST(MethodEngine, EmitsWhatPlainDecodingEmitsUnderSampleAndMatch) {
  for (const MethodParts& parts : all_parts())
    for (const bool is_asynchronous : {false, true}) {
      SCOPED_TRACE(parts.drafts->name());
      EngineConfig config = config_of(parts);
      config.rule = "match";
      const auto specs = requests_of(parts, 1);
      const auto due = outputs(without_drafts(config), specs);
      config.is_asynchronous = is_asynchronous;
      EXPECT_EQ(outputs(config, specs), due);
    }
}

TEST(MethodEngine, EmitsWhatGreedyDecodingEmitsUnderTheMethodsOwnRule) {
  for (const MethodParts& parts : all_parts()) {
    SCOPED_TRACE(parts.drafts->name());
    const EngineConfig config = config_of(parts);
    const auto specs = requests_of(parts, 0);
    EXPECT_EQ(outputs(config, specs), outputs(without_drafts(config), specs));
  }
}

/// Tokens that were drafted and accepted over three requests.
std::pair<std::int64_t, std::int64_t> accepted_of(const EngineConfig& config,
                                                  const std::vector<RequestSpec>& specs) {
  Engine engine(config);
  std::vector<RequestId> ids;
  for (const RequestSpec& spec : specs) ids.push_back(engine.submit(spec));
  finish_all(engine);
  std::pair<std::int64_t, std::int64_t> counts;
  for (const RequestId id : ids) {
    counts.first += engine.request(id).metrics.drafted;
    counts.second += engine.request(id).metrics.accepted + engine.request(id).metrics.cut_accepted;
  }
  return counts;
}

TEST(MethodEngine, DraftsAndAcceptsWithEveryMethod) {
  int drafting = 0, accepting = 0;
  for (const MethodParts& parts : all_parts()) {
    const auto [drafted, accepted] = accepted_of(config_of(parts), requests_of(parts, 1));
    drafting += drafted > 0 ? 1 : 0;
    accepting += accepted > 0 ? 1 : 0;
    EXPECT_LE(accepted, drafted) << parts.drafts->name();
  }
  EXPECT_GE(drafting, 70) << "methods that stop when unsure may never be sure";
  EXPECT_GE(accepting, 65) << "the rest is too unlucky in so few tokens";
}

/// An identity draft behind a permuted vocabulary, over the engine's own draft cache.
TEST(MethodEngine, KeepsAllOfAnIdentityDraftBehindAPermutedVocabulary) {
  class Permuted final : public LanguageModel {
   public:
    int vocab_size() const override { return 8; }
    void logits(const Seen& seen, Row& row) const override {
      std::vector<Token> tokens;
      for (const Token id : seen.tokens) tokens.push_back((3 * id + 1) % 8);
      Seen own = seen;
      own.tokens = tokens;
      const Row meant = target_->row(own);
      row.clear();
      for (int id = 0; id < 8; ++id)
        row.push_back(meant[static_cast<std::size_t>((3 * id + 1) % 8)]);
    }

   private:
    LanguageModelPtr target_ = target_model();
  };
  EngineConfig config = small_engine();
  config.rule = "chain";
  const auto specs = mixed_requests(8);
  config.drafts = mapped_source(std::make_shared<Permuted>(), {{1, 4, 7, 2, 5, 0, 3, 6}, 8, 0});
  const auto [drafted, accepted] = accepted_of(config, specs);
  EXPECT_GT(drafted, 50);
  EXPECT_EQ(accepted, drafted);

  config.drafts = mapped_source(std::make_shared<Permuted>(), padded_map(8, 8));
  const auto [other_drafted, other_accepted] = accepted_of(config, specs);
  EXPECT_GT(other_drafted, 50);
  EXPECT_LT(other_accepted, other_drafted);
}

}  // namespace
}  // namespace draftproof::reference::decode
