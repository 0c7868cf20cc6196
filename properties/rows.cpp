// The nasty rows of generators.h, style by style.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "properties/generators.h"

namespace draftproof::properties {
namespace {

using reference::LogitFormat;
using reference::Row;

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Rounds into the format; what would overflow becomes 2^15, which every format has, or -inf.
float stored(LogitFormat format, double value) {
  const float rounded = reference::rounded_to(format, static_cast<float>(value));
  if (rounded == std::numeric_limits<float>::infinity()) return 32768.0f;
  return rounded;
}

/// Roughly normal with deviation 2.
double bell(Random& random) {
  return 2.0 * std::sqrt(3.0) * (random.unit() + random.unit() + random.unit() + random.unit() - 2);
}

enum class Style {
  kBell,
  kEven,
  kOneHot,
  kFewLevels,
  kNearlyEqual,
  kMasked,
  kDenormal,
  kSteep,
  kLongTail,
  kFarSecond,
  kFiniteMask,
};
constexpr int kStyleCount = 11;

/// A row of masks alone could not be judged: its maximum would be -inf or out of range.
void ensure_ordinary(Row& row, Random& random, LogitFormat format) {
  for (float value : row)
    if (std::fabs(value) <= 128) return;
  row[random.below(row.size())] = stored(format, bell(random));
}

Row styled(Style style, Random& random, std::size_t vocab_size, LogitFormat format) {
  Row row(vocab_size);
  const double base = bell(random);
  const std::size_t special = random.below(vocab_size);
  const auto fill = [&](auto value) {
    for (std::size_t v = 0; v < vocab_size; ++v) row[v] = stored(format, value(v));
  };
  switch (style) {
    case Style::kBell:
      fill([&](std::size_t) { return bell(random); });
      break;
    case Style::kEven:
      fill([&](std::size_t) { return base; });
      break;
    case Style::kOneHot:
      fill([&](std::size_t v) { return v == special ? base : double{kNever}; });
      break;
    case Style::kFewLevels:
      fill([&](std::size_t) { return 0.5 * static_cast<double>(random.below(3)); });
      break;
    case Style::kNearlyEqual:
      fill(
          [&](std::size_t) { return base * (1 + 0x1p-23 * static_cast<double>(random.below(4))); });
      break;
    case Style::kMasked: {
      const std::uint64_t kept = 1 + random.below(8);
      fill([&](std::size_t) { return random.below(10) < kept ? bell(random) : double{kNever}; });
      break;
    }
    case Style::kDenormal:
      fill([&](std::size_t) {
        const double tiny = std::ldexp(random.unit() - 0.5, -126 - random.between(0, 22));
        return random.once_in(4) ? -0.0 : tiny;
      });
      break;
    case Style::kSteep:
      fill([&](std::size_t) { return (random.unit() - 0.5) * 200; });
      break;
    case Style::kLongTail: {
      const double steepness = 0.5 + 2 * random.unit();
      const std::size_t stride = 1 + 2 * random.below(50);
      fill([&](std::size_t v) {
        const std::size_t rank = (v * stride + special) % vocab_size;
        return 10 - steepness * std::log1p(static_cast<double>(rank));
      });
      break;
    }
    case Style::kFarSecond: {
      // The masses of a row vanish about 31 units below its maximum: both sides of that edge.
      const double gap = 28 + 5 * random.unit();
      fill([&](std::size_t v) { return v == special ? base : base - gap - 0.01 * bell(random); });
      break;
    }
    case Style::kFiniteMask:
      fill([&](std::size_t) { return random.once_in(3) ? bell(random) : -1e30; });
      break;
  }
  ensure_ordinary(row, random, format);
  return row;
}

}  // namespace

Row nasty_logits(Random& random, std::size_t vocab_size, LogitFormat format) {
  return styled(static_cast<Style>(random.below(kStyleCount)), random, vocab_size, format);
}

Row tied_logits(Random& random, std::size_t vocab_size, LogitFormat format) {
  std::vector<float> levels = {0.0f, -0.0f};
  for (int i = random.between(1, 30); i > 0; --i) levels.push_back(stored(format, bell(random)));
  const bool has_masks = random.once_in(4);
  Row row(vocab_size);
  for (float& value : row) value = has_masks && random.once_in(3) ? kNever : random.pick(levels);
  ensure_ordinary(row, random, format);
  return row;
}

Row related_logits(Random& random, const Row& target, LogitFormat format) {
  Row row = target;
  switch (random.below(6)) {
    case 0:  // The same law, the same bits.
      break;
    case 1: {  // The same law up to rounding, other bits.
      const double shift = random.between(-4, 4);
      for (float& value : row) value = stored(format, value + shift);
      break;
    }
    case 2:  // A few tokens up or down.
      for (int i = random.between(1, 3); i > 0; --i) {
        float& value = row[random.below(row.size())];
        if (std::isfinite(value) && std::fabs(value) < 1e6)
          value = stored(format, value + bell(random));
      }
      break;
    case 3:  // Disjoint supports where the target has zeros, else its opposite.
      for (float& value : row) value = std::isinf(value) ? 1.0f : stored(format, -double{value});
      break;
    case 4: {  // Every token a little.
      const double size = std::ldexp(1.0, -random.between(0, 20));
      for (float& value : row)
        if (std::isfinite(value) && std::fabs(value) < 1e6)
          value = stored(format, value + size * bell(random));
      break;
    }
    default:
      row = nasty_logits(random, target.size(), format);
  }
  for (float& value : row)
    if (std::fabs(value) > 128 && std::isfinite(value)) value = stored(format, -1e30);
  ensure_ordinary(row, random, format);
  return row;
}

Row nasty_probabilities(Random& random, std::size_t vocab_size) {
  const Row logits = nasty_logits(random, vocab_size, LogitFormat::kFloat32);
  const float top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> weights;
  for (float logit : logits) weights.push_back(std::exp(double{logit} - top));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  Row row;
  for (double weight : weights) row.push_back(static_cast<float>(weight / sum));
  return row;
}

}  // namespace draftproof::properties
