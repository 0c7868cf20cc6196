// Configuration of audits. Goal: what is typed is what is asked, with its origin; what is mistyped
// is refused where it stands; ids of settings are functions of the settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "reference/error.h"
#include "tools/audit/config.h"
#include "tools/audit/config_keys.h"
#include "tools/audit/expectations.h"
#include "tools/audit/prompt_set.h"
#include "tools/audit/setting_grid.h"

namespace draftproof::tests {
namespace {

namespace audit = tools::audit;
using properties::audits::AuditCase;
using properties::audits::Seeding;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// A folder of its own for each test, with files in it.
class AuditConfig : public testing::Test {
 protected:
  AuditConfig()
      : folder_(std::filesystem::temp_directory_path() /
                ("draftproof-config-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~AuditConfig() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  audit::LoadedConfig loaded(const std::string& text,
                             const std::map<std::string, std::string>& flags = {}) const {
    return audit::load_config(file("draftproof.toml", text), flags);
  }
  /// The message of the error, with the folder left out.
  std::string complaint(const std::string& text,
                        const std::map<std::string, std::string>& flags = {}) const {
    try {
      loaded(text, flags);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      const std::string what = error.what();
      const std::size_t at = what.find(folder_.string());
      return at == std::string::npos ? what : what.substr(at + folder_.string().size() + 1);
    }
    return "";
  }

  std::filesystem::path folder_;
};

std::vector<std::string> ids_of(const audit::AuditConfig& config) {
  std::vector<std::string> ids;
  for (const auto& setting : config.matrix.settings) ids.push_back(setting.id);
  return ids;
}

TEST_F(AuditConfig, IsTheProductOfItsListsTimesItsPrompts) {
  const auto config = loaded(R"(
[target]
toy = "markov"
[sampling]
temperature = [0.0, 0.7, 1]
top_k = [0, 2]
max_tokens = 8
[prompts]
builtin = ["two_token", "repeat"]
ids = [[0, 1, 2]]
)")
                          .config;
  EXPECT_THAT(ids_of(config), ElementsAre("t0-n8", "t0.7-n8", "t0.7-k2-n8", "t1-n8", "t1-k2-n8"));
  // Greedy: one case a prompt; sampled: one of a law and one of shared seeds.
  EXPECT_EQ(config.matrix.cases.size(), 3U + 4 * 3 * 2);
  std::set<std::string> names;
  for (const AuditCase& each : config.matrix.cases) {
    EXPECT_TRUE(names.insert(each.id).second) << each.id;
    const auto& setting = config.matrix.settings[each.setting];
    EXPECT_TRUE(each.id.starts_with(setting.id + "/")) << each.id;
    EXPECT_EQ(each.request.sampling, setting.request.sampling);
    EXPECT_FALSE(each.request.seed);
    EXPECT_FALSE(each.request.prompt.empty());
    EXPECT_EQ(each.seeding == Seeding::kShared, each.id.ends_with("/shared"));
    EXPECT_TRUE(each.seeding == Seeding::kIndependent || !setting.is_greedy());
    EXPECT_TRUE(!setting.is_greedy() || each.trial_max <= 4U);
  }
  EXPECT_TRUE(names.contains("t0-n8/two_token"));
  EXPECT_TRUE(names.contains("t0.7-k2-n8/ids-1/shared"));
}

TEST_F(AuditConfig, GivesASettingTheSameIdWhateverElseIsListed) {
  const std::string head = "[target]\ntoy = \"markov\"\n[sampling]\n";
  const auto alone = ids_of(loaded(head + "temperature = 0.7\ntop_k = 2").config);
  const auto among =
      ids_of(loaded(head + "temperature = [1, 0.7]\ntop_k = [3, 2]\ntop_p = [1, 0.5]").config);
  EXPECT_THAT(alone, ElementsAre("t0.7-k2"));
  EXPECT_THAT(among, testing::Contains("t0.7-k2"));
  EXPECT_EQ(std::set<std::string>(among.begin(), among.end()).size(), among.size());
}

TEST_F(AuditConfig, TellsSettingsApartThatDifferInAnythingThatIsSent) {
  properties::SamplingRequest plain;
  plain.max_tokens = 16;
  std::set<std::string> ids = {audit::setting_id(plain, {}, {})};
  const auto differs = [&](const auto& change) {
    properties::SamplingRequest request = plain;
    change(request);
    EXPECT_TRUE(ids.insert(audit::setting_id(request, {}, {})).second) << *ids.begin();
  };
  using R = properties::SamplingRequest;
  differs([](R& r) { r.sampling.temperature = 0.25; });
  differs([](R& r) { r.sampling.top_k = 3; });
  differs([](R& r) { r.sampling.top_p = 0.3; });
  differs([](R& r) { r.sampling.min_p = 0.3; });
  differs([](R& r) { r.adjustments.penalties.repetition = 1.1; });
  differs([](R& r) { r.adjustments.penalties.frequency = 1.1; });
  differs([](R& r) { r.adjustments.penalties.presence = 1.1; });
  differs([](R& r) { r.adjustments.allowed_ids = {{1, 2}}; });
  differs([](R& r) { r.max_tokens = 1; });
  differs([](R& r) { r.logprob_count = 0; });
  differs([](R& r) { r.ignores_end = false; });
  differs([](R& r) { r.stop_token_ids = {3}; });
  differs([](R& r) { r.stop_token_ids = {3, 4}; });
  differs([](R& r) { r.grammar = "a+"; });
  differs([](R& r) { r.grammar = "b+"; });
  differs([](R& r) { r.adapter = "x/y"; });
  differs([](R& r) { r.adapter = "xy"; });
  differs([](R& r) { r.is_streamed = true; });
  differs([](R& r) { r.uses_prefix_cache = false; });
  EXPECT_TRUE(ids.insert(audit::setting_id(plain, 4, {})).second);
  EXPECT_TRUE(ids.insert(audit::setting_id(plain, {}, 4)).second);
  for (const std::string& id : ids)
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   ".-_"),
              std::string::npos)
        << id;
}

TEST_F(AuditConfig, LetsFlagsOutrankTheFileAndSaysWhereEachValueCameFrom) {
  const auto result = loaded("[run]\nseed = 5\nfalse_alarms = 1e-3\n[target]\ntoy = \"markov\"\n",
                             {{"run.seed", "7"}, {"run.time_limit", "\"1m30s\""}});
  EXPECT_EQ(result.config.seed, 7U);
  EXPECT_EQ(result.config.matrix.seed, 7U);
  EXPECT_EQ(result.config.time_limit_s, 90);
  EXPECT_EQ(result.config.false_alarms, 1e-3);
  const std::string page = audit::page_of(result.lines);
  EXPECT_THAT(page,
              AllOf(testing::ContainsRegex("run.seed +  *= 7 +# --seed"),
                    testing::ContainsRegex("run.false_alarms += 0.001 +# .*draftproof.toml:3"),
                    testing::ContainsRegex("run.effect_tv += 0.01 +# default")));
}

TEST_F(AuditConfig, RefusesUnknownKeysWithTheNearestOne) {
  EXPECT_EQ(complaint("[run]\nseeed = 5\n"),
            "draftproof.toml:2: unknown key 'run.seeed'; did you mean 'run.seed'?");
  EXPECT_EQ(complaint("[sampling]\n\nseed = 5\n"),
            "draftproof.toml:3: unknown key 'sampling.seed'; did you mean 'run.seed'?");
  EXPECT_THAT(complaint("[arm.speculativ]\nurl = \"http://a:1\"\n"),
              HasSubstr("draftproof.toml:1: unknown key 'arm.speculativ'"));
  EXPECT_THAT(complaint("[wholly_other]\n"), HasSubstr("known tables: run, target, arm"));
}

TEST_F(AuditConfig, RefusesWhatIsOutOfRangeOrOfAnotherTypeWhereItStands) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"[run]\nfalse_alarms = 0", "draftproof.toml:2: 'run.false_alarms' is 0"},
      {"[run]\nfalse_alarms = nan", "draftproof.toml:2: 'run.false_alarms' is nan"},
      {"[run]\nseed = -1", "draftproof.toml:2: 'run.seed' is -1"},
      {"[run]\nseed = 1.5", "draftproof.toml:2: 'run.seed' must be an integer"},
      {"[run]\ntime_limit = \"soon\"", "\"soon\" is no duration"},
      {"[run]\nbattery = \"huge\"", "it must be one of smoke, standard, deep"},
      {"[sampling]\ntemperature = [0.5, -1]", "draftproof.toml:2: 'sampling.temperature' is -1"},
      {"[sampling]\ntemperature = []", "is an empty list"},
      {"[sampling]\ntop_p = 0", "'sampling.top_p' is 0"},
      {"[sampling]\ntop_k = \"8\"", "'sampling.top_k' must be an integer"},
      {"[sampling]\nstop_token_ids = [[-4]]", "has -4, which is no token id"},
      {"[arm.speculative]\nurl = \"localhost:80\"", "write http://HOST:PORT"},
      {"[arm.speculative]\nurl = \"http://user:key@host\"", "--api-key-env NAME"},
      {"[arm.speculative]\nurl = \"http://host:{port}\"", "give 'command'"},
      {"[arm.speculative]\nengine = \"gpt\"", "'arm.speculative.engine' is gpt"},
      {"[arm.speculative]\nrate_limit = \"100\"", "write 5/s, 100/m or 1000/h"},
      {"[arm.speculative]\nexpect = { mehtod = \"ngram\" }", "'mehtod' is no fact"},
      {"[arm.speculative]\nurl = \"http://a:1\"\nrunner = \"transformers\"", "not both"},
      {"[arm.baseline]\nurl = \"http://a:1\"\n[arm.speculative]\nurl = \"http://a:1\"",
       "both arms are the same server"},
      {"[target]\ntoy = \"no-such-toy\"", "draftproof.toml:2: there is no no-such-toy"},
      {"[target]\ncontract = \"none\"", "'target.contract' is none"},
      {"[target]\ncache = \"q8_0\"", "'target.cache' is q8_0"},
      {"[prompts]\nbuiltin = [\"two_token\"]", "name the toy"},
      {"[prompts]\nbuiltin = []", "leaves no prompt"},
      {"[prompts]\nbuiltin = [\"poem\"]", "there is no built-in prompt 'poem'"},
      {"[prompts]\nlengths = [3]", "name a toy"},
      {"[prompts]\nfile = \"absent.jsonl\"", "cannot be read"},
      {"[target]\ntoy = \"markov\"\n[prompts]\nids = [[9]]", "has ids 0 to"},
      {"[audits]\ninclude = [\"horoscope\"]", "'audits.include' is horoscope"},
      {"[report]\nformats = [\"html\"]", "it must be one of json, junit, github, md, jsonl, none"},
      {"[gate]\nrequire = [\"perfect\"]", "'gate.require' is perfect"},
      {"[gate.approximate]\ntask_score_drop = 0.1", "nobody says the scores"},
      {"[gate.approximate]\nscore_command = \"true\"", "nobody says what they may cost"},
      {"[gate.approximate]\nschema_valid = 1", "no sample shows that all answers are valid"},
      {"[gate.approximate]\ntv = 0", "no sample shows a distance of 0"},
      {"[speed]\narrivals = \"poisson:0\"", "has no rate"},
      {"[run]\nseed = ", "draftproof.toml:2:"},
  };
  for (const auto& [text, message] : wrong)
    EXPECT_THAT(complaint(text + "\n"), HasSubstr(message)) << text;
  EXPECT_THAT(complaint("", {{"run.seed", "x"}}), HasSubstr("--seed: \"x\" is no value"));
  EXPECT_THAT(complaint("", {{"run.effect_tv", "3"}}), HasSubstr("--effect-tv: "));
}

