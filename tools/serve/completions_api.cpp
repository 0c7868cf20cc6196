#include "tools/serve/completions_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "reference/error.h"
#include "tools/engines/http.h"
#include "tools/serve/request_fields.h"

namespace draftproof::tools::serve {

CompletionsExchange::CompletionsExchange(const Served& served) : served_(&served) {
  static std::atomic<std::uint64_t> count{0};
  id_ = fmt::format("{:016x}", ++count);
}

void CompletionsExchange::read_streaming(Fields& fields) {
  is_streaming = fields.flag("stream").value_or(false);
  const Json* options = fields.value("stream_options");
  if (options == nullptr) return;
  if (!is_streaming)
    throw Error(ErrorKind::kInput, "is for streams; send \"stream\": true", "stream_options");
  Fields inner(*options, "stream_options");
  has_usage_ = inner.flag("include_usage").value_or(false);
  inner.accept_only("continuous_usage_stats", {false});
  inner.end();
}

void CompletionsExchange::read_model(Fields& fields) const {
  const auto model = fields.text("model");
  if (model && *model != served_->model)
    throw UnknownModel(
        fmt::format("model: there is none of this name; {} is served", served_->model));
}

std::vector<std::vector<Token>> CompletionsExchange::read_prompts(Fields& fields) {
  const Json* prompt = fields.value("prompt");
  if (prompt == nullptr) throw Error(ErrorKind::kInput, "is missing; give ids or a text", "prompt");
  auto prompts = prompts_of(*prompt, "prompt", *served_);
  prompt_count_ = prompts.size();
  return prompts;
}

void CompletionsExchange::read_logprob_count(Fields& fields, std::int64_t count_max, Order& order) {
  const auto count = fields.integer("logprobs", 0, count_max);
  if (!count) return;
  logprob_count_ = static_cast<int>(*count);
  order.spec.logprob_count = std::min(logprob_count_, served_->vocab_size());
}

void CompletionsExchange::read_penalties(Fields& fields, Order& order) {
  reference::Penalties& penalties = order.spec.adjustments.penalties;
  penalties.frequency = fields.number("frequency_penalty", -2, 2).value_or(0);
  penalties.presence = fields.number("presence_penalty", -2, 2).value_or(0);
}

void CompletionsExchange::read_seed(Fields& fields, Order& order) {
  const auto seed = fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max());
  if (seed) order.spec.seed = static_cast<std::uint64_t>(*seed);
}

void CompletionsExchange::read_counts_and_end(Fields& fields,
                                              const std::vector<std::vector<Token>>& prompts,
                                              const Order& order) {
  const std::int64_t choices = fields.integer("n", 1, kChoicesMax).value_or(1);
  const std::int64_t count =
      fields.integer("max_tokens", 1, std::numeric_limits<std::int64_t>::max()).value_or(16);
  fields.end();
  orders = orders_for(prompts, order, choices);
  for (Order& each : orders)
    each.spec.max_tokens = tokens_within(each.spec.prompt, count, "max_tokens", *served_);
}

std::string CompletionsExchange::name_of(Token token) const {
  return served_->spelling->text(token);
}

std::string CompletionsExchange::finish_of(const Completion& done) const {
  switch (kind_of(done.finish)) {
    case FinishKind::kStop:
      return "stop";
    case FinishKind::kLength:
      return "length";
    case FinishKind::kAborted:
      break;
  }
  return "abort";
}

std::string CompletionsExchange::object_name(bool) const { return "text_completion"; }

void CompletionsExchange::add_text(Json& choice, const std::string& text, bool) const {
  choice["text"] = text;
}

Json CompletionsExchange::logprobs_of(const Completion& done, std::size_t from) const {
  Json out = {{"text_offset", Json::array()},
              {"token_logprobs", Json::array()},
              {"tokens", Json::array()},
              {"top_logprobs", Json::array()}};
  for (std::size_t i = from; i < done.tokens.size(); ++i) {
    const OutputToken& token = done.tokens[i];
    Json top = Json::object();
    for (const TokenLogprob& each : token.top) {
      // Of two tokens with one text the likelier one stays.
      const std::string name = name_of(each.token);
      if (!top.contains(name)) top[name] = finite(each.logprob, kLeastLogprob);
    }
    top[name_of(token.token)] = finite(token.raw_logprob, kLeastLogprob);
    out["text_offset"].push_back(done.text_offsets[i]);
    out["token_logprobs"].push_back(finite(token.raw_logprob, kLeastLogprob));
    out["tokens"].push_back(name_of(token.token));
    out["top_logprobs"].push_back(std::move(top));
  }
  return out;
}

Json CompletionsExchange::choice_of(std::size_t index, const Completion& done, std::size_t from,
                                    bool is_chunk) const {
  Json choice = {{"index", index},
                 {"logprobs", logprob_count_ >= 0 ? logprobs_of(done, from) : Json()},
                 {"finish_reason", done.is_done() ? Json(finish_of(done)) : Json()}};
  const std::size_t begin = from < done.tokens.size() ? done.text_offsets[from] : done.text.size();
  add_text(choice, done.text.substr(begin), is_chunk);
  add_to_choice(choice, done, from);
  return choice;
}

Json CompletionsExchange::frame(bool is_chunk) const {
  const std::string object = object_name(is_chunk);
  return {{"id", (object == "text_completion" ? "cmpl-" : "chatcmpl-") + id_},
          {"object", object},
          {"created", served_->started_s},
          {"model", served_->model},
          {"choices", Json::array()}};
}

Json CompletionsExchange::usage_of(const std::vector<Completion>& done) const {
  // A prompt of several choices counts once.
  const std::size_t choices = orders.size() / prompt_count_;
  std::size_t prompt_tokens = 0;
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (i % choices == 0) prompt_tokens += done[i].prompt.size();
    tokens += done[i].tokens.size();
  }
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", tokens},
          {"total_tokens", prompt_tokens + tokens}};
}

Json CompletionsExchange::answer(const std::vector<Completion>& done) const {
  Json out = frame(false);
  for (std::size_t i = 0; i < done.size(); ++i)
    out["choices"].push_back(choice_of(i, done[i], 0, false));
  out["usage"] = usage_of(done);
  return out;
}

std::string CompletionsExchange::piece(std::size_t index, const Completion& so_far,
                                       std::size_t shown) {
  Json out = frame(true);
  out["choices"].push_back(choice_of(index, so_far, shown, true));
  return http::event(dumped(out));
}

std::string CompletionsExchange::last_piece(const std::vector<Completion>& done) {
  std::string bytes;
  if (has_usage_) {
    Json out = frame(true);
    out["usage"] = usage_of(done);
    bytes = http::event(dumped(out));
  }
  return bytes + http::event("[DONE]");
}

Json model_list(const Served& served, const char* owner, const Json& fields) {
  Json entry = {{"id", served.model},
                {"object", "model"},
                {"created", served.started_s},
                {"owned_by", owner}};
  entry.update(fields);
  return {{"object", "list"}, {"data", Json::array({entry})}};
}

}  // namespace draftproof::tools::serve
