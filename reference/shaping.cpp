// Shaping with a stable sort and plain sums (the rules are in shaping.h). Kernels select by radix
// and sum in blocks; integers make both orders give the same bits.
#include "reference/shaping.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

/// The survivors of one row: a prefix of the order, with what is needed to shorten it.
class Survivors {
 public:
  Survivors(const std::vector<float>& logits, const Preset& preset)
      : logits_(logits), preset_(preset), max_logit_(logits[greedy_token(logits)]) {
    order_.resize(logits.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  /// False when the maximum cannot be resolved at `scale`.
  bool resolvable(float scale) const { return in_range(max_logit_, scale); }

  void keep(std::size_t count) { order_.resize(count); }

  /// Puts the tokens into the order of all filters. An unfiltered row never needs it.
  void sort() {
    if (sorted_) return;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return logits_[a] > logits_[b]; });
    sorted_ = true;
  }

  std::size_t top_k(std::int64_t k) const {
    const std::size_t count = std::min(order_.size(), static_cast<std::size_t>(k));
    return preset_.top_k_ties == TieRule::kKeepAll ? with_ties(count) : count;
  }

  std::size_t top_p(double top_p, float scale) const {
    Mass all = 0;
    for (std::size_t token : order_) all += mass(token, scale);
    const Mass need = top_p > 0 ? std::max<Mass>(1, ceil_product(top_p, all)) : 1;
    std::size_t count = 0;
    for (Mass sum = 0; sum < need; ++count) sum += mass(order_[count], scale);
    return preset_.top_p_ties == TieRule::kKeepAll ? with_ties(count) : count;
  }

  std::size_t min_p(double min_p, float scale) const {
    const Mass need = ceil_product(std::min(min_p, 1.0), mass(order_[0], scale));
    std::size_t count = 0;
    while (count < order_.size() && mass(order_[count], scale) >= need) ++count;
    return count;
  }

  MassRow masses(float scale) const {
    MassRow row;
    row.mass.resize(logits_.size());
    for (std::size_t token : order_) {
      row.mass[token] = mass(token, scale);
      row.total += row.mass[token];
    }
    return row;
  }

 private:
  Mass mass(std::size_t token, float scale) const {
    return mass_of(logits_[token], max_logit_, scale, bits_);
  }

  std::size_t with_ties(std::size_t count) const {
    const float last = logits_[order_[count - 1]];
    while (count < order_.size() && logits_[order_[count]] == last) ++count;
    return count;
  }

  const std::vector<float>& logits_;
  const Preset& preset_;
  const float max_logit_;
  const int bits_ = fraction_bits(logits_.size());
  std::vector<std::size_t> order_;  // what is kept so far
  bool sorted_ = false;
};

struct Switches {
  bool top_k, top_p, min_p;
};

Switches switched_on(ShapingStep step, const Sampling& sampling, std::size_t vocab_size) {
  const bool joint = step == ShapingStep::kJointTopKTopP;
  return {
      (joint || step == ShapingStep::kTopK) && sampling.top_k > 0 &&
          static_cast<std::uint64_t>(sampling.top_k) < vocab_size,
      (joint || step == ShapingStep::kTopP) && sampling.top_p < 1,
      step == ShapingStep::kMinP && sampling.min_p > 0,
  };
}

MassRow without_mass(Status status) { return MassRow{{}, 0, status}; }

}  // namespace

float scale_of(double temperature) {
  DRAFTPROOF_CHECK(temperature > 0, std::to_string(temperature));
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  const double scale = kLog2E / temperature;
  // Conversion of a double beyond the range of float is not defined in C++; in IEEE it is infinity.
  const bool is_huge = scale >= 0x1.ffffffp+127;
  return is_huge ? std::numeric_limits<float>::infinity() : static_cast<float>(scale);
}

bool is_greedy(const Sampling& sampling, const Preset& preset) {
  return sampling.temperature == 0 || sampling.temperature < preset.greedy_below;
}

