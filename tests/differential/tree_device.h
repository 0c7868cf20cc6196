// Tree kernels on a device: batches of trees as buffers, the launch, and what came back held
// against the reference.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/kernel_modules.h"
#include "gpu/launches/tree.h"
#include "reference/tree/layout.h"

namespace draftproof::tests {

/// What a launch is run with.
struct Manner {
  gpu::LaunchManner order;
  std::uint32_t block_threads = 0;  ///< 0: as launch_of says
};

inline Manner random_manner(std::mt19937_64& random) {
  using reference::ScheduleKind;
  Manner manner;
  manner.order.schedule = std::array{ScheduleKind::kRandom, ScheduleKind::kFirstWarpFirst,
                                     ScheduleKind::kLastWarpFirst}[random() % 3];
  manner.order.schedule_seed = random();
  manner.block_threads = std::array{0u, 32u, 64u, 96u, 256u, 1024u}[random() % 6];
  return manner;
}

/// A chain, a star, a binary tree, a deep or a wide one; few tokens, some of them placeholders.
inline reference::tree::DraftTree random_tree(std::mt19937_64& random, std::size_t count) {
  reference::tree::DraftTree tree;
  tree.base = static_cast<std::uint32_t>(random() % 8 == 0 ? 0xfffffff0u : random() % 5000);
  const auto shape = random() % 5;
  const auto token_count = random() % 2 == 0 ? 4u : 1000u;
  const bool has_gaps = random() % 2 == 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto last = static_cast<std::int32_t>(i) - 1;
    const auto any = static_cast<std::int32_t>(random() % (i + 1)) - 1;
    const auto recent = std::max(last - static_cast<std::int32_t>(random() % 3), -1);
    const auto early = std::min(any, static_cast<std::int32_t>(random() % 4) - 1);
    const std::array parents{last, -1, (last + 2) / 2 - 1, recent, early};
    tree.parents.push_back(random() % 16 == 0 ? any : parents[shape]);
    const bool is_gap = has_gaps && random() % 12 == 0;
    tree.tokens.push_back(is_gap ? reference::kPlaceholder
                                 : static_cast<reference::Token>(random() % token_count));
  }
  return tree;
}

/// One parent, or several, becomes one that no tree may have.
inline void break_tree(std::mt19937_64& random, reference::tree::DraftTree& tree) {
  if (tree.parents.empty()) return;
  const auto count = static_cast<std::int32_t>(tree.parents.size());
  for (auto breaks = random() % 3 + 1; breaks > 0; --breaks) {
    const auto node = static_cast<std::int32_t>(random() % tree.parents.size());
    tree.parents[node] =
        std::array{-2,         node,           std::min(node + 1, count), count, count + 1,
                   0x7fffffff, -0x7fffffff - 1}[random() % 7];
  }
}

struct LayoutBatch {
  std::vector<reference::tree::DraftTree> trees;
  reference::tree::LayoutRule rule;
  std::uint32_t extra_mask_words = 0;
  bool has_tokens = true, has_bases = true;
  bool wants_depths = true, wants_positions = true, wants_masks = true;
};

/// What an engine finds in a byte that nobody wrote.
inline constexpr std::byte kUnwritten{0xc3};

template <class T>
std::vector<T> read_all(const gpu::Buffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  buffer.read(std::span<T>(values), kUnwritten);
  return values;
}

template <class T>
T unwritten() {
  std::array<std::byte, sizeof(T)> bytes;
  bytes.fill(kUnwritten);
  return std::bit_cast<T>(bytes);
}

/// Writes `values` from entry `first` on; the rest stays nobody's.
template <class T>
void write_at(gpu::Device& device, const gpu::Buffer& buffer, std::size_t first,
              const std::vector<T>& values) {
  if (!values.empty())
    device.write(buffer.pointer() + first * sizeof(T), std::as_bytes(std::span(values)));
}

/// On a device that does not watch its memory, bytes that nobody writes hold kUnwritten.
inline void leave_unwritten(gpu::Device& device,
                            std::initializer_list<const gpu::Buffer*> buffers) {
  if (device.observes()) return;
  for (const gpu::Buffer* buffer : buffers)
    if (buffer->bytes() != 0)
      device.write(buffer->pointer(), std::vector<std::byte>(buffer->bytes(), kUnwritten));
}

/// The buffers of one layout launch.
class LayoutRun {
 public:
  LayoutRun(gpu::Device& device, const LayoutBatch& batch)
      : batch_(batch),
        capacity_(batch.rule.node_capacity),
        mask_words_(gpu::launches::mask_words_for(static_cast<std::uint32_t>(capacity_)) +
                    batch.extra_mask_words),
        parents_(device, slots() * 4, "parents"),
        tokens_(device, slots() * 4, "tokens"),
        counts_(device, batch.trees.size() * 8, "node_counts"),
        bases_(device, batch.trees.size() * 4, "base_positions"),
        depths_(device, slots() * 4, "depths"),
        positions_(device, slots() * 4, "positions"),
        first_children_(device, (slots() + batch.trees.size()) * 4, "first_children"),
        next_siblings_(device, slots() * 4, "next_siblings"),
        masks_(device, slots() * mask_words_ * 8, "ancestor_masks"),
        records_(device, batch.trees.size() * sizeof(draftproof_tree_record), "records") {
    leave_unwritten(device, {&parents_, &tokens_, &depths_, &positions_, &first_children_,
                             &next_siblings_, &masks_, &records_});
    for (std::size_t r = 0; r < batch.trees.size(); ++r) {
      const auto& tree = batch.trees[r];
      const auto here = [&](const auto& values) {
        return std::vector(values.begin(), values.begin() + std::min(values.size(), capacity_));
      };
      write_at(device, parents_, r * capacity_, here(tree.parents));
      write_at(device, tokens_, r * capacity_, here(tree.tokens));
      write_at(device, counts_, r * 2,
               std::vector{static_cast<std::uint32_t>(tree.parents.size())});
      write_at(device, bases_, r, std::vector{tree.base});
    }
  }

