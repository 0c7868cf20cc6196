// Selection from draft trees on a device: batches of scored candidates as buffers, the launch, and
// what came back held against the reference.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reference/tree/selection.h"
#include "tests/differential/tree_device.h"

namespace draftproof::tests {

struct SelectionBatch {
  std::vector<reference::tree::DraftTree> trees;
  std::vector<std::vector<float>> scores;
  std::vector<std::uint32_t> keeps;
  std::size_t capacity = 0;
  std::size_t keep_capacity = 0;
  bool has_tokens = true, has_keeps = true;
};

/// The buffers of one selection launch.
class SelectionRun {
 public:
  SelectionRun(gpu::Device& device, const SelectionBatch& batch)
      : batch_(batch),
        parents_(device, slots() * 4, "parents"),
        tokens_(device, slots() * 4, "tokens"),
        scores_(device, slots() * 4, "scores"),
        counts_(device, batch.trees.size() * 4, "candidate_counts"),
        keeps_(device, batch.trees.size() * 12, "keep_counts"),
        candidates_(device, kept_slots() * 4, "kept_candidates"),
        kept_parents_(device, kept_slots() * 4, "kept_parents"),
        kept_tokens_(device, kept_slots() * 4, "kept_tokens"),
        records_(device, batch.trees.size() * sizeof(draftproof_tree_record), "records") {
    leave_unwritten(device, {&parents_, &tokens_, &scores_, &candidates_, &kept_parents_,
                             &kept_tokens_, &records_});
    for (std::size_t r = 0; r < batch.trees.size(); ++r) {
      const auto here = [&](const auto& values) {
        return std::vector(values.begin(),
                           values.begin() + std::min(values.size(), batch.capacity));
      };
      write_at(device, parents_, r * batch.capacity, here(batch.trees[r].parents));
      write_at(device, tokens_, r * batch.capacity, here(batch.trees[r].tokens));
      write_at(device, scores_, r * batch.capacity, here(batch.scores[r]));
      write_at(device, counts_, r,
               std::vector{static_cast<std::uint32_t>(batch.trees[r].parents.size())});
      write_at(device, keeps_, r * 3, std::vector{batch.keeps[r]});
    }
  }

  draftproof_tree_selection_arguments arguments() const {
    draftproof_tree_selection_arguments result{};
    result.parents = parents_.pointer();
    result.tokens = batch_.has_tokens ? tokens_.pointer() : 0;
    result.scores = scores_.pointer();
    result.candidate_counts = counts_.pointer();
    result.candidate_count_stride = 4;
    result.keep_counts = batch_.has_keeps ? keeps_.pointer() : 0;
    result.keep_count_stride = 12;
    result.kept_candidates = candidates_.pointer();
    result.kept_parents = kept_parents_.pointer();
    result.kept_tokens = batch_.has_tokens ? kept_tokens_.pointer() : 0;
    result.records = records_.pointer();
    result.request_count = static_cast<std::uint32_t>(batch_.trees.size());
    result.candidate_capacity = static_cast<std::uint32_t>(batch_.capacity);
    result.keep_capacity = static_cast<std::uint32_t>(batch_.keep_capacity);
    return result;
  }

  std::optional<std::string> difference() const {
    const auto nobody = unwritten<std::int32_t>();
    std::vector candidates(kept_slots(), nobody), parents = candidates, tokens = candidates;
    std::vector<std::uint32_t> records;
    for (std::size_t r = 0; r < batch_.trees.size(); ++r) {
      reference::tree::DraftTree tree = batch_.trees[r];
      if (!batch_.has_tokens) tree.tokens.clear();
      const std::size_t keep = std::min<std::size_t>(
          batch_.has_keeps ? batch_.keeps[r] : batch_.keep_capacity, batch_.keep_capacity);
      const auto best = reference::tree::select(tree, batch_.scores[r], keep, batch_.capacity);
      for (std::size_t i = 0; i < best.candidates.size(); ++i) {
        candidates[r * batch_.keep_capacity + i] = best.candidates[i];
        parents[r * batch_.keep_capacity + i] = best.parents[i];
        if (batch_.has_tokens)
          tokens[r * batch_.keep_capacity + i] = tree.tokens[best.candidates[i]];
      }
      for (const std::size_t word : {static_cast<std::size_t>(best.status), best.candidates.size(),
                                     std::size_t{best.level_count}, std::size_t{0}})
        records.push_back(static_cast<std::uint32_t>(word));
    }
    if (read_all<std::uint32_t>(records_) != records) return "records differ";
    if (read_all<std::int32_t>(candidates_) != candidates) return "candidates differ";
    if (read_all<std::int32_t>(kept_parents_) != parents) return "parents differ";
    if (read_all<std::int32_t>(kept_tokens_) != tokens) return "tokens differ";
    return std::nullopt;
  }

