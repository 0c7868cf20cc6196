// Filters against a definition that has no order, no sort and no running sum: of all subsets of
// what is kept so far, the least one that meets the filter's condition. Sums are big integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <random>

#include "reference/scalar.h"
#include "reference/shaping.h"

namespace draftproof::reference {
namespace {

using Subset = unsigned;  // one bit a token

struct Row {
  std::vector<float> logits;
  std::vector<Mass> masses;  // at the current scale

  std::size_t size() const { return logits.size(); }
  BigInteger sum(Subset subset) const {
    BigInteger total = 0;
    for (std::size_t v = 0; v < size(); ++v)
      if (subset >> v & 1) total += masses[v];
    return total;
  }
};

/// True when nothing outside `subset` (but in `all`) comes before a member of it.
bool is_closed(const Row& row, Subset all, Subset subset, TieRule ties) {
  for (std::size_t in = 0; in < row.size(); ++in) {
    if (!(subset >> in & 1)) continue;
    for (std::size_t out = 0; out < row.size(); ++out) {
      if ((subset >> out & 1) || !(all >> out & 1)) continue;
      if (row.logits[out] > row.logits[in]) return false;
      if (row.logits[out] == row.logits[in] && (ties == TieRule::kKeepAll || out < in))
        return false;
    }
  }
  return true;
}

template <class Condition>
Subset least(Subset all, const Condition& meets) {
  std::optional<Subset> best;
  for (Subset subset = 1; subset <= all; ++subset)
    if ((subset & ~all) == 0 && meets(subset) &&
        (!best || std::popcount(subset) < std::popcount(*best)))
      best = subset;
  return best.value();
}

Subset top_k(const Row& row, Subset all, std::int64_t k, TieRule ties) {
  const int wanted = static_cast<int>(std::min<std::int64_t>(k, std::popcount(all)));
  return least(all, [&](Subset subset) {
    return std::popcount(subset) >= wanted && is_closed(row, all, subset, ties);
  });
}

Subset top_p(const Row& row, Subset all, double share, TieRule ties) {
  const Exact need = exact_from_double(share) * row.sum(all);
  return least(all, [&](Subset subset) {
    return Exact(row.sum(subset)) >= need && is_closed(row, all, subset, ties);
  });
}

Subset min_p(const Row& row, Subset all, double share) {
  Mass largest = 0;
  for (std::size_t v = 0; v < row.size(); ++v)
    if (all >> v & 1) largest = std::max(largest, row.masses[v]);
  const Exact need = exact_from_double(std::min(share, 1.0)) * BigInteger(largest);
  Subset kept = 0;
  for (std::size_t v = 0; v < row.size(); ++v)
    if ((all >> v & 1) && Exact(row.masses[v]) >= need) kept |= 1U << v;
  return kept;
}

std::vector<Mass> by_definition(const std::vector<float>& logits, const Sampling& sampling,
                                const Preset& preset, TieRule top_k_ties, TieRule top_p_ties) {
  const float max_logit = *std::max_element(logits.begin(), logits.end());
  Row row{logits, {}};
  const auto weigh = [&](double temperature) {
    row.masses.clear();
    for (float logit : logits)
      row.masses.push_back(mass_of(logit, max_logit, scale_of(temperature), 44));
  };
  weigh(1.0);
  Subset kept = (1U << logits.size()) - 1;
  const bool has_k =
      sampling.top_k > 0 && sampling.top_k < static_cast<std::int64_t>(logits.size());
  for (ShapingStep step : preset.steps) {
    const bool joint = step == ShapingStep::kJointTopKTopP;
    const Subset all = kept;
    if (step == ShapingStep::kTemperature) weigh(sampling.temperature);
    if ((joint || step == ShapingStep::kTopK) && has_k)
      kept &= top_k(row, all, sampling.top_k, top_k_ties);
    if ((joint || step == ShapingStep::kTopP) && sampling.top_p < 1)
      kept &= top_p(row, all, std::max(sampling.top_p, 0.0), top_p_ties);
    if (step == ShapingStep::kMinP && sampling.min_p > 0) kept &= min_p(row, all, sampling.min_p);
  }
  for (std::size_t v = 0; v < logits.size(); ++v)
    if (!(kept >> v & 1)) row.masses[v] = 0;
  return row.masses;
}

struct Draw {
  std::vector<float> logits;
  Sampling sampling;
};

/// Rows of 1 to 6 tokens on a coarse grid, so that ties of logits and of sums are common.
Draw random_draw(std::mt19937& random) {
  const auto pick = [&](auto... values) {
    const std::common_type_t<decltype(values)...> list[] = {values...};
    return list[random() % sizeof...(values)];
  };
  Draw draw;
  const std::size_t vocab_size = 1 + random() % 6;
  const float step = pick(1.0F, 0.5F, 20.0F, 1e-7F);
  for (std::size_t v = 0; v < vocab_size; ++v) {
    draw.logits.push_back(step * static_cast<float>(random() % 5) - 2);
    if (random() % 6 == 0) draw.logits.back() = -std::numeric_limits<float>::infinity();
    if (random() % 9 == 0) draw.logits.back() = random() % 2 == 0 ? -0.0F : 0.0F;
  }
  draw.logits[random() % vocab_size] = pick(-2.0F, 0.0F, 1.5F);
  draw.sampling.temperature = pick(1.0, 0x1.71547652b82fep+0, 0.5, 30.0, 1e-3);
  draw.sampling.top_k = pick(-1, 0, 1, 2, 3, 4, 6, 100);
  draw.sampling.top_p = pick(1.0, 0.5, 0.75, 0.9, 0.0, 0.25, 1.0, 1.0 / 3, 2.0 / 3, 1e-9);
  draw.sampling.min_p = pick(0.0, 0.5, 0.25, 1.0, 0.1, 0.0, 1e-12, 2.0);
  return draw;
}

TEST(Filters, KeepWhatTheirDefinitionsByAllSubsetsKeep) {
  std::mt19937 random(12);
  for (int i = 0; i < 6000; ++i) {
    const Draw draw = random_draw(random);
    for (const Preset& entry : presets()) {
      const MassRow row = shape(draw.logits, draw.sampling, entry);
      ASSERT_EQ(row.status, Status::kOk);
      ASSERT_EQ(row.mass, by_definition(draw.logits, draw.sampling, entry, entry.top_k_ties,
                                        entry.top_p_ties))
          << entry.name << ", case " << i;
      Mass total = 0;
      for (Mass mass : row.mass) total += mass;
      ASSERT_EQ(row.total, total);
    }
  }
}

TEST(Filters, ComparisonSeesTheOtherTieRule) {
  std::mt19937 random(12);
  int top_k_differs = 0;
  int top_p_differs = 0;
  const Preset& keeping = preset("default-keep-ties");
  for (int i = 0; i < 2000; ++i) {
    const Draw draw = random_draw(random);
    const std::vector<Mass> mass = shape(draw.logits, draw.sampling, keeping).mass;
    using enum TieRule;
    if (mass != by_definition(draw.logits, draw.sampling, keeping, kLowestIdsFirst, kKeepAll))
      ++top_k_differs;
    if (mass != by_definition(draw.logits, draw.sampling, keeping, kKeepAll, kLowestIdsFirst))
      ++top_p_differs;
  }
  EXPECT_GT(top_k_differs, 50);
  EXPECT_GT(top_p_differs, 50);
}

}  // namespace
}  // namespace draftproof::reference
