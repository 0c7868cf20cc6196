// Random batches for holding two verifiers against each other: every storage format, draft kind,
// preset and edge of the numerics contract comes up. A batch is a pure function of its seed.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "reference/coin.h"
#include "reference/proposal.h"
#include "reference/shaping.h"
#include "reference/verifier.h"

namespace draftproof::tests {

struct RandomCase {
  reference::Batch batch;
  std::unique_ptr<reference::Coins> coins;
  reference::Execution execution;
};

/// What a case may be like.
struct RandomCaseLimits {
  std::size_t vocab_min = 1;
  std::size_t vocab_max = 64;
  std::size_t requests_max = 6;
  std::size_t draft_max = 4;
};

class RandomCases {
 public:
  RandomCases(std::uint64_t seed, const RandomCaseLimits& limits)
      : engine_(seed), limits_(limits) {}

  RandomCase next() {
    RandomCase result;
    reference::Batch& batch = result.batch;
    batch.vocab_size = vocab_size();
    batch.preset = pick(reference::presets());
    batch.draft_kind =
        pick(std::vector{reference::RowKind::kLogits, reference::RowKind::kLogits,
                         reference::RowKind::kProbabilities, reference::RowKind::kOneHot});
    batch.format =
        pick(std::vector{reference::LogitFormat::kFloat32, reference::LogitFormat::kBfloat16,
                         reference::LogitFormat::kFloat16});
    const std::size_t count = 1 + below(limits_.requests_max);
    for (std::size_t r = 0; r < count; ++r) batch.requests.push_back(request(batch));
    result.coins = coins();
    result.execution.block_threads = pick(std::vector{32, 64, 96, 128, 256, 512, 1024});
    if (chance(0.5)) {
      std::size_t longest = 0;
      for (const auto& entry : batch.requests)
        longest = std::max(longest, entry.proposal.tokens.size());
      result.execution.padded_draft_count = static_cast<int>(longest + 1 + below(3));
    }
    result.execution.schedule =
        pick(std::vector{reference::ScheduleKind::kRandom, reference::ScheduleKind::kFirstWarpFirst,
                         reference::ScheduleKind::kLastWarpFirst});
    result.execution.schedule_seed = engine_();
    return result;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  template <class T>
  T pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  std::size_t vocab_size() {
    const double span =
        std::log2(static_cast<double>(limits_.vocab_max) / static_cast<double>(limits_.vocab_min));
    const double size = static_cast<double>(limits_.vocab_min) * std::exp2(unit() * span);
    return std::clamp(static_cast<std::size_t>(std::lround(size)), limits_.vocab_min,
                      limits_.vocab_max);
  }

  std::unique_ptr<reference::Coins> coins() {
    if (chance(0.5)) return std::make_unique<reference::PhiloxCoins>(engine_());
    // Every coin the same: both ends of the coin's range and the middle.
    return std::make_unique<reference::ScriptedCoins>(
        pick(std::vector<std::uint64_t>{0, ~std::uint64_t{0}, std::uint64_t{1} << 63, engine_()}));
  }

  float value(int shape) {
    switch (shape) {
      case 0:  // as a model's logits are
        return static_cast<float>((unit() + unit() + unit() + unit() - 2) * 8);
      case 1:  // many ties, both zeros among them
        return pick(std::vector<float>{-2, -1, -0.0f, 0, 1, 1.5f});
      case 2:  // masks among ordinary values
        return chance(0.6) ? -std::numeric_limits<float>::infinity()
                           : static_cast<float>(unit() * 4);
      case 3:  // spread beyond what has mass
        return static_cast<float>(unit() * 200 - 100);
      case 4:  // subnormal and tiny
        return static_cast<float>((unit() - 0.5) * 1e-38);
      default:  // out of every range
        return static_cast<float>((unit() - 0.3) * 6e4);
    }
  }

  reference::Row logits(const reference::Batch& batch) {
    const int shape = pick(std::vector{0, 0, 0, 1, 1, 2, 3, 4, 5});
    reference::Row row(batch.vocab_size);
    for (float& logit : row) logit = reference::rounded_to(batch.format, value(shape));
    if (chance(0.02)) row[below(row.size())] = std::numeric_limits<float>::quiet_NaN();
    if (chance(0.02)) row[below(row.size())] = std::numeric_limits<float>::infinity();
    if (chance(0.01)) std::fill(row.begin(), row.end(), -std::numeric_limits<float>::infinity());
    return row;
  }

  /// A drafter that agrees with the target, nearly agrees, or does not.
  reference::Row draft_logits(const reference::Batch& batch, const reference::Row& target) {
    if (chance(0.25)) return target;
    if (chance(0.4)) return logits(batch);
    reference::Row row = target;
    for (float& logit : row)
      logit = reference::rounded_to(batch.format, logit + static_cast<float>(unit() - 0.5));
    return row;
  }

  reference::Row probabilities(const reference::Batch& batch) {
    reference::Row row(batch.vocab_size);
    double sum = 0;
    for (float& entry : row) sum += entry = chance(0.2) ? 0.0f : static_cast<float>(unit());
    for (float& entry : row) entry = sum > 0 ? static_cast<float>(entry / sum) : 0.0f;
    if (chance(0.03)) row[below(row.size())] = pick(std::vector<float>{-0.25f, 1.5f, -0.0f});
    if (chance(0.02)) row[below(row.size())] = std::numeric_limits<float>::quiet_NaN();
    return row;
  }

  reference::Token token(const reference::Batch& batch, const reference::Row& row) {
    if (chance(0.05)) return reference::kPlaceholder;
    if (chance(0.02)) return static_cast<reference::Token>(batch.vocab_size);
    if (chance(0.02)) return std::numeric_limits<reference::Token>::min();
    if (row.empty() || chance(0.1)) return static_cast<reference::Token>(below(batch.vocab_size));
    // The best of a few: a token that its row is likely to propose.
    std::size_t best = below(row.size());
    for (int i = 0; i < 4; ++i) {
      const std::size_t other = below(row.size());
      if (row[other] > row[best]) best = other;
    }
    return static_cast<reference::Token>(best);
  }

  reference::Sampling sampling(std::size_t vocab_size) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    reference::Sampling result;
    result.temperature =
        pick(std::vector<double>{1, 1, 0.7, 0.3, 2.5, 0, 1e-6, 1e-3, 1e30, kInfinity});
    if (chance(0.4))
      result.top_k =
          pick(std::vector<std::int64_t>{1, 2, 5, static_cast<std::int64_t>(vocab_size / 2),
                                         static_cast<std::int64_t>(vocab_size)});
    if (chance(0.4))
      result.top_p = pick(std::vector<double>{0.9, 0.5, unit(), 1e-300, 0, 0.999999});
    if (chance(0.3)) result.min_p = pick(std::vector<double>{0.05, unit(), 1, 2, 1e-310});
    return result;
  }