TEST_F(AuditConfig, TakesTextsOfTheEnvironmentWithoutShowingThem) {
  ::setenv("DRAFTPROOF_TEST_HOST", "gpu-7", 1);
  const auto result = loaded(
      "[arm.speculative]\nurl = \"http://${DRAFTPROOF_TEST_HOST}:8000\"\n"
      "[arm.speculative.runner_options]\n");
  EXPECT_EQ(result.config.speculative.client.url, "http://gpu-7:8000");
  EXPECT_THAT(audit::page_of(result.lines), testing::Not(HasSubstr("gpu-7")));
  ::unsetenv("DRAFTPROOF_TEST_HOST");
  EXPECT_EQ(complaint("[arm.speculative]\nurl = \"http://${DRAFTPROOF_TEST_HOST}:8000\"\n"),
            "draftproof.toml:2: 'arm.speculative.url' asks for the variable "
            "DRAFTPROOF_TEST_HOST, which is not set; export it");
}

TEST_F(AuditConfig, ReadsArmsThatAreServersCommandsAndRunners) {
  const auto config = loaded(R"(
[arm.baseline]
runner = "transformers"
runner_options = { model = "toy", threads = 2 }
[arm.speculative]
engine = "vllm"
command = "vllm serve toy --port {port}"
ready_timeout = "10m"
rate_limit = "120/m"
retries = 0
expect = { method = "ngram", draft_count = 4 }
deployment = { target_revision = "abc", dtype = "bf16" }
[speculation]
draft_length = 4
[gate]
require = ["greedy-exact"]
inconclusive = "pass"
)")
                          .config;
  EXPECT_EQ(config.baseline.runner, "transformers");
  EXPECT_EQ(config.baseline.runner_options.at("threads"), "2");
  ASSERT_TRUE(config.speculative.process);
  EXPECT_EQ(config.speculative.client.url, "http://127.0.0.1:{port}");
  EXPECT_EQ(config.speculative.process->ready_timeout_s, 600);
  EXPECT_EQ(config.speculative.process->ready_url, "http://127.0.0.1:{port}/health");
  EXPECT_EQ(config.speculative.client.requests_per_second_max, 2);
  EXPECT_EQ(config.speculative.client.retry.attempt_max, 1);
  EXPECT_EQ(config.speculative.expect.at("draft_count"), "4");
  EXPECT_THAT(config.speculative.deployment, testing::Contains(testing::Pair("dtype", "bf16")));
  EXPECT_EQ(config.contract, "vllm");
  EXPECT_FALSE(config.inconclusive_is_failure);
  for (const std::string& id : ids_of(config)) EXPECT_TRUE(id.ends_with("-d4")) << id;
  EXPECT_NO_THROW(audit::need_arms(config));
}

