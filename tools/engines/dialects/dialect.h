// Dialects: one engine's words for requests, answers and what it says of itself. A dialect is pure:
// bodies in, bodies out, no sockets, no clock, no state. Rules that all of them keep:
//   * every sampling field is sent, also where its value is the usual one: servers have defaults of
//     their own (llama.cpp 0.8/40/0.95/0.05, vLLM and SGLang the model's generation_config);
//   * what the protocol has no words for is an Error(kInput) that names the field, never left out;
//   * token ids in and token ids out where the protocol has them;
//   * where the answer repeats the settings they are compared with what was sent;
//   * an answer that is not of the protocol is a BadAnswer with its place, never a guess.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/json_nesting.h"
#include "tools/engines/client.h"

namespace draftproof::tools::engines {

using Json = nlohmann::json;

/// A body that is no answer of the protocol, or whose values cannot be. Its text begins with the
/// place: "choices[0].token_ids[3] is -5, ...". Its cause is the engine where the shape is the
/// protocol's and a value is wrong, the transport where whoever answered speaks another one.
class BadAnswer : public std::runtime_error {
 public:
  explicit BadAnswer(const std::string& text,
                     properties::FailureCause cause = properties::FailureCause::kEngine)
      : std::runtime_error(text), cause_(cause) {}
  properties::FailureCause cause() const { return cause_; }

 private:
  properties::FailureCause cause_;
};

/// What is known of the server when a request is written.
struct Session {
  std::string model;                       ///< to be asked for; empty: the protocol names none
  int vocab_size = 0;                      ///< 0: not known
  int context_max = 0;                     ///< 0: not known
  std::vector<std::string> adapters = {};  ///< by the numbers that the engine gives them
  bool is_draftless = false;               ///< ask not to draft, request by request
  std::string salt = {};  ///< unlike any other, for caches that are not to be shared
};

struct Call {
  std::string path;
  Json body;
};

/// What endpoints answered: path -> status and body.
struct Page {
  int status = 0;  ///< 0: no answer
  std::string body;
  /// Discarded where it is none.
  Json json() const { return properties::json_or_discarded<Json>(body); }
};
using Pages = std::map<std::string, Page>;

class Dialect {
 public:
  virtual ~Dialect() = default;

  virtual DialectInfo info() const = 0;
  /// Paths to GET for facts(); recognises() needs the first one only, and those of other dialects.
  virtual std::vector<std::string> pages() const = 0;
  /// Whether this is the engine that speaks it. Of several the first of all_dialects() counts.
  virtual bool recognises(const Pages& pages) const = 0;
  /// False where servers of any kind may speak it.
  virtual bool is_recognisable() const { return true; }
  virtual ArmFacts facts(const Pages& pages) const = 0;
  virtual properties::Capabilities capabilities(const ArmFacts& facts) const = 0;
  /// The model to ask for, and adapters; the rest of it is the arm's.
  virtual Session session(const Pages& /*pages*/) const { return {}; }
  virtual std::uint64_t seed_max() const { return (std::uint64_t{1} << 63) - 1; }

  /// Throws Error(kInput) at the field that cannot be said.
  virtual Call call(const properties::SamplingRequest& request, const Session& session) const = 0;
  /// Throws BadAnswer; Error(kInput) at the field whose echo is another than what was sent.
  /// Precondition: `sent` is the body of call(request, session).
  virtual properties::Completion completion(const Json& answer,
                                            const properties::SamplingRequest& request,
                                            const Json& sent, const Session& session) const = 0;
  /// Adds an event of a stream to `whole`, which becomes what completion() reads; whole is null at
  /// first. The number of tokens that it brought (of texts: bytes).
  virtual int add_event(Json& whole, const Json& event) const = 0;
  /// Whether the last event came ("[DONE]" is nobody's event).
  virtual bool is_whole(const Json& whole) const = 0;
  /// What must not change from answer to answer: name -> value, as told.
  virtual std::vector<std::pair<std::string, std::string>> identity(const Json& answer) const = 0;

  /// Several requests in one body; nullopt: there is no such body, or these have not the same
  /// settings. Answers come in order.
  virtual std::optional<Call> together(const std::vector<properties::SamplingRequest>& /*requests*/,
                                       const Session& /*session*/) const {
    return std::nullopt;
  }
  /// The single answers in that of together(). Throws BadAnswer.
  virtual std::vector<Json> apart(const Json& /*answer*/) const { return {}; }

  /// Calls whose answers hold the candidates of every token behind its prefix, its own one among
  /// them. Empty: the protocol cannot.
  virtual std::vector<Call> score_calls(const std::vector<reference::Token>& /*tokens*/,
                                        int /*candidate_count*/, const Session& /*session*/) const {
    return {};
  }
  /// One entry a token; the first has none. Precondition: `answers` are those of score_calls().
  virtual std::vector<std::vector<properties::TokenLogprob>> scores(
      const std::vector<Json>& /*answers*/, const std::vector<reference::Token>& /*tokens*/,
      int /*candidate_count*/, const Session& /*session*/) const {
    return {};
  }
  /// nullopt: the protocol cannot.
  virtual std::optional<Call> tokenize_call(const std::string& /*text*/, const Session&) const {
    return std::nullopt;
  }
  virtual std::optional<Call> detokenize_call(const std::vector<reference::Token>& /*tokens*/,
                                              const Session&) const {
    return std::nullopt;
  }
  /// Of both calls; the field is "tokens" of the one and "content", "prompt" or "text" of the
  /// other.
  virtual std::string text_field() const { return "content"; }
};

const Dialect& llama_cpp_dialect();
const Dialect& vllm_dialect();
const Dialect& sglang_dialect();
const Dialect& tensorrt_llm_dialect();
const Dialect& tgi_dialect();
const Dialect& openai_dialect();
const Dialect& openai_chat_dialect();

/// All, in the order in which engines are recognised.
const std::vector<const Dialect*>& all_dialects();
/// Throws Error(kInput) at "engine" that lists the names.
const Dialect& dialect_named(std::string_view name);

}  // namespace draftproof::tools::engines
