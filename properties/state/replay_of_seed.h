// A seed is a promise: what a seeded request emits is a function of the request alone, not of its
// company, its place in the batch, preemption, the steps of others that draft, or an engine's
// restart; equal seeds agree, others do not (bugs in the handling of seeds keep every law, so that
// nothing but a replay sees them: vllm-project/vllm#6038, NVIDIA/TensorRT-LLM#19487 and the reports
// at each check). Any engine that can serve a ReplayRun can be judged.
//
// Checks that two streams are equal raise no false alarm. Checks that two streams differ do, with
// the probability that independent streams agree: whatever is emitted before, no token is likelier
// than 2^-token_bits, so that a stream of n tokens is any given one with probability at most
// 2^-(token_bits n), and some of m pairs agree with probability at most m times that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/decode/replay_run.h"

namespace draftproof::properties {

struct ReplaySubject {
  std::string name;
  reference::decode::ReplayDecoder decode;
  std::size_t vocab_size = 2;
  /// No token at temperature 1 is likelier than 2^-token_bits behind any history.
  double token_bits = 1;
  /// Promised: the stream is that of plain decoding, whatever is drafted (rule match).
  bool ignores_drafts = false;
  /// Promised: what follows is a function of seed, parameters and the tokens before (coins keyed by
  /// position; not rules with a coin for each iteration, not streams that are drawn from).
  bool continues_by_text = false;
  int token_count = 24;  ///< of the streams that must differ; those that must agree have up to 12
};

enum class ReplayAnswer : std::uint8_t { kUpheld, kViolated, kNotPromised };

struct ReplayFinding {
  ReplayAnswer answer = ReplayAnswer::kUpheld;
  /// log2 of the probability with which a right subject is called violated; -infinity for never.
  double false_alarm_log2 = 0;
  std::size_t run_count = 0;
  /// Of a violation: the two requests of the first runs that part (fewest tokens first), what they
  /// emitted, and where they part. Lines end with a newline.
  std::string history;
};

struct ReplayCheck {
  std::string id;
  std::string statement;
  std::string report;
  std::function<ReplayFinding(const ReplaySubject&)> check;
};

/// All of them, in the order in which they are asked.
const std::vector<ReplayCheck>& replay_checks();
/// Throws Error(kInput) that lists the ids.
const ReplayCheck& replay_check(std::string_view id);

/// "seed 7, temperature 1, prompt [0, 1], 3 tokens, drafts [2]" and what happens to it.
std::string to_string(const reference::decode::ReplayRequest& request);

}  // namespace draftproof::properties