TEST_F(AuditConfig, NeedsBothArmsOrOneServerToAskAnything) {
  const auto none = loaded("").config;
  EXPECT_THROW(audit::need_arms(none), Error);
  const auto one = loaded("[arm.speculative]\nurl = \"http://a:1\"\n").config;
  EXPECT_THROW(audit::need_arms(one), Error);
  const auto rescored =
      loaded("[arm.speculative]\nurl = \"http://a:1\"\n[target]\none_server = true\n").config;
  EXPECT_NO_THROW(audit::need_arms(rescored));
}

TEST_F(AuditConfig, FillsInWhatABatteryWantsAndSaysWhatIsLeftOut) {
  const std::string toy = "[target]\ntoy = \"markov\"\n[run]\nbattery = ";
  const auto smoke = loaded(toy + "\"smoke\"\n").config;
  const auto standard = loaded(toy + "\"standard\"\n").config;
  const auto deep = loaded(toy + "\"deep\"\n").config;
  EXPECT_LT(smoke.matrix.cases.size(), standard.matrix.cases.size());
  EXPECT_LT(standard.matrix.cases.size(), deep.matrix.cases.size());
  EXPECT_THAT(smoke.not_exercised, testing::Contains("top_k"));
  EXPECT_THAT(deep.not_exercised, testing::Not(testing::Contains("top_k")));
  EXPECT_THAT(deep.not_exercised, testing::Not(testing::Contains("penalties")));
  // Lengths at the edges of pages, exactly.
  std::set<std::size_t> lengths;
  for (const AuditCase& each : deep.matrix.cases) lengths.insert(each.request.prompt.size());
  for (const std::size_t length : {15U, 16U, 17U, 31U, 32U, 33U})
    EXPECT_TRUE(lengths.contains(length)) << length;
  // Text models: eight tokens kept, texts that nobody has cut yet.
  const auto text = loaded("").config;
  for (const AuditCase& each : text.matrix.cases) {
    EXPECT_TRUE(each.request.prompt.empty());
    EXPECT_FALSE(each.request.prompt_text.empty());
  }
}

