// Parity: a subject held against the reference, case by case.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>

#include "gpu/verifiers.h"
#include "reference/outcome.h"
#include "reference/verify/verifiers.h"
#include "tests/differential/random_batch.h"

namespace draftproof::tests {

inline std::string to_text(const reference::RequestOutcome& outcome) {
  std::ostringstream text;
  text << "accepted " << outcome.accepted_count << ", emitted";
  for (const auto& emitted : outcome.emitted)
    text << ' ' << emitted.token << '(' << reference::to_string(emitted.reason) << ')';
  if (!outcome.accepted_nodes.empty()) {
    text << ", nodes";
    for (const int node : outcome.accepted_nodes) text << ' ' << node;
  }
  text << ", status " << reference::to_string(outcome.status) << " at " << outcome.status_position;
  return text.str();
}

/// What is wrong with `subject` on this case; nothing when it agrees with `reference` bit for bit,
/// its device saw nothing unsafe, and the inputs are as they were.
inline std::optional<std::string> disparity(reference::Verifier& subject,
                                            reference::Verifier& reference,
                                            const RandomCase& input) {
  reference::Batch batch = input.batch;
  const reference::Outcome seen = subject.verify(batch, *input.coins, input.execution);
  if (!same_inputs(batch, input.batch)) return "an input was changed";
  reference::Batch copy = input.batch;
  const reference::Outcome expected = reference.verify(copy, *input.coins, input.execution);
  for (const auto& observation : seen.observations)
    if (observation.severity == reference::Severity::kUnsafe)
      return observation.check + ": " + observation.message + " at " + observation.place.kernel +
             ", PTX line " + std::to_string(observation.place.ptx_line) + ", " +
             observation.place.source_file + ":" + std::to_string(observation.place.source_line);
  if (seen.requests.size() != expected.requests.size()) return "wrong number of outcomes";
  for (std::size_t r = 0; r < seen.requests.size(); ++r)
    if (!(seen.requests[r] == expected.requests[r]))
      return "request " + std::to_string(r) + " of " + std::to_string(seen.requests.size()) +
             ", vocabulary " + std::to_string(input.batch.vocab_size) + ", preset " +
             input.batch.preset.name + ", block " + std::to_string(input.execution.block_threads) +
             "\n  expected " + to_text(expected.requests[r]) + "\n  observed " +
             to_text(seen.requests[r]);
  return std::nullopt;
}

/// Our kernel of `rule` on `device` against the reference, on `count` cases from `seed`.
inline void expect_parity(gpu::Device& device, const char* rule, std::uint64_t seed, int count,
                          const RandomCaseLimits& limits) {
  const auto subject = gpu::make_kernel_verifier(device, rule);
  const auto reference = reference::verify::make_verifier(rule);
  RandomCases cases(seed, limits);
  for (int i = 0; i < count; ++i) {
    const RandomCase input = cases.next();
    const auto found = disparity(*subject, *reference, input);
    ASSERT_FALSE(found) << "case " << i << " of seed " << seed << ": " << *found;
  }
}

}  // namespace draftproof::tests
