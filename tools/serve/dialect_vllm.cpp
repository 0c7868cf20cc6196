// vLLM's server: POST /v1/completions with ids in and ids back, and the counters of speculation.
// Fields as read in vllm/entrypoints/openai and vllm/sampling_params.py, 2026. Logprobs are raw
// ones (--logprobs-mode raw_logprobs, the default): before temperature and filters.
#include <fmt/format.h>

#include <limits>

#include "reference/error.h"
#include "tools/serve/completions_api.h"
#include "tools/serve/request_fields.h"
#include "tools/serve/structure.h"
#include "tools/serve/tokenizer.h"

namespace draftproof::tools::serve {
namespace {

constexpr std::int64_t kLogprobsMax = 20;  ///< --max-logprobs

class VllmExchange : public CompletionsExchange {
 public:
  VllmExchange(const Json& body, const Served& served) : CompletionsExchange(served) {
    Fields fields(body);
    read_model(fields);
    const auto prompts = read_prompts(fields);
    Order order;
    read_sampling(fields, order);
    read_adjustments(fields, order);
    read_logprobs(fields, order);
    read_end(fields, order);
    read_structure(fields, order);
    read_streaming(fields);
    read_idle(fields);
    read_seed(fields, order);
    read_counts_and_end(fields, prompts, order);
  }

 protected:
  std::string name_of(Token token) const override {
    return has_ids_for_texts_ ? fmt::format("token_id:{}", token)
                              : CompletionsExchange::name_of(token);
  }

  void add_to_choice(Json& choice, const Completion& done, std::size_t from) const override {
    choice["stop_reason"] = nullptr;
    if (done.stop_text) choice["stop_reason"] = *done.stop_text;
    if (done.stop_token && done.finish == FinishReason::kStop)
      choice["stop_reason"] = *done.stop_token;
    choice["token_ids"] = nullptr;
    choice["prompt_token_ids"] = nullptr;
    if (returns_ids_) {
      const std::vector<Token> ids = done.ids();
      choice["token_ids"] =
          std::vector<Token>(ids.begin() + static_cast<std::ptrdiff_t>(from), ids.end());
      if (from == 0) choice["prompt_token_ids"] = done.prompt;
    }
    choice["prompt_logprobs"] = nullptr;
    if (has_prompt_logprobs_ && from == 0) choice["prompt_logprobs"] = prompt_logprobs_of(done);
  }

 private:
  void read_sampling(Fields& fields, Order& order) const {
    reference::Sampling& sampling = order.spec.sampling;
    sampling.temperature = fields.number("temperature", 0, 1e6).value_or(1);
    sampling.top_p = fields.number("top_p", std::numeric_limits<double>::min(), 1).value_or(1);
    sampling.top_k = fields.integer("top_k", -1, 1 << 30).value_or(0);
    sampling.min_p = fields.number("min_p", 0, 1).value_or(0);
    refuse_with_speculation(sampling.min_p > 0, "min_p");
    fields.accept_only("use_beam_search", {false});
    fields.accept_only("best_of", {1});
    fields.accept_only("length_penalty", {1});
  }

  /// vLLM refuses what its rejection sampler has no step for.
  void refuse_with_speculation(bool is_set, const char* field) const {
    if (is_set && served_->is_speculative())
      throw Error(ErrorKind::kInput,
                  "is not yet supported with speculative decoding; leave it out, or ask a server "
                  "without speculation",
                  field);
  }

  void read_adjustments(Fields& fields, Order& order) const {
    reference::Adjustments& adjustments = order.spec.adjustments;
    read_penalties(fields, order);
    adjustments.penalties.repetition = fields.number("repetition_penalty", 1e-3, 1e3).value_or(1);
    if (const Json* bias = fields.value("logit_bias")) {
      refuse_with_speculation(true, "logit_bias");
      adjustments.logit_bias = bias_of(*bias, "logit_bias", *served_, -100, 100);
    }
    if (const Json* ids = fields.value("allowed_token_ids"))
      adjustments.allowed_ids = vocabulary_ids_of(
          *ids, "allowed_token_ids", static_cast<std::size_t>(served_->vocab_size()), *served_);
    if (adjustments.allowed_ids && adjustments.allowed_ids->empty())
      throw Error(ErrorKind::kInput, "is empty, and would allow nothing", "allowed_token_ids");
    for (const std::string& word : fields.texts("bad_words", kStopTextsMax, kStopBytesMax)
                                       .value_or(std::vector<std::string>()))
      adjustments.bad_words.push_back(tokenize(*served_->spelling, word, "bad_words"));
  }

