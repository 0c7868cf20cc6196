// Fused acceptance, for the C interface.
#include "gpu/interface/call_definitions.h"
#include "gpu/launches/acceptance.h"

namespace interface = draftproof::gpu::interface;
namespace launches = draftproof::gpu::launches;

namespace {

/// Shared memory that an entry has of its own, at most (gpu/launches/acceptance.h).
constexpr std::uint32_t kOwnSharedBytes = 4096;

/// What suits rows of this length: a thread has some tokens to look at, and a block a warp a
/// scheduler at least.
std::uint32_t suitable_threads(std::uint32_t vocab_size) {
  if (vocab_size <= 1024) return 128;
  return vocab_size <= 8192 ? 512 : 1024;
}

/// What the device has for blocks with so many bytes of dynamic shared memory, which stage their
/// slices there; 0: for blocks that stream rows.
draftproof_result room_of(const draftproof_library& library,
                          const draftproof_acceptance_arguments& arguments,
                          std::uint32_t shared_bytes, launches::AcceptanceRoom& room) {
  draftproof_acceptance_arguments probe = arguments;
  probe.block_threads =
      arguments.block_threads != 0 ? arguments.block_threads : suitable_threads(probe.vocab_size);
  probe.block_count = 1;
  probe.shared_bytes = shared_bytes;
  std::uint32_t blocks = 0;
  const draftproof_result asked =
      library.executor->resident_blocks(launches::launch_of(probe), blocks);
  if (asked.code != DRAFTPROOF_OK) return asked;
  room.block_threads = probe.block_threads;
  room.block_capacity = blocks * library.executor->capabilities().multiprocessor_count;
  room.shared_bytes_max = shared_bytes;
  return launches::kGood;
}

}  // namespace

DRAFTPROOF_DEFINE_CALLS(draftproof_acceptance)

draftproof_result draftproof_acceptance_divide(const draftproof_library* library,
                                               draftproof_acceptance_arguments* arguments) {
  if (library == nullptr) return {DRAFTPROOF_NULL_POINTER, "library is null"};
  if (arguments == nullptr) return {DRAFTPROOF_NULL_POINTER, "arguments is null"};
  if (arguments->format > DRAFTPROOF_FLOAT16)
    return {DRAFTPROOF_OUT_OF_RANGE, "format must be one of enum draftproof_logit_format"};
  if (arguments->block_threads % 32 != 0 || arguments->block_threads > 1024)
    return {
        DRAFTPROOF_OUT_OF_RANGE,
        "block_threads must be a multiple of 32 up to 1024, or 0 for what suits the vocabulary"};
  const std::uint32_t most = library->executor->capabilities().shared_bytes_max;
  const std::uint32_t staged_bytes = most > kOwnSharedBytes ? most - kOwnSharedBytes : 0;
  // Staged where slices fit, else streamed by as many blocks as need no room for slices.
  draftproof_result result = launches::kGood;
  for (const std::uint32_t shared_bytes : {staged_bytes, 0u}) {
    launches::AcceptanceRoom room;
    result = room_of(*library, *arguments, shared_bytes, room);
    if (result.code != DRAFTPROOF_OK) return result;
    draftproof_acceptance_arguments divided = *arguments;
    result = launches::divide(divided, room);
    if (result.code != DRAFTPROOF_OK || (shared_bytes != 0 && divided.shared_bytes == 0)) continue;
    *arguments = divided;
    return result;
  }
  return result;
}

draftproof_result draftproof_acceptance_workspace(const draftproof_acceptance_arguments* arguments,
                                                  std::uint64_t* bytes) {
  if (arguments == nullptr) return {DRAFTPROOF_NULL_POINTER, "arguments is null"};
  if (bytes == nullptr) return {DRAFTPROOF_NULL_POINTER, "bytes is null"};
  if (arguments->block_count == 0)
    return {DRAFTPROOF_OUT_OF_RANGE,
            "block_count is 0; divide the work first: draftproof_acceptance_divide"};
  // Within these ranges nothing in the computation of the workspace wraps around.
  const bool is_in_range =
      arguments->request_capacity <= 0x7fffffffu && arguments->padded_draft_count <= 1u << 16;
  if (!is_in_range)
    return {DRAFTPROOF_OUT_OF_RANGE,
            "request_capacity must be below 2^31, padded_draft_count at most 65536"};
  *bytes = launches::acceptance_workspace(*arguments);
  return launches::kGood;
}