TEST_F(AuditConfig, AsksNoTokenThatATrapWouldBe) {
  const auto config = loaded("[target]\ntoy = \"markov\"\n[run]\nbattery = \"deep\"\n").config;
  for (const AuditCase& each : config.matrix.cases)
    for (const reference::Token token : each.request.prompt) {
      EXPECT_GE(token, 0);
      EXPECT_LT(token, 3);
    }
}

TEST_F(AuditConfig, ReadsPromptsOfOursAndOfBenchmarks) {
  const auto prompts =
      audit::read_prompts(file("p.jsonl",
                               R"({"id": "a b", "prompt_token_ids": [1, 2], "cohort": "short"}
{"text": "hello"}

{"question_id": 81, "category": "writing", "turns": ["first", "second"], "reference": []}
{"id": "m", "messages": [{"role": "user", "content": "hi"}]}
{"id": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]}
)"),
                          "chatml", {});
  ASSERT_EQ(prompts.size(), 5U);
  EXPECT_EQ(prompts[0].name, "a_b");
  EXPECT_THAT(prompts[0].ids, ElementsAre(1, 2));
  EXPECT_EQ(prompts[0].cohort, "short");
  EXPECT_EQ(prompts[1].name, "prompt-2");
  EXPECT_EQ(prompts[1].text, "hello");
  EXPECT_EQ(prompts[2].name, "81");
  EXPECT_EQ(prompts[2].cohort, "writing");
  EXPECT_EQ(prompts[2].text, "<|im_start|>user\nfirst<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(prompts[4].name, "m-2");
  EXPECT_THAT(prompts[4].text, HasSubstr("<|im_start|>system\ns<|im_end|>"));
}

