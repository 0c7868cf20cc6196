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

draftproof_result check_sizes(std::uint32_t request_count, std::uint32_t node_capacity) {
  if (request_count == 0 || request_count > 0x7fffffffu)
    return {DRAFTPROOF_OUT_OF_RANGE, "request_count: give 1 to 2^31 - 1"};
  if (node_capacity == 0 || node_capacity > DRAFTPROOF_NODE_CAPACITY_MAX)
    return {DRAFTPROOF_OUT_OF_RANGE, "node_capacity: give 1 to 65,536"};
  return kGood;
}

/// One warp for what one warp does in a few steps, else a thread a node.
std::uint32_t threads_for(std::uint32_t node_capacity) {
  if (node_capacity <= 64) return 32;
  return std::min(1024u, (node_capacity + 31) / 32 * 32);
}

}  // namespace

draftproof_result check(const draftproof_tree_layout_arguments& arguments) {
  const draftproof_tree_layout_arguments& a = arguments;
  const draftproof_result sizes = check_sizes(a.request_count, a.node_capacity);
  if (sizes.code != DRAFTPROOF_OK) return sizes;
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