  void read_logprobs(Fields& fields, Order& order) {
    read_logprob_count(fields, kLogprobsMax, order);
    const auto prompt_count = fields.integer("prompt_logprobs", 0, kLogprobsMax);
    has_prompt_logprobs_ = prompt_count.has_value();
    if (prompt_count) order.prompt_logprob_count = static_cast<int>(*prompt_count);
    returns_ids_ = fields.flag("return_token_ids").value_or(false);
    has_ids_for_texts_ = fields.flag("return_tokens_as_token_ids").value_or(false);
    fields.accept_only("logprob_token_ids", {Json::array()});
  }

  void read_end(Fields& fields, Order& order) const {
    const bool runs_on = fields.flag("ignore_eos").value_or(false);
    if (!runs_on) order.spec.eos = served_->eos;
    order.stop_texts =
        fields.texts("stop", kStopTextsMax, kStopBytesMax).value_or(order.stop_texts);
    order.keeps_stop = fields.flag("include_stop_str_in_output").value_or(false);
    const Json* ids = fields.value("stop_token_ids");
    if (ids != nullptr)
      add_stop_tokens(order, vocabulary_ids_of(*ids, "stop_token_ids", kStopIdsMax, *served_));
    const std::int64_t least = fields.integer("min_tokens", 0, 1 << 30).value_or(0);
    if (least > 0 && !order.spec.stops.empty())
      throw Error(ErrorKind::kInput,
                  "with stop_token_ids is not modelled by the toy engine; send one of them",
                  "min_tokens");
    // Without an end token there is nothing to ban; texts wait all the same.
    order.spec.adjustments.min_tokens = order.spec.eos ? least : 0;
    order.stop_text_min_tokens = least;
  }

  void read_structure(Fields& fields, Order& order) const {
    if (const Json* format = fields.value("response_format"))
      order.spec.grammar = grammar_of_response_format(*format, "response_format", *served_);
    const Json* outputs = fields.value("structured_outputs");
    if (outputs == nullptr) return;
    Fields inner(*outputs, "structured_outputs");
    const Json* json = inner.value("json");
    const auto regex = inner.text("regex");
    const auto choice = inner.texts("choice", 256, 1024);
    inner.accept_only("grammar", {});
    inner.accept_only("structural_tag", {});
    const bool is_json = inner.flag("json_object").value_or(false);
    inner.end();
    const int count = (json ? 1 : 0) + (regex ? 1 : 0) + (choice ? 1 : 0) + (is_json ? 1 : 0);
    if (count != 1 || order.spec.grammar)
      throw Error(ErrorKind::kInput, "must say one thing: json, regex, choice or json_object",
                  "structured_outputs");
    if (json) order.spec.grammar = grammar_of_schema(*json, inner.path("json"), *served_);
    if (regex) order.spec.grammar = grammar_of_regex(*regex, inner.path("regex"), *served_);
    if (choice) order.spec.grammar = grammar_of_choices(*choice, inner.path("choice"), *served_);
    if (is_json) order.spec.grammar = grammar_of_json(inner.path("json_object"), *served_);
  }

  static void read_idle(Fields& fields) {
    for (const char* idle : {"user", "priority", "request_id", "cache_salt", "add_special_tokens",
                             "skip_special_tokens", "spaces_between_special_tokens"})
      fields.accept(idle);
    fields.accept_only("echo", {false});
    fields.accept_only("suffix", {});
    for (const char* absent : {"truncate_prompt_tokens", "prompt_embeds", "kv_transfer_params",
                               "vllm_xargs", "logits_processors"})
      fields.accept_only(absent, {});
  }

