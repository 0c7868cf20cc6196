// Histories of a target forward on a device: speculation over a paged K/V window, round after
// round, beside a twin on another device that is fed only what was kept, one token a step, and
// beside the float64 model with its certified errors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/target_forward.h"
#include "reference/model/toy_llama.h"

namespace draftproof::tests {

using reference::Token;

/// No width is a multiple of 32, and the epsilon is large enough to be missed.
inline reference::model::ToyLlamaConfig forward_config() {
  reference::model::ToyLlamaConfig config;
  config.hidden = 40;
  config.intermediate = 56;
  config.rms_epsilon = 0.01f;
  return config;
}

/// A model on a device of its own, and the window that it is fed through. Pages lie in the pool in
/// no order; slot 0 is the first token's.
struct ForwardArm {
  std::unique_ptr<gpu::Device> device = gpu::make_emulated_device();
  gpu::KernelModules modules;
  gpu::TargetForward forward;
  gpu::PagedWindow window{4, {{0, 9, 3, 12, 5, 8, 2, 7}}};

  ForwardArm(const gpu::KernelTexts& texts, const reference::model::ToyLlamaWeights& weights,
             const gpu::TargetForwardOptions& options = {})
      : modules(*device, texts), forward(modules, weights, options) {}
};

/// No logit of either arm leaves a bound, and every bound is one: an infinite one explains all.
/// Where the greedy tokens differ they are near ties.
inline void expect_explained(const std::vector<reference::model::CertifiedRow>& truth,
                             const std::vector<std::vector<float>>& decoded,
                             const std::vector<std::vector<float>>& verified) {
  const auto argmax = [](const std::vector<float>& row) {
    return static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
  };
  ASSERT_EQ(decoded.size(), truth.size());
  ASSERT_EQ(verified.size(), truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    EXPECT_TRUE(std::all_of(truth[i].errors.begin(), truth[i].errors.end(),
                            [](double error) { return std::isfinite(error); }))
        << "row " << i;
    EXPECT_LT(share_of_bound(truth[i], decoded[i]), 1.0) << "row " << i;
    EXPECT_LT(share_of_bound(truth[i], verified[i]), 1.0) << "row " << i;
    EXPECT_NE(judge_greedy(truth[i], argmax(decoded[i]), argmax(verified[i])).parity,
              reference::model::GreedyParity::kReal)
        << "row " << i;
  }
}

/// Rows behind a pending token: row 0, which every other row continues. Random trees; a chain when
/// every parent is the row before.
struct FedTokens {
  std::vector<Token> tokens;
  std::vector<int> parents;
  std::vector<int> kept;  ///< row 0 and an accepted path, in order
};

inline FedTokens drawn_tokens(std::mt19937_64& source, Token vocab, int draft_max) {
  const auto token = [&] { return static_cast<Token>(source() % static_cast<unsigned>(vocab)); };
  FedTokens fed{{token()}, {-1}, {0}};
  const bool is_chain = source() % 3 == 0;
  for (int i = 1; i <= draft_max; ++i) {
    fed.tokens.push_back(token());
    fed.parents.push_back(is_chain ? i - 1 : static_cast<int>(source() % static_cast<unsigned>(i)));
    // A path grows where it ends, sometimes: every accepted length is met, 0 too.
    if (fed.parents.back() == fed.kept.back() && source() % 3 != 0) fed.kept.push_back(i);
  }
  return fed;
}

/// What a speculating arm does otherwise than it should.
struct HistoryChanges {
  std::function<void(gpu::ForwardStep&)> step;  ///< of what is fed behind the prompt
  bool moves_cells = true;
  bool keeps_one_more = false;  ///< a rejected cell stays committed, where there is one
};

struct HistoryFindings {
  bool equals_twin = true;
  bool commits_as_told = true;  ///< no status, and the window's length
  double share_max = 0.0;       ///< of the certified error
  int rows = 0;
  std::vector<reference::Observation> observations;
  std::string first_difference;
};

class ForwardHistory {
 public:
  /// `texts` are the speculating arm's; the twin's kernels are sound.
  ForwardHistory(const gpu::KernelTexts& texts, std::uint64_t seed, bool is_certified,
                 const gpu::TargetForwardOptions& options = {}, HistoryChanges changes = {})
      : source_(seed),
        changes_(std::move(changes)),
        weights_(reference::model::make_toy_llama_weights(forward_config(), seed)),
        arm_(texts, weights_, options),
        twin_(gpu::embedded_texts(), weights_),
        model_(weights_,
               is_certified ? std::optional(reference::model::ErrorModel{}) : std::nullopt),
        is_certified_(is_certified) {}

