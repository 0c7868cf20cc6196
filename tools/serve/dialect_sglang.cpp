// SGLang's server: POST /generate with its own words, streams that repeat the whole text so far,
// and speculation counted in meta_info. Fields as read in io_struct.py, tokenizer_manager.py and
// sampling_params.py, 2026. Logprobs are those of the model's row before temperature and filters
// (SGLANG_RETURN_ORIGINAL_LOGPROB there), so that they mean the same at every temperature.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "reference/error.h"
#include "tools/engines/http.h"
#include "tools/serve/request_fields.h"
#include "tools/serve/structure.h"

namespace draftproof::tools::serve {
namespace {

constexpr double kLeastLogprob = std::numeric_limits<float>::lowest();
constexpr std::int64_t kTokensUsual = 128;  ///< max_new_tokens where a request says nothing

double ratio_of(std::int64_t a, std::int64_t b) {
  return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0.0;
}

class SglangExchange : public Exchange {
 public:
  SglangExchange(const Json& body, const Served& served) : served_(&served) {
    Fields fields(body);
    const Json* ids = fields.value("input_ids");
    const Json* text = fields.value("text");
    if ((ids == nullptr) == (text == nullptr))
      throw Error(ErrorKind::kInput, "give either input_ids or text", "input_ids");
    const char* place = ids != nullptr ? "input_ids" : "text";
    const Json& value = ids != nullptr ? *ids : *text;
    const auto prompts = prompts_of(value, place, served);
    is_batch_ = value.is_array() && !value.front().is_number();
    Order order;
    const Json none = Json::object();
    const Json* sampling = fields.value("sampling_params");
    Fields inner(sampling != nullptr ? *sampling : none, "sampling_params");
    read_sampling(inner, order);
    read_end(inner, order);
    read_structure(inner, order);
    const std::int64_t choices = inner.integer("n", 1, kChoicesMax).value_or(1);
    const auto count = inner.integer("max_new_tokens", 1, std::numeric_limits<std::int64_t>::max());
    inner.end();
    read_logprobs(fields, order);
    is_streaming = fields.flag("stream").value_or(false);
    id_ = fields.text("rid").value_or(next_id());
    for (const char* idle :
         {"return_text_in_logprobs", "log_metrics", "priority", "model", "extra_key", "background"})
      fields.accept(idle);
    for (const char* absent :
         {"input_embeds", "image_data", "audio_data", "video_data", "lora_path", "session_params",
          "custom_logit_processor", "token_ids_logprob", "modalities", "bootstrap_host"})
      fields.accept_only(absent, {});
    fields.accept_only("return_hidden_states", {false});
    fields.accept_only("return_sampling_mask", {false});
    fields.end();
    is_batch_ = is_batch_ || choices > 1;
    orders = orders_for(prompts, order, choices);
    for (Order& each : orders) {
      const std::int64_t room = room_behind(each.spec.prompt, served);
      each.spec.max_tokens =
          tokens_within(each.spec.prompt, count.value_or(std::min(kTokensUsual, room)),
                        "sampling_params.max_new_tokens", served);
    }
  }

  Json answer(const std::vector<Completion>& done) const override {
    if (!is_batch_) return whole(done.front(), 0);
    Json list = Json::array();
    for (const Completion& each : done) list.push_back(whole(each, list.size()));
    return list;
  }

  std::string piece(std::size_t index, const Completion& so_far, std::size_t) override {
    Json out = whole(so_far, index);
    if (is_batch_) out["index"] = index;
    return http::event(dumped(out));
  }

  std::string last_piece(const std::vector<Completion>&) override { return http::event("[DONE]"); }

 private:
  static std::string next_id() {
    static std::atomic<std::uint64_t> count{0};
    return fmt::format("{:032x}", ++count);
  }

  static void read_sampling(Fields& fields, Order& order) {
    reference::Sampling& sampling = order.spec.sampling;
    sampling.temperature = fields.number("temperature", 0, 1e6).value_or(1);
    sampling.top_p = fields.number("top_p", std::numeric_limits<double>::min(), 1).value_or(1);
    sampling.top_k = fields.integer("top_k", -1, 1 << 30).value_or(-1);
    if (sampling.top_k == 0)
      throw Error(ErrorKind::kInput, "is 0; it must be -1 (all tokens) or 1 and more",
                  fields.path("top_k"));
    sampling.min_p = fields.number("min_p", 0, 1).value_or(0);
    // Temperatures below this are top-k 1 there.
    if (sampling.temperature < 1e-6) sampling.temperature = 0;
    reference::Penalties& penalties = order.spec.adjustments.penalties;
    penalties.frequency = fields.number("frequency_penalty", -2, 2).value_or(0);
    penalties.presence = fields.number("presence_penalty", -2, 2).value_or(0);
    penalties.repetition = fields.number("repetition_penalty", 1e-3, 2).value_or(1);
    const auto seed = fields.integer("sampling_seed", std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max());
    if (seed) order.spec.seed = static_cast<std::uint64_t>(*seed);
    fields.accept_only("custom_params", {});
  }

