// The OpenAI API as it is documented: completions and chat completions, for clients that know
// nothing else. No token ids come back, so audits see texts. Fields as in the API reference, 2026.
// A chat has no template here: its prompt is what its messages say, one behind the other.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "reference/error.h"
#include "tools/serve/completions_api.h"
#include "tools/serve/request_fields.h"
#include "tools/serve/structure.h"

namespace draftproof::tools::serve {
namespace {

constexpr std::size_t kStopsMax = 4;

void read_sampling(Fields& fields, Order& order, const Served& served) {
  reference::Sampling& sampling = order.spec.sampling;
  sampling.temperature = fields.number("temperature", 0, 2).value_or(1);
  sampling.top_p = fields.number("top_p", 0, 1).value_or(1);
  if (const Json* bias = fields.value("logit_bias"))
    order.spec.adjustments.logit_bias = bias_of(*bias, "logit_bias", served, -100, 100);
  order.spec.eos = served.eos;
  order.stop_texts = fields.texts("stop", kStopsMax, kStopBytesMax).value_or(order.stop_texts);
  if (const Json* format = fields.value("response_format"))
    order.spec.grammar = grammar_of_response_format(*format, "response_format", served);
}

class OpenaiExchange : public CompletionsExchange {
 public:
  OpenaiExchange(const Json& body, const Served& served) : CompletionsExchange(served) {
    Fields fields(body);
    read_model(fields);
    const auto prompts = read_prompts(fields);
    Order order;
    read_sampling(fields, order, served);
    read_penalties(fields, order);
    read_seed(fields, order);
    read_logprob_count(fields, 5, order);
    read_streaming(fields);
    fields.accept("user");
    fields.accept_only("echo", {false});
    fields.accept_only("suffix", {});
    fields.accept_only("best_of", {1});
    read_counts_and_end(fields, prompts, order);
  }
};

/// What the messages say, one behind the other.
std::vector<Token> prompt_of_messages(const Json& messages, const Served& served) {
  if (!messages.is_array() || messages.empty())
    throw Error(ErrorKind::kInput, "must be an array of at least one message", "messages");
  std::string text;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Fields fields(messages[i], fmt::format("messages[{}]", i));
    const std::string role = fields.text("role").value_or("");
    if (role != "system" && role != "developer" && role != "user" && role != "assistant")
      throw Error(ErrorKind::kInput, "must be system, developer, user or assistant",
                  fields.path("role"));
    const Json* content = fields.value("content");
    fields.accept("name");
    fields.end();
    if (content == nullptr)
      throw Error(ErrorKind::kInput, "is missing; give a text", fields.path("content"));
    if (content->is_string()) {
      text += content->get<std::string>();
      continue;
    }
    if (!content->is_array())
      throw Error(ErrorKind::kInput, "must be a text or an array of parts", fields.path("content"));
    for (const Json& part : *content) {
      Fields inner(part, fields.path("content"));
      if (inner.text("type").value_or("") != "text")
        throw Error(ErrorKind::kInput, "must be text", inner.path("type"));
      text += inner.text("text").value_or("");
      inner.end();
    }
  }
  return prompts_of(text, "messages", served).front();
}

class ChatExchange : public CompletionsExchange {
 public:
  ChatExchange(const Json& body, const Served& served) : CompletionsExchange(served) {
    Fields fields(body);
    read_model(fields);
    const Json* messages = fields.value("messages");
    if (messages == nullptr) throw Error(ErrorKind::kInput, "is missing", "messages");
    const auto prompt = prompt_of_messages(*messages, served);
    Order order;
    read_sampling(fields, order, served);
    read_penalties(fields, order);
    read_seed(fields, order);
    const bool has_logprobs = fields.flag("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, 20);
    if (top && !has_logprobs)
      throw Error(ErrorKind::kInput, "needs \"logprobs\": true", "top_logprobs");
    if (has_logprobs) {
      logprob_count_ = static_cast<int>(top.value_or(0));
      order.spec.logprob_count = std::min(logprob_count_, served.vocab_size());
    }
    read_streaming(fields);
    for (const char* idle : {"user", "store", "metadata", "service_tier", "safety_identifier"})
      fields.accept(idle);
    for (const char* absent : {"tools", "functions", "audio", "prediction", "modalities"})
      fields.accept_only(absent, {});
    fields.accept_only("tool_choice", {"none"});
    fields.accept_only("parallel_tool_calls", {true, false});
    const std::int64_t choices = fields.integer("n", 1, kChoicesMax).value_or(1);
    constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
    auto count = fields.integer("max_completion_tokens", 1, kAny);
    const auto older = fields.integer("max_tokens", 1, kAny);
    if (count && older)
      throw Error(ErrorKind::kInput, "send one of max_completion_tokens and max_tokens",
                  "max_tokens");
    if (older) count = older;
    fields.end();
    orders = orders_for({prompt}, order, choices);
    for (Order& each : orders)
      each.spec.max_tokens = tokens_within(prompt, count, "max_completion_tokens", served);
  }

 protected:
  std::string object_name(bool is_chunk) const override {
    return is_chunk ? "chat.completion.chunk" : "chat.completion";
  }

  void add_text(Json& choice, const std::string& text, bool is_chunk) const override {
    choice[is_chunk ? "delta" : "message"] = {{"role", "assistant"}, {"content", text}};
  }

  Json logprobs_of(const Completion& done, std::size_t from) const override {
    Json content = Json::array();
    for (std::size_t i = from; i < done.tokens.size(); ++i) {
      const OutputToken& token = done.tokens[i];
      Json own = entry(token.token, token.raw_logprob);
      own["top_logprobs"] = Json::array();
      for (const TokenLogprob& each : token.top)
        own["top_logprobs"].push_back(entry(each.token, each.logprob));
      content.push_back(std::move(own));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

 private:
  Json entry(Token id, double logprob) const {
    const std::string text = name_of(id);
    Json bytes = Json::array();
    for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", text}, {"logprob", finite(logprob, kLeastLogprob)}, {"bytes", bytes}};
  }
};

std::unique_ptr<Exchange> read(const Json& body, const Served& served) {
  return std::make_unique<OpenaiExchange>(body, served);
}

std::unique_ptr<Exchange> read_chat(const Json& body, const Served& served) {
  return std::make_unique<ChatExchange>(body, served);
}

std::string models(const Served& served, const Totals&) {
  return dumped(model_list(served, "draftproof", Json::object()));
}

std::string nothing(const Served&, const Totals&) { return ""; }

std::string error_body(int status, const std::string& message) {
  const char* type = status == 404   ? "not_found_error"
                     : status >= 500 ? "server_error"
                                     : "invalid_request_error";
  return dumped(
      {{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}}}});
}

}  // namespace

Dialect openai_dialect() {
  return {"openai",
          "default",
          {{"/v1/completions", read}, {"/v1/chat/completions", read_chat}},
          {},
          {{"/v1/models", "application/json", models}, {"/health", "text/plain", nothing}},
          error_body,
          429};
}

}  // namespace draftproof::tools::serve
