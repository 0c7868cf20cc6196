#include "gpu/launches/verify_adjusted.h"

#include <array>

#include "gpu/launches/adjustments.h"
#include "gpu/launches/row_launch.h"
#include "gpu/launches/verify.h"

namespace draftproof::gpu::launches {
namespace {

constexpr std::uint32_t kBlockThreadsMax = 512;

draftproof_result check_overlap(const draftproof_verify_adjusted_arguments& arguments,
                                const AdjustedBatch& batch) {
  const draftproof_verify_arguments& verify = arguments.verify;
  const std::uint64_t word_bytes = batch.target_slots * sizeof(std::int32_t);
  const std::array<Extent, 5> lists = extents_of(arguments.adjustments, batch);
  const std::array extents{
      Extent{verify.emitted_tokens, word_bytes, true},
      Extent{verify.emitted_reasons, word_bytes, true},
      Extent{verify.outcomes, verify.request_count * sizeof(draftproof_outcome), true},
      lists[0],
      lists[1],
      lists[2],
      lists[3],
      lists[4],
  };
  if (overlap(extents))
    return {DRAFTPROOF_OVERLAP, "adjustments: an array shares bytes with an output"};
  return kGood;
}

}  // namespace

draftproof_result check(const draftproof_verify_adjusted_arguments& arguments) {
  const draftproof_verify_arguments& verify = arguments.verify;
  const draftproof_result plain = check(*verify_rule("chain"), verify);
  if (plain.code != DRAFTPROOF_OK) return plain;
  if (verify.block_threads > kBlockThreadsMax)
    return {DRAFTPROOF_OUT_OF_RANGE,
            "verify.block_threads: give a multiple of 32 up to 512 with adjustments, or 0"};
  if (arguments.adjustments.requests == 0)
    return {DRAFTPROOF_NULL_POINTER,
            "adjustments.requests is null; without adjustments launch the plain rule"};
  const AdjustedBatch batch{verify.request_count, target_slots(verify), verify.vocab_size};
  const draftproof_result lists = check(arguments.adjustments, batch);
  return lists.code != DRAFTPROOF_OK ? lists : check_overlap(arguments, batch);
}

KernelLaunch launch_of(const draftproof_verify_adjusted_arguments& arguments) {
  static constexpr const char* kEntries[] =
      DRAFTPROOF_BY_FORMAT("draftproof_verify_adjusted_chain");
  const std::uint32_t chosen = suitable_block_threads(arguments.verify.vocab_size);
  KernelLaunch launch;
  launch.module = "chain_adjusted";
  launch.entry = kEntries[arguments.verify.format];
  launch.grid.x = arguments.verify.request_count;
  launch.block.x = arguments.verify.block_threads != 0 ? arguments.verify.block_threads : chosen;
  launch.add(arguments);
  return launch;
}

}  // namespace draftproof::gpu::launches
