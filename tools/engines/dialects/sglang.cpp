// SGLang: POST /generate in its own words. Fields as read in io_struct.py, tokenizer_manager.py and
// sampling_params.py, 2026:
//   * what a request leaves out comes from the model's generation_config
//   * streams repeat the whole so far, unless the server was started to send parts
//   * drafts are counted in meta_info; the proposed ones are verifications times the draft length,
//     not what was proposed. Older servers have other names for both
//   * logprobs are of the row divided by the temperature unless SGLANG_RETURN_ORIGINAL_LOGPROB is
//     set; -inf is the least float32, or null where the body was made by orjson
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reference/error.h"
#include "tools/engines/dialects/completions_body.h"
#include "tools/engines/dialects/prompt_batch.h"
#include "tools/engines/dialects/told_capabilities.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using properties::TokenLogprob;

Json sglang_sampling(const SamplingRequest& request) {
  const auto& adjustments = request.adjustments;
  Json sampling = {{"max_new_tokens", request.max_tokens},
                   {"temperature", request.sampling.temperature},
                   {"top_p", request.sampling.top_p},
                   {"top_k", request.sampling.top_k > 0 ? request.sampling.top_k : -1},
                   {"min_p", request.sampling.min_p},
                   {"frequency_penalty", adjustments.penalties.frequency},
                   {"presence_penalty", adjustments.penalties.presence},
                   {"repetition_penalty", adjustments.penalties.repetition},
                   {"min_new_tokens", adjustments.min_tokens},
                   {"stop", Json::array()},
                   {"stop_token_ids", request.stop_token_ids},
                   {"ignore_eos", request.ignores_end},
                   {"skip_special_tokens", false},
                   {"spaces_between_special_tokens", false},
                   {"no_stop_trim", true},
                   {"n", 1}};
  sampling["sampling_seed"] = request.seed ? Json(*request.seed) : Json();
  if (!request.grammar.empty()) sampling["regex"] = request.grammar;
  if (!adjustments.logit_bias.empty()) sampling["logit_bias"] = bias_object(adjustments.logit_bias);
  return sampling;
}

Json sglang_settings(const SamplingRequest& request, const Session& session) {
  Words words{.engine = "SGLang"};
  words.bias_max = 1e5;
  require_words(request, words, sglang_dialect().seed_max(), session);
  if (session.is_draftless)
    no_word("speculation", "SGLang", "start a second server without --speculative-algorithm");
  // ignore_eos ends its search for stop tokens too: answers would run on behind one.
  if (request.ignores_end && !request.stop_token_ids.empty())
    no_word("stop_token_ids", "SGLang",
            "with ignore_eos it looks at none; set ignore_eos = false, or leave them out");
  Json body = {{"sampling_params", sglang_sampling(request)},
               {"return_logprob", request.logprob_count >= 0},
               {"top_logprobs_num", std::max(request.logprob_count, 0)},
               {"logprob_start_len", -1},
               {"return_text_in_logprobs", false},
               {"stream", request.is_streamed}};
  if (!request.adapter.empty()) body["lora_path"] = request.adapter;
  if (!request.uses_prefix_cache) body["extra_key"] = session.salt;
  return body;
}

/// null is -inf, or a NaN that the writer had no word for.
std::optional<double> sglang_logprob(const Json& value, const std::string& place) {
  if (value.is_null()) return std::nullopt;
  return logprob_of(value, kZeroAtFloat, place);
}

/// Entries [logprob, id, text].
std::vector<TokenLogprob> sglang_candidates(const Json& list, const Session& session,
                                            const std::string& place) {
  std::vector<TokenLogprob> candidates;
  if (!list.is_array()) return candidates;
  for (std::size_t j = 0; j < list.size(); ++j) {
    const std::string at = fmt::format("{}[{}]", place, j);
    if (!list[j].is_array() || list[j].size() < 2) throw BadAnswer(at + " is no [logprob, id]");
    candidates.push_back(
        {token_of(list[j][1], session.vocab_size, at),
         sglang_logprob(list[j][0], at).value_or(-std::numeric_limits<double>::infinity())});
  }
  sort_candidates(candidates);
  return candidates;
}

