// The OpenAI API as it is documented, for servers of which nothing else is known: completions and
// chats. Answers are texts; their bytes stand for tokens, so that laws of both arms can be compared
// whatever the tokens are. What is judged of it is a law of texts: two different runs of tokens
// with one spelling are one.
#include <fmt/format.h>

#include "properties/json_nesting.h"
#include "reference/error.h"
#include "tools/engines/dialects/completions_body.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::SamplingRequest;

Words openai_words(const char* engine) {
  Words words{.engine = engine};
  words.has_top_k = words.has_min_p = words.has_repetition = false;
  words.has_min_tokens = words.has_stop_ids = words.has_ignore_end = false;
  words.has_grammar = words.has_cache_switch = false;
  words.bias_max = 100;
  return words;
}

ArmFacts openai_facts(const Pages& pages, const char* engine) {
  const Json model = first_model(pages);
  ArmFacts facts;
  facts.engine = engine;
  facts.model = text_at(model, {"id"});
  facts.version = text_at(model, {"owned_by"});
  facts.context_max = int_at(model, {"max_model_len"});
  return facts;
}

properties::Capabilities openai_capabilities(const ArmFacts& facts) {
  return {.name = facts.engine + " " + facts.model,
          .vocab_size = kByteCount,
          .can_draw = true,
          .logprobs = properties::LogprobKind::kNone,
          .takes_token_ids = false,
          .returns_token_ids = false};
}

/// Token ids are the engine's, and its vocabulary is not known; context is in tokens, texts are
/// not.
Session without_ids(const Session& session) {
  Session known = session;
  known.vocab_size = 0;
  return known;
}

void require_no_switch(const Session& session) {
  if (session.is_draftless)
    no_word("speculation", "the OpenAI API", "start a second server without a draft");
}

Completion text_completion(const Json& answer, std::string text, const SamplingRequest& request) {
  const Json& choice = choice_of(answer);
  Completion completion;
  completion.text = std::move(text);
  completion.token_ids = bytes_of(completion.text);
  const std::string finish =
      text_of(field_of(choice, "finish_reason", "choices[0]"), "choices[0].finish_reason");
  const auto used = int_at(answer, {"usage", "completion_tokens"});
  end_by(finish, static_cast<std::size_t>(used.value_or(request.max_tokens)), request, completion);
  return completion;
}

class Openai : public Dialect {
 public:
  DialectInfo info() const override { return {"openai", "POST /v1/completions", "dialect only"}; }
  std::vector<std::string> pages() const override { return {"/v1/models"}; }
  bool recognises(const Pages& pages) const override {
    return page_json(pages, "/v1/models").contains("data");
  }
  bool is_recognisable() const override { return false; }
  ArmFacts facts(const Pages& pages) const override { return openai_facts(pages, "openai"); }
  Session session(const Pages& pages) const override { return {.model = only_model(pages)}; }
  properties::Capabilities capabilities(const ArmFacts& facts) const override {
    return openai_capabilities(facts);
  }

  Call call(const SamplingRequest& request, const Session& session) const override {
    require_words(request, openai_words("the OpenAI API"), seed_max(), without_ids(session));
    require_no_switch(session);
    Json body = completions_body(request, session);
    body["prompt"] = prompt_of(request);
    if (!request.adjustments.logit_bias.empty())
      body["logit_bias"] = bias_object(request.adjustments.logit_bias);
    return {"/v1/completions", std::move(body)};
  }

  Completion completion(const Json& answer, const SamplingRequest& request, const Json&,
                        const Session&) const override {
    return text_completion(
        answer, text_of(field_of(choice_of(answer), "text", "choices[0]"), "choices[0].text"),
        request);
  }

  int add_event(Json& whole, const Json& event) const override {
    return add_choice_event(whole, event);
  }
  bool is_whole(const Json& whole) const override { return has_finish(whole); }
  std::vector<std::pair<std::string, std::string>> identity(const Json& answer) const override {
    return completions_identity(answer);
  }
};

/// The request's text as messages: one of the user, or what it says itself where it is a JSON array
/// of messages.
Json messages_of(const SamplingRequest& request) {
  if (request.prompt_text.empty())
    throw Error(ErrorKind::kInput,
                "has ids only, and a chat takes texts; give prompt_text, a text or a JSON array of "
                "messages",
                "prompt");
  if (request.prompt_text.starts_with('[')) {
    auto messages = properties::json_or_discarded<Json>(request.prompt_text);
    if (messages.is_array() && !messages.empty() && messages[0].is_object() &&
        messages[0].contains("role"))
      return messages;
  }
  return Json::array({{{"role", "user"}, {"content", request.prompt_text}}});
}

class OpenaiChat final : public Openai {
 public:
  DialectInfo info() const override {
    return {"openai-chat", "POST /v1/chat/completions", "dialect only"};
  }
  /// Servers that have chats have completions too, which say more.
  bool recognises(const Pages&) const override { return false; }
  ArmFacts facts(const Pages& pages) const override { return openai_facts(pages, "openai-chat"); }

  Call call(const SamplingRequest& request, const Session& session) const override {
    require_words(request, openai_words("the OpenAI API's chat"), seed_max(), without_ids(session));
    require_no_switch(session);
    Json body = completions_body(request, session);
    body["messages"] = messages_of(request);
    body.erase("max_tokens");
    body["max_completion_tokens"] = request.max_tokens;
    if (!request.adjustments.logit_bias.empty())
      body["logit_bias"] = bias_object(request.adjustments.logit_bias);
    return {"/v1/chat/completions", std::move(body)};
  }

  Completion completion(const Json& answer, const SamplingRequest& request, const Json&,
                        const Session&) const override {
    const Json& choice = choice_of(answer);
    // A stream's parts are put together as "text".
    if (const auto text = choice.find("text"); text != choice.end())
      return text_completion(answer, text_of(*text, "choices[0].text"), request);
    const Json& message = field_of(choice, "message", "choices[0]");
    const Json& content = field_of(message, "content", "choices[0].message");
    return text_completion(
        answer, content.is_null() ? "" : text_of(content, "choices[0].message.content"), request);
  }
};

}  // namespace

const Dialect& openai_dialect() {
  static const Openai dialect;
  return dialect;
}

const Dialect& openai_chat_dialect() {
  static const OpenaiChat dialect;
  return dialect;
}

}  // namespace draftproof::tools::engines
