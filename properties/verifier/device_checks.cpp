#include "properties/verifier/device_checks.h"

#include <algorithm>

#include "oracle/explain.h"
#include "properties/generators.h"
#include "properties/verifier/schedules.h"

namespace draftproof::properties::verifier {

Judge no_observation(std::function<bool(const std::string&)> is_meant) {
  return [is_meant](const Subject& subject, const Case& value) -> std::optional<Complaint> {
    const reference::Outcome outcome = run(*subject.verifier, value);
    Complaint complaint;
    for (const reference::Observation& each : outcome.observations)
      if (each.severity == reference::Severity::kUnsafe && is_meant(each.check))
        complaint.observations.push_back(each);
    if (complaint.observations.empty()) return std::nullopt;
    const reference::Observation& first = complaint.observations.front();
    complaint.expected = "no " + first.check + " in " + first.place.kernel;
    complaint.observed = oracle::describe(first);
    complaint.because = "an unsafe access is a fault whatever the outcome happens to be";
    return complaint;
  };
}

void run_under_all_schedules(Course& course, std::uint64_t seed, const std::string& property) {
  CaseShape shape = shape_for(course.traits(), property);
  shape.with_trees = course.traits().takes_trees;
  shape.draft_count_max = 3;
  shape.request_count = 4;
  shape.with_unjudgeable = course.traits().declares_masses;
  const std::vector<int> own = course.traits().block_threads;
  const std::vector<int> blocks = own.empty() ? std::vector<int>{0} : own;
  const std::uint64_t rounds = course.by_battery(3, 60, 1500);
  course.expect(rounds * blocks.size() * 4 * static_cast<std::uint64_t>(shape.request_count));
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::size_t index = round * blocks.size() + b;
      const std::size_t size = sizes_around_blocks()[index % sizes_around_blocks().size()];
      shape.vocab_size = std::min(size, course.traits().vocab_size_max);
      Case value = nasty_case(shape, derived_seed(seed, index));
      value.execution.block_threads = blocks[b];
      value.execution.padded_draft_count = round % 2 == 0 ? 0 : shape.draft_count_max + 2;
      for (const reference::Execution& execution : schedules(value.execution, 2)) {
        value.execution = execution;
        if (!course.attempt(value, "block " + std::to_string(blocks[b]))) return;
      }
    }
  }
}

std::string unless_on_device(const reference::VerifierTraits& traits) {
  return traits.is_watched ? "" : "it does not run on a device that observes";
}

}  // namespace draftproof::properties::verifier
