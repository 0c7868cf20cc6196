// llama.cpp's server: POST /completion with its defaults, which are not neutral, its answer, its
// stream without an end marker. Fields as read in tools/server (server-task.cpp, server-schema.cpp,
// 2026). Where that server reports probability 1 and no alternatives for tokens that came from a
// verified draft, this one reports the raw softmax for every token.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reference/error.h"
#include "tools/engines/http.h"
#include "tools/serve/completions_api.h"
#include "tools/serve/request_fields.h"
#include "tools/serve/structure.h"
#include "tools/serve/tokenizer.h"

namespace draftproof::tools::serve {
namespace {

constexpr double kZeroProbability = std::numeric_limits<float>::lowest();

/// The order of llama.cpp's chain, by the names that requests use.
const std::vector<std::string>& chain() {
  static const std::vector<std::string> samplers = {
      "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"};
  return samplers;
}

/// Switches off what `samplers` leaves out; another order is another law.
void apply_samplers(const std::vector<std::string>& samplers, Order& order) {
  std::size_t next = 0;
  for (const std::string& name : samplers) {
    const auto found = std::ranges::find(chain(), name == "typical_p" ? "typ_p" : name);
    const auto at = static_cast<std::size_t>(found - chain().begin());
    if (found == chain().end() || at < next)
      throw Error(ErrorKind::kInput,
                  fmt::format("has {}, which is unknown or out of order; modelled: any of {}, in "
                              "this order",
                              name, fmt::join(chain(), ", ")),
                  "samplers");
    next = at + 1;
  }
  const auto has = [&](const char* name) { return std::ranges::count(samplers, name) > 0; };
  reference::Sampling& sampling = order.spec.sampling;
  if (!has("penalties")) order.spec.adjustments.penalties = {};
  if (!has("top_k")) sampling.top_k = 0;
  if (!has("top_p")) sampling.top_p = 1;
  if (!has("min_p")) sampling.min_p = 0;
  if (!has("temperature")) sampling.temperature = 1;
}

/// Answers the samplers that are on.
std::vector<std::string> read_sampling(Fields& fields, Order& order) {
  reference::Sampling& sampling = order.spec.sampling;
  sampling = reference::contract("llama.cpp").defaults;
  const double temperature = fields.number("temperature").value_or(sampling.temperature);
  sampling.temperature = std::max(temperature, 0.0);  // below 0 is greedy there too
  sampling.top_k = fields.integer("top_k", -1, 1 << 30).value_or(sampling.top_k);
  sampling.top_p = fields.number("top_p", 0, 1).value_or(sampling.top_p);
  sampling.min_p = fields.number("min_p", 0, 1).value_or(sampling.min_p);
  reference::Penalties& penalties = order.spec.adjustments.penalties;
  penalties.repetition = fields.number("repeat_penalty", 1e-3, 1e3).value_or(1);
  penalties.frequency = fields.number("frequency_penalty", -100, 100).value_or(0);
  penalties.presence = fields.number("presence_penalty", -100, 100).value_or(0);
  penalties.last_n = fields.integer("repeat_last_n", -1, 1 << 30);
  fields.accept_only("typical_p", {1});
  fields.accept_only("top_n_sigma", {-1});
  for (const char* off : {"dynatemp_range", "xtc_probability", "dry_multiplier", "mirostat"})
    fields.accept_only(off, {0});
  for (const char* idle :
       {"dynatemp_exponent", "xtc_threshold", "dry_base", "dry_allowed_length",
        "dry_penalty_last_n", "dry_sequence_breakers", "mirostat_tau", "mirostat_eta"})
    fields.accept(idle);
  const auto samplers = fields.texts("samplers", chain().size(), 32);
  if (samplers) apply_samplers(*samplers, order);
  return samplers.value_or(chain());
}

/// An object {"ID": BIAS}, or an array of [ID, BIAS]; false bans.
void read_bias(Fields& fields, Order& order, const Served& served) {
  const Json* value = fields.value("logit_bias");
  if (value == nullptr) return;
  Json object = Json::object();
  if (value->is_array()) {
    for (const Json& pair : *value) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer())
        throw Error(ErrorKind::kInput, "must be an array of [ID, BIAS]", "logit_bias");
      object[dumped(pair[0])] = pair[1];
    }
  } else {
    object = *value;
  }
  if (!object.is_object())
    throw Error(ErrorKind::kInput, "must be an array of [ID, BIAS]", "logit_bias");
  constexpr double kBiasMax = 1e6;
  for (auto& [name, bias] : object.items())
    if (bias == false) bias = -kBiasMax - 1;
  for (auto entry : bias_of(object, "logit_bias", served, -kBiasMax - 1, kBiasMax)) {
    if (entry.bias < -kBiasMax) entry.bias = -std::numeric_limits<double>::infinity();
    order.spec.adjustments.logit_bias.push_back(entry);
  }
}

