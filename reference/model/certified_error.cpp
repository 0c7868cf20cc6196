#include "reference/model/certified_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWidening = 1.0 + 0x1p-20;
/// The largest error of an operation with a subnormal result, should it be flushed to zero.
constexpr double kFlushed = 0x1p-126;

CertifiedVector zeros(std::size_t size, std::size_t symbols) {
  return {std::vector<double>(size), std::vector<double>(size * symbols),
          std::vector<double>(size)};
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

std::vector<double> CertifiedVector::errors() const {
  std::vector<double> sums = fresh;
  for (std::size_t at = 0; at < noise.size(); at += size())
    for (std::size_t i = 0; i < size(); ++i) sums[i] += std::abs(noise[at + i]);
  for (double& sum : sums) sum *= kWidening;
  return sums;
}

void CertifiedVector::settle(NoiseSymbols& known) {
  if (!known.is_tracked) return fresh.assign(size(), 0.0);
  std::size_t symbol = known.count;
  known.count += static_cast<std::size_t>(
      std::count_if(fresh.begin(), fresh.end(), [](double error) { return error != 0.0; }));
  if (known.count == symbol) return;
  noise.resize(size() * known.count, 0.0);
  for (std::size_t i = 0; i < size(); ++i) {
    if (fresh[i] == 0.0) continue;
    noise[symbol++ * size() + i] = fresh[i];
    fresh[i] = 0.0;
  }
}

double gamma(double unit, double count) {
  const double product = unit * kWidening * count;
  return product < 1.0 ? product / (1.0 - product) : kInfinity;
}

double sum_error(const ErrorModel& model, std::size_t terms, double magnitude, double carried) {
  const auto count = static_cast<double>(terms);
  const double rounded = model.input_unit * kWidening * magnitude;
  return rounded + gamma(model.unit, count) * (magnitude + rounded) + 0x1p-40 * carried +
         2.0 * count * kFlushed;
}

CertifiedVector rms_norm(const CertifiedVector& x, std::span<const float> weight, float epsilon,
                         const ErrorModel& model, NoiseSymbols& known) {
  const std::size_t size = x.size(), symbols = x.symbols();
  const auto count = static_cast<double>(size);
  const std::vector<double> errors = x.errors();
  double squares = 0.0, square_errors = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    squares += x.value[i] * x.value[i];
    square_errors += errors[i] * errors[i];
  }
  const double mean = squares / count + static_cast<double>(epsilon);
  const double root = 1.0 / std::sqrt(mean), cube = root * root * root;
  std::vector<double> root_noise(symbols);  // -r^3 / H sum x dx
  double linear = 0.0;
  for (std::size_t s = 0; s < symbols; ++s) {
    for (std::size_t i = 0; i < size; ++i)
      root_noise[s] -= cube / count * x.value[i] * x.noise[s * size + i];
    linear += std::abs(root_noise[s]) * kWidening;
  }
  const double first = linear * 2.0 / cube, second = square_errors / count + 2.0 * kFlushed;
  const double rounded = second + gamma(model.unit, count + 3.0) * (mean + first + second);
  const double off = first + rounded, share = off / mean;
  const double remainder =
      share < 1.0 ? 0.375 * cube * root * root * off * off * std::pow(1.0 - share, -2.5)
                  : kInfinity;
  const double moved = linear + 0.5 * cube * rounded + remainder;
  const double own = moved - linear + gamma(model.unit, 4.0) * (root + moved);
  const double root_error = (linear + own) * kWidening;

  const std::size_t row_symbol = known.count;
  if (known.is_tracked) ++known.count;
  CertifiedVector y = zeros(size, known.count);
  for (std::size_t i = 0; i < size; ++i) {
    const double scale = static_cast<double>(weight[i]);
    y.value[i] = x.value[i] * root * scale;
    for (std::size_t s = 0; s < symbols; ++s)
      y.noise[s * size + i] = scale * (root * x.noise[s * size + i] + x.value[i] * root_noise[s]);
    if (known.is_tracked) y.noise[row_symbol * size + i] = scale * x.value[i] * own;
    const double largest = (std::abs(x.value[i]) + errors[i]) * (root + root_error);
    y.fresh[i] = std::abs(scale) * (errors[i] * root_error + gamma(model.unit, 2.0) * largest) +
                 2.0 * (1.0 + std::abs(scale)) * kFlushed;
  }
  return y;
}