void validate(const Sampling& sampling) {
  const auto refuse = [](const char* name, const char* remedy) {
    throw Error(ErrorKind::kInput, std::string(name) + " " + remedy, "sampling");
  };
  if (std::isnan(sampling.temperature)) refuse("temperature", "is NaN; give a number >= 0");
  if (sampling.temperature < 0) refuse("temperature", "is negative; 0 is greedy");
  if (std::isnan(sampling.top_p)) refuse("top_p", "is NaN; 1 switches it off");
  if (std::isnan(sampling.min_p)) refuse("min_p", "is NaN; 0 switches it off");
}

std::vector<float> apply_mask(std::vector<float> logits, const std::vector<bool>& allowed) {
  DRAFTPROOF_CHECK(logits.size() == allowed.size(), std::to_string(allowed.size()));
  for (std::size_t token = 0; token < logits.size(); ++token)
    if (!allowed[token]) logits[token] = -std::numeric_limits<float>::infinity();
  return logits;
}

Status logit_status(const std::vector<float>& logits) {
  Status status = Status::kEmptyRow;
  for (float logit : logits) {
    if (std::isnan(logit)) return Status::kNan;
    if (std::isinf(logit) && logit > 0) status = Status::kPositiveInfinity;
    if (std::isfinite(logit) && status == Status::kEmptyRow) status = Status::kOk;
  }
  return status;
}

std::size_t greedy_token(const std::vector<float>& logits) {
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

MassRow shape(const std::vector<float>& logits, const Sampling& sampling, const Preset& preset) {
  if (const Status status = logit_status(logits); status != Status::kOk)
    return without_mass(status);
  if (is_greedy(sampling, preset)) return one_hot(logits.size(), greedy_token(logits));

  Survivors survivors(logits, preset);
  float scale = scale_of(1.0);
  for (ShapingStep step : preset.steps) {
    if (step == ShapingStep::kTemperature) {
      scale = scale_of(sampling.temperature);
      continue;
    }
    const Switches on = switched_on(step, sampling, logits.size());
    if (!on.top_k && !on.top_p && !on.min_p) continue;
    if ((on.top_p || on.min_p) && !survivors.resolvable(scale)) return without_mass(Status::kRange);
    survivors.sort();
    // Both counts of a joint step are taken before either is applied.
    std::size_t count = logits.size();
    if (on.top_k) count = std::min(count, survivors.top_k(sampling.top_k));
    if (on.top_p) count = std::min(count, survivors.top_p(sampling.top_p, scale));
    if (on.min_p) count = std::min(count, survivors.min_p(sampling.min_p, scale));
    survivors.keep(count);
  }
  if (!survivors.resolvable(scale)) return without_mass(Status::kRange);
  return survivors.masses(scale);
}

MassRow from_probabilities(const std::vector<float>& probabilities) {
  const int bits = fraction_bits(probabilities.size());
  MassRow row;
  for (float probability : probabilities) {
    if (!(probability >= 0 && probability <= 1)) return without_mass(Status::kBadProbability);
    // 24 significant bits: the sum with 1/2 is exact from 2^-28 on and below 1 under it, so that
    // the floor is right for every fp32 number. Totals stay at or below vocab_size 2^S <= 2^62.
    row.mass.push_back(
        static_cast<Mass>(std::floor(std::ldexp(static_cast<double>(probability), bits) + 0.5)));
    row.total += row.mass.back();
  }
  return row.total == 0 ? without_mass(Status::kEmptyRow) : row;
}

MassRow one_hot(std::size_t vocab_size, std::size_t token) {
  DRAFTPROOF_CHECK(token < vocab_size, std::to_string(token));
  MassRow row;
  row.mass.resize(vocab_size);
  row.mass[token] = 1;
  row.total = 1;
  return row;
}

}  // namespace draftproof::reference
