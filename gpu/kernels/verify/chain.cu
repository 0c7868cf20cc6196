// Chain verification on the device: Leviathan, Kalman, Matias (ICML 2023), algorithm 1, on integer
// masses (the order of judging is the one that reference/verify/chain.h declares). One block a
// request, after a shape_rows launch; masses are recomputed from the logits and the rows' records.
//
//   accept     scaled(coin, D_x sum T) < T_x sum D          strict; T target masses, D draft masses
//   recovered  first v with scaled(coin, sum R) < R_0 + ... + R_v; bonus: the same on T
//              where R_v = max(0, T_v sum D - D_v sum T)
//
// Only the row that yields the drawn token is read in full. Determinism: gpu_to_gpu, bit for bit,
// for every block size (a multiple of 32 up to 1,024), order and schedule: all sums are integers.
#include <cstdint>

#include "gpu/kernels/arguments/verify.h"
#include "gpu/kernels/row.cuh"
#include "gpu/kernels/verify/chain.cuh"

/// One entry for each storage format. One block a request, a multiple of 32 threads up to 1,024.
#define DRAFTPROOF_VERIFY_CHAIN(name, Element)                              \
  extern "C" __global__ void __launch_bounds__(1024, 1)                     \
      name(const __grid_constant__ draftproof_verify_arguments arguments) { \
    using namespace draftproof::gpu::kernels;                               \
    __shared__ verify::ChainScratch scratch;                                \
    const std::uint32_t request = blockIdx.x;                               \
    const verify::Chain<Element, verify::RawReading> chain{                 \
        verify::Rows<Element>(arguments, request),                          \
        verify::coins_of(arguments, request),                               \
        verify::drafts_of(arguments, request),                              \
        {}};                                                                \
    chain.run(verify::output_of(arguments, request), scratch);              \
  }

DRAFTPROOF_VERIFY_CHAIN(draftproof_verify_chain_f32, Float32)
DRAFTPROOF_VERIFY_CHAIN(draftproof_verify_chain_bf16, Bfloat16)
DRAFTPROOF_VERIFY_CHAIN(draftproof_verify_chain_f16, Float16)
