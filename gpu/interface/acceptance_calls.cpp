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

/// How many blocks of either kind, rows staged or streamed, are resident at once.
draftproof_result room_of(const draftproof_library& library,
                          const draftproof_acceptance_arguments& arguments,
                          launches::AcceptanceRoom& room) {
  const draftproof_capabilities capabilities = library.executor->capabilities();
  draftproof_acceptance_arguments probe = arguments;
  probe.block_threads =
      arguments.block_threads != 0 ? arguments.block_threads : suitable_threads(probe.vocab_size);
  probe.block_count = 1;
  room.block_threads = probe.block_threads;
  room.shared_bytes_max = capabilities.shared_bytes_max > kOwnSharedBytes
                              ? capabilities.shared_bytes_max - kOwnSharedBytes
                              : 0;
  std::uint32_t blocks = ~0u;
  for (const std::uint32_t shared_bytes : {0u, room.shared_bytes_max}) {
    probe.shared_bytes = shared_bytes;
    std::uint32_t count = 0;
    const draftproof_result asked =
        library.executor->resident_blocks(launches::launch_of(probe), count);
    if (asked.code != DRAFTPROOF_OK) return asked;
    blocks = count < blocks ? count : blocks;
  }
  room.block_capacity = blocks * capabilities.multiprocessor_count;
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
  launches::AcceptanceRoom room;
  const draftproof_result asked = room_of(*library, *arguments, room);
  return asked.code == DRAFTPROOF_OK ? launches::divide(*arguments, room) : asked;
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