void rotate_heads(CertifiedVector& x, int count, int head_dim, int position, double base,
                  const ErrorModel& model) {
  const auto half = static_cast<std::size_t>(head_dim) / 2;
  const double angle_error = 0x1p-50 * (1.0 + static_cast<double>(position));
  const std::vector<double> errors = x.errors();
  for (std::size_t head = 0; head < static_cast<std::size_t>(count); ++head)
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t low = head * 2 * half + i, high = low + half;
      const double frequency = std::pow(base, -static_cast<double>(2 * i) / head_dim);
      const double c = std::cos(position * frequency), s = std::sin(position * frequency);
      const double dc = model.unit * kWidening * std::abs(c) + angle_error;
      const double ds = model.unit * kWidening * std::abs(s) + angle_error;
      const double ma = std::abs(x.value[low]) + errors[low];
      const double mb = std::abs(x.value[high]) + errors[high];
      const double fa = x.fresh[low], fb = x.fresh[high], twice = gamma(model.unit, 2.0);
      x.fresh[low] = std::abs(c) * fa + std::abs(s) * fb + ma * dc + mb * ds +
                     twice * (ma * (std::abs(c) + dc) + mb * (std::abs(s) + ds)) + 4.0 * kFlushed;
      x.fresh[high] = std::abs(c) * fb + std::abs(s) * fa + mb * dc + ma * ds +
                      twice * (mb * (std::abs(c) + dc) + ma * (std::abs(s) + ds)) + 4.0 * kFlushed;
      const auto turn = [&](double& a, double& b) {
        const double left = a * c - b * s;
        b = b * c + a * s;
        a = left;
      };
      turn(x.value[low], x.value[high]);
      for (std::size_t at = 0; at < x.noise.size(); at += x.size())
        turn(x.noise[at + low], x.noise[at + high]);
    }
}

CertifiedVector swiglu(const CertifiedVector& gate_up, const ErrorModel& model) {
  const std::size_t half = gate_up.size() / 2, symbols = gate_up.symbols();
  const std::vector<double> errors = gate_up.errors();
  CertifiedVector y = zeros(half, symbols);
  for (std::size_t i = 0; i < half; ++i) {
    const double gate = gate_up.value[i], up = gate_up.value[half + i];
    const double gate_error = errors[i], up_error = errors[half + i];
    const double gated = gate * sigmoid(gate);
    const double slope = sigmoid(gate) * (1.0 + gate * (1.0 - sigmoid(gate)));
    y.value[i] = gated * up;
    for (std::size_t s = 0; s < symbols; ++s)
      y.noise[s * half + i] = up * slope * gate_up.noise[s * 2 * half + i] +
                              gated * gate_up.noise[s * 2 * half + half + i];
    const double gated_size = std::abs(gated) + 1.1 * gate_error;
    const double up_size = std::abs(up) + up_error;
    // A factor exp(-x) that overflows leaves 0 for a silu below 2^-118.
    const double gated_rest = 0.25 * gate_error * gate_error +
                              (model.exp_error + 4.0 * model.unit) * kWidening * gated_size +
                              0x1p-118;
    y.fresh[i] = std::abs(up * slope) * gate_up.fresh[i] +
                 std::abs(gated) * gate_up.fresh[half + i] + 1.1 * gate_error * up_error +
                 gated_rest * up_size +
                 gamma(model.unit, 1.0) * (gated_size + gated_rest) * up_size + kFlushed;
  }
  return y;
}

CertifiedVector sum_of(const CertifiedVector& x, const CertifiedVector& y,
                       const ErrorModel& model) {
  CertifiedVector sum = x;
  sum.noise.resize(std::max(x.noise.size(), y.noise.size()), 0.0);
  for (std::size_t i = 0; i < y.noise.size(); ++i) sum.noise[i] += y.noise[i];
  const std::vector<double> x_errors = x.errors(), y_errors = y.errors();
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum.value[i] += y.value[i];
    sum.fresh[i] += y.fresh[i] +
                    gamma(model.unit, 1.0) * (std::abs(sum.value[i]) + x_errors[i] + y_errors[i]) +
                    kFlushed;
  }
  return sum;
}

namespace {

/// The attention of one query head. Coordinates of the head are [query_at, query_at + width) of the
/// queries and [key_at, key_at + width) of each cell.
class HeadAttention {
 public:
  HeadAttention(const CertifiedVector& queries, std::span<const CertifiedCell* const> cells,
                std::size_t query_at, std::size_t key_at, std::size_t width,
                const ErrorModel& model)
      : queries_(queries),
        cells_(cells),
        query_at_(query_at),
        key_at_(key_at),
        width_(width),
        model_(model) {
    query_errors_ = queries.errors();
    for (std::size_t j = 0; j < cells.size(); ++j) score(j);
    weigh();
  }

  /// Writes coordinates [query_at, query_at + width) of `out`.
  void write(CertifiedVector& out) const {
    for (std::size_t d = 0; d < width_; ++d) write(out, d);
  }