void read_end(Fields& fields, Order& order, const Served& served) {
  order.spec.eos = served.eos;
  if (fields.flag("ignore_eos").value_or(false) && served.eos) {
    // The server bans end tokens; it does not run on behind them.
    auto& biases = order.spec.adjustments.logit_bias;
    std::erase_if(biases, [&](const auto& each) { return each.token == *served.eos; });
    biases.push_back({*served.eos, -std::numeric_limits<double>::infinity()});
  }
  order.stop_texts = fields.texts("stop", kStopTextsMax, kStopBytesMax).value_or(order.stop_texts);
}

void read_speculation(Fields& fields, Order& order) {
  // Per request in 2025's server and, by some builds, later: 0 switches speculation off.
  const auto count = fields.integer("speculative.n_max", 0, 1 << 16);
  if (count && *count == 0) order.spec.is_speculative = false;
  for (const char* idle : {"speculative.n_min", "speculative.p_min", "speculative.type"})
    fields.accept(idle);
}

class LlamaExchange : public Exchange {
 public:
  LlamaExchange(const Json& body, const Served& served) : served_(&served) {
    Fields fields(body);
    const Json* prompt = fields.value("prompt");
    if (prompt == nullptr)
      throw Error(ErrorKind::kInput, "is missing; give ids or a text", "prompt");
    const auto prompts = prompts_of(*prompt, "prompt", served);
    Order order;
    samplers_ = read_sampling(fields, order);
    read_bias(fields, order, served);
    read_end(fields, order, served);
    read_speculation(fields, order);
    const std::int64_t seed =
        fields.integer("seed", -1, std::numeric_limits<std::uint32_t>::max()).value_or(-1);
    if (seed >= 0 && seed != std::numeric_limits<std::uint32_t>::max())
      order.spec.seed = static_cast<std::uint64_t>(seed);
    const auto count = fields.integer("n_predict", -1, std::numeric_limits<std::int32_t>::max());
    if (count && *count == 0)
      throw Error(ErrorKind::kInput, "is 0; this server gives at least one token", "n_predict");
    probability_count_ = static_cast<int>(fields.integer("n_probs", 0, 1 << 30).value_or(0));
    if (probability_count_ > 0)
      order.spec.logprob_count = std::min(probability_count_, served.vocab_size());
    fields.accept_only("post_sampling_probs", {false});
    returns_tokens_ = fields.flag("return_tokens").value_or(false);
    is_streaming = fields.flag("stream").value_or(false);
    read_structure(fields, order);
    read_idle(fields);
    const std::int64_t choices = fields.integer("n_cmpl", 1, kChoicesMax).value_or(1);
    fields.end();
    orders = orders_for(prompts, order, choices);
    for (Order& each : orders)
      each.spec.max_tokens =
          count && *count > 0 ? static_cast<int>(*count) : std::numeric_limits<int>::max() / 2;
    settings_ = settings(orders.front(), count.value_or(-1));
  }

  Json answer(const std::vector<Completion>& done) const override {
    if (done.size() == 1) return whole(done.front(), 0);
    Json list = Json::array();
    for (const Completion& each : done) list.push_back(whole(each, list.size()));
    return list;
  }

  std::string piece(std::size_t index, const Completion& so_far, std::size_t shown) override {
    std::string bytes;
    for (std::size_t i = shown; i < so_far.tokens.size(); ++i) {
      Json part = {{"index", index},
                   {"content", text_of(so_far, i)},
                   {"tokens", {so_far.tokens[i].token}},
                   {"stop", false},
                   {"id_slot", 0},
                   {"tokens_predicted", i + 1},
                   {"tokens_evaluated", so_far.prompt.size()}};
      if (probability_count_ > 0)
        part["completion_probabilities"] = Json::array({probability(so_far, i)});
      bytes += http::event(dumped(part));
    }
    if (!so_far.is_done()) return bytes;
    Json end = whole(so_far, index);
    end["content"] = "";
    end["tokens"] = Json::array();
    end.erase("completion_probabilities");
    return bytes + http::event(dumped(end));
  }