  void read_end(Fields& fields, Order& order) const {
    // Then the server looks at no token, and goes on to texts (Req.check_finished).
    const bool ignores_tokens = fields.flag("ignore_eos").value_or(false);
    if (!ignores_tokens) order.spec.eos = served_->eos;
    order.stop_texts =
        fields.texts("stop", kStopTextsMax, kStopBytesMax).value_or(order.stop_texts);
    order.keeps_stop = fields.flag("no_stop_trim").value_or(false);
    fields.accept_only("stop_regex", {});
    if (const Json* value = fields.value("stop_token_ids")) {
      const auto ids =
          vocabulary_ids_of(*value, fields.path("stop_token_ids"), kStopIdsMax, *served_);
      if (!ignores_tokens) add_stop_tokens(order, ids);
    }
    if (const Json* bias = fields.value("logit_bias"))
      order.spec.adjustments.logit_bias =
          bias_of(*bias, fields.path("logit_bias"), *served_, -1e6, 1e6);
    const std::int64_t least = fields.integer("min_new_tokens", 0, 1 << 30).value_or(0);
    if (least > 0 && !order.spec.stops.empty())
      throw Error(ErrorKind::kInput,
                  "with stop_token_ids is not modelled by the toy engine; send one of them",
                  fields.path("min_new_tokens"));
    order.spec.adjustments.min_tokens = order.spec.eos ? least : 0;
    for (const char* idle : {"skip_special_tokens", "spaces_between_special_tokens"})
      fields.accept(idle);
  }

  void read_structure(Fields& fields, Order& order) const {
    const auto regex = fields.text("regex");
    const Json* schema = fields.value("json_schema");
    fields.accept_only("ebnf", {});
    fields.accept_only("structural_tag", {});
    if (regex && schema)
      throw Error(ErrorKind::kInput, "send one of regex and json_schema", fields.path("regex"));
    if (regex) order.spec.grammar = grammar_of_regex(*regex, fields.path("regex"), *served_);
    if (schema)
      order.spec.grammar = grammar_of_schema(*schema, fields.path("json_schema"), *served_);
  }

  void read_logprobs(Fields& fields, Order& order) {
    has_logprobs_ = fields.flag("return_logprob").value_or(false);
    top_count_ = static_cast<int>(fields.integer("top_logprobs_num", 0, 1 << 20).value_or(0));
    input_start_ = fields.integer("logprob_start_len", -1, 1 << 30).value_or(-1);
    returns_prompt_ = fields.flag("return_prompt_token_ids").value_or(false);
    if (!has_logprobs_) return;
    const int count = std::min(top_count_, served_->vocab_size());
    order.spec.logprob_count = count;
    if (input_start_ >= 0) order.prompt_logprob_count = count;
  }

  Json top_of(const OutputToken& token) const {
    Json top = Json::array();
    for (const TokenLogprob& each : token.top)
      top.push_back({finite(each.logprob, kLeastLogprob), each.token, nullptr});
    return top;
  }

  void add_logprobs(Json& meta, const Completion& done) const {
    Json tokens = Json::array();
    Json tops = Json::array();
    for (const OutputToken& token : done.tokens) {
      tokens.push_back({finite(token.raw_logprob, kLeastLogprob), token.token, nullptr});
      tops.push_back(top_of(token));
    }
    Json input = Json::array();
    Json input_tops = Json::array();
    for (std::size_t i = 0; input_start_ >= 0 && i < done.prompt.size(); ++i) {
      if (static_cast<std::int64_t>(i) < input_start_) continue;
      const bool has_row = i > 0;  // the first token has none
      input.push_back(
          {has_row ? Json(finite(done.prompt_logprobs[i - 1].raw_logprob, kLeastLogprob)) : Json(),
           done.prompt[i], nullptr});
      input_tops.push_back(has_row ? top_of(done.prompt_logprobs[i - 1]) : Json());
    }
    meta["input_token_logprobs"] = std::move(input);
    meta["output_token_logprobs"] = std::move(tokens);
    if (top_count_ == 0) return;
    meta["input_top_logprobs"] = std::move(input_tops);
    meta["output_top_logprobs"] = std::move(tops);
  }

