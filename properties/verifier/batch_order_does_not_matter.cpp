// Order: a request's outcome is its own wherever it stands in the batch. Coins are addressed by the
// request's id and not by its place (numerics contract, "Coins").
#include <algorithm>

#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

/// The outcomes of `value` with its requests rotated by `shift` and then turned round, put back
/// into the original order.
reference::Outcome run_reordered(reference::Verifier& verifier, const Case& value,
                                 std::size_t shift) {
  Case other = value;
  auto& requests = other.batch.requests;
  std::rotate(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(shift),
              requests.end());
  std::reverse(requests.begin(), requests.end());
  reference::Outcome outcome = run(verifier, other);
  outcome.requests.resize(requests.size());
  std::reverse(outcome.requests.begin(), outcome.requests.end());
  std::rotate(outcome.requests.begin(), outcome.requests.end() - static_cast<std::ptrdiff_t>(shift),
              outcome.requests.end());
  return outcome;
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const std::size_t count = value.batch.requests.size();
  if (count < 2) return std::nullopt;
  const reference::Outcome base = run(*subject.verifier, value);
  for (std::size_t shift : {std::size_t{0}, count / 2}) {
    auto found = difference(base, run_reordered(*subject.verifier, value, shift),
                            "the same requests stood in another order in the batch");
    if (found) return found;
  }
  return std::nullopt;
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "batch_order_does_not_matter");
  shape.with_trees = course.traits().takes_trees;
  shape.with_unjudgeable = course.traits().declares_masses;
  try_nasty_cases(course, seed, shape, course.by_battery(30, 250, 10000));
}

}  // namespace

Property batch_order_does_not_matter() {
  return built({
      .id = "batch_order_does_not_matter",
      .statement = "A request's outcome does not depend on its place in the batch.",
      .citation = "numerics contract, coins: addressed by request, never by place",
      .claim = oracle::Claim::kBatchInvariant,
      .smallest_visible_effect = "any outcome that changes with the order of the batch",
      .exemption = [](const reference::VerifierTraits&) { return std::string(); },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
