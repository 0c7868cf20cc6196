// Linear scan (Poletto and Sarkar, 1999) over intervals from a data-flow liveness analysis. What
// makes it right for warps: liveness is that of a single lane, for handlers write active lanes
// only, so that lanes on other paths keep their values. A register that may be read before it is
// written is live from the entry on, hence has a place nobody used before it, and its validity word
// still says "undefined"; a guarded write does not end the life of the value before it.
#include "gpu/emulator/code/slots.h"

#include <algorithm>
#include <queue>

namespace draftproof::gpu::emulator {
namespace {

constexpr std::uint32_t kNever = ~std::uint32_t{0};

template <class F>
void for_each_source(Instruction& instruction, F&& visit) {
  const auto visit_present = [&](Operand& operand) {
    if (operand.present && operand.area == 0) visit(operand);
  };
  visit_present(instruction.guard);
  visit_present(instruction.address);
  for (Operand& operand : instruction.sources) visit_present(operand);
}
template <class F>
void for_each_destination(Instruction& instruction, F&& visit) {
  for (Operand& operand : instruction.destinations) {
    if (operand.present) visit(operand);
  }
}

class BitSet {
 public:
  explicit BitSet(std::size_t size) : words_((size + 63) / 64, 0) {}
  void set(std::uint32_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  bool test(std::uint32_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }
  std::vector<std::uint64_t>& words() { return words_; }
  template <class F>
  void for_each(F&& visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) {
        visit(static_cast<std::uint32_t>(w * 64 + static_cast<unsigned>(__builtin_ctzll(rest))));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// First and last position at which a register is live. Instruction i reads at 2i, writes at 2i+1.
struct Interval {
  std::uint32_t begin = kNever;
  std::uint32_t end = 0;
  void cover(std::uint32_t position) {
    begin = std::min(begin, position);
    end = std::max(end, position);
  }
};

class SlotAssigner {
 public:
  SlotAssigner(Program& program, const std::vector<Block>& blocks,
               const std::vector<VirtualRegister>& registers)
      : program_(program), blocks_(blocks), registers_(registers), intervals_(registers.size()) {}

  void run() {
    find_liveness();
    find_intervals();
    scan();
    rewrite();
  }

 private:
  void find_liveness();
  void find_intervals();
  void scan();
  void rewrite();

  Program& program_;
  const std::vector<Block>& blocks_;
  const std::vector<VirtualRegister>& registers_;
  std::vector<BitSet> live_in_;
  std::vector<BitSet> live_out_;
  std::vector<Interval> intervals_;
  std::vector<std::uint32_t> slot_of_;       ///< within the class
  std::uint32_t slot_count_[3] = {0, 0, 0};  ///< classes: 8 bytes, 4 bytes, predicates
};

int class_of(std::uint8_t bytes) { return bytes == 8 ? 0 : bytes == 4 ? 1 : 2; }

void SlotAssigner::find_liveness() {
  const std::size_t size = registers_.size();
  std::vector<BitSet> used, killed;
  for (const Block& block : blocks_) {
    BitSet& use = used.emplace_back(size);
    BitSet& kill = killed.emplace_back(size);
    live_in_.emplace_back(size);
    live_out_.emplace_back(size);
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      Instruction& instruction = program_.instructions[i];
      for_each_source(instruction, [&](Operand& operand) {
        if (!kill.test(operand.offset)) use.set(operand.offset);
      });
      if (instruction.guard.present) continue;
      for_each_destination(instruction, [&](Operand& operand) { kill.set(operand.offset); });
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = blocks_.size(); b-- > 0;) {
      std::vector<std::uint64_t>& out = live_out_[b].words();
      std::vector<std::uint64_t>& in = live_in_[b].words();
      for (const std::uint32_t s : blocks_[b].successors) {
        const std::vector<std::uint64_t>& from = live_in_[s].words();
        for (std::size_t w = 0; w < out.size(); ++w) out[w] |= from[w];
      }
      for (std::size_t w = 0; w < in.size(); ++w) {
        const std::uint64_t value = used[b].words()[w] | (out[w] & ~killed[b].words()[w]);
        changed = changed || value != in[w];
        in[w] = value;
      }
    }
  }
}

void SlotAssigner::find_intervals() {
  const auto end = static_cast<std::uint32_t>(2 * program_.instructions.size());
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    live_in_[b].for_each([&](std::uint32_t r) { intervals_[r].cover(2 * block.begin); });
    live_out_[b].for_each([&](std::uint32_t r) { intervals_[r].cover(2 * block.end - 1); });
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      Instruction& instruction = program_.instructions[i];
      // Only a compute instruction with one result may write over what it reads: it works lane by
      // lane, while the others may read a source again after a first write.
      const bool in_place =
          instruction.kind == Kind::kCompute && !instruction.destinations[1].present;
      for_each_source(instruction, [&](Operand& operand) {
        intervals_[operand.offset].cover(2 * i);
        if (!in_place) intervals_[operand.offset].cover(2 * i + 1);
      });
      for_each_destination(instruction,
                           [&](Operand& operand) { intervals_[operand.offset].cover(2 * i + 1); });
    }
  }
  for (std::size_t r = 0; r < registers_.size(); ++r) {
    if (registers_[r].is_pinned) intervals_[r] = {0, end};
  }
}

void SlotAssigner::scan() {
  std::vector<std::uint32_t> order;
  for (std::uint32_t r = 0; r < registers_.size(); ++r) {
    if (intervals_[r].begin != kNever) order.push_back(r);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return intervals_[a].begin < intervals_[b].begin;
  });
  slot_of_.assign(registers_.size(), kNever);
  using Ending = std::pair<std::uint32_t, std::uint32_t>;  // end, slot
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> busy[3];
  std::vector<std::uint32_t> unused[3];
  for (const std::uint32_t r : order) {
    const int c = class_of(registers_[r].bytes);
    while (!busy[c].empty() && busy[c].top().first < intervals_[r].begin) {
      unused[c].push_back(busy[c].top().second);
      busy[c].pop();
    }
    if (unused[c].empty()) {
      slot_of_[r] = slot_count_[c]++;
    } else {
      slot_of_[r] = unused[c].back();
      unused[c].pop_back();
    }
    busy[c].emplace(intervals_[r].end, slot_of_[r]);
  }
}

void SlotAssigner::rewrite() {
  const std::uint32_t base[3] = {0, slot_count_[0] * 256,
                                 slot_count_[0] * 256 + slot_count_[1] * 128};
  const std::uint32_t stride[3] = {256, 128, 4};
  const std::uint32_t first_word[3] = {0, slot_count_[0], slot_count_[0] + slot_count_[1]};
  const auto place = [&](Operand& operand) {
    const std::uint32_t r = operand.offset;
    const int c = class_of(registers_[r].bytes);
    operand.offset = base[c] + stride[c] * slot_of_[r];
    operand.validity = first_word[c] + slot_of_[r];
  };
  for (Instruction& instruction : program_.instructions) {
    for_each_source(instruction, place);
    for_each_destination(instruction, place);
  }
  for (SpecialOperand& special : program_.specials) place(special.operand);
  const std::uint32_t bytes = base[2] + 4 * slot_count_[2];
  program_.register_bytes = (bytes + 127) / 128 * 128;
  program_.register_count = first_word[2] + slot_count_[2];
}

}  // namespace

void assign_slots(Program& program, const std::vector<Block>& blocks,
                  const std::vector<VirtualRegister>& registers) {
  SlotAssigner(program, blocks, registers).run();
}

}  // namespace draftproof::gpu::emulator
