// Chain verification over adjusted rows: chain.cu, with the requests' penalties, biases, bans and
// masks applied wherever it reads a target logit again: the drafted tokens' own, and all of the row
// that yields the drawn token (gpu/kernels/shaping/adjustments.cuh). The row at position i counts
// the i drafted tokens before it, or none where the request's rule freezes them. Determinism:
// gpu_to_gpu, for every block size (a multiple of 32 up to 512), order and schedule.
#include <cstdint>

#include "gpu/kernels/arguments/verify_adjusted.h"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/shaping/adjustments.cuh"
#include "gpu/kernels/verify/chain.cuh"

namespace draftproof::gpu::kernels::verify {

/// Logits as the request adjusts them.
struct AdjustedReading {
  using OneLogit = shaping::AdjustedRow;
  using WholeRow = shaping::FilteredLogits;

  const draftproof_adjustments& adjustments;
  const std::int32_t* draft_tokens;
  std::uint32_t request;
  std::uint64_t first_slot;
  std::uint32_t vocab_size;
  shaping::AdjustedRowScratch& scratch;

  __device__ __forceinline__ OneLogit one_logit(std::uint32_t position) const {
    return shaping::adjusted_row(adjustments, request, first_slot + position,
                                 shaping::path_to_row(draft_tokens, nullptr, position));
  }
  /// Called by the whole block.
  __device__ __forceinline__ WholeRow whole_row(std::uint32_t position) const {
    return shaping::prepare(one_logit(position), vocab_size, scratch);
  }
};

}  // namespace draftproof::gpu::kernels::verify

/// One entry for each storage format. One block a request.
#define DRAFTPROOF_VERIFY_ADJUSTED_CHAIN(name, Element)                              \
  extern "C" __global__ void __launch_bounds__(512, 1)                               \
      name(const __grid_constant__ draftproof_verify_adjusted_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                                        \
    __shared__ verify::ChainScratch scratch;                                         \
    __shared__ shaping::AdjustedRowScratch adjusted;                                 \
    const std::uint32_t request = blockIdx.x;                                        \
    const verify::Drafts drafts = verify::drafts_of(arguments.verify, request);      \
    const verify::Chain<Element, verify::AdjustedReading> chain{                     \
        verify::Rows<Element>(arguments.verify, request),                            \
        verify::coins_of(arguments.verify, request),                                 \
        drafts,                                                                      \
        {arguments.adjustments, drafts.tokens, request,                              \
         target_slot(request, 0, arguments.verify.padded_draft_count),               \
         arguments.verify.vocab_size, adjusted}};                                    \
    chain.run(verify::output_of(arguments.verify, request), scratch);                \
  }

DRAFTPROOF_VERIFY_ADJUSTED_CHAIN(draftproof_verify_adjusted_chain_f32, Float32)
DRAFTPROOF_VERIFY_ADJUSTED_CHAIN(draftproof_verify_adjusted_chain_bf16, Bfloat16)
DRAFTPROOF_VERIFY_ADJUSTED_CHAIN(draftproof_verify_adjusted_chain_f16, Float16)