 private:
  void read_structure(Fields& fields, Order& order) const {
    fields.accept_only("grammar", {""});
    if (const Json* schema = fields.value("json_schema"))
      order.spec.grammar = grammar_of_schema(*schema, "json_schema", *served_);
  }

  static void read_idle(Fields& fields) {
    for (const char* idle : {"cache_prompt", "id_slot", "n_keep", "n_discard", "min_keep",
                             "timings_per_token", "return_progress", "model", "grammar_lazy"})
      fields.accept(idle);
    fields.accept_only("n_indent", {0});
    fields.accept_only("t_max_predict_ms", {0, -1});
    fields.accept_only("response_fields", {Json::array()});
    fields.accept_only("lora", {Json::array()});
  }

  static std::string text_of(const Completion& done, std::size_t token) {
    const std::size_t begin = done.text_offsets[token];
    const std::size_t end =
        token + 1 < done.text_offsets.size() ? done.text_offsets[token + 1] : done.text.size();
    return done.text.substr(begin, end - begin);
  }

  Json entry(Token id, double logprob) const {
    const std::string text = served_->spelling->text(id);
    Json bytes = Json::array();
    for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
    return {{"id", id},
            {"token", text},
            {"bytes", bytes},
            {"logprob", finite(logprob, kZeroProbability)}};
  }

  Json probability(const Completion& done, std::size_t i) const {
    const OutputToken& token = done.tokens[i];
    Json own = entry(token.token, token.raw_logprob);
    own["top_logprobs"] = Json::array();
    for (const TokenLogprob& each : token.top)
      own["top_logprobs"].push_back(entry(each.token, each.logprob));
    return own;
  }

  Json settings(const Order& order, std::int64_t count) const {
    const reference::Sampling& sampling = order.spec.sampling;
    const reference::Penalties& penalties = order.spec.adjustments.penalties;
    return {
        {"n_predict", count},
        {"seed", order.spec.seed ? *order.spec.seed : std::numeric_limits<std::uint32_t>::max()},
        {"temperature", sampling.temperature},
        {"top_k", sampling.top_k},
        {"top_p", sampling.top_p},
        {"min_p", sampling.min_p},
        {"typical_p", 1.0},
        {"repeat_penalty", penalties.repetition},
        {"repeat_last_n", penalties.last_n.value_or(64)},
        {"frequency_penalty", penalties.frequency},
        {"presence_penalty", penalties.presence},
        {"stop", order.stop_texts},
        {"n_probs", probability_count_},
        {"stream", is_streaming},
        {"samplers", samplers_},
        {"speculative.n_max", order.spec.is_speculative && served_->is_speculative()
                                  ? served_->config->draft_count
                                  : 0}};
  }

  Json whole(const Completion& done, std::size_t index) const {
    const char* type = done.finish == FinishReason::kEos             ? "eos"
                       : done.stop_text                              ? "word"
                       : kind_of(done.finish) == FinishKind::kLength ? "limit"
                                                                     : "none";
    Json out = {{"index", index},
                {"content", done.text},
                {"tokens", returns_tokens_ ? Json(done.ids()) : Json::array()},
                {"id_slot", 0},
                {"stop", true},
                {"model", served_->model},
                {"tokens_predicted", done.tokens.size()},
                {"tokens_evaluated", done.prompt.size()},
                {"generation_settings", settings_},
                {"prompt", served_->spelling->text_of(done.prompt)},
                {"has_new_line", done.text.find('\n') != std::string::npos},
                {"truncated", done.finish == FinishReason::kContext},
                {"stop_type", type},
                {"stopping_word", done.stop_text.value_or("")},
                {"tokens_cached", done.prompt.size() + done.tokens.size()},
                {"timings", timings(done)}};
    if (probability_count_ > 0) {
      out["completion_probabilities"] = Json::array();
      for (std::size_t i = 0; i < done.tokens.size(); ++i)
        out["completion_probabilities"].push_back(probability(done, i));
    }
    return out;
  }

