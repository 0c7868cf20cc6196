// Client: one arm of an engine, spoken to in its own words: an HTTP server through a dialect, or a
// child process that speaks transcript lines (runner.h). Facts are what it says of itself, in a
// form that does not depend on the engine; nothing here judges.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/engine.h"
#include "reference/error.h"

namespace draftproof::tools::engines {

/// What an arm says of itself when asked. Absent: not told.
struct ArmFacts {
  std::string engine;   ///< "llama.cpp", "vllm", "sglang", "tgi", ...
  std::string version;  ///< build or release, the engine's own words
  std::string model;    ///< name or path, the engine's own words
  std::optional<int> vocab_size;
  std::optional<int> context_max;         ///< tokens of prompt and answer
  std::optional<int> slot_count;          ///< requests that run together
  std::optional<bool> is_speculative;     ///< as configured, by the engine's own words
  std::optional<int> draft_count;         ///< drafted tokens a verification, at most
  std::string method;                     ///< how drafts arise, the engine's own word
  std::optional<std::string> lossy_mode;  ///< a mode that gives the law up, by its own words
  std::string chat_template;              ///< empty: not told
  /// Counters since the start that move when drafts are made: name -> value.
  std::map<std::string, double> counters;
  /// Everything else worth keeping in a report, as told: path -> text of the answer.
  std::vector<std::pair<std::string, std::string>> raw;
};

/// Another engine, version or model answers than before: what was asked of the one does not count
/// for the other.
class AnotherEngine : public Error {
 public:
  AnotherEngine(std::string message, std::string place)
      : Error(ErrorKind::kEnvironment, std::move(message), std::move(place)) {}
};

class ArmClient {
 public:
  virtual ~ArmClient() = default;
  /// What the protocol can carry and tell; `vocab_size` 0 when the engine does not tell it. Where
  /// answers are texts (returns_token_ids false) token_ids are their bytes, and it is 256.
  virtual properties::Capabilities capabilities() const = 0;
  /// The largest seed that the protocol carries: llama.cpp's has 32 bits.
  virtual std::uint64_t seed_max() const { return (std::uint64_t{1} << 63) - 1; }
  /// Asks for facts; never generates. Throws Error(kEnvironment) with the remedy when nobody
  /// answers, Error(kInput) when somebody else does (wrong engine, wrong credentials),
  /// AnotherEngine when it is no longer the one of the first call.
  virtual ArmFacts facts() = 0;
  /// One completion; several threads may call at a time. Sends every sampling field and compares
  /// the echo where there is one. What goes wrong with a request that the engine took is a
  /// completion that failed; retries (429, 503, broken connections before an answer) are inside.
  /// Throws Error(kInput) at the parameter that the protocol has no words for, Error(kEnvironment)
  /// when the engine is gone, AnotherEngine when its answers name another one than before.
  virtual properties::Completion complete(const properties::SamplingRequest& request) = 0;
  /// Several at once where the protocol has a body for that; default: one after the other.
  virtual std::vector<properties::Completion> complete_together(
      const std::vector<properties::SamplingRequest>& requests);
  /// Teacher forcing: candidates of every token of `tokens` behind its prefix, without drawing
  /// (prompt logprobs); the first has none. Empty: the protocol cannot.
  virtual std::vector<std::vector<properties::TokenLogprob>> score(
      const std::vector<reference::Token>& tokens, int candidate_count);
  /// Ids of a text, and back, by the engine's own tokenizer. nullopt: the protocol cannot.
  virtual std::optional<std::vector<reference::Token>> tokenize(const std::string& text);
  virtual std::optional<std::string> detokenize(const std::vector<reference::Token>& tokens);
  /// The request as one curl line, credentials as $NAME; empty for arms without HTTP.
  virtual std::string curl_of(const properties::SamplingRequest& request) const = 0;
};

struct RetryPolicy {
  int attempt_max = 4;
  double first_delay_s = 0.2;  ///< doubles; Retry-After is obeyed
};

struct ClientOptions {
  std::string url;              ///< http(s)://HOST[:PORT][/PREFIX]
  std::string engine = "auto";  ///< a dialect's name, or auto: asked for at facts()
  std::string model;            ///< for protocols that want one; empty: the only one served
  std::string api_key_env;      ///< name of a variable; never the key
  double connect_timeout_s = 5;
  double read_timeout_s = 120;
  RetryPolicy retry = {};
  double requests_per_second_max = 0;  ///< 0: no limit
  int connection_max = 64;
  /// One server for both arms: this one asks it, request by request, not to draft (llama.cpp's
  /// speculative.n_max = 0). Engines without such a switch refuse it at "speculation".
  bool asks_for_no_drafts = false;
};

/// Dialects by name: "llama.cpp", "vllm", "sglang", "tensorrt-llm", "tgi", "openai", "openai-chat".
/// Each with what of it was tried: "run here", "recorded elsewhere", "dialect only".
struct DialectInfo {
  std::string name;
  std::string endpoint;
  std::string standing;
};
const std::vector<DialectInfo>& dialect_infos();

/// Throws Error(kInput) at "url", "engine", "api-key-env" with the remedy.
std::unique_ptr<ArmClient> http_client(const ClientOptions& options);

/// Two arms as one engine: requests of a call run at most `concurrency` at a time. Keeps the order.
std::unique_ptr<properties::Engine> two_arms(std::shared_ptr<ArmClient> baseline,
                                             std::shared_ptr<ArmClient> speculative,
                                             int concurrency);
/// Two arms whose requests of a call run together: those that differ in their prompts only go into
/// one body, where the protocol has one for that, so that batches are the same every time.
std::unique_ptr<properties::Engine> two_arms_together(std::shared_ptr<ArmClient> baseline,
                                                      std::shared_ptr<ArmClient> speculative);

}  // namespace draftproof::tools::engines
