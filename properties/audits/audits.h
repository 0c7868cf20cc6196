// Audits: properties of an engine behind its protocol, where no coin and no row can be handed in.
// Each is a function from an engine and settings to a verdict; none of them knows what the engine
// is, how it drafts, or what may be wrong with it.
//
//   greedy parity   temperature 0 leaves one right token a step, so the arms agree token by token
//   support         a token that shaping filters out is never emitted, however it was drafted
//   next token      each token, given those before it, has the target's law there
//   two tokens      the first two tokens that drafts can reach have the target's joint law
//   logprobs        what is reported of a token is the logarithm of its probability
//   counters        what the engine says of its drafts fits what it emitted
// The law audits are e-processes (oracle/sequential.h), looked at after every batch: an alarm at
// any look convicts, and sampling stops when both have raised theirs. P(ever an alarm on a lossless
// engine) <= `false_alarms`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/verdict.h"
#include "properties/audits/known_target.h"
#include "properties/engine.h"

namespace draftproof::properties::audits {

struct AuditSettings {
  std::vector<Prompt> prompts;  ///< at least one; tried in order of length
  /// Of all; prompt and sampling are the audit's, and those that draw anew drop its seed.
  SamplingRequest request = {};
  std::size_t batch_size = 32;      ///< requests that are handed over together
  std::size_t sample_count = 256;   ///< completions of a prompt, for the laws
  std::size_t sampled_prompts = 4;  ///< for the laws, spread over all
  double false_alarms = 1e-9;       ///< of one verdict
  std::uint64_t seed = 1;           ///< of the audit's own coins
  std::string replay;               ///< a command line for witnesses; empty: none
};

oracle::Verdict greedy_parity(Engine& engine, const AuditSettings& settings);
oracle::Verdict support(Engine& engine, const KnownTarget& target, const AuditSettings& settings);
/// Two verdicts from the same completions: next token (marginal-lossless) and two tokens
/// (sequence-lossless). Each has the whole of settings.false_alarms.
std::vector<oracle::Verdict> known_law(Engine& engine, const KnownTarget& target,
                                       const AuditSettings& settings);
/// Precondition: the engine reports logprobs.
oracle::Verdict logprobs(Engine& engine, const KnownTarget& target, const AuditSettings& settings);
oracle::Verdict counters(Engine& engine, const AuditSettings& settings);

/// All of them that the engine's capabilities allow, settings.false_alarms split evenly over the
/// verdicts that can raise a false alarm (the laws'; the others' alarms are never false).
std::vector<oracle::Verdict> all_audits(Engine& engine, const KnownTarget& target,
                                        const AuditSettings& settings);

/// `count` prompts of 1 to `length_max` tokens, shortest first.
std::vector<Prompt> varied_prompts(std::size_t count, int length_max, int vocab_size,
                                   std::uint64_t seed);

/// The least total variation by which a law may be off, in the way that is hardest to see (two
/// halves of the mass, one heavier, one lighter), so that the typical counts of `sample_count`
/// draws have an e-value of exp(log_alarm). 1 when no law is seen.
double visible_distance(const std::vector<double>& law, std::uint64_t sample_count,
                        double log_alarm);

}  // namespace draftproof::properties::audits
