// Exponential races.
#include "reference/law/race.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

/// constant + slope r, for r = e_j / e_i.
struct Line {
  Exact constant;
  Exact slope;
  Exact at(const Exact& r) const { return constant + slope * r; }
};

/// Exponents of the integrand on the cone {x = i, y = j}, i != j, once everything but r = e_j / e_i
/// is integrated out: e_k has to be at least e_i max(draft(k) / draft(i), r target(k) /
/// target(j)), so that the density of r is 1 / A(r)^2 with A piecewise linear.
class Cone {
 public:
  Cone(const LawRow& target, const LawRow& draft, std::size_t i, std::size_t j)
      : target_(target), draft_(draft), i_(i), j_(j) {}

  Exact probability() const {
    if (draft_[i_] == 0 || target_[j_] == 0) return 0;
    const Exact low = draft_[j_] / draft_[i_];
    std::vector<Exact> bends;
    for (std::size_t k = 0; k < target_.size(); ++k)
      if (k != i_ && k != j_ && target_[k] > 0) bends.push_back(bend(k));
    std::sort(bends.begin(), bends.end());
    Exact sum = 0;
    Exact from = low;
    // r is at most target(j) / target(i), where y would be i; unbounded when i has no target mass.
    const bool is_bounded = target_[i_] > 0;
    const Exact high = is_bounded ? Exact(target_[j_] / target_[i_]) : Exact(0);
    for (const Exact& bend : bends) {
      if (bend <= from || (is_bounded && bend >= high)) continue;
      sum += between(from, bend);
      from = bend;
    }
    if (!is_bounded) return sum + behind(from);
    return from < high ? Exact(sum + between(from, high)) : sum;
  }

 private:
  /// Where the constraint on e_k turns from e_i's to e_j's.
  Exact bend(std::size_t k) const { return draft_[k] / draft_[i_] * target_[j_] / target_[k]; }

  /// A behind `from` up to the next bend.
  Line exponent(const Exact& from) const {
    Line line{1, 1};
    for (std::size_t k = 0; k < target_.size(); ++k) {
      if (k == i_ || k == j_) continue;
      if (target_[k] > 0 && bend(k) <= from)
        line.slope += target_[k] / target_[j_];
      else
        line.constant += draft_[k] / draft_[i_];
    }
    return line;
  }

  /// The integral of 1 / A(r)^2 over [from, to], A linear there.
  Exact between(const Exact& from, const Exact& to) const {
    const Line line = exponent(from);
    return (to - from) / (line.at(from) * line.at(to));
  }
  Exact behind(const Exact& from) const {
    const Line line = exponent(from);
    return 1 / (line.slope * line.at(from));
  }

  const LawRow& target_;
  const LawRow& draft_;
  std::size_t i_;
  std::size_t j_;
};

Exact both(const LawRow& target, const LawRow& draft, std::size_t i) {
  if (target[i] == 0 || draft[i] == 0) return 0;
  Exact sum = 0;
  for (std::size_t j = 0; j < target.size(); ++j)
    sum += std::max(Exact(target[j] / target[i]), Exact(draft[j] / draft[i]));
  return 1 / sum;
}

}  // namespace

Exact race_agreement(const LawRow& target, const LawRow& draft) {
  DRAFTPROOF_CHECK(target.size() == draft.size(), "vocabularies differ");
  Exact sum = 0;
  for (std::size_t i = 0; i < target.size(); ++i) sum += both(target, draft, i);
  return sum;
}

std::vector<LawRow> race_pair_law(const LawRow& target, const LawRow& draft) {
  DRAFTPROOF_CHECK(target.size() == draft.size(), "vocabularies differ");
  std::vector<LawRow> law(target.size(), LawRow(target.size()));
  for (std::size_t i = 0; i < target.size(); ++i)
    for (std::size_t j = 0; j < target.size(); ++j)
      law[i][j] = i == j ? both(target, draft, i) : Cone(target, draft, i, j).probability();
  return law;
}

Exact inverse_cdf_agreement(const LawRow& target, const LawRow& draft) {
  DRAFTPROOF_CHECK(target.size() == draft.size(), "vocabularies differ");
  Exact sum = 0;
  Exact target_below = 0;
  Exact draft_below = 0;
  for (std::size_t v = 0; v < target.size(); ++v) {
    const Exact low = std::max(target_below, draft_below);
    target_below += target[v];
    draft_below += draft[v];
    const Exact high = std::min(target_below, draft_below);
    if (high > low) sum += high - low;
  }
  return sum;
}

}  // namespace draftproof::reference::law
