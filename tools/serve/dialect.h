// Dialects: one engine's words for orders and completions. A dialect parses strictly, writes what
// the engine would write, and knows nothing of sockets: bodies in, bodies out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract.h"
#include "reference/decode/engine_config.h"
#include "reference/model/spelling.h"
#include "tools/serve/completion.h"
#include "tools/serve/engine_host.h"
#include "tools/serve/fields.h"

namespace draftproof::tools::serve {

/// What is served, as far as dialects tell it.
struct Served {
  std::string model;                              ///< its name
  const reference::decode::EngineConfig* config;  ///< the host's
  const reference::model::Spelling* spelling;
  std::optional<Token> eos = {};
  std::string draft_method = {};  ///< "draft_model", "ngram", ...; empty: speculation is off
  std::uint64_t started_s = 0;    ///< Unix time, for the fields that carry one

  bool is_speculative() const { return !draft_method.empty(); }
  int vocab_size() const { return config->target->vocab_size(); }
};

/// Limits that every dialect shares.
inline constexpr std::size_t kPromptIdsMax = std::size_t{1} << 20;
inline constexpr std::size_t kPromptsMax = 64;     ///< in one body
inline constexpr std::int64_t kChoicesMax = 64;    ///< of one prompt
inline constexpr std::size_t kStopTextsMax = 16;   ///< of one request
inline constexpr std::size_t kStopIdsMax = 64;     ///< of one request
inline constexpr std::size_t kStopBytesMax = 256;  ///< of one stop
inline constexpr std::size_t kSchemaBytesMax = 1 << 16;

/// One body understood: its orders, and how to answer them.
class Exchange {
 public:
  virtual ~Exchange() = default;

  std::vector<Order> orders;
  bool is_streaming = false;

  /// The whole answer. `done` are the completions of `orders`.
  virtual Json answer(const std::vector<Completion>& done) const = 0;
  /// The bytes of a stream when order `index` has more to show than the `shown` tokens that were
  /// shown, or is done.
  virtual std::string piece(std::size_t index, const Completion& so_far, std::size_t shown) = 0;
  /// What ends a stream.
  virtual std::string last_piece(const std::vector<Completion>& /*done*/) { return ""; }
};

/// An endpoint that says what is there.
struct Page {
  std::string path;
  std::string type = "application/json";
  std::string (*body)(const Served&, const Totals&);
};
/// An endpoint that answers a body without the engine.
struct Form {
  std::string path;
  Json (*answer)(const Json& body, const Served&);
};
/// An endpoint that decodes.
struct Endpoint {
  std::string path;
  std::unique_ptr<Exchange> (*read)(const Json& body, const Served&);
};

/// A body that names a model which is not served.
class UnknownModel : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Dialect {
  std::string name;      ///< "llama.cpp", "vllm", "sglang", "openai"
  std::string contract;  ///< of reference::contracts(): what requests are decoded by
  std::vector<Endpoint> endpoints;
  std::vector<Form> forms;
  std::vector<Page> pages;
  /// Body of an answer that is no success.
  std::string (*error)(int status, const std::string& message);
  int busy_status = 503;  ///< of a request that the host has no room for
};

/// All, in this order: llama.cpp, vllm, sglang, openai.
const std::vector<Dialect>& dialects();
/// Throws Error(kInput) at "--dialect" that lists the known ones.
const Dialect& dialect(std::string_view name);

Dialect llama_cpp_dialect();
Dialect vllm_dialect();
Dialect sglang_dialect();
Dialect openai_dialect();

}  // namespace draftproof::tools::serve
