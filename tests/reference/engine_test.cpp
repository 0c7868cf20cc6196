// The engine core. Under sample-and-match the tokens of a request are a function of its seed alone,
// so whatever an engine does, its output must be that of plain decoding, token for token: every
// configuration below is held against that. Only what this cannot show has tests of its own.
#include "reference/decode/engine.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "reference/error.h"
#include "tests/reference/engine_cases.h"

namespace draftproof::reference::decode {
namespace {

struct Variant {
  std::string name;
  std::function<void(EngineConfig&)> change;
};

const std::vector<Variant>& variants() {
  static const std::vector<Variant> list = {
      {"plain", [](EngineConfig&) {}},
      {"asynchronous", [](EngineConfig& c) { c.is_asynchronous = true; }},
      {"one_slot_a_page",
       [](EngineConfig& c) { c.target_cache = {.page_size = 1, .page_count = 128}; }},
      {"recurrent", [](EngineConfig& c) { c.target = target_model(true); }},
      {"recurrent_replay",
       [](EngineConfig& c) {
         c.target = target_model(true);
         c.recurrent_rollback = kv::RecurrentRollback::kReplayAccepted;
       }},
      {"window", [](EngineConfig& c) { c.target_cache.window = c.draft_cache.window = 5; }},
      {"quantised",
       [](EngineConfig& c) { c.target_cache.is_quantised = c.draft_cache.is_quantised = true; }},
      {"few_pages", [](EngineConfig& c) { c.target_cache.page_count = 11; }},
      {"few_pages_offloading",
       [](EngineConfig& c) {
         c.target_cache.page_count = 11;
         c.offloads = true;
       }},
      {"few_pages_asynchronous",
       [](EngineConfig& c) {
         c.target_cache.page_count = 11;
         c.is_asynchronous = c.offloads = true;
       }},
      {"few_draft_pages", [](EngineConfig& c) { c.draft_cache.page_count = 16; }},
      {"chunks_of_one", [](EngineConfig& c) { c.chunk_tokens = 1; }},
      {"graphs",
       [](EngineConfig& c) {
         c.graph_sizes = {1, 2, 4, 8, 16};
       }},
      {"no_prefixes", [](EngineConfig& c) { c.target_cache.keeps_prefixes = false; }},
      {"greedy_drafts", [](EngineConfig& c) { c.drafts = greedy_model_source(draft_model()); }},
      {"lookup", [](EngineConfig& c) { c.drafts = lookup_source(1); }},
      {"tree",
       [](EngineConfig& c) {
         c.drafts = tree_source(draft_model(), {3, 2, 1});
         c.draft_count = 15;
       }},
      {"tree_asynchronous_quantised",
       [](EngineConfig& c) {
         c.drafts = tree_source(draft_model(), {2, 2});
         c.draft_count = 6;
         c.is_asynchronous = true;
         c.target_cache.is_quantised = true;
       }},
      {"long_drafts", [](EngineConfig& c) { c.draft_count = 9; }},
      {"small_budget",
       [](EngineConfig& c) {
         c.budget.verify_rows = 5;
         c.budget.draft_tokens = 4;
       }},
  };
  return list;
}

class EngineVariants : public testing::TestWithParam<Variant> {};

TEST_P(EngineVariants, EmitsWhatPlainDecodingEmits) {
  EngineConfig config = small_engine();
  GetParam().change(config);
  const auto specs = mixed_requests(14);
  EngineConfig plain = without_drafts(config);
  plain.is_asynchronous = plain.offloads = false;
  plain.target_cache.page_count = 256;
  EXPECT_EQ(outputs(config, specs), outputs(plain, specs));
}

TEST_P(EngineVariants, NothingIsLeftBehindWhateverHappens) {
  EngineConfig config = small_engine();
  GetParam().change(config);
  const auto specs = mixed_requests(14);
  const auto expected = outputs(without_drafts(config), specs);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Engine engine(config);
    std::vector<RequestId> ids;
    std::vector<bool> is_cancelled(specs.size());
    std::size_t submitted = 0;
    for (int action = 0; action < 4000 && !(submitted == specs.size() && engine.is_idle());
         ++action) {
      const auto some = [&] { return ids.empty() ? 0U : random() % ids.size(); };
      switch (random() % 12) {
        case 0:
        case 1:
          if (submitted < specs.size()) ids.push_back(engine.submit(specs[submitted++]));
          break;
        case 2:
          if (!ids.empty()) engine.preempt(ids[some()]);
          break;
        case 3:
          if (random() % 6 == 0 && !ids.empty()) {
            const std::size_t victim = some();
            if (engine.cancel(ids[victim])) is_cancelled[victim] = true;
          }
          break;
        case 4:
          if (random() % 4 == 0) engine.evict_prefixes();
          break;
        case 5:
        case 6:
        case 7:
          engine.draft();
          break;
        case 8:
        case 9:
          engine.verify();
          break;
        default:
          engine.commit();
      }
      ASSERT_EQ(engine.state().target_cache->first_fault(), std::nullopt) << action;
    }
    finish_all(engine);
    ASSERT_TRUE(engine.is_idle());
    EXPECT_EQ(engine.state().target_cache->counts().live, 0);
    EXPECT_TRUE(engine.state().device.empty());
    EXPECT_TRUE(engine.state().parked.empty());
    if (engine.state().draft_cache) {
      EXPECT_EQ(engine.state().draft_cache->counts().live, 0);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Output output = output_of(engine.request(ids[i]));
      if (!is_cancelled[i]) {
        EXPECT_EQ(output, expected[i]) << "request " << i;
      } else if (output.finish == FinishReason::kCancelled) {
        ASSERT_LE(output.tokens.size(), expected[i].tokens.size());
        EXPECT_TRUE(
            std::equal(output.tokens.begin(), output.tokens.end(), expected[i].tokens.begin()));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engine, EngineVariants, testing::ValuesIn(variants()),
                         [](const auto& tested) { return tested.param.name; });

// A sibling that must fail: the comparison above sees an engine whose draft loses one cell.
TEST(Engine, AStepThatKeepsARejectedCellChangesTheOutput) {
  class KeepsOneMore final : public EngineSteps {
    std::vector<int> kept(const Entry& entry) const override {
      std::vector<int> offsets = EngineSteps::kept(entry);
      if (offsets.size() < entry.tokens.size()) offsets.push_back(static_cast<int>(offsets.size()));
      return offsets;
    }
  };
  const auto specs = mixed_requests(6);
  Engine engine(small_engine(), std::make_shared<const KeepsOneMore>());
  std::vector<RequestId> ids;
  for (const auto& spec : specs) ids.push_back(engine.submit(spec));
  finish_all(engine);
  const auto expected = outputs(without_drafts(small_engine()), specs);
  std::size_t different = 0;
  for (std::size_t i = 0; i < ids.size(); ++i)
    different += output_of(engine.request(ids[i])) == expected[i] ? 0 : 1;
  EXPECT_GE(different, 3U);
}

TEST(Engine, ACopyIsAnEngineOfItsOwn) {
  Engine first(small_engine());
  const RequestId id = first.submit(mixed_requests(1)[0]);
  first.step();
  Engine second(first);
  EXPECT_EQ(first.state_hash(), second.state_hash());
  finish_all(second);
  EXPECT_NE(first.state_hash(), second.state_hash());
  EXPECT_EQ(first.request(id).finish, FinishReason::kNone);
  finish_all(first);
  EXPECT_EQ(first.state_hash(), second.state_hash());
}

TEST(Engine, ASeedDecidesWhateverTheCompany) {
  RequestSpec spec;
  spec.prompt = {3, 1};
  spec.seed = 5;
  EngineConfig config = small_engine();
  config.rule = "chain";
  const auto alone = outputs(config, {spec});
  auto company = mixed_requests(5);
  company.push_back(spec);
  EXPECT_EQ(outputs(config, company).back(), alone[0]);
  spec.seed = 6;
  EXPECT_NE(outputs(config, {spec})[0], alone[0]);
  spec.seed.reset();
  const auto two = outputs(config, {spec, spec});
  EXPECT_NE(two[0], two[1]);  // the engine's seed is fixed: there is no chance in it
}

TEST(Engine, RefusesWhatItCannotServeAndSaysWhy) {
  Engine engine(small_engine());
  const auto message = [&](const std::function<void(RequestSpec&)>& change) {
    RequestSpec spec;
    spec.prompt = {1};
    change(spec);
    try {
      engine.submit(spec);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_EQ(message([](RequestSpec&) {}), "taken");
  EXPECT_EQ(message([](RequestSpec& s) { s.prompt.clear(); }),
            "prompt: is empty; give at least one token");
  EXPECT_EQ(message([](RequestSpec& s) {
              s.prompt = {1, 8};
            }),
            "prompt[1]: token 8 is outside the vocabulary of 8");
  EXPECT_EQ(message([](RequestSpec& s) { s.prompt.assign(64, 1); }),
            "prompt: has 64 tokens, and a context of 64 leaves no room behind it");
  EXPECT_EQ(message([](RequestSpec& s) { s.max_tokens = 0; }),
            "max_tokens: is 0, must be 1 or more");
  EXPECT_EQ(message([](RequestSpec& s) { s.stops = {{}}; }),
            "stops[0]: is empty, and would end every request at once");
  EXPECT_EQ(message([](RequestSpec& s) { s.eos = -1; }),
            "eos[0]: token -1 is outside the vocabulary of 8");
  EXPECT_EQ(message([](RequestSpec& s) { s.adapter = 1; }),
            "adapter: 1 is not there; this engine has adapters 0 to 0");
  EXPECT_EQ(message([](RequestSpec& s) { s.adjustments.min_tokens = 1; }).substr(0, 10),
            "min_tokens");
  EXPECT_EQ(message([](RequestSpec& s) { s.sampling.temperature = -1; }).empty(), false);
}

}  // namespace
}  // namespace draftproof::reference::decode
