#include "gpu/launches/tree.h"

#include <algorithm>
#include <array>
#include <span>

#include "gpu/launches/checks.h"

namespace draftproof::gpu::launches {
namespace {

/// A buffer of `bytes` bytes at `pointer`, and what to say when it will not do.
struct BufferCheck {
  draftproof_pointer pointer;
  std::uint64_t bytes;
  std::uint64_t alignment;
  bool is_nullable;
  bool is_written;
  const char* null_text;
  const char* misaligned_text;
};

draftproof_result check_buffers(std::span<const BufferCheck> buffers, const char* overlap_text) {
  constexpr std::size_t kBuffersMax = 12;
  std::array<Extent, kBuffersMax> extents{};
  std::size_t count = 0;
  for (const BufferCheck& buffer : buffers) {
    if (buffer.pointer == 0 && !buffer.is_nullable)
      return {DRAFTPROOF_NULL_POINTER, buffer.null_text};
    if (!is_aligned(buffer.pointer, buffer.alignment))
      return {DRAFTPROOF_MISALIGNED, buffer.misaligned_text};
    extents[count++] = {buffer.pointer, buffer.bytes, buffer.is_written};
  }
  if (overlap(std::span(extents).first(count))) return {DRAFTPROOF_OVERLAP, overlap_text};
  return kGood;
}

/// Null when there are as many requests and nodes as there may be.
const char* odd_size(std::uint32_t request_count, std::uint32_t capacity,
                     const char* capacity_text) {
  if (request_count == 0 || request_count > 0x7fffffffu) return "request_count: give 1 to 2^31 - 1";
  return capacity == 0 || capacity > DRAFTPROOF_NODE_CAPACITY_MAX ? capacity_text : nullptr;
}

/// One warp for what one warp does in a few steps, else a thread a node.
std::uint32_t threads_for(std::uint32_t node_capacity) {
  if (node_capacity <= 64) return 32;
  return std::min(1024u, (node_capacity + 31) / 32 * 32);
}

}  // namespace

draftproof_result check(const draftproof_tree_layout_arguments& arguments) {
  const draftproof_tree_layout_arguments& a = arguments;
  if (const char* text =
          odd_size(a.request_count, a.node_capacity, "node_capacity: give 1 to 65,536"))
    return {DRAFTPROOF_OUT_OF_RANGE, text};
  if (a.equal_siblings_are_malformed > 1)
    return {DRAFTPROOF_OUT_OF_RANGE, "equal_siblings_are_malformed: give 0 or 1"};
  if (a.ancestor_masks != 0 && a.mask_words < mask_words_for(a.node_capacity))
    return {DRAFTPROOF_OUT_OF_RANGE,
            "mask_words: give at least node_capacity / 64, rounded up, or null ancestor_masks"};
  if (a.node_count_stride % 4 != 0)
    return {DRAFTPROOF_MISALIGNED, "node_count_stride: give a multiple of 4"};
  if (a.base_position_stride % 4 != 0)
    return {DRAFTPROOF_MISALIGNED, "base_position_stride: give a multiple of 4"};
  const std::uint64_t nodes = std::uint64_t{a.request_count} * a.node_capacity;  // < 2^47
  std::uint64_t masks = 0, counts = 0, bases = 0;
  if (!strided_bytes(nodes, a.mask_words, a.mask_words, 8, masks))
    return {DRAFTPROOF_TOO_LARGE, "mask_words: the masks do not fit in 2^63 bytes; give fewer"};
  if (!strided_bytes(a.request_count, a.node_count_stride, 4, 1, counts))
    return {DRAFTPROOF_TOO_LARGE, "node_count_stride: the counts do not fit in 2^63 bytes"};
  if (!strided_bytes(a.request_count, a.base_position_stride, 4, 1, bases))
    return {DRAFTPROOF_TOO_LARGE, "base_position_stride: the positions do not fit in 2^63 bytes"};
  const std::array buffers{
      BufferCheck{a.parents, nodes * 4, 4, false, false, "parents: give node_capacity a request",
                  "parents: align to 4 bytes"},
      BufferCheck{a.tokens, nodes * 4, 4, true, false, "", "tokens: align to 4 bytes"},
      BufferCheck{a.node_counts, counts, 4, false, false, "node_counts: give one a request",
                  "node_counts: align to 4 bytes"},
      BufferCheck{a.base_positions, bases, 4, true, false, "", "base_positions: align to 4 bytes"},
      BufferCheck{a.depths, nodes * 4, 4, true, true, "", "depths: align to 4 bytes"},
      BufferCheck{a.positions, nodes * 4, 4, true, true, "", "positions: align to 4 bytes"},
      BufferCheck{a.first_children, (nodes + a.request_count) * 4, 4, false, true,
                  "first_children: give node_capacity + 1 a request",
                  "first_children: align to 4 bytes"},
      BufferCheck{a.next_siblings, nodes * 4, 4, false, true,
                  "next_siblings: give node_capacity a request", "next_siblings: align to 4 bytes"},
      BufferCheck{a.ancestor_masks, masks, 8, true, true, "", "ancestor_masks: align to 8 bytes"},
      BufferCheck{a.records, std::uint64_t{a.request_count} * sizeof(draftproof_tree_record), 4,
                  false, true, "records: give one a request", "records: align to 4 bytes"}};
  return check_buffers(buffers, "a buffer that the layout writes overlaps another: separate them");
}

draftproof_result check(const draftproof_tree_selection_arguments& arguments) {
  const draftproof_tree_selection_arguments& a = arguments;
  if (const char* text =
          odd_size(a.request_count, a.candidate_capacity, "candidate_capacity: give 1 to 65,536"))
    return {DRAFTPROOF_OUT_OF_RANGE, text};
  if (a.keep_capacity == 0 || a.keep_capacity > a.candidate_capacity)
    return {DRAFTPROOF_OUT_OF_RANGE, "keep_capacity: give 1 to candidate_capacity"};
  if (a.reserved != 0) return {DRAFTPROOF_OUT_OF_RANGE, "reserved: give 0"};
  if (a.kept_tokens != 0 && a.tokens == 0)
    return {DRAFTPROOF_NULL_POINTER, "tokens: give them, or null kept_tokens"};
  if (a.candidate_count_stride % 4 != 0)
    return {DRAFTPROOF_MISALIGNED, "candidate_count_stride: give a multiple of 4"};
  if (a.keep_count_stride % 4 != 0)
    return {DRAFTPROOF_MISALIGNED, "keep_count_stride: give a multiple of 4"};
  std::uint64_t counts = 0, keeps = 0;
  if (!strided_bytes(a.request_count, a.candidate_count_stride, 4, 1, counts))
    return {DRAFTPROOF_TOO_LARGE, "candidate_count_stride: the counts do not fit in 2^63 bytes"};
  if (!strided_bytes(a.request_count, a.keep_count_stride, 4, 1, keeps))
    return {DRAFTPROOF_TOO_LARGE, "keep_count_stride: the counts do not fit in 2^63 bytes"};
  const std::uint64_t nodes = std::uint64_t{a.request_count} * a.candidate_capacity;
  const std::uint64_t kept = std::uint64_t{a.request_count} * a.keep_capacity;
  const std::array buffers{
      BufferCheck{a.parents, nodes * 4, 4, false, false,
                  "parents: give candidate_capacity a request", "parents: align to 4 bytes"},
      BufferCheck{a.tokens, nodes * 4, 4, true, false, "", "tokens: align to 4 bytes"},
      BufferCheck{a.scores, nodes * 4, 4, false, false, "scores: give candidate_capacity a request",
                  "scores: align to 4 bytes"},
      BufferCheck{a.candidate_counts, counts, 4, false, false,
                  "candidate_counts: give one a request", "candidate_counts: align to 4 bytes"},
      BufferCheck{a.keep_counts, keeps, 4, true, false, "", "keep_counts: align to 4 bytes"},
      BufferCheck{a.kept_candidates, kept * 4, 4, false, true,
                  "kept_candidates: give keep_capacity a request",
                  "kept_candidates: align to 4 bytes"},
      BufferCheck{a.kept_parents, kept * 4, 4, false, true,
                  "kept_parents: give keep_capacity a request", "kept_parents: align to 4 bytes"},
      BufferCheck{a.kept_tokens, kept * 4, 4, true, true, "", "kept_tokens: align to 4 bytes"},
      BufferCheck{a.records, std::uint64_t{a.request_count} * sizeof(draftproof_tree_record), 4,
                  false, true, "records: give one a request", "records: align to 4 bytes"}};
  return check_buffers(buffers,
                       "a buffer that the selection writes overlaps another: separate them");
}

KernelLaunch launch_of(const draftproof_tree_selection_arguments& arguments) {
  KernelLaunch launch;
  launch.module = "selection";
  launch.entry = "draftproof_tree_select";
  launch.grid.x = arguments.request_count;
  launch.block.x = threads_for(arguments.candidate_capacity);
  launch.add(arguments);
  return launch;
}

KernelLaunch launch_of(const draftproof_tree_layout_arguments& arguments) {
  KernelLaunch launch;
  launch.module = "layout";
  launch.entry = "draftproof_tree_layout";
  launch.grid.x = arguments.request_count;
  launch.block.x = threads_for(arguments.node_capacity);
  launch.add(arguments);
  return launch;
}

}  // namespace draftproof::gpu::launches