TEST_F(AuditConfig, HandsMessagesOnToServersThatTakeThem) {
  const auto path = file("p.jsonl", R"({"id": "m", "turns": ["say \"hi\""]})"
                                    "\n");
  EXPECT_EQ(audit::read_prompts(path, "messages", {})[0].text,
            R"([{"content":"say \"hi\"","role":"user"}])");
}

TEST_F(AuditConfig, LetsOneServerBeBothArmsThatIsAskedNotToDraft) {
  const std::string both =
      "[arm.baseline]\nurl = \"http://a:1\"\nno_drafts = true\n"
      "[arm.speculative]\nurl = \"http://a:1\"\n";
  EXPECT_TRUE(loaded(both).config.baseline.client.asks_for_no_drafts);
}

TEST_F(AuditConfig, RefusesLinesThatAreNoPrompts) {
  for (const std::string text :
       {R"({"id": "a"})", R"({"prompt_token_ids": []})", R"({"prompt_token_ids": [-1]})",
        R"({"turns": []})", R"({"text": 5})", R"({"text": ""})", "[1]", "{", ""}) {
    const auto path = file("p.jsonl", text + "\n");
    try {
      audit::read_prompts(path, "plain", {});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.place(), HasSubstr("p.jsonl")) << text;
    }
  }
}

TEST(AuditExpectations, NameWhatAnArmDoesNotSayOfItself) {
  tools::engines::ArmFacts facts;
  facts.engine = "vllm";
  facts.version = "0.32.0+cpu";
  facts.method = "ngram";
  facts.draft_count = 4;
  EXPECT_TRUE(audit::unmet({{"method", "ngram"},
                            {"num_speculative_tokens", "4"},
                            {"version", "0.32*"},
                            {"engine", "vllm"}},
                           facts)
                  .empty());
  EXPECT_THAT(audit::unmet({{"method", "eagle3"}, {"model", "toy"}, {"version", "0.31*"}}, facts),
              ElementsAre("method is ngram, not eagle3", "model is not told; toy was expected",
                          "version is 0.32.0+cpu, not 0.31*"));
}

TEST(AuditConfigKeys, HaveNamesOfTheirOwnAndDefaultsThatAreInRange) {
  std::set<std::string> names;
  for (const audit::ConfigKey& key : audit::config_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_EQ(audit::config_key(key.name), &key);
    EXPECT_EQ(audit::nearest_key(key.name + "x"), key.name);
  }
  EXPECT_EQ(audit::nearest_key("quite.another.thing"), "");
}

}  // namespace
}  // namespace draftproof::tests
