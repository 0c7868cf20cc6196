// What answers become that were written after the engines' own fields. Goal: ids, counts, ends and
// zero probability are read as each engine writes them, and what it says of itself is understood.
// Nothing here met an engine; what did stands in tools/docs/engines.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "reference/error.h"
#include "tools/engines/dialects/dialect.h"

namespace draftproof::tests {
namespace engine_readings {
namespace {

using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using testing::HasSubstr;
using tools::engines::Dialect;
using tools::engines::Json;
using tools::engines::Pages;
using tools::engines::Session;

constexpr double kNone = -std::numeric_limits<double>::infinity();

const Session kSession = {.model = "served", .vocab_size = 16, .context_max = 64};

Completion read(const Dialect& dialect, const Json& answer, int logprob_count, int max_tokens = 2) {
  SamplingRequest request;
  request.prompt = {1, 2, 3};
  request.prompt_text = "abc";
  request.max_tokens = max_tokens;
  request.logprob_count = logprob_count;
  return dialect.completion(answer, request, dialect.call(request, kSession).body, kSession);
}

TEST(EngineReadings, ComeFromVllmWithIdsInPlaceOfTexts) {
  const Json answer = {
      {"model", "served"},
      {"choices",
       {{{"index", 0},
         {"text", "xy"},
         {"token_ids", {4, 5}},
         {"prompt_token_ids", {1, 2, 3}},
         {"finish_reason", "length"},
         {"logprobs",
          {{"tokens", {"token_id:4", "token_id:5"}},
           {"token_logprobs", {-0.5, -9999.0}},
           {"top_logprobs",
            {{{"token_id:4", -0.5}, {"token_id:9", -1.5}},
             {{"token_id:5", -9999.0}, {"token_id:2", -0.25}, {"token_id:3", -2.0}}}}}}}}}};
  const Completion done = read(tools::engines::vllm_dialect(), answer, 2);
  EXPECT_EQ(done.token_ids, (std::vector<reference::Token>{4, 5}));
  EXPECT_EQ(done.logprobs, (std::vector<double>{-0.5, kNone}));
  // The emitted one comes on top of two that were asked for, and is none of them.
  const std::vector<properties::TokenLogprob> second = {{2, -0.25}, {3, -2.0}};
  EXPECT_EQ(done.top_logprobs.at(1), second);
  EXPECT_EQ(done.end, CompletionEnd::kLength);

  Json old = answer;
  old["choices"][0]["token_ids"] = nullptr;
  EXPECT_THROW(read(tools::engines::vllm_dialect(), old, -1), tools::engines::BadAnswer);
  Json other = answer;
  other["choices"][0]["prompt_token_ids"] = {0, 1, 2, 3};  // a BOS that nobody asked for
  EXPECT_THROW(read(tools::engines::vllm_dialect(), other, -1), Error);
  Json aborted = answer;
  aborted["choices"][0]["finish_reason"] = "abort";
  EXPECT_EQ(read(tools::engines::vllm_dialect(), aborted, -1).end, CompletionEnd::kFailed);
}

TEST(EngineReadings, ComeFromSglangWithCountersOfAllItsVersions) {
  const double least = std::numeric_limits<float>::lowest();
  const Json answer = {
      {"text", "xy"},
      {"output_ids", {4, 5}},
      {"meta_info",
       {{"finish_reason", {{"type", "stop"}, {"matched", 5}}},
        {"completion_tokens", 2},
        {"output_token_logprobs", {{-0.5, 4, nullptr}, {least, 5, nullptr}}},
        {"output_top_logprobs",
         {{{-0.5, 4, nullptr}, {-1.5, 9, nullptr}}, {{-0.25, 2, nullptr}, {nullptr, 3, nullptr}}}},
        {"spec_verify_ct", 1},
        {"spec_num_proposed_drafts", 3},
        {"spec_num_correct_drafts", 1}}}};
  const Completion done = read(tools::engines::sglang_dialect(), answer, 2);
  EXPECT_EQ(done.end, CompletionEnd::kStop);
  EXPECT_EQ(done.logprobs, (std::vector<double>{-0.5, kNone}));
  const std::vector<properties::TokenLogprob> second = {{2, -0.25}, {3, kNone}};
  EXPECT_EQ(done.top_logprobs.at(1), second);
  EXPECT_EQ(done.counters, (properties::DraftCounters{3, 1, 2}));

  const auto counters_of = [&](const Json& fields) {
    Json other = answer;
    for (const char* name :
         {"spec_verify_ct", "spec_num_proposed_drafts", "spec_num_correct_drafts"})
      other["meta_info"].erase(name);
    other["meta_info"].update(fields);
    return read(tools::engines::sglang_dialect(), other, -1).counters;
  };
  EXPECT_EQ(counters_of({{"spec_proposed_drafts", 6}, {"spec_accepted_drafts", 2}}),
            (properties::DraftCounters{6, 2, 2}));
  EXPECT_EQ(counters_of({{"spec_draft_token_num", 6}, {"spec_accept_token_num", 2}}),
            (properties::DraftCounters{6, 2, 2}));
  EXPECT_EQ(counters_of(Json::object()), (properties::DraftCounters{0, 0, 2}));
  EXPECT_FALSE(counters_of({{"spec_verify_ct", 2}})) << "drafts without a count of them";
  Json short_list = answer;
  short_list["meta_info"]["output_token_logprobs"] = {{-0.5, 4, nullptr}};
  EXPECT_THROW(read(tools::engines::sglang_dialect(), short_list, 0), tools::engines::BadAnswer);
}

TEST(EngineReadings, ComeFromSglangsStreamsOfWholesAndOfParts) {
  const auto event = [](const std::vector<int>& ids, const std::string& text, int count,
                        const Json& finish) {
    return Json{{"text", text},
                {"output_ids", ids},
                {"meta_info", {{"completion_tokens", count}, {"finish_reason", finish}}}};
  };
  const Dialect& dialect = tools::engines::sglang_dialect();
  Json whole, parts;
  EXPECT_EQ(dialect.add_event(whole, event({4}, "x", 1, nullptr)), 1);
  EXPECT_FALSE(dialect.is_whole(whole));
  EXPECT_EQ(dialect.add_event(whole, event({4, 5, 6}, "xyz", 3, {{"type", "length"}})), 2);
  EXPECT_TRUE(dialect.is_whole(whole));
  EXPECT_EQ(dialect.add_event(parts, event({4}, "x", 1, nullptr)), 1);
  EXPECT_EQ(dialect.add_event(parts, event({5, 6}, "yz", 3, {{"type", "length"}})), 2);
  EXPECT_EQ(parts["output_ids"], whole["output_ids"]);
  EXPECT_EQ(parts["text"], "xyz");
}

TEST(EngineReadings, ComeFromTgiWithIdsBehindTexts) {
  const Json token = {{"id", 4}, {"text", "x"}, {"logprob", -0.5}, {"special", false}};
  Json answer = {
      {"generated_text", "xx"},
      {"details",
       {{"finish_reason", "length"},
        {"generated_tokens", 2},
        {"tokens", {token, token}},
        {"top_tokens", {{token, {{"id", 9}, {"text", "y"}, {"logprob", -0.25}}}, Json::array()}}}}};
  const Completion done = read(tools::engines::tgi_dialect(), answer, 2);
  EXPECT_EQ(done.token_ids, (std::vector<reference::Token>{4, 4}));
  EXPECT_EQ(done.logprobs, (std::vector<double>{-0.5, -0.5}));
  const std::vector<properties::TokenLogprob> first = {{9, -0.25}, {4, -0.5}};
  EXPECT_EQ(done.top_logprobs.at(0), first);
  answer["details"]["finish_reason"] = "eos_token";
  EXPECT_EQ(read(tools::engines::tgi_dialect(), answer, -1).end, CompletionEnd::kStop);

  const Dialect& dialect = tools::engines::tgi_dialect();
  Json whole;
  EXPECT_EQ(dialect.add_event(whole, {{"index", 1}, {"token", token}}), 1);
  EXPECT_FALSE(dialect.is_whole(whole));
  EXPECT_EQ(dialect.add_event(whole, {{"index", 2},
                                      {"token", token},
                                      {"generated_text", "xx"},
                                      {"details", {{"finish_reason", "length"}, {"seed", 3}}}}),
            1);
  EXPECT_TRUE(dialect.is_whole(whole));
  EXPECT_EQ(read(dialect, whole, 0).token_ids, done.token_ids);
}

TEST(EngineReadings, ComeFromTensorrtLlm) {
  Json answer = {{"model", "served"},
                 {"choices",
                  {{{"index", 0},
                    {"text", ""},
                    {"token_ids", {4, 5}},
                    {"finish_reason", "length"},
                    {"avg_decoded_tokens_per_iter", 2.0}}}}};
  EXPECT_EQ(read(tools::engines::tensorrt_llm_dialect(), answer, -1).token_ids,
            (std::vector<reference::Token>{4, 5}));
  answer["choices"].push_back(answer["choices"][0]);
  EXPECT_THROW(read(tools::engines::tensorrt_llm_dialect(), answer, -1), tools::engines::BadAnswer);
}

Pages pages(const std::vector<std::pair<std::string, std::string>>& list) {
  Pages pages;
  for (const auto& [path, body] : list) pages[path] = {200, body};
  return pages;
}

TEST(EngineReadings, TellWhichEngineItIsAndWhatItDrafts) {
  const auto recognised = [](const Pages& pages) -> std::string {
    for (const Dialect* dialect : tools::engines::all_dialects())
      if (dialect->recognises(pages)) return dialect->info().name;
    return "";
  };
  const auto owned = [](const std::string& owner) {
    return pages({{"/v1/models",
                   R"({"data":[{"id":"m","max_model_len":99,"owned_by":")" + owner + R"("}]})"}});
  };
  EXPECT_EQ(recognised(owned("vllm")), "vllm");
  EXPECT_EQ(recognised(owned("sglang")), "sglang");
  EXPECT_EQ(recognised(owned("tensorrt_llm")), "tensorrt-llm");
  EXPECT_EQ(recognised(owned("somebody")), "openai");
  EXPECT_EQ(recognised(pages({{"/info", R"({"model_id":"m","max_concurrent_requests":4})"}})),
            "tgi");
  EXPECT_EQ(recognised(pages({{"/v1/models", "<html>"}, {"/info", "[]"}, {"/props", "3"}})), "");

  Pages vllm = owned("vllm");
  vllm["/metrics"] = {200, "vllm:num_requests_running{engine=\"0\"} 0\n"};
  EXPECT_EQ(tools::engines::vllm_dialect().facts(vllm).is_speculative, false);
  vllm["/metrics"].body +=
      "# TYPE vllm:spec_decode_num_drafts_total counter\n"
      "vllm:spec_decode_num_drafts_total{engine=\"0\"} 4.0\n"
      "vllm:spec_decode_num_drafts_total{engine=\"1\"} 5.0\n"
      "vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\",position=\"1\"} 2.0\n";
  const auto facts = tools::engines::vllm_dialect().facts(vllm);
  EXPECT_EQ(facts.is_speculative, true);
  EXPECT_EQ(facts.context_max, 99);
  EXPECT_EQ(facts.counters.at("vllm:spec_decode_num_drafts_total"), 9);
  EXPECT_EQ(facts.counters.at("vllm:spec_decode_num_accepted_tokens_per_pos_total[1]"), 2);

  const auto lossy = [](const Json& info) {
    return tools::engines::sglang_dialect()
        .facts(pages({{"/get_server_info", info.dump()}}))
        .lossy_mode;
  };
  Json info = {{"model_path", "m"},
               {"version", "0.5"},
               {"speculative_algorithm", "EAGLE"},
               {"speculative_accept_threshold_single", 1.0},
               {"speculative_accept_threshold_acc", 1.0}};
  EXPECT_FALSE(lossy(info));
  info["speculative_accept_threshold_acc"] = 0.9;
  EXPECT_EQ(lossy(info), "speculative_accept_threshold_acc = 0.9");
  vllm["/server_info?config_format=json"] = {
      200, R"({"vllm_config":{"speculative_config":{"method":"ngram",
              "num_speculative_tokens":4,"rejection_sample_method":"synthetic"}}})"};
  const auto synthetic = tools::engines::vllm_dialect().facts(vllm);
  EXPECT_EQ(synthetic.method, "ngram");
  EXPECT_EQ(synthetic.draft_count, 4);
  EXPECT_THAT(synthetic.lossy_mode.value_or(""), HasSubstr("synthetic"));
}