void add_sglang_logprobs(const Json& meta, const SamplingRequest& request, const Session& session,
                         Completion& completion) {
  const std::string place = "meta_info.output_token_logprobs";
  const Json& own = field_of(meta, "output_token_logprobs", "meta_info");
  const std::size_t count = completion.token_ids.size();
  if (!own.is_array() || own.size() != count)
    throw BadAnswer(fmt::format("{} has {} entries for {} tokens", place, own.size(), count));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string at = fmt::format("{}[{}]", place, i);
    if (!own[i].is_array() || own[i].size() < 2) throw BadAnswer(at + " is no [logprob, id]");
    const auto logprob = sglang_logprob(own[i][0], at);
    if (!logprob) {
      completion.logprobs.clear();
      break;
    }
    completion.logprobs.push_back(*logprob);
  }
  const auto tops = meta.find("output_top_logprobs");
  if (request.logprob_count < 1 || tops == meta.end() || tops->size() != count) return;
  for (std::size_t i = 0; i < count; ++i)
    completion.top_logprobs.push_back(sglang_candidates(
        (*tops)[i], session, fmt::format("meta_info.output_top_logprobs[{}]", i)));
}

/// The first of the names that are there.
std::optional<std::int64_t> first_count(const Json& meta,
                                        std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = meta.find(name); found != meta.end() && !found->is_null())
      return count_of(*found, joined("meta_info", name));
  return std::nullopt;
}

std::optional<properties::DraftCounters> sglang_counters(const Json& meta) {
  const auto emitted = first_count(meta, {"completion_tokens"});
  if (!emitted) return std::nullopt;
  const auto drafted = first_count(
      meta, {"spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"});
  const auto accepted = first_count(
      meta, {"spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num"});
  // Servers that drafted nothing leave all of them out.
  if (!drafted && !accepted && !meta.contains("spec_verify_ct"))
    return properties::DraftCounters{0, 0, *emitted};
  if (!drafted || !accepted) return std::nullopt;
  return properties::DraftCounters{*drafted, *accepted, *emitted};
}

class Sglang final : public Dialect {
 public:
  DialectInfo info() const override { return {"sglang", "POST /generate", "dialect only"}; }
  std::vector<std::string> pages() const override {
    return {"/get_server_info", "/server_info", "/get_model_info", "/v1/models", "/metrics"};
  }
  bool recognises(const Pages& pages) const override {
    const Json info = page_json(pages, "/get_server_info");
    return is_owned_by(pages, "sglang") ||
           (info.contains("model_path") && info.contains("version"));
  }

  ArmFacts facts(const Pages& pages) const override {
    Json info = page_json(pages, "/get_server_info");
    if (!info.is_object()) info = page_json(pages, "/server_info");
    ArmFacts facts;
    facts.engine = "sglang";
    facts.version = text_at(info, {"version"});
    facts.model = text_at(info, {"model_path"});
    if (facts.model.empty())
      facts.model = text_at(page_json(pages, "/get_model_info"), {"model_path"});
    facts.context_max = int_at(info, {"context_length"});
    if (!facts.context_max) facts.context_max = int_at(first_model(pages), {"max_model_len"});
    facts.slot_count = int_at(info, {"max_running_requests"});
    facts.counters = counters_in(page_text(pages, "/metrics"), "spec_");
    if (!info.is_object() || !info.contains("speculative_algorithm")) return facts;
    facts.method = text_at(info, {"speculative_algorithm"});
    facts.is_speculative = !facts.method.empty();
    facts.draft_count = int_at(info, {"speculative_num_draft_tokens"});
    for (const char* name :
         {"speculative_accept_threshold_single", "speculative_accept_threshold_acc"}) {
      const auto threshold = info.find(name);
      if (*facts.is_speculative && threshold != info.end() && threshold->is_number() &&
          threshold->get<double>() < 1)
        facts.lossy_mode = fmt::format("{} = {}", name, threshold->dump());
    }
    return facts;
  }

  properties::Capabilities capabilities(const ArmFacts& facts) const override {
    properties::Capabilities capabilities = told_capabilities(facts);
    capabilities.reports_counters = true;
    return capabilities;
  }

  Call call(const SamplingRequest& request, const Session& session) const override {
    Json body = sglang_settings(request, session);
    if (request.prompt.empty())
      body["text"] = request.prompt_text;
    else
      body["input_ids"] = request.prompt;
    return {"/generate", std::move(body)};
  }

  Completion completion(const Json& answer, const SamplingRequest& request, const Json&,
                        const Session& session) const override {
    Completion completion;
    completion.token_ids =
        tokens_of(field_of(answer, "output_ids", ""), session.vocab_size, "output_ids");
    completion.text = text_at(answer, {"text"});
    const Json& meta = field_of(answer, "meta_info", "");
    completion.counters = sglang_counters(meta);
    if (request.logprob_count >= 0) add_sglang_logprobs(meta, request, session, completion);
    const Json& finish = field_of(meta, "finish_reason", "meta_info");
    std::string type = finish.is_string() ? finish.get<std::string>() : text_at(finish, {"type"});
    if (type.empty()) type = "without a reason";
    end_by(type, completion.token_ids.size(), request, completion);
    const std::string message = text_at(finish, {"message"});
    if (completion.end == CompletionEnd::kFailed && !message.empty())
      completion.failure += " (" + message + ")";
    return completion;
  }

