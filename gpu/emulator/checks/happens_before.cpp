// HappensBefore: joins of what warps know. See the header for the rules.
#include "gpu/emulator/checks/happens_before.h"

#include <algorithm>

namespace draftproof::gpu::emulator {

namespace {

void take_larger(std::vector<Clock>& into, const std::vector<Clock>& from) {
  if (from.empty()) return;
  if (into.empty()) {
    into = from;
    return;
  }
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

/// What a warp of another block learns from `knowledge`.
RemotePointer seen_from_outside(const Knowledge& knowledge) {
  std::vector<RemoteKnowledge::Entry> entries;
  for (std::uint32_t i = 0; i < knowledge.own.size(); ++i) {
    if (knowledge.own[i] > knowledge.floor) {
      entries.emplace_back(RemoteKnowledge::warp_key(knowledge.block, i), knowledge.own[i]);
    }
  }
  entries.emplace_back(RemoteKnowledge::block_key(knowledge.block), knowledge.floor);
  return join(std::make_shared<const RemoteKnowledge>(std::move(entries)), knowledge.remote);
}

}  // namespace

bool RemoteKnowledge::covers(std::uint32_t block, std::uint32_t warp, Clock clock) const {
  for (const std::uint64_t key : {block_key(block), warp_key(block, warp)}) {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), Entry{key, 0});
    if (found != entries_.end() && found->first == key && clock < found->second) return true;
  }
  return false;
}

RemotePointer join(const RemotePointer& left, const RemotePointer& right) {
  if (left == nullptr || left == right) return right;
  if (right == nullptr) return left;
  std::vector<RemoteKnowledge::Entry> entries;
  entries.reserve(left->entries().size() + right->entries().size());
  auto a = left->entries().begin();
  auto b = right->entries().begin();
  while (a != left->entries().end() || b != right->entries().end()) {
    if (b == right->entries().end() || (a != left->entries().end() && a->first < b->first)) {
      entries.push_back(*a++);
    } else if (a == left->entries().end() || b->first < a->first) {
      entries.push_back(*b++);
    } else {
      entries.emplace_back(a->first, std::max(a->second, b->second));
      ++a;
      ++b;
    }
  }
  return std::make_shared<const RemoteKnowledge>(std::move(entries));
}

KnowledgePointer join(const KnowledgePointer& left, const KnowledgePointer& right) {
  if (left == nullptr || left == right) return right;
  if (right == nullptr) return left;
  auto both = std::make_shared<Knowledge>(*left);
  both->reaches_other_blocks = left->reaches_other_blocks || right->reaches_other_blocks;
  if (left->block == right->block) {
    // The older floor is below every entry of the newer one, so the larger of each is right.
    both->floor = std::max(left->floor, right->floor);
    take_larger(both->own, right->own);
    both->remote = join(left->remote, right->remote);
  } else {
    both->remote = join(left->remote, seen_from_outside(*right));
  }
  return both;
}

void BlockClocks::start(std::uint32_t block, std::uint32_t warp_count, Clock floor) {
  block_ = block;
  floor_ = latest_ = floor;
  warps_.assign(warp_count, WarpClock{});
  for (WarpClock& warp : warps_) warp.now = floor;
}

void BlockClocks::meet_all() {
  floor_ = ++latest_;
  bool hands_on = false;
  for (WarpClock& warp : warps_) {
    warp.now = floor_;
    warp.own.clear();
    hands_on = hands_on || warp.remote != nullptr || warp.fenced != nullptr ||
               warp.fenced_cta != nullptr || warp.acquired != nullptr;
  }
  if (!hands_on) return;
  RemotePointer remote;
  KnowledgePointer fenced;
  KnowledgePointer fenced_cta;
  for (const WarpClock& warp : warps_) {
    remote = join(remote, warp.remote);
    fenced = join(fenced, warp.fenced);
    fenced_cta = join(fenced_cta, warp.fenced_cta);
  }
  for (WarpClock& warp : warps_) {
    warp.acquired = nullptr;
    warp.remote = remote;
    warp.fenced = fenced;
    warp.fenced_cta = fenced_cta;
  }
}

void BlockClocks::leave(std::uint32_t warp, const KnowledgePointer& released,
                        const KnowledgePointer& fenced) {
  acquire(warp, released);
  warps_[warp].fenced = join(warps_[warp].fenced, fenced);
}

KnowledgePointer BlockClocks::release(std::uint32_t warp, bool reaches_other_blocks) {
  WarpClock& mine = warps_[warp];
  auto knowledge = std::make_shared<Knowledge>();
  knowledge->block = block_;
  knowledge->floor = floor_;
  knowledge->own = mine.own;
  if (knowledge->own.empty()) knowledge->own.assign(warps_.size(), floor_);
  knowledge->own[warp] = std::max(knowledge->own[warp], mine.now + 1);
  knowledge->remote = mine.remote;
  knowledge->reaches_other_blocks = reaches_other_blocks;
  ++mine.now;
  latest_ = std::max(latest_, mine.now);
  return knowledge;
}

void BlockClocks::learn(WarpClock& warp, const std::vector<Clock>& own) {
  if (warp.own.empty()) warp.own.assign(warps_.size(), floor_);
  take_larger(warp.own, own);
}

void BlockClocks::acquire(std::uint32_t warp, const KnowledgePointer& knowledge) {
  WarpClock& mine = warps_[warp];
  if (knowledge == nullptr || mine.acquired == knowledge) return;
  mine.acquired = knowledge;
  if (knowledge->block == block_) {
    learn(mine, knowledge->own);
    mine.remote = join(mine.remote, knowledge->remote);
  } else if (knowledge->reaches_other_blocks) {
    mine.remote = join(mine.remote, seen_from_outside(*knowledge));
  }
}

void BlockClocks::read_relaxed(std::uint32_t warp, const KnowledgePointer& knowledge) {
  auto& pending = warps_[warp].pending;
  if (knowledge == nullptr || (!pending.empty() && pending.back() == knowledge)) return;
  pending.push_back(knowledge);
}

void BlockClocks::fence(std::uint32_t warp, bool reaches_other_blocks) {
  WarpClock& mine = warps_[warp];
  for (const KnowledgePointer& knowledge : mine.pending) acquire(warp, knowledge);
  mine.pending.clear();
  KnowledgePointer knowledge = release(warp, reaches_other_blocks);
  if (reaches_other_blocks) {
    mine.fenced = knowledge;
    mine.fenced_cta = nullptr;
  } else {
    mine.fenced_cta = knowledge;
  }
}

void SyncTable::store(std::uint64_t address, const KnowledgePointer& knowledge) {
  if (knowledge != nullptr) {
    released_[address] = knowledge;
  } else if (!released_.empty()) {
    released_.erase(address);
  }
}

void SyncTable::update(std::uint64_t address, const KnowledgePointer& knowledge) {
  if (knowledge == nullptr) return;
  KnowledgePointer& there = released_[address];
  there = join(there, knowledge);
}

}  // namespace draftproof::gpu::emulator