  reference::Request request(const reference::Batch& batch) {
    reference::Request result;
    result.id = static_cast<std::uint32_t>(engine_());
    result.position = static_cast<std::uint32_t>(chance(0.1) ? 0xffffff00u : below(100000));
    result.iteration =
        result.id * 2654435761u >> 8;  // a function of the id: below 2^24, any of them
    result.sampling = sampling(batch.vocab_size);
    const std::size_t count = below(limits_.draft_max + 1);
    for (std::size_t i = 0; i <= count; ++i) result.target_rows.push_back(logits(batch));
    for (std::size_t i = 0; i < count; ++i) {
      reference::Row row;
      if (batch.draft_kind == reference::RowKind::kProbabilities) row = probabilities(batch);
      if (batch.draft_kind == reference::RowKind::kLogits)
        row = draft_logits(batch, result.target_rows[i]);
      const bool has_no_rows = batch.draft_kind == reference::RowKind::kOneHot;
      result.proposal.tokens.push_back(token(batch, has_no_rows ? result.target_rows[i] : row));
      if (!has_no_rows) result.proposal.rows.push_back(std::move(row));
    }
    return result;
  }

  std::mt19937_64 engine_;
  RandomCaseLimits limits_;
};

/// Equal to the bit, NaN included.
inline bool same_rows(const std::vector<reference::Row>& a, const std::vector<reference::Row>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const reference::Row& left, const reference::Row& right) {
                      return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                                        [](float x, float y) {
                                          return std::bit_cast<std::uint32_t>(x) ==
                                                 std::bit_cast<std::uint32_t>(y);
                                        });
                    });
}

/// True when the two hold the same inputs, bit for bit.
inline bool same_inputs(const reference::Batch& a, const reference::Batch& b) {
  return std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    [](const reference::Request& x, const reference::Request& y) {
                      return x.id == y.id && x.position == y.position &&
                             x.iteration == y.iteration && x.sampling == y.sampling &&
                             x.proposal.tokens == y.proposal.tokens &&
                             x.proposal.parents == y.proposal.parents &&
                             same_rows(x.proposal.rows, y.proposal.rows) &&
                             same_rows(x.target_rows, y.target_rows);
                    });
}

}  // namespace draftproof::tests
