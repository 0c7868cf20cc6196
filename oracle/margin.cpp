#include "oracle/margin.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double logit_of(std::span<const double> logits, reference::Token token) {
  if (token < 0 || static_cast<std::size_t>(token) >= logits.size()) return -kInfinite;
  return logits[static_cast<std::size_t>(token)];
}

/// Infinite where either is no number or outside the support.
double gap(double high, double low) {
  return std::isfinite(high) && std::isfinite(low) ? high - low : kInfinite;
}

}  // namespace

Parting parting(std::size_t position, reference::Token one, reference::Token other,
                std::span<const double> logits, double bound) {
  DRAFTPROOF_CHECK(bound >= 0, std::to_string(bound));
  DRAFTPROOF_CHECK(one != other);
  Parting found{position, PartingKind::kUndecided, 0, 0, bound};
  if (logits.empty()) return found;
  double top = -kInfinite;
  for (const double each : logits) {
    if (each > top) top = each;
  }
  const double first = logit_of(logits, one), second = logit_of(logits, other);
  found.margin = std::fabs(gap(first, second));
  found.behind_top = std::max(gap(top, first), gap(top, second));
  // Each arm's own maximum is one of the two, so within the bound neither lies below the other nor
  // below any third.
  const bool is_near = found.margin <= bound && found.behind_top <= bound;
  const bool is_tie = found.margin == 0 && found.behind_top == 0;
  found.kind = is_tie ? PartingKind::kTie : is_near ? PartingKind::kNearTie : PartingKind::kFault;
  return found;
}

}  // namespace draftproof::oracle
