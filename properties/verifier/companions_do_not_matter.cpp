// Companions: a request judged alone has the outcome that it has in company. Engines mix requests
// of other lengths and settings into one launch; lengths, filters and seeds have leaked across.
#include <set>

#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const std::size_t count = value.batch.requests.size();
  if (count < 2) return std::nullopt;
  const reference::Outcome base = run(*subject.verifier, value);
  // The first request is the one that others leak into least, the last one most.
  std::set<std::size_t> alone = {0, count / 2, count - 1};
  for (std::size_t index : alone) {
    Case single = value;
    single.batch.requests = {value.batch.requests[index]};
    const reference::Outcome outcome = run(*subject.verifier, single);
    reference::Outcome expected;
    if (index < base.requests.size()) expected.requests = {base.requests[index]};
    auto found = difference(outcome, expected,
                            "request " + std::to_string(single.batch.requests[0].id) +
                                " was judged alone and in company");
    if (!found) continue;
    found->expected += "   (alone)";
    found->observed += "   (in company)";
    return found;
  }
  return std::nullopt;
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "companions_do_not_matter");
  shape.with_trees = course.traits().takes_trees;
  shape.with_unjudgeable = course.traits().declares_masses;
  try_nasty_cases(course, seed, shape, course.by_battery(25, 200, 10000));
}

}  // namespace

Property companions_do_not_matter() {
  return built({
      .id = "companions_do_not_matter",
      .statement = "A request's outcome does not depend on the other requests of its batch.",
      .citation = "numerics contract, section 1: every decision is a function of its own rows and "
                  "coins",
      .claim = oracle::Claim::kBatchInvariant,
      .smallest_visible_effect = "any outcome that changes with the company",
      .exemption = [](const reference::VerifierTraits&) { return std::string(); },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
