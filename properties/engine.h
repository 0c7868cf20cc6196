// Engine: the seam to a whole inference engine, as a black box: requests in, completions out, one
// arm that drafts and one that does not. Whoever implements it knows a protocol; whoever judges it
// (audits/) knows neither protocol nor engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/adjustments.h"
#include "reference/shaping.h"
#include "reference/token.h"

namespace draftproof::properties {

using Prompt = std::vector<reference::Token>;

/// The baseline decodes token by token; the speculative arm drafts and verifies. Whatever else may
/// change what is emitted is the same in both.
enum class Arm : std::uint8_t { kBaseline, kSpeculative };
/// "baseline", "speculative"
std::string to_string(Arm arm);

/// Which law a reported logprob is of: the model's row before anything, or the law the token was
/// drawn from.
enum class LogprobKind : std::uint8_t { kNone, kRaw, kProcessed };

/// What both arms of an engine can be asked, and what they tell.
struct Capabilities {
  std::string name;      ///< the engine, its version, its model: for the eyes of a reader
  int vocab_size = 0;    ///< ids are in [0, vocab_size)
  int draft_count = 0;   ///< drafted tokens or nodes a verification, at most; 0: not known
  bool can_draw = true;  ///< false: it decodes greedily and does not take a temperature
  bool reports_counters = false;
  LogprobKind logprobs = LogprobKind::kNone;
};

struct SamplingRequest {
  Prompt prompt;  ///< not empty
  reference::Sampling sampling = {};
  reference::Adjustments adjustments = {};
  int max_tokens = 8;
  std::optional<std::uint64_t> seed = {};  ///< absent: coins of the engine's own, always others
  int logprob_count = -1;                  ///< -1: none; 0: of emitted tokens
};

enum class CompletionEnd : std::uint8_t {
  kLength,  ///< max_tokens were emitted
  kStop,    ///< an end token or a stop
  kFailed,  ///< the engine gave an error of its own, or no answer; `failure` says which
};

/// What the engine itself says that its drafts did.
struct DraftCounters {
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;
  /// Tokens of the completion by the engine's count.
  std::int64_t emitted = 0;

  friend bool operator==(const DraftCounters&, const DraftCounters&) = default;
};

struct Completion {
  std::vector<reference::Token> token_ids;
  CompletionEnd end = CompletionEnd::kLength;
  std::string failure;                    ///< one line, of kFailed
  std::optional<DraftCounters> counters;  ///< absent: not reported
  std::vector<double> logprobs;           ///< natural, a token each; empty: not reported
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Capabilities capabilities() const = 0;
  /// One completion a request, in order. The requests run together, as far as the engine lets them.
  /// What goes wrong with a request that the engine took is a completion that failed. Throws
  /// Error(kInput) for a request that the engine's protocol has no words for, Error(kEnvironment)
  /// when the engine is not there.
  virtual std::vector<Completion> generate(Arm arm,
                                           const std::vector<SamplingRequest>& requests) = 0;
};

}  // namespace draftproof::properties
