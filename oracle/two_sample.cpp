#include "oracle/two_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "oracle/sequential.h"
#include "reference/error.h"

namespace draftproof::oracle {
namespace {

using Counts = std::array<double, 2>;  // by arm

// How many tokens a context must have shown before the arms' own laws outweigh the common one.
// Small: gross differences in few contexts, large: slight ones, or in many contexts.
constexpr std::array<double, 9> kConcentrations = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536};
constexpr std::size_t kPaces = kConcentrations.size();
// The last pace is chosen by each context for itself, by how well each has foretold its tokens.
constexpr std::size_t kPaceCount = kPaces + 1;
// Contexts: the whole prefix, or its last token.
constexpr std::size_t kKindCount = 2;

struct Context {
  Counts total = {};
  std::unordered_map<std::uint64_t, Counts> of_token;
  std::array<double, kPaces> foretold = {};  // logarithms, against the common law
};

struct Logs {
  std::array<double, kPaceCount> of_pace = {};
};

/// log r(token | context) of both arms over the common law, for each pace.
struct Foretold {
  std::array<std::array<double, 2>, kPaceCount> over_common = {};
};

/// Precondition: 0 <= x; from logarithms of weights and values.
double log_weighted(const std::array<double, kPaces>& weights,
                    const std::array<std::array<double, 2>, kPaceCount>& values, std::size_t arm) {
  // Half of the weight says that the arms do not differ here.
  const double top = std::max(0.0, *std::max_element(weights.begin(), weights.end()));
  const double each = .5 / static_cast<double>(kPaces);
  double sum = .5 * std::exp(-top), total = sum;
  for (std::size_t pace = 0; pace < kPaces; ++pace) {
    const double weight = each * std::exp(weights[pace] - top);
    total += weight;
    sum += weight * std::exp(values[pace][arm]);
  }
  return std::log(sum / total);
}

/// What the context foretells of a token: r_arm = (pace common + count_arm) / (pace + total_arm).
Foretold foretold(const Context& context, std::uint64_t token, double outcome_count) {
  Foretold result;
  const auto found = context.of_token.find(token);
  const Counts counts = found == context.of_token.end() ? Counts{} : found->second;
  const double all = context.total[0] + context.total[1];
  const double common = (counts[0] + counts[1] + 1 / outcome_count) / (all + 1);
  for (std::size_t pace = 0; pace < kPaces; ++pace) {
    for (std::size_t arm = 0; arm < 2; ++arm) {
      result.over_common[pace][arm] = std::log((kConcentrations[pace] + counts[arm] / common) /
                                               (kConcentrations[pace] + context.total[arm]));
    }
  }
  for (std::size_t arm = 0; arm < 2; ++arm)
    result.over_common[kPaces][arm] = log_weighted(context.foretold, result.over_common, arm);
  return result;
}

/// log(2 / (1 + exp(other - own))): r_own / m.
double log_share(double own_over_other) {
  const double back = -own_over_other;
  return std::log(2.0) -
         (back > 0 ? back + std::log1p(std::exp(-back)) : std::log1p(std::exp(back)));
}

}  // namespace

struct TwoSampleEvidence::Parts {
  explicit Parts(std::uint64_t vocab) : outcome_count(static_cast<double>(vocab) + 1), end(vocab) {
    contexts.emplace_back();
  }

  /// Walks a sequence through both kinds of contexts. `visit(kind, context, token)`.
  template <class Visit>
  void walk(std::span<const reference::Token> sequence, bool may_grow, const Visit& visit) {
    std::size_t node = 0;  // of the tree; kNone: beyond it
    std::uint64_t last = end;
    for (std::size_t i = 0; i <= sequence.size(); ++i) {
      const std::uint64_t token =
          i < sequence.size() ? static_cast<std::uint64_t>(sequence[i]) : end;
      if (node != kNone) {
        visit(0, contexts[node], token);
        node = child_of(node, token, may_grow);
      }
      visit(1, by_last[last], token);
      last = token;
    }
  }