  int add_event(Json& whole, const Json& event) const override {
    const Json& ids = field_of(event, "output_ids", "");
    if (!ids.is_array()) throw BadAnswer("output_ids is no array of token ids");
    const std::size_t before = whole.is_null() ? 0 : whole["output_ids"].size();
    const auto total = first_count(field_of(event, "meta_info", ""), {"completion_tokens"});
    const bool is_part = total && before > 0 && ids.size() < static_cast<std::size_t>(*total);
    Json merged = event;
    if (is_part) {
      merged["output_ids"] = whole["output_ids"];
      merged["output_ids"].insert(merged["output_ids"].end(), ids.begin(), ids.end());
      merged["text"] = text_at(whole, {"text"}) + text_at(event, {"text"});
      for (const char* name : {"output_token_logprobs", "output_top_logprobs"}) {
        const Json own = whole["meta_info"].value(name, Json());
        Json& more = merged["meta_info"][name];
        if (own.is_array() && more.is_array() && more.size() < merged["output_ids"].size())
          more.insert(more.begin(), own.begin(), own.end());
      }
    }
    whole = std::move(merged);
    const std::size_t after = whole["output_ids"].size();
    return after > before ? static_cast<int>(after - before) : 0;
  }

  bool is_whole(const Json& whole) const override {
    return whole.contains("meta_info") &&
           !whole["meta_info"].value("finish_reason", Json()).is_null();
  }

  std::vector<std::pair<std::string, std::string>> identity(const Json& answer) const override {
    return {{"weight_version", text_at(answer, {"meta_info", "weight_version"})}};
  }

  std::optional<Call> together(const std::vector<SamplingRequest>& requests,
                               const Session& session) const override {
    auto body = prompt_batch(requests, "input_ids", [&](const SamplingRequest& request) {
      return sglang_settings(request, session);
    });
    if (!body) return std::nullopt;
    return Call{"/generate", std::move(*body)};
  }

  std::vector<Json> apart(const Json& answer) const override {
    if (!answer.is_array()) throw BadAnswer("the answer is no array of completions");
    return answer.get<std::vector<Json>>();
  }

  std::vector<Call> score_calls(const std::vector<reference::Token>& tokens, int candidate_count,
                                const Session& session) const override {
    SamplingRequest request;
    request.prompt = tokens;
    request.max_tokens = 1;
    request.sampling.temperature = 0;
    request.logprob_count = std::max(candidate_count, 0);
    request.uses_prefix_cache = false;
    Json body = sglang_settings(request, session);
    body["input_ids"] = tokens;
    body["logprob_start_len"] = 0;
    return {Call{"/generate", std::move(body)}};
  }

  std::vector<std::vector<TokenLogprob>> scores(const std::vector<Json>& answers,
                                                const std::vector<reference::Token>& tokens, int,
                                                const Session& session) const override {
    const Json& answer = answers.at(0);
    const Json& meta = field_of(answer, "meta_info", "");
    const Json& own = field_of(meta, "input_token_logprobs", "meta_info");
    if (!own.is_array() || own.size() != tokens.size())
      throw BadAnswer("meta_info.input_token_logprobs has not one entry for each token");
    const Json tops = meta.value("input_top_logprobs", Json());
    std::vector<std::vector<TokenLogprob>> scores(tokens.size());
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      auto& candidates = scores[i];
      if (tops.is_array() && tops.size() == tokens.size())
        candidates =
            sglang_candidates(tops[i], session, fmt::format("meta_info.input_top_logprobs[{}]", i));
      const bool has_own = std::any_of(candidates.begin(), candidates.end(),
                                       [&](const auto& each) { return each.token == tokens[i]; });
      if (has_own) continue;
      const auto rest = sglang_candidates(Json::array({own[i]}), session,
                                          fmt::format("meta_info.input_token_logprobs[{}]", i));
      candidates.insert(candidates.end(), rest.begin(), rest.end());
      sort_candidates(candidates);
    }
    return scores;
  }
};

}  // namespace

const Dialect& sglang_dialect() {
  static const Sglang dialect;
  return dialect;
}

}  // namespace draftproof::tools::engines
