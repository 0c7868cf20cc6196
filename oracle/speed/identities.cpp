#include "oracle/speed/identities.h"

#include <algorithm>

#include "oracle/speed/identity_check.h"

namespace draftproof::oracle::speed {

std::string_view to_string(IdentityStatus status) {
  switch (status) {
    case IdentityStatus::kHolds:
      return "holds";
    case IdentityStatus::kBroken:
      return "BROKEN";
    case IdentityStatus::kNotExercised:
      return "not exercised";
  }
  return "unknown";
}

std::vector<IdentityResult> identities_of(const Cohort& cohort) {
  std::vector<IdentityResult> results = iteration_identities(cohort);
  for (auto& result : request_identities(cohort)) results.push_back(std::move(result));
  return results;
}

bool any_broken(const std::vector<IdentityResult>& identities) {
  return std::any_of(identities.begin(), identities.end(), [](const IdentityResult& identity) {
    return identity.status == IdentityStatus::kBroken;
  });
}

}  // namespace draftproof::oracle::speed