  static Json finish_of(const Completion& done) {
    switch (kind_of(done.finish)) {
      case FinishKind::kStop:
        if (done.stop_text) return {{"type", "stop"}, {"matched", *done.stop_text}};
        return {{"type", "stop"}, {"matched", done.stop_token.value_or(-1)}};
      case FinishKind::kLength:
        return {{"type", "length"}, {"length", done.tokens.size()}};
      case FinishKind::kAborted:
        break;
    }
    return {{"type", "abort"}, {"message", std::string(to_string(done.finish))}};
  }

  void add_speculation(Json& meta, const Completion& done) const {
    // Counters are whole when the request is over.
    if (!served_->is_speculative() || !done.is_done()) return;
    const auto& metrics = done.metrics;
    const std::int64_t accepted = metrics.accepted + metrics.cut_accepted;
    meta["spec_verify_ct"] = metrics.verifications;
    meta["spec_num_correct_drafts"] = accepted;
    meta["spec_num_proposed_drafts"] = metrics.drafted;
    meta["spec_accept_rate"] = ratio_of(accepted, metrics.drafted);
    meta["spec_accept_length"] =
        ratio_of(static_cast<std::int64_t>(done.tokens.size()), metrics.verifications);
  }

  Json whole(const Completion& done, std::size_t index) const {
    const Timings& time = done.timings;
    Json meta = {{"id", orders.size() > 1 ? fmt::format("{}_{}", id_, index) : id_},
                 {"finish_reason", done.is_done() ? finish_of(done) : Json()},
                 {"prompt_tokens", done.prompt.size()},
                 {"completion_tokens", done.tokens.size()},
                 {"cached_tokens", 0},
                 {"weight_version", "default"},
                 {"e2e_latency", (time.queue_ms + time.prompt_ms + time.decode_ms) / 1e3}};
    if (has_logprobs_) add_logprobs(meta, done);
    add_speculation(meta, done);
    Json out = {{"text", done.text}, {"output_ids", done.ids()}, {"meta_info", std::move(meta)}};
    if (returns_prompt_) out["prompt_token_ids"] = done.prompt;
    return out;
  }

  const Served* served_;
  std::string id_;
  bool is_batch_ = false;
  bool has_logprobs_ = false;
  bool returns_prompt_ = false;
  int top_count_ = 0;
  std::int64_t input_start_ = -1;
};

std::unique_ptr<Exchange> read(const Json& body, const Served& served) {
  return std::make_unique<SglangExchange>(body, served);
}

std::string server_info(const Served& served, const Totals& totals) {
  Json algorithm, count;
  if (served.is_speculative()) {
    algorithm = served.draft_method == "ngram" ? "NGRAM" : "STANDALONE";
    count = served.config->draft_count;
  }
  return dumped(
      {{"model_path", served.model},
       {"context_length", served.config->context_max},
       {"max_running_requests", served.config->request_max},
       {"page_size", served.config->target_cache.page_size},
       {"speculative_algorithm", algorithm},
       {"speculative_num_draft_tokens", count},
       {"speculative_accept_threshold_single", 1.0},
       {"speculative_accept_threshold_acc", 1.0},
       {"internal_states",
        {{{"avg_spec_accept_length", ratio_of(totals.completion_tokens, totals.verifications)}}}},
       {"version", "draftproof toy engine"}});
}

std::string model_info(const Served& served, const Totals&) {
  return dumped({{"model_path", served.model}, {"is_generation", true}});
}

std::string metrics(const Served& served, const Totals& totals) {
  std::string out;
  const auto add = [&](const char* name, const char* kind, double value) {
    out += fmt::format("# TYPE sglang:{0} {1}\nsglang:{0}{{model_name=\"{2}\"}} {3}\n", name, kind,
                       served.model, value);
  };
  std::int64_t requests = 0;
  for (const auto& [finish, count] : totals.finished) requests += count;
  add("num_running_reqs", "gauge", totals.unfinished);
  add("num_requests_total", "counter", static_cast<double>(requests));
  add("prompt_tokens_total", "counter", static_cast<double>(totals.prompt_tokens));
  add("generation_tokens_total", "counter", static_cast<double>(totals.completion_tokens));
  if (!served.is_speculative()) return out;
  add("spec_accept_length", "gauge", ratio_of(totals.completion_tokens, totals.verifications));
  add("spec_accept_rate", "gauge", ratio_of(totals.accepted, totals.drafted));
  return out;
}

std::string nothing(const Served&, const Totals&) { return ""; }

std::string error_body(int, const std::string& message) {
  return dumped({{"error", {{"message", message}}}});
}

}  // namespace

Dialect sglang_dialect() {
  return {"sglang",
          "sglang",
          {{"/generate", read}},
          {},
          {{"/health", "text/plain", nothing},
           {"/get_server_info", "application/json", server_info},
           {"/get_model_info", "application/json", model_info},
           {"/metrics", "text/plain", metrics}},
          error_body};
}

}  // namespace draftproof::tools::serve