  HistoryFindings run(int rounds, int draft_max) {
    FedTokens prompt{{3, 14, 15}, {-1, 0, 1}, {0, 1, 2}};
    round(prompt, true);
    for (int i = 0; i < rounds; ++i) round(drawn_tokens(source_, 97, draft_max), false);
    return findings_;
  }

 private:
  void round(const FedTokens& fed, bool is_prompt) {
    gpu::ForwardStep step = arm_.window.step();
    arm_.window.feed(step, 0, fed.tokens, fed.parents);
    if (!is_prompt && changes_.step) changes_.step(step);
    // A padded batch: a row of no sequence, whose cell goes nowhere.
    step.rows.push_back({0, 0, -1, -1, {}});
    const gpu::ForwardResult result = arm_.forward.step(step, manner());
    note(result.observations);
    for (const int offset : fed.kept)
      compare(fed.tokens[static_cast<std::size_t>(offset)],
              result.logits[static_cast<std::size_t>(offset)]);
    std::vector<std::vector<int>> kept{fed.kept};
    const int next = kept[0].back() + 1;
    if (changes_.keeps_one_more && !is_prompt && next < static_cast<int>(fed.tokens.size()))
      kept[0].push_back(next);
    arm_.window.commit(0, static_cast<int>(kept[0].size()));
    if (!changes_.moves_cells) return;
    const gpu::CommitResult answer = arm_.forward.commit(step, kept, manner());
    note(answer.observations);
    findings_.commits_as_told = findings_.commits_as_told && answer.statuses[0] == 0 &&
                                answer.lengths[0] == arm_.window.length(0);
  }

  /// One token of the twin and of the float64 model.
  void compare(Token token, const std::vector<float>& logits) {
    gpu::ForwardStep step = twin_.window.step();
    twin_.window.feed(step, 0, std::vector<Token>{token});
    const gpu::ForwardResult truth = twin_.forward.step(step, manner());
    twin_.window.commit(0, 1);
    note(truth.observations);
    ++findings_.rows;
    if (std::memcmp(truth.logits[0].data(), logits.data(), logits.size() * sizeof(float)) != 0) {
      if (findings_.equals_twin)
        findings_.first_difference = "row " + std::to_string(findings_.rows);
      findings_.equals_twin = false;
    }
    if (!is_certified_) return;
    const auto row = model_.forward(
        reference::model::chain_rows(std::vector<Token>{token}, cache_.cell_count()), cache_);
    findings_.share_max =
        std::max(findings_.share_max, reference::model::share_of_bound(row[0], logits));
  }

  gpu::LaunchManner manner() {
    return {reference::ScheduleKind::kRandom, source_(), std::uint64_t{1} << 22};
  }

  void note(const std::vector<reference::Observation>& observations) {
    findings_.observations.insert(findings_.observations.end(), observations.begin(),
                                  observations.end());
  }

  std::mt19937_64 source_;
  HistoryChanges changes_;
  reference::model::ToyLlamaWeights weights_;
  ForwardArm arm_, twin_;
  reference::model::ToyLlama model_;
  reference::model::LlamaCache cache_;
  bool is_certified_;
  HistoryFindings findings_;
};

}  // namespace draftproof::tests
