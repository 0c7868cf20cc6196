// The tree kernels of SGLang, instantiated from its own headers as its launchers do: the vector
// width is gcd(4, V) and a block has 1,024 threads; ids are 32 bits in results and 64 in trees.
#include <sgl_kernel/speculative/eagle.cuh>
#include <sgl_kernel/speculative/ngram.cuh>
#include <sgl_kernel/speculative/sampling.cuh>

#define TREE(VECTOR_WIDTH, DETERMINISTIC)                                                   \
  template __global__ void TreeSpeculativeSamplingTargetOnly<                               \
      1024, SCAN_ALGO, REDUCE_ALGO, VECTOR_WIDTH, DETERMINISTIC, float, int32_t, int64_t>(  \
      int32_t*, int32_t*, int32_t*, int64_t*, int64_t*, int64_t*, int64_t*, float*, float*, \
      float*, float*, uint32_t, uint32_t, uint32_t, uint32_t, float, float)

namespace sglang::speculative_sampling {
TREE(1, true);
TREE(2, true);
TREE(4, true);
TREE(1, false);
TREE(2, false);
TREE(4, false);

// PTX does not say how much dynamic shared memory an entry needs; the tests launch with this.
static_assert(sizeof(SamplingTempStorage<1024, SCAN_ALGO, REDUCE_ALGO>) == 2080,
              "the dynamic shared memory that the tests launch with is not the kernel's");
}  // namespace sglang::speculative_sampling

namespace sglang::speculative {
template __global__ void VerifyTreeGreedy<int32_t, int64_t>(int32_t*, int32_t*, int32_t*, int64_t*,
                                                            int64_t*, int64_t*, int64_t*, int64_t*,
                                                            uint32_t, uint32_t, uint32_t);
}  // namespace sglang::speculative