  Json prompt_logprobs_of(const Completion& done) const {
    Json list = Json::array({nullptr});
    for (const OutputToken& token : done.prompt_logprobs) {
      Json entry = Json::object();
      const auto add = [&](Token id, double logprob, Json rank) {
        entry[std::to_string(id)] = {{"logprob", finite(logprob, kLeastLogprob)},
                                     {"rank", std::move(rank)},
                                     {"decoded_token", served_->spelling->text(id)}};
      };
      add(token.token, token.raw_logprob, nullptr);
      for (std::size_t i = 0; i < token.top.size(); ++i)
        add(token.top[i].token, token.top[i].logprob, i + 1);
      list.push_back(std::move(entry));
    }
    return list;
  }

  bool returns_ids_ = false;
  bool has_ids_for_texts_ = false;
  bool has_prompt_logprobs_ = false;
};

std::unique_ptr<Exchange> read(const Json& body, const Served& served) {
  return std::make_unique<VllmExchange>(body, served);
}

std::string metrics(const Served& served, const Totals& totals) {
  std::string out;
  const std::string labels = fmt::format("engine=\"0\",model_name=\"{}\"", served.model);
  const auto add = [&](const char* name, const char* kind, const std::string& more, double value) {
    if (out.find(fmt::format("# TYPE {} ", name)) == std::string::npos)
      out += fmt::format("# TYPE {} {}\n", name, kind);
    out += fmt::format("{}{{{}{}}} {:.1f}\n", name, labels, more, value);
  };
  const auto count = [&](const char* name, std::int64_t value, const std::string& more = "") {
    add(name, "counter", more, static_cast<double>(value));
  };
  add("vllm:num_requests_running", "gauge", "", totals.unfinished);
  count("vllm:prompt_tokens_total", totals.prompt_tokens);
  count("vllm:generation_tokens_total", totals.completion_tokens);
  for (const auto& [finish, requests] : totals.finished) {
    const FinishKind kind = kind_of(finish);
    count("vllm:request_success_total", requests,
          fmt::format(",finished_reason=\"{}\"", kind == FinishKind::kStop     ? "stop"
                                                 : kind == FinishKind::kLength ? "length"
                                                                               : "abort"));
  }
  if (!served.is_speculative()) return out;
  count("vllm:spec_decode_num_drafts_total", totals.drafts);
  count("vllm:spec_decode_num_draft_tokens_total", totals.drafted);
  count("vllm:spec_decode_num_accepted_tokens_total", totals.accepted);
  const auto positions = totals.accepted_by_position();
  for (int position = 0; position < served.config->draft_count; ++position) {
    const auto at = static_cast<std::size_t>(position);
    count("vllm:spec_decode_num_accepted_tokens_per_pos_total",
          at < positions.size() ? positions[at] : 0, fmt::format(",position=\"{}\"", position));
  }
  return out;
}

std::string models(const Served& served, const Totals&) {
  return dumped(model_list(served, "vllm",
                           {{"root", served.model},
                            {"parent", nullptr},
                            {"max_model_len", served.config->context_max},
                            {"permission", Json::array()}}));
}

std::string server_info(const Served& served, const Totals&) {
  Json speculation;
  if (served.is_speculative())
    speculation = {
        {"method", served.draft_method},
        {"num_speculative_tokens", served.config->draft_count},
        {"rejection_sample_method", served.config->rule == "block" ? "block" : "standard"}};
  return dumped({{"vllm_config",
                  {{"model_config",
                    {{"model", served.model},
                     {"max_model_len", served.config->context_max},
                     {"max_logprobs", kLogprobsMax},
                     {"logprobs_mode", "raw_logprobs"}}},
                   {"speculative_config", speculation}}}});
}

std::string version(const Served&, const Totals&) {
  return dumped({{"version", "draftproof toy engine"}});
}

std::string nothing(const Served&, const Totals&) { return ""; }

std::string error_body(int status, const std::string& message) {
  const char* type = status == 404   ? "NotFoundError"
                     : status == 503 ? "ServiceUnavailableError"
                     : status >= 500 ? "InternalServerError"
                                     : "BadRequestError";
  return dumped(
      {{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", status}}}});
}

}  // namespace

Dialect vllm_dialect() {
  return {"vllm",
          "vllm",
          {{"/v1/completions", read}},
          {},
          {{"/health", "text/plain", nothing},
           {"/v1/models", "application/json", models},
           {"/version", "application/json", version},
           {"/server_info", "application/json", server_info},
           {"/metrics", "text/plain", metrics}},
          error_body};
}

}  // namespace draftproof::tools::serve