/// counter_identities would convict a right engine by a length that does not bind its drafts.
TEST(EngineReadings, TellALengthOfDraftsWhereItBindsThemAlone) {
  const auto told = [](const Json& kinds) {
    Json params = {{"speculative.n_max", 3}};
    if (!kinds.is_null()) params["speculative.types"] = kinds;
    const Json props = {{"default_generation_settings", {{"params", params}}}};
    return tools::engines::llama_cpp_dialect().facts(pages({{"/props", props.dump()}})).draft_count;
  };
  EXPECT_EQ(told("draft-simple"), 3);
  EXPECT_EQ(told("draft-simple,draft-eagle3"), 3);
  for (const char* kinds : {"ngram-simple", "draft-simple,ngram-simple", "ngram-map-k", "none", ""})
    EXPECT_EQ(told(kinds), std::nullopt) << kinds;
  EXPECT_EQ(told(Json()), std::nullopt) << "a kind that is not told may be any";
}

TEST(EngineReadings, HaveAStanding) {
  for (const auto& info : tools::engines::dialect_infos())
    EXPECT_THAT(info.standing, testing::AnyOf("run here", "recorded elsewhere", "dialect only"));
  EXPECT_EQ(tools::engines::dialect_infos().size(), 7u);
}

}  // namespace
}  // namespace engine_readings
}  // namespace draftproof::tests
