// The kernels of FlashInfer that stand before its chain kernel when logits come in: softmax, and
// the renormalisations after top-k and top-p; instantiated from its own headers as its launchers do
// for rows of fp32 whose length is a multiple of 4, with 1,024 threads. The softmax is that for up
// to 128 rows of 24,576 tokens and more.
#include <flashinfer/math.cuh>
#include <flashinfer/sampling.cuh>
#include <flashinfer/topk.cuh>

namespace flashinfer::sampling {
template __global__ void OnlineSoftmaxMapKernel<1024, 4, float>(float*, float*, float*, float,
                                                                uint32_t, uint32_t);
template __global__ void OnlineSoftmaxReduceKernel<1024, 4, float>(float*, float*, float*, float*,
                                                                   float, uint32_t, uint32_t);
template __global__ void TopPRenormProbKernel<1024, REDUCE_ALGO, 4, float>(float*, float*, float*,
                                                                           float, uint32_t);

template __global__ void RadixTopKRenormProbKernel_MultiCTA<1024, 4, true, false, float, int>(
    float*, float*, int*, uint32_t, uint32_t, uint32_t, RadixRowState*, uint32_t, uint32_t);
template __global__ void RadixTopKRenormProbKernel_MultiCTA<1024, 4, false, false, float, int>(
    float*, float*, int*, uint32_t, uint32_t, uint32_t, RadixRowState*, uint32_t, uint32_t);

// PTX does not say how much dynamic shared memory an entry needs; tools/cost launches with these.
static_assert(sizeof(OnlineSoftmaxTempStorage<1024>) == 304);
static_assert(sizeof(RenormTempStorage<1024, REDUCE_ALGO>) == 324);
static_assert(sizeof(RadixRowState) == 3104);
}  // namespace flashinfer::sampling
