// Directed bets: for every named fault of a chain verifier or of a sampler, the law that its token
// would have, computed from the laws of one position alone. A bet on it grows by
// KL(fault || target) a token, the most that any test can (Neyman, Pearson 1933). Formulas are
// those of the faults' exact laws: draft taken with probability a(x), else drawn from a residual R,
//   r(x) = draft(x) a(x) + (1 - sum draft a) R(x)          (Leviathan et al. 2023 with a, R
//   changed)
// Whether a bet is fair does not rest on them: its mean is sum r over the target's support, and r
// is divided by its own sum.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace draftproof::oracle {

/// Laws of one position. `draft` is empty where it is not known. 0 is exactly zero.
struct PositionLaws {
  std::span<const double> target;
  std::span<const double> draft;
};

/// Names of the directed bets. Those that need the draft's law stand behind those that do not.
const std::vector<std::string>& directed_bets();
/// How many of them need the target's law alone.
std::size_t target_bet_count();

/// The laws of all bets at one position. Preconditions: laws sum to one within 1e-9 (they are
/// divided by their sums) and agree in size.
class BetLaws {
 public:
  explicit BetLaws(const PositionLaws& laws);

  std::size_t vocab_size() const { return target_.size(); }
  bool has_draft() const { return !draft_.empty(); }
  /// Bets that can be laid here: all, or those of the target alone.
  std::size_t bet_count() const;
  std::span<const double> target() const { return target_; }
  std::span<const double> draft() const { return draft_; }
  /// r(token) / target(token) of a bet. Precondition: target(token) > 0.
  double ratio(std::size_t bet, std::size_t token) const;

 private:
  /// r = kept(x) + rest * residual(x) / residual_total, with kept = draft(x) a(x).
  struct Sums {
    double rest = 0, residual_total = 0;
  };
  void sum_tilts();
  void sum_steps();
  double kept(std::size_t bet, std::size_t token) const;
  double residual(std::size_t bet, std::size_t token) const;

  std::vector<double> target_, draft_;
  std::vector<double> other_draft_[2];  ///< the draft's law at other temperatures
  std::vector<Sums> sums_;              ///< by bet that needs the draft
  double tilt_totals_[2] = {}, others_total_ = 0;
  std::size_t likeliest_ = 0, least_likely_ = 0, support_ = 0, likeliest_draft_ = 0;
};

}  // namespace draftproof::oracle
