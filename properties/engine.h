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
  bool takes_token_ids = true;    ///< false: prompts are texts, which an engine cuts as it likes
  bool returns_token_ids = true;  ///< false: answers are texts; ids are ours, a weaker claim
  bool takes_seed = true;
};

struct SamplingRequest {
  Prompt prompt;  ///< not empty
  reference::Sampling sampling = {};
  reference::Adjustments adjustments = {};
  int max_tokens = 8;
  std::optional<std::uint64_t> seed = {};  ///< absent: coins of the engine's own, always others
  int logprob_count = -1;                  ///< -1: none; 0: of emitted tokens
  bool ignores_end = true;                 ///< the end token ends nothing (as far as it is taken)
  std::vector<reference::Token> stop_token_ids = {};
  std::string grammar = {};       ///< a regular expression that answers match; empty: none
  std::string prompt_text = {};   ///< for engines that take no ids; empty: none
  std::string adapter = {};       ///< a LoRA by the engine's name for it; empty: none
  bool is_streamed = false;       ///< ask for tokens as they come, which gives them times
  bool uses_prefix_cache = true;  ///< false: ask not to reuse earlier requests' state

  friend bool operator==(const SamplingRequest&, const SamplingRequest&) = default;
};

enum class CompletionEnd : std::uint8_t {
  kLength,  ///< max_tokens were emitted
  kStop,    ///< an end token or a stop
  kFailed,  ///< the engine gave an error of its own, or no answer; `failure` says which
};

/// Whose fault it may be that no completion came.
enum class FailureCause : std::uint8_t {
  kEngine,     ///< it said so itself, or what it gave is no completion
  kTransport,  ///< cut off, too late, or of another protocol: nobody knows what the engine did
};

/// What the engine itself says that its drafts did.
struct DraftCounters {
  std::int64_t drafted = 0;
  std::int64_t accepted = 0;
  /// Tokens of the completion by the engine's count.
  std::int64_t emitted = 0;

  friend bool operator==(const DraftCounters&, const DraftCounters&) = default;
};

/// One candidate of a position, as reported.
struct TokenLogprob {
  reference::Token token = 0;
  double logprob = 0;  ///< natural; -infinity: probability 0

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

/// One verification, where an engine tells it.
struct VerifyStep {
  std::vector<reference::Token> draft_ids;
  std::int64_t accepted = 0;
  std::vector<double> target_logprobs, draft_logprobs;  ///< of draft_ids; empty: not reported

  friend bool operator==(const VerifyStep&, const VerifyStep&) = default;
};

/// Seconds by the client's steady clock, of one origin for both arms.
struct Timing {
  double due = 0;  ///< when the request was to be sent; of an open loop its arrival
  double sent = 0;
  double ended = 0;
  std::vector<double> token_times = {};  ///< of the pieces that were streamed
  std::vector<int> token_counts = {};    ///< tokens of each piece

  friend bool operator==(const Timing&, const Timing&) = default;
};

struct Completion {
  std::vector<reference::Token> token_ids;
  CompletionEnd end = CompletionEnd::kLength;
  std::string failure;  ///< one line, of kFailed
  FailureCause failure_cause = FailureCause::kEngine;
  std::optional<DraftCounters> counters;  ///< absent: not reported
  std::vector<double> logprobs;           ///< natural, a token each; empty: not reported
  /// Candidates of each position, as many as were asked for; empty: not reported. Which law they
  /// are of is Capabilities::logprobs.
  std::vector<std::vector<TokenLogprob>> top_logprobs = {};
  std::vector<VerifyStep> steps = {};  ///< empty: not reported
  std::string text = {};               ///< where the engine gave one
  std::string finish_reason = {};      ///< the engine's own word
  std::optional<Timing> timing = {};

  friend bool operator==(const Completion&, const Completion&) = default;
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
