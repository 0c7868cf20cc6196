// vLLM: POST /v1/completions with ids in and ids back. Fields as read in
// vllm/entrypoints/openai/completion/protocol.py and vllm/sampling_params.py, 2026:
//   * what a request leaves out comes from the server's own sampling defaults, so all is sent
//   * "token_id:N" in place of texts, of which two tokens may have the same one
//   * drafts are counted in /metrics only, and switched by the server's start only
//   * logprobs are of the raw row unless --logprobs-mode says otherwise, -inf is -9999
#include <fmt/format.h>

#include "reference/error.h"
#include "tools/engines/dialects/completions_body.h"
#include "tools/engines/dialects/prompt_batch.h"
#include "tools/engines/dialects/told_capabilities.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::SamplingRequest;

Words vllm_words() {
  Words words{.engine = "vLLM"};
  words.has_allowed_ids = true;
  words.bias_max = 100;
  return words;
}

void add_vllm_fields(const SamplingRequest& request, const Session& session, Json& body) {
  const auto& adjustments = request.adjustments;
  body.update({{"top_k", request.sampling.top_k > 0 ? request.sampling.top_k : 0},
               {"min_p", request.sampling.min_p},
               {"repetition_penalty", adjustments.penalties.repetition},
               {"min_tokens", adjustments.min_tokens},
               {"ignore_eos", request.ignores_end},
               {"stop_token_ids", request.stop_token_ids},
               {"skip_special_tokens", false},
               {"spaces_between_special_tokens", false},
               {"include_stop_str_in_output", false},
               {"return_token_ids", true},
               {"return_tokens_as_token_ids", true}});
  body["logprobs"] = request.logprob_count >= 0 ? Json(request.logprob_count) : Json();
  body["allowed_token_ids"] = adjustments.allowed_ids ? Json(*adjustments.allowed_ids) : Json();
  // Not even an empty one goes with speculation.
  if (!adjustments.logit_bias.empty()) body["logit_bias"] = bias_object(adjustments.logit_bias);
  if (!request.grammar.empty()) body["structured_outputs"] = {{"regex", request.grammar}};
  if (!request.uses_prefix_cache) body["cache_salt"] = session.salt;
}

Json vllm_settings(const SamplingRequest& request, const Session& session) {
  require_words(request, vllm_words(), vllm_dialect().seed_max(), session);
  if (session.is_draftless)
    no_word("speculation", "vLLM", "start a second server without --speculative-config");
  Json body = completions_body(request, session);
  add_vllm_fields(request, session, body);
  return body;
}

class Vllm final : public Dialect {
 public:
  DialectInfo info() const override { return {"vllm", "POST /v1/completions", "dialect only"}; }
  std::vector<std::string> pages() const override {
    return {"/v1/models", "/version", "/server_info?config_format=json", "/metrics"};
  }
  bool recognises(const Pages& pages) const override { return is_owned_by(pages, "vllm"); }
  Session session(const Pages& pages) const override { return {.model = only_model(pages)}; }

  ArmFacts facts(const Pages& pages) const override {
    const Json model = first_model(pages);
    // Served in development mode only; a text of another kind elsewhere.
    const Json server = page_json(pages, "/server_info?config_format=json");
    const Json config =
        server.is_object() ? server.value("vllm_config", Json::object()) : Json::object();
    const std::string metrics = page_text(pages, "/metrics");
    ArmFacts facts;
    facts.engine = "vllm";
    facts.version = text_at(page_json(pages, "/version"), {"version"});
    facts.model = text_at(model, {"id"});
    facts.context_max = int_at(model, {"max_model_len"});
    facts.vocab_size = int_at(config, {"model_config", "hf_config", "vocab_size"});
    facts.slot_count = int_at(config, {"scheduler_config", "max_num_seqs"});
    facts.counters = counters_in(metrics, "spec_decode");
    if (config.is_object() && config.contains("speculative_config")) {
      const Json& speculation = config["speculative_config"];
      facts.is_speculative = !speculation.is_null();
      facts.method = text_at(speculation, {"method"});
      facts.draft_count = int_at(speculation, {"num_speculative_tokens"});
      if (text_at(speculation, {"rejection_sample_method"}) == "synthetic")
        facts.lossy_mode = "rejection_sample_method = synthetic";
    } else if (!metrics.empty()) {
      // The counters are registered where there is a speculative_config only.
      facts.is_speculative = !facts.counters.empty();
    }
    return facts;
  }

  properties::Capabilities capabilities(const ArmFacts& facts) const override {
    properties::Capabilities capabilities = told_capabilities(facts);
    for (const auto& [path, text] : facts.raw)
      if (path.starts_with("/server_info") && text.find("processed_logprobs") != std::string::npos)
        capabilities.logprobs = properties::LogprobKind::kProcessed;
    return capabilities;
  }

