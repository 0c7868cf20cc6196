#include "gpu/emulator/code/flow.h"

#include <algorithm>

namespace draftproof::gpu::emulator {
namespace {

bool ends_block(const Instruction& instruction) {
  return instruction.kind == Kind::kBranch || instruction.kind == Kind::kIndexedBranch ||
         instruction.kind == Kind::kExit || instruction.kind == Kind::kTrap;
}

/// Immediate post-dominators by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast
/// Dominance Algorithm", 2001) on the reversed graph; the virtual exit is node blocks.size().
class PostDominators {
 public:
  explicit PostDominators(const std::vector<Block>& blocks)
      : blocks_(blocks), exit_(static_cast<std::uint32_t>(blocks.size())) {
    predecessors_.resize(blocks.size() + 1);
    for (std::uint32_t b = 0; b < exit_; ++b) {
      for (const std::uint32_t s : blocks[b].successors) predecessors_[s].push_back(b);
      if (blocks[b].successors.empty()) predecessors_[exit_].push_back(b);
    }
    number();
    solve();
  }

  /// The block's post-dominator, or blocks.size() when there is none.
  std::uint32_t of(std::uint32_t block) const { return parent_[block]; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Post-order of the reversed graph from the exit, without recursion.
  void number() {
    order_.assign(blocks_.size() + 1, kNone);
    std::vector<std::pair<std::uint32_t, std::size_t>> stack{{exit_, 0}};
    std::vector<bool> seen(blocks_.size() + 1, false);
    seen[exit_] = true;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < predecessors_[node].size()) {
        const std::uint32_t to = predecessors_[node][next++];
        if (!seen[to]) {
          seen[to] = true;
          stack.emplace_back(to, 0);
        }
      } else {
        order_[node] = static_cast<std::uint32_t>(sequence_.size());
        sequence_.push_back(node);
        stack.pop_back();
      }
    }
  }

  std::uint32_t meet(std::uint32_t a, std::uint32_t b) const {
    while (a != b) {
      while (order_[a] < order_[b]) a = parent_[a];
      while (order_[b] < order_[a]) b = parent_[b];
    }
    return a;
  }

  void solve() {
    parent_.assign(blocks_.size() + 1, kNone);
    parent_[exit_] = exit_;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto node = sequence_.rbegin(); node != sequence_.rend(); ++node) {
        if (*node == exit_) continue;
        std::uint32_t best = blocks_[*node].successors.empty() ? exit_ : kNone;
        for (const std::uint32_t s : blocks_[*node].successors) {
          if (order_[s] == kNone || parent_[s] == kNone) continue;
          best = best == kNone ? s : meet(s, best);
        }
        if (parent_[*node] != best) {
          parent_[*node] = best;
          changed = true;
        }
      }
    }
    // Blocks of a loop without an exit meet nowhere.
    for (std::uint32_t& parent : parent_) {
      if (parent == kNone) parent = exit_;
    }
  }

  const std::vector<Block>& blocks_;
  std::uint32_t exit_;
  std::vector<std::vector<std::uint32_t>> predecessors_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> sequence_;
  std::vector<std::uint32_t> parent_;
};

}  // namespace

std::vector<Block> find_blocks(const std::vector<Instruction>& instructions) {
  const std::size_t size = instructions.size();
  std::vector<bool> starts(size + 1, false);
  starts[0] = true;
  for (std::size_t i = 0; i < size; ++i) {
    const Instruction& instruction = instructions[i];
    if (!ends_block(instruction)) continue;
    starts[i + 1] = true;
    if (instruction.kind == Kind::kBranch) starts[instruction.target] = true;
    for (const std::uint32_t target : instruction.branch_targets) starts[target] = true;
  }
  std::vector<Block> blocks;
  std::vector<std::uint32_t> block_of(size + 1, 0);
  for (std::size_t i = 0; i < size; ++i) {
    if (starts[i]) blocks.push_back({static_cast<std::uint32_t>(i), 0, {}});
    block_of[i] = static_cast<std::uint32_t>(blocks.size() - 1);
    blocks.back().end = static_cast<std::uint32_t>(i + 1);
  }
  for (Block& block : blocks) {
    const Instruction& last = instructions[block.end - 1];
    const bool jumps = last.kind == Kind::kBranch || last.kind == Kind::kIndexedBranch;
    const bool falls_through = !ends_block(last) || last.guard.present;
    if (last.kind == Kind::kBranch) block.successors.push_back(block_of[last.target]);
    if (jumps) {
      for (const std::uint32_t t : last.branch_targets) block.successors.push_back(block_of[t]);
    }
    if (falls_through && block.end < size) block.successors.push_back(block_of[block.end]);
    std::sort(block.successors.begin(), block.successors.end());
    block.successors.erase(std::unique(block.successors.begin(), block.successors.end()),
                           block.successors.end());
  }
  return blocks;
}

void set_reconvergence(std::vector<Instruction>& instructions, const std::vector<Block>& blocks) {
  const PostDominators dominators(blocks);
  const auto size = static_cast<std::uint32_t>(instructions.size());
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    Instruction& last = instructions[blocks[b].end - 1];
    if (last.kind != Kind::kBranch && last.kind != Kind::kIndexedBranch) continue;
    const std::uint32_t at = dominators.of(b);
    last.reconvergence = at == blocks.size() ? size : blocks[at].begin;
  }
}

}  // namespace draftproof::gpu::emulator
