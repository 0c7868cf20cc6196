// Block size: how many threads share a row is a matter of speed. Integer sums have no order, so the
// answer is the same for every block size that the subject accepts.
#include "properties/verifier/properties.h"
#include "properties/verifier/schedules.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const std::vector<int>& sizes = subject.verifier->traits().block_threads;
  std::optional<reference::Outcome> base;
  int base_size = 0;
  for (int size : sizes) {
    Case sized = value;
    sized.execution.block_threads = size;
    const reference::Outcome outcome = run(*subject.verifier, sized);
    if (!base) {
      base = outcome;
      base_size = size;
      continue;
    }
    auto found = difference(
        *base, outcome,
        "blocks of " + std::to_string(base_size) + " and of " + std::to_string(size) + " threads");
    if (found) return found;
  }
  return std::nullopt;
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "block_size_does_not_matter");
  shape.with_trees = course.traits().takes_trees;
  shape.draft_count_max = 3;
  shape.with_unjudgeable = course.traits().declares_masses;
  try_nasty_cases(course, seed, shape, course.by_battery(14, 189, 5000), nullptr,
                  sizes_around_blocks());
}

}  // namespace

Property block_size_does_not_matter() {
  return built({
      .id = "block_size_does_not_matter",
      .statement = "The number of threads in a block does not change an outcome.",
      .citation = "numerics contract: integer sums make the reduction order irrelevant",
      .claim = oracle::Claim::kScheduleIndependent,
      .smallest_visible_effect = "any outcome that changes with the block size",
      .exemption =
          [](const reference::VerifierTraits& traits) {
            return std::string(traits.block_threads.size() < 2 ? "it has no choice of block size"
                                                               : "");
          },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
