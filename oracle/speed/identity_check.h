// Identity check: how one identity collects what it saw. Private to the identities of this folder.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "oracle/speed/identities.h"

namespace draftproof::oracle::speed {

inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

inline std::string text_of(std::int64_t value) { return std::to_string(value); }

/// Collects the outcomes of one identity.
class IdentityCheck {
 public:
  IdentityCheck(std::string id, std::string statement) {
    result_.id = std::move(id);
    result_.statement = std::move(statement);
  }

  /// `detail` is only asked for when the identity breaks.
  void expect(bool holds, const Breach& where, const std::function<std::string()>& detail) {
    result_.checked += 1;
    if (result_.status == IdentityStatus::kNotExercised) result_.status = IdentityStatus::kHolds;
    if (holds) return;
    result_.status = IdentityStatus::kBroken;
    result_.broken += 1;
    if (result_.breaches.size() == kBreachesKept) return;
    result_.breaches.push_back(where);
    result_.breaches.back().detail = detail();
  }

  IdentityResult result() const { return result_; }

 private:
  IdentityResult result_;
};

inline Breach at(const Iteration& iteration) {
  return {iteration.request, iteration.index, iteration.line, ""};
}
inline Breach at(const Request& request) { return {request.request, -1, request.line, ""}; }

/// accepted + 1, or accepted alone where the rule has no bonus and the draft was accepted whole.
inline std::int64_t due(const Iteration& iteration, const Setup& setup) {
  const bool is_whole = iteration.drafted > 0 && iteration.accepted == iteration.draft_depth();
  return iteration.accepted + (is_whole && !setup.emits_bonus ? 0 : 1);
}

/// What one iteration says about itself.
std::vector<IdentityResult> iteration_identities(const Cohort& cohort);
/// Sums over requests and the cohort, and what the engine reports beside them.
std::vector<IdentityResult> request_identities(const Cohort& cohort);

}  // namespace draftproof::oracle::speed