  static Json timings(const Completion& done) {
    const auto rate = [](double count, double ms) { return ms > 0 ? count / ms * 1e3 : 0.0; };
    const auto prompt = static_cast<double>(done.prompt.size());
    const auto count = static_cast<double>(done.tokens.size());
    const Timings& time = done.timings;
    Json out = {{"cache_n", 0},
                {"prompt_n", done.prompt.size()},
                {"prompt_ms", time.prompt_ms},
                {"prompt_per_token_ms", time.prompt_ms / prompt},
                {"prompt_per_second", rate(prompt, time.prompt_ms)},
                {"predicted_n", done.tokens.size()},
                {"predicted_ms", time.decode_ms},
                {"predicted_per_token_ms", time.decode_ms / std::max(count, 1.0)},
                {"predicted_per_second", rate(count, time.decode_ms)}};
    if (done.metrics.drafted > 0) {
      out["draft_n"] = done.metrics.drafted;
      out["draft_n_accepted"] = done.metrics.accepted + done.metrics.cut_accepted;
    }
    return out;
  }

  const Served* served_;
  std::vector<std::string> samplers_;
  int probability_count_ = 0;
  bool returns_tokens_ = false;
  Json settings_;
};

std::unique_ptr<Exchange> read(const Json& body, const Served& served) {
  return std::make_unique<LlamaExchange>(body, served);
}

Json tokenized(const Json& body, const Served& served) {
  Fields fields(body);
  const std::string text = fields.text("content").value_or("");
  const bool has_pieces = fields.flag("with_pieces").value_or(false);
  for (const char* idle : {"add_special", "parse_special"}) fields.accept(idle);
  fields.end();
  Json tokens = Json::array();
  for (const Token id : tokenize(*served.spelling, text, "content"))
    tokens.push_back(has_pieces ? Json{{"id", id}, {"piece", served.spelling->text(id)}}
                                : Json(id));
  return {{"tokens", tokens}};
}

Json detokenized(const Json& body, const Served& served) {
  Fields fields(body);
  const Json* tokens = fields.value("tokens");
  if (tokens == nullptr) throw Error(ErrorKind::kInput, "is missing; give ids", "tokens");
  fields.end();
  const auto ids = vocabulary_ids_of(*tokens, "tokens", kPromptIdsMax, served);
  return {{"content", served.spelling->text_of(ids)}};
}

std::string props(const Served& served, const Totals&) {
  const auto& defaults = reference::contract("llama.cpp").defaults;
  return dumped(
      {{"default_generation_settings",
        {{"n_ctx", served.config->context_max},
         {"speculative", served.is_speculative()},
         {"params",
          {{"temperature", defaults.temperature},
           {"top_k", defaults.top_k},
           {"top_p", defaults.top_p},
           {"min_p", defaults.min_p},
           {"samplers", chain()},
           {"speculative.types", served.is_speculative() ? "draft-simple" : "none"},
           {"speculative.n_max", served.is_speculative() ? served.config->draft_count : 0}}}}},
       {"total_slots", served.config->request_max},
       {"model_path", served.model},
       {"chat_template", ""},
       {"build_info", "draftproof toy engine"}});
}

std::string slots(const Served& served, const Totals& totals) {
  Json list = Json::array();
  for (int slot = 0; slot < served.config->request_max; ++slot)
    list.push_back({{"id", slot},
                    {"n_ctx", served.config->context_max},
                    {"speculative", served.is_speculative()},
                    {"is_processing", slot < totals.unfinished}});
  return dumped(list);
}

std::string models(const Served& served, const Totals&) {
  return dumped(model_list(
      served, "llamacpp",
      {{"meta", {{"n_vocab", served.vocab_size()}, {"n_ctx", served.config->context_max}}}}));
}

std::string health(const Served&, const Totals&) { return R"({"status":"ok"})"; }

std::string error_body(int status, const std::string& message) {
  const char* type = status == 404   ? "not_found_error"
                     : status == 503 ? "unavailable_error"
                     : status >= 500 ? "server_error"
                                     : "invalid_request_error";
  return dumped({{"error", {{"code", status}, {"message", message}, {"type", type}}}});
}

}  // namespace

Dialect llama_cpp_dialect() {
  return {"llama.cpp",
          "llama.cpp",
          {{"/completion", read}, {"/completions", read}},
          {{"/tokenize", tokenized}, {"/detokenize", detokenized}},
          {{"/health", "application/json", health},
           {"/props", "application/json", props},
           {"/slots", "application/json", slots},
           {"/v1/models", "application/json", models}},
          error_body};
}

}  // namespace draftproof::tools::serve
