// Schedule: warps may run in any order. A kernel that forgets a barrier often works in the order a
// machine happens to choose, and not in the opposite one.
#include "properties/verifier/properties.h"
#include "properties/verifier/schedules.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  std::optional<reference::Outcome> base;
  for (const reference::Execution& execution : schedules(value.execution, 3)) {
    Case scheduled = value;
    scheduled.execution = execution;
    const reference::Outcome outcome = run(*subject.verifier, scheduled);
    if (!base) {
      base = outcome;
      continue;
    }
    if (auto found = difference(*base, outcome, "only the order in which warps run differs"))
      return found;
  }
  return std::nullopt;
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "schedule_does_not_matter");
  shape.with_trees = course.traits().takes_trees;
  shape.draft_count_max = 3;
  const std::vector<int> blocks = course.traits().block_threads;
  try_nasty_cases(
      course, seed, shape, course.by_battery(14, 189, 5000),
      [&](Case& value, Random& random) {
        if (!blocks.empty()) value.execution.block_threads = random.pick(blocks);
      },
      sizes_around_blocks());
}

}  // namespace

Property schedule_does_not_matter() {
  return built({
      .id = "schedule_does_not_matter",
      .statement = "The order in which warps run does not change an outcome.",
      .citation = "PTX ISA, memory consistency model: no order between warps but by barriers",
      .claim = oracle::Claim::kScheduleIndependent,
      .smallest_visible_effect = "any outcome that changes between five schedules",
      .exemption =
          [](const reference::VerifierTraits& traits) {
            return std::string(traits.is_watched ? "" : "it does not run under schedules of ours");
          },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