 private:
  std::size_t slots() const { return batch_.trees.size() * batch_.capacity; }
  std::size_t kept_slots() const { return batch_.trees.size() * batch_.keep_capacity; }

  const SelectionBatch& batch_;
  gpu::Buffer parents_, tokens_, scores_, counts_, keeps_, candidates_, kept_parents_, kept_tokens_,
      records_;
};

/// What is wrong with the device's selection from `batch`; nothing when it is the reference's.
inline std::optional<std::string> selection_disparity(gpu::KernelModules& modules,
                                                      const SelectionBatch& batch,
                                                      const Manner& manner) {
  const SelectionRun run(modules.device(), batch);
  const draftproof_tree_selection_arguments arguments = run.arguments();
  const draftproof_result checked = gpu::launches::check(arguments);
  if (checked.code != DRAFTPROOF_OK) return checked.text;
  gpu::KernelLaunch launch = gpu::launches::launch_of(arguments);
  if (manner.block_threads != 0) launch.block.x = manner.block_threads;
  const auto seen = first_observation(modules.launch(launch, manner.order));
  return seen ? seen : run.difference();
}

/// Cumulative, as a drafter's are; or a few values, or anything.
inline std::vector<float> random_scores(std::mt19937_64& random,
                                        const reference::tree::DraftTree& tree) {
  const auto kind = random() % 4;
  const bool has_nan = random() % 16 == 0;
  const auto bits = [&] {
    const auto word = static_cast<std::uint32_t>(random());
    return (word & 0x7f800000u) == 0x7f800000u ? 0.0f : std::bit_cast<float>(word);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::array few{0.0f, -0.0f, 1.0f, -1.0f, kInfinity, -kInfinity};
  std::vector<float> scores;
  for (std::size_t i = 0; i < tree.parents.size(); ++i) {
    const std::int32_t parent = tree.parents[i];
    const bool has_parent = parent >= 0 && std::cmp_less(parent, i);
    const float before = has_parent ? scores[parent] : 0.0f;
    const float step = -static_cast<float>(random() % 1000) / 250;
    scores.push_back(kind == 0 ? few[random() % few.size()] : kind == 1 ? bits() : before + step);
    if (has_nan && random() % 16 == 0) scores.back() = std::numeric_limits<float>::quiet_NaN();
  }
  return scores;
}

inline SelectionBatch random_selection(std::mt19937_64& random, std::size_t node_max) {
  SelectionBatch batch;
  batch.capacity = node_max;
  batch.keep_capacity = random() % node_max + 1;
  batch.has_tokens = random() % 4 != 0;
  batch.has_keeps = random() % 2 == 0;
  for (std::size_t r = random() % 5 + 1; r > 0; --r) {
    batch.trees.push_back(random_tree(random, random() % (node_max + 2)));
    if (random() % 8 == 0) break_tree(random, batch.trees.back());
    if (!batch.has_tokens)
      for (reference::Token& token : batch.trees.back().tokens) token = std::max(token, 0);
    batch.scores.push_back(random_scores(random, batch.trees.back()));
    batch.keeps.push_back(static_cast<std::uint32_t>(random() % (node_max + 3)));
  }
  return batch;
}

}  // namespace draftproof::tests