  Call call(const SamplingRequest& request, const Session& session) const override {
    Json body = vllm_settings(request, session);
    body["prompt"] = prompt_of(request);
    return {"/v1/completions", std::move(body)};
  }

  Completion completion(const Json& answer, const SamplingRequest& request, const Json& sent,
                        const Session& session) const override {
    const Json& choice = choice_of(answer);
    const std::string place = "choices[0]";
    Completion completion;
    completion.text = text_of(field_of(choice, "text", place), joined(place, "text"));
    const Json& ids = field_of(choice, "token_ids", place);
    if (ids.is_null())
      throw BadAnswer(
          "choices[0].token_ids is null, though return_token_ids was sent; this vLLM "
          "is too old (0.10.2 has it)");
    completion.token_ids = tokens_of(ids, session.vocab_size, joined(place, "token_ids"));
    if (const auto echo = choice.find("prompt_token_ids");
        echo != choice.end() && echo->is_array() && sent["prompt"].is_array() &&
        sent["prompt"][0].is_number() && *echo != sent["prompt"])
      throw Error(ErrorKind::kInput,
                  fmt::format("was sent as {}, and the engine says that it read {}",
                              sent["prompt"].dump(), echo->dump()),
                  "prompt");
    if (request.logprob_count >= 0)
      add_choice_logprobs(choice.value("logprobs", Json()), request, session, completion);
    end_by(text_of(field_of(choice, "finish_reason", place), joined(place, "finish_reason")),
           completion.token_ids.size(), request, completion);
    return completion;
  }

  int add_event(Json& whole, const Json& event) const override {
    return add_choice_event(whole, event);
  }
  bool is_whole(const Json& whole) const override { return has_finish(whole); }
  std::vector<std::pair<std::string, std::string>> identity(const Json& answer) const override {
    return completions_identity(answer);
  }

  std::optional<Call> together(const std::vector<SamplingRequest>& requests,
                               const Session& session) const override {
    auto body = prompt_batch(requests, "prompt", [&](const SamplingRequest& request) {
      return vllm_settings(request, session);
    });
    if (!body) return std::nullopt;
    return Call{"/v1/completions", std::move(*body)};
  }

  std::vector<Json> apart(const Json& answer) const override {
    const Json& choices = field_of(answer, "choices", "");
    if (!choices.is_array()) throw BadAnswer("choices is no array");
    std::vector<Json> parts(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const Json index = choices[i].value("index", Json(i));
      const auto at = static_cast<std::size_t>(count_of(index, "choices[].index"));
      if (at >= parts.size() || !parts[at].is_null())
        throw BadAnswer("choices[].index is none of the prompts', or twice the same");
      parts[at] = answer;
      parts[at]["choices"] = Json::array({choices[i]});
    }
    return parts;
  }

  std::vector<Call> score_calls(const std::vector<reference::Token>& tokens, int candidate_count,
                                const Session& session) const override {
    SamplingRequest request;
    request.prompt = tokens;
    request.max_tokens = 1;
    request.sampling.temperature = 0;
    request.uses_prefix_cache = false;  // what is cached has no logits any longer
    Json body = vllm_settings(request, session);
    body["prompt"] = tokens;
    body["prompt_logprobs"] = std::max(candidate_count, 0);
    return {Call{"/v1/completions", std::move(body)}};
  }

  std::vector<std::vector<properties::TokenLogprob>> scores(
      const std::vector<Json>& answers, const std::vector<reference::Token>& tokens, int,
      const Session& session) const override {
    const Json& answer = answers.at(0);
    const std::string place = "choices[0].prompt_logprobs";
    const Json& rows = field_of(choice_of(answer), "prompt_logprobs", "choices[0]");
    if (!rows.is_array() || rows.size() != tokens.size())
      throw BadAnswer(place + " has not one entry for each token of the prompt");
    std::vector<std::vector<properties::TokenLogprob>> scores;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto& candidates = scores.emplace_back();
      if (!rows[i].is_object()) continue;
      for (const auto& [name, value] : rows[i].items()) {
        const std::string at = fmt::format("{}[{}].{}", place, i, name);
        candidates.push_back({token_of(Json::parse(name, nullptr, false), session.vocab_size, at),
                              logprob_of(field_of(value, "logprob", at), kZeroAtOpenai, at)});
      }
      sort_candidates(candidates);
    }
    return scores;
  }

  std::optional<Call> tokenize_call(const std::string& text, const Session&) const override {
    return Call{"/tokenize", {{"prompt", text}, {"add_special_tokens", false}}};
  }
  std::optional<Call> detokenize_call(const std::vector<reference::Token>& tokens,
                                      const Session&) const override {
    return Call{"/detokenize", {{"tokens", tokens}}};
  }
  std::string text_field() const override { return "prompt"; }
};

}  // namespace

const Dialect& vllm_dialect() {
  static const Vllm dialect;
  return dialect;
}

}  // namespace draftproof::tools::engines