  draftproof_tree_layout_arguments arguments() const {
    draftproof_tree_layout_arguments result{};
    result.parents = parents_.pointer();
    result.tokens = batch_.has_tokens ? tokens_.pointer() : 0;
    result.node_counts = counts_.pointer();
    result.node_count_stride = 8;
    result.base_positions = batch_.has_bases ? bases_.pointer() : 0;
    result.base_position_stride = 4;
    result.depths = batch_.wants_depths ? depths_.pointer() : 0;
    result.positions = batch_.wants_positions ? positions_.pointer() : 0;
    result.first_children = first_children_.pointer();
    result.next_siblings = next_siblings_.pointer();
    result.ancestor_masks = batch_.wants_masks ? masks_.pointer() : 0;
    result.records = records_.pointer();
    result.request_count = static_cast<std::uint32_t>(batch_.trees.size());
    result.node_capacity = static_cast<std::uint32_t>(capacity_);
    result.mask_words = mask_words_;
    result.equal_siblings_are_malformed = batch_.rule.equal_siblings_are_malformed ? 1 : 0;
    return result;
  }

  /// What differs from the reference, the bytes that must not be written among it.
  std::optional<std::string> difference() const {
    Expected expected = expectation();
    if (read_all<std::int32_t>(depths_) != expected.depths) return "depths differ";
    if (read_all<std::int32_t>(positions_) != expected.positions) return "positions differ";
    if (read_all<std::int32_t>(first_children_) != expected.first_children)
      return "first children differ";
    if (read_all<std::int32_t>(next_siblings_) != expected.next_siblings)
      return "next siblings differ";
    if (read_all<std::uint64_t>(masks_) != expected.masks) return "ancestor masks differ";
    if (read_all<std::uint32_t>(records_) != expected.records) return "records differ";
    return std::nullopt;
  }

 private:
  struct Expected {
    std::vector<std::int32_t> depths, positions, first_children, next_siblings;
    std::vector<std::uint64_t> masks;
    std::vector<std::uint32_t> records;
  };

  std::size_t slots() const { return batch_.trees.size() * capacity_; }

  void put_masks(const reference::tree::Layout& layout, std::size_t slot, Expected& to) const {
    for (std::size_t node = 0; node < layout.masks.size(); ++node) {
      std::uint64_t* row = to.masks.data() + (slot + node) * mask_words_;
      std::fill(row, row + mask_words_, 0);
      for (std::size_t other = 0; other < layout.masks[node].size(); ++other)
        if (layout.masks[node][other]) row[other / 64] |= std::uint64_t{1} << (other % 64);
    }
  }

  Expected expectation() const {
    Expected to;
    const auto nobody = unwritten<std::int32_t>();
    to.depths = to.positions = to.next_siblings = std::vector(slots(), nobody);
    to.first_children.assign(slots() + batch_.trees.size(), nobody);
    to.masks.assign(slots() * mask_words_, unwritten<std::uint64_t>());
    for (std::size_t r = 0; r < batch_.trees.size(); ++r) {
      reference::tree::DraftTree tree = batch_.trees[r];
      if (!batch_.has_tokens) tree.tokens.clear();
      if (!batch_.has_bases) tree.base = 0;
      const auto layout = reference::tree::layout(tree, batch_.rule);
      const auto put = [&](const auto& from, auto& list, std::size_t first) {
        std::copy(from.begin(), from.end(), list.begin() + static_cast<std::ptrdiff_t>(first));
      };
      if (batch_.wants_depths) put(layout.depths, to.depths, r * capacity_);
      if (batch_.wants_positions) put(layout.positions, to.positions, r * capacity_);
      put(layout.first_children, to.first_children, r * (capacity_ + 1));
      put(layout.next_siblings, to.next_siblings, r * capacity_);
      if (batch_.wants_masks) put_masks(layout, r * capacity_, to);
      for (const std::uint32_t word : {static_cast<std::uint32_t>(layout.status), layout.node_count,
                                       layout.level_count, layout.has_equal_siblings ? 1u : 0u})
        to.records.push_back(word);
    }
    return to;
  }

  const LayoutBatch& batch_;
  std::size_t capacity_;
  std::uint32_t mask_words_;
  gpu::Buffer parents_, tokens_, counts_, bases_, depths_, positions_, first_children_,
      next_siblings_, masks_, records_;
};

/// "race: ... at ..." of the first thing that the device saw and must not see.
inline std::optional<std::string> first_observation(const gpu::LaunchReport& report) {
  for (const auto& seen : report.observations)
    return seen.check + ": " + seen.message + " at " + seen.place.source_file + ":" +
           std::to_string(seen.place.source_line);
  return std::nullopt;
}

/// What is wrong with the device's layout of `batch`; nothing when it is the reference's.
inline std::optional<std::string> layout_disparity(gpu::KernelModules& modules,
                                                   const LayoutBatch& batch, const Manner& manner) {
  const LayoutRun run(modules.device(), batch);
  const draftproof_tree_layout_arguments arguments = run.arguments();
  const draftproof_result checked = gpu::launches::check(arguments);
  if (checked.code != DRAFTPROOF_OK) return checked.text;
  gpu::KernelLaunch launch = gpu::launches::launch_of(arguments);
  if (manner.block_threads != 0) launch.block.x = manner.block_threads;
  const auto seen = first_observation(modules.launch(launch, manner.order));
  return seen ? seen : run.difference();
}

}  // namespace draftproof::tests
