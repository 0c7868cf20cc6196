#include "oracle/speed/admission.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::oracle::speed {
namespace {

struct Slot {
  double survival = 0;
  std::size_t request = 0;
  std::size_t position = 0;
};

/// All slots, the likeliest first; of equals the earlier position, so that prefixes stay prefixes.
std::vector<Slot> sorted_slots(const AdmissionProblem& problem) {
  std::vector<Slot> slots;
  for (std::size_t r = 0; r < problem.survivals.size(); ++r) {
    double previous = 1;
    for (std::size_t i = 0; i < problem.survivals[r].size(); ++i) {
      const double survival = problem.survivals[r][i];
      DRAFTPROOF_CHECK(survival >= 0 && survival <= previous, std::to_string(survival));
      previous = survival;
      slots.push_back({survival, r, i});
    }
  }
  std::stable_sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
    if (a.survival != b.survival) return a.survival > b.survival;
    return a.position < b.position;
  });
  return slots;
}

}  // namespace

Admission admit(const AdmissionProblem& problem) {
  DRAFTPROOF_CHECK(!problem.survivals.empty());
  DRAFTPROOF_CHECK(problem.base_time > 0 && problem.slot_time >= 0);
  const std::vector<Slot> slots = sorted_slots(problem);
  const std::size_t limit = std::min(problem.budget, slots.size());
  double committed = static_cast<double>(problem.survivals.size());
  Admission best;
  best.committed = committed;
  best.rate = committed / problem.base_time;
  for (std::size_t k = 1; k <= limit; ++k) {
    committed += slots[k - 1].survival;
    const double rate =
        committed / (problem.base_time + problem.slot_time * static_cast<double>(k));
    if (rate > best.rate) {
      best.slots = k;
      best.committed = committed;
      best.rate = rate;
    }
  }
  best.draft_lengths.assign(problem.survivals.size(), 0);
  for (std::size_t k = 0; k < best.slots; ++k) best.draft_lengths[slots[k].request] += 1;
  best.lambda = problem.slot_time * best.rate;
  return best;
}

}  // namespace draftproof::oracle::speed
