// Tolerances of toys. Goal: derived ones are above what fp32 does to a law here, with little to
// spare beside what a fault does; measured ones grow with what makes rounding worse.
#include "tools/toys/toy_tolerance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tools/toys/toy_rows.h"

namespace draftproof::tests {
namespace {

using testing::HasSubstr;
using tools::toys::EngineArithmetic;
using tools::toys::TensorFormat;
using tools::toys::tolerance_of;
using tools::toys::ToyKind;
using tools::toys::ToySpec;

/// The largest difference that a softmax in fp32 makes, in nats, over some histories.
double single_precision(const ToySpec& spec, double temperature) {
  tools::toys::ToyRows rows(spec);
  double largest = 0;
  for (reference::Token last = 3; last < 12; ++last) {
    const std::vector<double> exact = rows.behind(std::vector<reference::Token>{1, 7, last});
    std::vector<float> logits(exact.begin(), exact.end());
    for (float& logit : logits) logit /= static_cast<float>(temperature);
    const float top = *std::max_element(logits.begin(), logits.end());
    const double high = *std::max_element(exact.begin(), exact.end());
    float sum = 0;
    double exact_sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      sum += std::exp(logits[i] - top);
      exact_sum += std::exp((exact[i] - high) / temperature);
    }
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double law = (exact[i] - high) / temperature - std::log(exact_sum);
      if (law < std::log(0x1p-20)) continue;
      const double found = std::log(static_cast<double>(std::exp(logits[i] - top) / sum));
      largest = std::max(largest, std::abs(found - law));
    }
  }
  return largest;
}

TEST(ToyTolerance, OfExactLogitsIsAboveWhatASoftmaxInFp32Does) {
  for (const ToyKind kind : {ToyKind::kBigram, ToyKind::kInteger}) {
    for (const double temperature : {1.0, 0.5}) {
      const ToySpec spec{.kind = kind};
      const double granted = tolerance_of(spec, {.engine = "llama.cpp"}, temperature).nats;
      const double found = single_precision(spec, temperature);
      EXPECT_GT(granted, found);
      EXPECT_GT(found, granted / 1000) << "a tolerance that grants anything is none";
      EXPECT_LT(granted, 2e-5);
    }
  }
  const ToySpec large{.kind = ToyKind::kBigram, .vocab_size = 4000, .sharpness = 4};
  EXPECT_GT(tolerance_of(large, {.engine = "llama.cpp"}).nats, single_precision(large, 1));
}

TEST(ToyTolerance, LeavesNoNearTieWhereLogitsAreExact) {
  const ToySpec spec{.kind = ToyKind::kInteger};
  for (const TensorFormat format : {TensorFormat::kF32, TensorFormat::kF16, TensorFormat::kBf16})
    EXPECT_EQ(
        tolerance_of(spec, {.engine = "llama.cpp", .dtype = format, .cache = TensorFormat::kF16})
            .near_tie,
        0);
  EXPECT_EQ(tolerance_of(spec, {.engine = "vllm"}).near_tie, 0);
  const auto rounded = tolerance_of(spec, {.engine = "vllm", .dtype = TensorFormat::kBf16});
  EXPECT_GT(rounded.near_tie, 1.0 / 256) << "bf16 does not hold the integers apart";
  EXPECT_THAT(rounded.because, HasSubstr("bf16"));
}

TEST(ToyTolerance, OfAttentionIsWhatWasMeasuredTimesAFactor) {
  const ToySpec spec{.kind = ToyKind::kAttention};
  const auto full = tolerance_of(spec, {.engine = "llama.cpp"});
  EXPECT_GT(full.nats, 8 * 2.5e-6);
  EXPECT_LT(full.nats, 1e-4);
  EXPECT_GT(full.near_tie, full.nats);
  EXPECT_THAT(full.because, HasSubstr("llama.cpp"));
  const auto half = tolerance_of(
      spec, {.engine = "llama.cpp", .dtype = TensorFormat::kF32, .cache = TensorFormat::kF16});
  EXPECT_GT(half.nats, 100 * full.nats);
  const auto stranger = tolerance_of(spec, {.engine = "an engine of tomorrow"});
  EXPECT_GE(stranger.nats, full.nats);
  EXPECT_THAT(stranger.because, HasSubstr("any engine"));
  EXPECT_GT(tolerance_of(spec, {.engine = "llama.cpp"}, 0.5).nats, 1.9 * full.nats);
  ToySpec deep = spec;
  deep.layers = 8;
  EXPECT_GT(tolerance_of(deep, {.engine = "llama.cpp"}).nats, 3 * full.nats);
}

}  // namespace
}  // namespace draftproof::tests
