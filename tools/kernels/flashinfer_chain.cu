// The chain sampling kernel of FlashInfer, instantiated from its own header and nothing else, so
// that PTX of a megabyte instead of eleven results. The launcher of the package picks the vector
// width gcd(4, V) and 1,024 threads on every GPU since Ampere: hence three instantiations. Beside
// them stands a probe of the random stream that the kernel draws from.
#include <flashinfer/sampling.cuh>

#define CHAIN(VECTOR_WIDTH)                                                                      \
  template __global__ void                                                                       \
  ChainSpeculativeSampling<1024, SCAN_ALGO, REDUCE_ALGO, VECTOR_WIDTH, true, float, int>(        \
      float*, int*, float*, int*, int*, int*, uint32_t, uint32_t, uint64_t*, uint64_t, uint64_t*, \
      uint64_t, uint32_t, uint32_t)

namespace flashinfer::sampling {
CHAIN(1);
CHAIN(2);
CHAIN(4);

// PTX does not say how much dynamic shared memory an entry needs; the card does, and fetch.sh hands
// the card's figure in.
static_assert(sizeof(SamplingTempStorage<1024, SCAN_ALGO, REDUCE_ALGO>) == DRAFTPROOF_DYNAMIC_SMEM,
              "dynamic_smem of fixtures/kernels/flashinfer_chain.toml is not the kernel's");
}  // namespace flashinfer::sampling

/// Writes `count` words and coins of one stream, so that a replay can be held against cuRAND's own
/// header as compiled. One thread.
extern "C" __global__ void draftproof_curand_stream(unsigned* words, float* coins,
                                                    unsigned long long seed,
                                                    unsigned long long subsequence,
                                                    unsigned long long offset, unsigned count) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, subsequence, offset, &state);
  curandStatePhilox4_32_10_t twin = state;
  for (unsigned index = 0; index < count; ++index) {
    words[index] = curand(&state);
    coins[index] = curand_uniform(&twin);
  }
}
