#include "oracle/speed/placement.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::oracle::speed {

std::string_view to_string(Placement placement) {
  switch (placement) {
    case Placement::kSerial:
      return "serial";
    case Placement::kOverlapped:
      return "overlapped";
    case Placement::kRemote:
      return "remote";
  }
  return "unknown";
}

std::optional<Placement> placement_from(std::string_view word) {
  for (const auto placement : {Placement::kSerial, Placement::kOverlapped, Placement::kRemote}) {
    if (to_string(placement) == word) return placement;
  }
  return std::nullopt;
}

double step_time(const StepTerms& terms, Placement placement) {
  const double rest = terms.accept + terms.rollback + terms.other;
  const double drafting = terms.draft + terms.link;
  if (placement == Placement::kOverlapped) return std::max(drafting, terms.verify) + rest;
  return drafting + terms.verify + rest;
}

double ahead_of_time_speed(const AheadOfTime& drafting) {
  const double hit = drafting.hit_rate, miss = 1 - drafting.hit_rate;
  DRAFTPROOF_CHECK(hit >= 0 && hit <= 1, std::to_string(hit));
  DRAFTPROOF_CHECK(drafting.committed_on_hit >= 0 && drafting.committed_on_miss >= 0);
  DRAFTPROOF_CHECK(drafting.draft_verifies >= 0 && drafting.fallback_verifies >= 0);
  const double committed = hit * drafting.committed_on_hit + miss * drafting.committed_on_miss;
  const double time =
      hit * std::max(1.0, drafting.draft_verifies) + miss * (1 + drafting.fallback_verifies);
  return committed / time;
}

}  // namespace draftproof::oracle::speed
