// Requests: what a client asks an engine for, and what it gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/adjustments.h"
#include "reference/model/grammar.h"
#include "reference/shaping.h"
#include "reference/token.h"

namespace draftproof::reference::decode {

using RequestId = std::uint32_t;

struct RequestSpec {
  std::vector<Token> prompt;  ///< at least one token
  Sampling sampling = {};
  /// grammar_mask stays empty here (see `grammar`), end_tokens too (see `eos`).
  Adjustments adjustments = {};
  /// Equal seeds give equal coins, whatever else runs. Absent: the engine's own, another one for
  /// every request.
  std::optional<std::uint64_t> seed = {};
  int max_tokens = 16;                         ///< 1 or more
  std::optional<Token> eos = {};               ///< ends the request, itself emitted
  std::vector<std::vector<Token>> stops = {};  ///< ends with the first that is complete, kept
  std::shared_ptr<const model::Grammar> grammar = nullptr;
  /// The grammar starts behind the first emitted token of this kind (the end of reasoning); absent:
  /// at once.
  std::optional<Token> grammar_behind = {};
  int adapter = 0;
  bool is_speculative = true;
  int logprob_count = -1;  ///< -1: none; 0: of each emitted token; n: of the n likeliest as well
  std::optional<int> expected_tokens = {};  ///< announced by the client, for the gate
  bool is_in_domain = true;                 ///< of the drafter, for the gate
  std::string cohort;
};

enum class FinishReason : std::uint8_t {
  kNone,  ///< still running
  kEos,
  kStop,
  kLength,   ///< max_tokens
  kContext,  ///< the engine's context is full
  kCancelled,
  kStatus,  ///< a row could not be judged
};
/// "none", "eos", "stop", "length", "context", "cancelled", "status"
std::string_view to_string(FinishReason reason);

struct TokenLogprob {
  Token token = 0;
  double logprob = 0;

  friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
};

/// Logprobs are natural logarithms, and 0 where the request wants none.
struct OutputToken {
  Token token = 0;
  double raw_logprob = 0;              ///< log softmax of the model's row, before anything
  double processed_logprob = 0;        ///< log of its probability in the law it was judged by
  std::vector<TokenLogprob> top = {};  ///< raw, likeliest first, lowest id first among equals

  friend bool operator==(const OutputToken&, const OutputToken&) = default;
};

/// Counters of one request. Identities (after sgl-project/sglang#33518):
///   accepted + cut_accepted + verifications - stopped == emitted + cut
///   sum of accepted_histogram == verifications
///   sum of i * accepted_histogram[i] == accepted + cut_accepted
struct Metrics {
  std::int64_t verifications = 0;  ///< target calls that judged rows, the prefill's last included
  std::int64_t drafted = 0;        ///< tokens or nodes that were verified
  std::int64_t accepted = 0;       ///< of them, emitted
  std::int64_t emitted = 0;
  std::int64_t cut = 0;                          ///< judged good, but behind the request's end
  std::int64_t cut_accepted = 0;                 ///< of them, drafted ones
  std::int64_t stopped = 0;                      ///< verifications that a status ended
  std::int64_t dropped = 0;                      ///< drafted, and never verified: stale
  std::vector<std::int64_t> accepted_histogram;  ///< verifications by accepted drafted tokens

  friend bool operator==(const Metrics&, const Metrics&) = default;
};

}  // namespace draftproof::reference::decode
