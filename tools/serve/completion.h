// Completions: what a client asks an engine's host for, and what it gets back, in no engine's
// words. Dialects translate.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/decode/request.h"
#include "reference/token.h"

namespace draftproof::tools::serve {

using reference::Token;
using reference::decode::FinishReason;
using reference::decode::OutputToken;
using reference::decode::RequestSpec;
using reference::decode::TokenLogprob;

/// One request to the engine, and what only its host knows of it.
struct Order {
  RequestSpec spec;
  /// Texts that end it, however tokens spell them; none of them empty. (spec.stops are sequences of
  /// tokens, and a text has more of those than can be listed.)
  std::vector<std::string> stop_texts = {};
  bool keeps_stop = false;                ///< the text that stopped it is part of the answer
  std::int64_t stop_text_min_tokens = 0;  ///< texts stop nothing before more tokens than these
  int prompt_logprob_count = -1;  ///< of the tokens of the prompt; as RequestSpec::logprob_count
};

struct Timings {
  double queue_ms = 0;   ///< until it was handed to the engine
  double prompt_ms = 0;  ///< from then to the first token
  double decode_ms = 0;  ///< from then to the last
};

/// Tokens, texts and logprobs are cut alike: behind a text that stopped the request there is no
/// token, and of a token that the cut goes through nothing is kept, neither id nor logprob nor text
/// (vllm-project/vllm#47616 leaves ids and logprobs past a stop). With Order::keeps_stop the last
/// token is the one in which the stop ends, whole.
struct Completion {
  std::vector<Token> prompt;
  std::vector<OutputToken> tokens;
  /// Of each token, behind which byte of `text` its own begins.
  std::vector<std::size_t> text_offsets;
  std::string text;
  FinishReason finish = FinishReason::kNone;
  std::optional<std::string> stop_text;  ///< the text that stopped it
  std::optional<Token> stop_token;       ///< the end token, or the last token of spec.stops' one
  reference::decode::Metrics metrics;    ///< as the engine counted, what was cut included
  std::int64_t drafts = 0;               ///< verifications with a draft
  int preemptions = 0;
  std::vector<OutputToken> prompt_logprobs;  ///< of prompt tokens 1, 2, ...
  Timings timings;

  bool is_done() const { return finish != FinishReason::kNone; }
  std::vector<Token> ids() const {
    std::vector<Token> list;
    for (const OutputToken& each : tokens) list.push_back(each.token);
    return list;
  }
};

}  // namespace draftproof::tools::serve
