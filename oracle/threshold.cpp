#include "oracle/threshold.h"

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

using reference::BigInteger;
using reference::Exact;
using reference::MassRow;
using reference::WideMass;

BigInteger big(WideMass value) {
  BigInteger result = static_cast<std::uint64_t>(value >> 64);
  result <<= 64;
  result += static_cast<std::uint64_t>(value);
  return result;
}

/// ceil(2^64 numerator / denominator) for numerator < denominator < 2^127, one bit at a time: the
/// remainder stays below the denominator, so twice the remainder fits 128 bits.
Threshold long_division(WideMass numerator, WideMass denominator) {
  std::uint64_t quotient = 0;
  for (int bit = 0; bit < 64; ++bit) {
    numerator <<= 1;
    quotient <<= 1;
    if (numerator >= denominator) {
      numerator -= denominator;
      quotient |= 1;
    }
  }
  return Threshold{quotient} + (numerator != 0 ? 1 : 0);
}

void check_rows(const MassRow& target, const MassRow& draft) {
  DRAFTPROOF_CHECK(target.status == reference::Status::kOk && target.total > 0);
  DRAFTPROOF_CHECK(draft.status == reference::Status::kOk && draft.total > 0);
  DRAFTPROOF_CHECK(target.mass.size() == draft.mass.size());
}

}  // namespace

Threshold ceil_ratio(const Exact& ratio) {
  if (ratio >= 1) return kAlways;
  const BigInteger scaled = BigInteger(numerator(ratio)) << 64;
  const BigInteger denominator_part = denominator(ratio);
  const BigInteger ceiling = (scaled + denominator_part - 1) / denominator_part;
  const BigInteger low_mask = (BigInteger(1) << 64) - 1;
  return (static_cast<Threshold>(static_cast<std::uint64_t>(BigInteger(ceiling >> 64))) << 64) |
         static_cast<std::uint64_t>(BigInteger(ceiling & low_mask));
}

Threshold ceil_ratio(WideMass numerator, WideMass denominator) {
  DRAFTPROOF_CHECK(denominator != 0);
  if (numerator >= denominator) return kAlways;
  if (denominator >> 127 == 0) return long_division(numerator, denominator);
  return ceil_ratio(Exact(big(numerator), big(denominator)));
}

Threshold accept_threshold(const MassRow& target, const MassRow& draft, std::size_t token) {
  check_rows(target, draft);
  DRAFTPROOF_CHECK(draft.mass.at(token) > 0, "token " + std::to_string(token));
  return ceil_ratio(WideMass{target.mass[token]} * draft.total,
                    WideMass{draft.mass[token]} * target.total);
}

Threshold accept_threshold_exact(const MassRow& target, const MassRow& draft, std::size_t token) {
  check_rows(target, draft);
  const Exact p(target.mass.at(token), target.total), q(draft.mass.at(token), draft.total);
  return ceil_ratio(Exact(p / q));
}

std::vector<Threshold> cumulative_thresholds(const MassRow& row) {
  DRAFTPROOF_CHECK(row.status == reference::Status::kOk && row.total > 0);
  std::vector<Threshold> steps(row.mass.size());
  WideMass sum = 0;
  for (std::size_t v = 0; v < steps.size(); ++v) {
    sum += row.mass[v];
    steps[v] = ceil_ratio(sum, row.total);
  }
  DRAFTPROOF_CHECK(sum == row.total, "masses do not add up to their total");
  return steps;
}

std::vector<Threshold> residual_thresholds(const MassRow& target, const MassRow& draft) {
  check_rows(target, draft);
  // max(0, p - q) times sumT sumD: integers below 2^126, whose sum stays below 2^126 too.
  std::vector<WideMass> prefix(target.mass.size());
  WideMass sum = 0;
  for (std::size_t v = 0; v < prefix.size(); ++v) {
    const WideMass p = WideMass{target.mass[v]} * draft.total;
    const WideMass q = WideMass{draft.mass[v]} * target.total;
    if (p > q) sum += p - q;
    prefix[v] = sum;
  }
  if (sum == 0) return {};
  std::vector<Threshold> steps(prefix.size());
  for (std::size_t v = 0; v < steps.size(); ++v) steps[v] = ceil_ratio(prefix[v], sum);
  return steps;
}

Threshold residual_margin(const MassRow& target, const MassRow& draft, std::uint64_t margin) {
  if (margin == 0) return 0;
  check_rows(target, draft);
  double rejection = 0;
  for (std::size_t v = 0; v < target.mass.size(); ++v) {
    const double p = static_cast<double>(target.mass[v]) / static_cast<double>(target.total);
    const double q = static_cast<double>(draft.mass[v]) / static_cast<double>(draft.total);
    if (p > q) rejection += p - q;
  }
  const double scaled = static_cast<double>(margin) / rejection;
  return scaled < 0x1p62 ? static_cast<Threshold>(scaled) : kAlways;
}

Threshold rounded_accept_threshold(const MassRow& target, const MassRow& draft, std::size_t token,
                                   std::uint64_t margin) {
  const Threshold exact = accept_threshold(target, draft, token);
  if (margin == 0 || exact != kAlways || target.mass == draft.mass) return exact;
  const double ratio = static_cast<double>(target.mass[token]) / static_cast<double>(target.total) *
                       (static_cast<double>(draft.total) / static_cast<double>(draft.mass[token]));
  return ratio > 1 + static_cast<double>(margin) * 0x1p-64 ? kAlways : kAlways - 1;
}

bool is_clear(Threshold edge, std::uint64_t coin, Threshold margin) {
  if (margin == 0) return true;
  if (margin >= kAlways) return false;
  if (edge == 0 || edge == kAlways) return true;
  return (edge > coin ? edge - coin - 1 : coin - edge) >= margin;
}

bool is_clear(const std::vector<Threshold>& edges, std::uint64_t coin, Threshold margin) {
  for (Threshold edge : edges)
    if (!is_clear(edge, coin, margin)) return false;
  return true;
}

std::vector<Threshold> residual_thresholds_exact(const MassRow& target, const MassRow& draft) {
  check_rows(target, draft);
  std::vector<Exact> residual(target.mass.size());
  Exact sum = 0;
  for (std::size_t v = 0; v < residual.size(); ++v) {
    const Exact p(target.mass[v], target.total), q(draft.mass[v], draft.total);
    if (p > q) residual[v] = p - q;
    sum += residual[v];
  }
  if (sum == 0) return {};
  std::vector<Threshold> steps;
  Exact prefix = 0;
  for (const Exact& each : residual) {
    prefix += each;
    steps.push_back(ceil_ratio(Exact(prefix / sum)));
  }
  return steps;
}

}  // namespace draftproof::oracle