  /// The tree grows by one node a sequence, so that tails seen once cost nothing.
  std::size_t child_of(std::size_t node, std::uint64_t token, bool may_grow) {
    const auto key = std::make_pair(node, token);
    const auto found = children.find(key);
    if (found != children.end()) return found->second;
    if (may_grow && token != end) {
      children.emplace(key, contexts.size());
      contexts.emplace_back();
    }
    return kNone;
  }

  /// log r1(x)/r2(x) of a whole sequence, for each kind and pace.
  std::array<Logs, kKindCount> scores(std::span<const reference::Token> sequence) {
    std::array<Logs, kKindCount> sums;
    walk(sequence, false, [&](std::size_t kind, const Context& context, std::uint64_t token) {
      const Foretold of = foretold(context, token, outcome_count);
      for (std::size_t pace = 0; pace < kPaceCount; ++pace)
        sums[kind].of_pace[pace] += of.over_common[pace][0] - of.over_common[pace][1];
    });
    return sums;
  }

  void learn(std::span<const reference::Token> sequence, std::size_t arm) {
    walk(sequence, true, [&](std::size_t, Context& context, std::uint64_t token) {
      const Foretold of = foretold(context, token, outcome_count);
      for (std::size_t pace = 0; pace < kPaces; ++pace)
        context.foretold[pace] += of.over_common[pace][arm];
      context.total[arm] += 1;
      context.of_token[token][arm] += 1;
    });
  }

  struct Hash {
    std::size_t operator()(const std::pair<std::size_t, std::uint64_t>& key) const {
      return (key.first * 0x9e3779b97f4a7c15) ^ (key.second * 0xd1342543de82ef95);
    }
  };
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  double outcome_count;
  std::uint64_t end;
  std::vector<Context> contexts;
  std::unordered_map<std::pair<std::size_t, std::uint64_t>, std::size_t, Hash> children;
  std::unordered_map<std::uint64_t, Context> by_last;
  std::array<Logs, kKindCount> log_bets;
  std::uint64_t pair_count = 0;
};

TwoSampleEvidence::TwoSampleEvidence(std::uint64_t vocab_size)
    : parts_(std::make_unique<Parts>(vocab_size)) {
  DRAFTPROOF_CHECK(vocab_size > 0);
}
TwoSampleEvidence::TwoSampleEvidence(TwoSampleEvidence&&) noexcept = default;
TwoSampleEvidence& TwoSampleEvidence::operator=(TwoSampleEvidence&&) noexcept = default;
TwoSampleEvidence::~TwoSampleEvidence() = default;

void TwoSampleEvidence::add(std::span<const reference::Token> one,
                            std::span<const reference::Token> other) {
  for (const auto sequence : {one, other}) {
    for (const reference::Token token : sequence)
      DRAFTPROOF_CHECK(token >= 0 && static_cast<std::uint64_t>(token) < parts_->end,
                       "token " + std::to_string(token));
  }
  const auto first = parts_->scores(one), second = parts_->scores(other);
  for (std::size_t kind = 0; kind < kKindCount; ++kind) {
    for (std::size_t pace = 0; pace < kPaceCount; ++pace) {
      parts_->log_bets[kind].of_pace[pace] +=
          log_share(first[kind].of_pace[pace]) + log_share(-second[kind].of_pace[pace]);
    }
  }
  parts_->learn(one, 0);
  parts_->learn(other, 1);
  ++parts_->pair_count;
}

double TwoSampleEvidence::log_e_value() const {
  std::vector<double> logs;
  for (const Logs& kind : parts_->log_bets)
    logs.insert(logs.end(), kind.of_pace.begin(), kind.of_pace.end());
  return log_mean(logs);
}

std::uint64_t TwoSampleEvidence::pair_count() const { return parts_->pair_count; }

double log_combined(std::span<const double> log_e_values) {
  if (log_e_values.empty()) return 0;
  const std::vector<double> each(log_e_values.begin(), log_e_values.end());
  return log_mean({std::accumulate(each.begin(), each.end(), 0.0), log_mean(each)});
}

}  // namespace draftproof::oracle