 private:
  void score(std::size_t j) {
    const CertifiedVector& key = cells_[j]->key;
    const std::vector<double> key_errors = key.errors();
    const double scale = 1.0 / std::sqrt(static_cast<double>(width_));
    std::vector<double> noise(std::max(queries_.symbols(), key.symbols()));
    double product = 0.0, second = 0.0, magnitude = 0.0, error = 0.0;
    for (std::size_t d = 0; d < width_; ++d) {
      const std::size_t at = query_at_ + d, from = key_at_ + d;
      product += queries_.value[at] * key.value[from];
      second += query_errors_[at] * key_errors[from];
      magnitude += (std::abs(queries_.value[at]) + query_errors_[at]) *
                   (std::abs(key.value[from]) + key_errors[from]);
      for (std::size_t s = 0; s < queries_.symbols(); ++s)
        noise[s] += scale * key.value[from] * queries_.noise[s * queries_.size() + at];
      for (std::size_t s = 0; s < key.symbols(); ++s)
        noise[s] += scale * queries_.value[at] * key.noise[s * key.size() + from];
    }
    for (const double each : noise) error += std::abs(each) * kWidening;
    const auto count = static_cast<double>(width_);
    const double rest = scale * (second * kWidening + gamma(model_.unit, count + 3.0) * magnitude) +
                        2.0 * (count + 1.0) * kFlushed;
    scores_.push_back(product * scale);
    noises_.push_back(std::move(noise));
    rests_.push_back(rest);
    errors_.push_back(error + rest);
  }

  /// From scores to weights: what the logarithms of the weights are off by, beside the scores.
  void weigh() {
    const auto [least, largest] = std::minmax_element(scores_.begin(), scores_.end());
    const double range = *largest - *least;
    const double error_max = *std::max_element(errors_.begin(), errors_.end());
    const double rescales = model_.softmax_rescales_max;
    const double passes = rescales > 0.0 ? 2.0 : 1.0;
    double total = 0.0;
    for (std::size_t j = 0; j < scores_.size(); ++j) {
      // ln(1 + d) and ln(1 - d) are within d / (1 - d).
      const double evaluated = (1.0 + rescales) * model_.exp_error / (1.0 - model_.exp_error) +
                               2.0 * rescales * model_.unit / (1.0 - model_.unit) +
                               passes * model_.unit * (range + errors_[j] + error_max);
      rests_[j] += evaluated * kWidening;
      moved_max_ = std::max(moved_max_, errors_[j] + evaluated * kWidening);
      weights_.push_back(std::exp(scores_[j] - *largest));
      total += weights_.back();
    }
    for (double& weight : weights_) weight /= total;
  }

  void write(CertifiedVector& out, std::size_t d) const {
    const std::size_t at = query_at_ + d, from = key_at_ + d;
    double value = 0.0, low = kInfinity, high = -kInfinity;
    for (std::size_t j = 0; j < cells_.size(); ++j) {
      const double own = cells_[j]->value.value[from];
      value += weights_[j] * own;
      low = std::min(low, own);
      high = std::max(high, own);
    }
    double first = 0.0, magnitude = 0.0, value_error_max = 0.0;
    for (std::size_t j = 0; j < cells_.size(); ++j) {
      const CertifiedVector& values = cells_[j]->value;
      const double lever = weights_[j] * (values.value[from] - value);
      for (std::size_t s = 0; s < noises_[j].size(); ++s)
        out.noise[s * out.size() + at] += lever * noises_[j][s];
      double value_error = values.fresh[from];
      for (std::size_t s = 0; s < values.symbols(); ++s) {
        const double coefficient = values.noise[s * values.size() + from];
        out.noise[s * out.size() + at] += weights_[j] * coefficient;
        value_error += std::abs(coefficient);
      }
      value_error *= kWidening;
      first += std::abs(lever) * rests_[j];
      magnitude += weights_[j] * (std::abs(values.value[from]) + value_error);
      value_error_max = std::max(value_error_max, value_error);
    }
    const auto count = static_cast<double>(cells_.size());
    const double moved = std::expm1(2.0 * moved_max_);
    out.value[at] = value;
    out.fresh[at] =
        first + 2.0 * (high - low) * moved_max_ * moved_max_ * kWidening + moved * value_error_max +
        gamma(model_.unit, 2.0 * count + 3.0) * (1.0 + moved) * magnitude +
        4.0 * count * (1.0 + std::abs(high) + std::abs(low) + value_error_max) * kFlushed;
  }

  const CertifiedVector& queries_;
  std::span<const CertifiedCell* const> cells_;
  std::size_t query_at_, key_at_, width_;
  const ErrorModel& model_;
  std::vector<double> query_errors_, scores_, errors_, rests_, weights_;
  std::vector<std::vector<double>> noises_;
  double moved_max_ = 0.0;  ///< B
};

}  // namespace

CertifiedVector attend(const CertifiedVector& queries, std::span<const CertifiedCell* const> cells,
                       int heads, int kv_heads, int head_dim, const ErrorModel& model) {
  DRAFTPROOF_CHECK(!cells.empty(), "a row sees itself at least");
  const auto width = static_cast<std::size_t>(head_dim);
  const auto group = static_cast<std::size_t>(heads / kv_heads);
  std::size_t symbols = queries.symbols();
  for (const CertifiedCell* cell : cells)
    symbols = std::max({symbols, cell->key.symbols(), cell->value.symbols()});
  CertifiedVector out = zeros(static_cast<std::size_t>(heads) * width, symbols);
  for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head)
    HeadAttention(queries, cells, head * width, head / group * width, width, model).write(out);
  return out;
}

}  // namespace draftproof::reference::model
