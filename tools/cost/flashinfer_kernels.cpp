// The launchers of FlashInfer 0.7.4 (flashinfer/sampling.cuh: OnlineSoftmax, TopPRenormProb;
// flashinfer/topk.cuh: RadixTopKRenormProbMultiCTA), for an H100 or H200.
#include "tools/cost/flashinfer_kernels.h"

#include <algorithm>

namespace draftproof::tools::cost {

namespace {

using gpu::Argument;

constexpr std::uint32_t kThreads = 1024;
constexpr std::size_t kVectorWidth = 4;
constexpr std::size_t kSliceTokens = 8192;
constexpr std::size_t kSlicedVocabularyMin = 24576;
constexpr std::size_t kSlicedRowsMax = 128;
/// sizeof of what the kernels keep in dynamic shared memory; flashinfer_pipeline.cu holds them.
constexpr std::uint32_t kSoftmaxSharedBytes = 304;
constexpr std::uint32_t kRenormSharedBytes = 324;
constexpr std::size_t kRadixFixedBytes = 2080;
constexpr std::size_t kRowStateBytes = 3104;
/// Of an H100 or H200.
constexpr std::size_t kSharedBytesOfH200 = 232448;
constexpr std::size_t kMultiprocessors = 132;

Argument number(std::size_t value) { return Argument(static_cast<std::uint32_t>(value)); }

std::size_t divided_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }

gpu::LaunchOptions sliced_launch(std::size_t x, std::size_t y, std::size_t shared_bytes) {
  gpu::LaunchOptions options;
  options.grid = {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 1};
  options.block.x = kThreads;
  options.dynamic_shared_bytes = static_cast<std::uint32_t>(shared_bytes);
  return options;
}

void softmax(PeerKernels& kernels, const Shape& shape, std::size_t rows, const Argument& logits,
             const Argument& output) {
  const std::size_t slices = divided_up(shape.vocab_size, kSliceTokens);
  const Argument no_array(std::uint64_t{0});
  const Argument temperature(shape.has_filters ? static_cast<float>(kTemperature) : 1.0f);
  const Argument length = number(shape.vocab_size);
  kernels.launch("pipeline", "OnlineSoftmaxMapKernel",
                 sliced_launch(rows, slices, kSoftmaxSharedBytes),
                 {logits, output, no_array, temperature, length, number(slices)});
  kernels.launch("pipeline", "OnlineSoftmaxReduceKernel",
                 sliced_launch(rows, 1, kSoftmaxSharedBytes),
                 {logits, output, output, no_array, temperature, length, number(slices)});
}

void renormalise_top_k(PeerKernels& kernels, const Shape& shape, std::size_t rows,
                       const Argument& from, const Argument& to) {
  const std::size_t capacity =
      (kSharedBytesOfH200 - kRadixFixedBytes) / sizeof(float) / kVectorWidth * kVectorWidth;
  const std::size_t blocks_a_row = divided_up(shape.vocab_size, capacity);
  const std::size_t chunk =
      divided_up(divided_up(shape.vocab_size, blocks_a_row), kVectorWidth) * kVectorWidth;
  const std::size_t groups =
      std::max<std::size_t>(1, std::min(kMultiprocessors / blocks_a_row, rows));
  const std::vector<std::uint8_t> states(kRowStateBytes * groups, 0);
  // Template arguments: threads, vector width, one block a row, deterministic.
  kernels.launch(
      "pipeline", blocks_a_row == 1 ? "Lj1024ELj4ELb1ELb0E" : "Lj1024ELj4ELb0ELb0E",
      sliced_launch(groups * blocks_a_row, 1, kRadixFixedBytes + chunk * sizeof(float)),
      {from, to, Argument(std::uint64_t{0}), number(kTopK), number(shape.vocab_size), number(rows),
       kernels.in("row_states", states), number(chunk), number(blocks_a_row)});
}

void renormalise_top_p(PeerKernels& kernels, const Shape& shape, std::size_t rows,
                       const Argument& from, const Argument& to) {
  kernels.launch("pipeline", "TopPRenormProbKernel", sliced_launch(rows, 1, kRenormSharedBytes),
                 {from, to, Argument(std::uint64_t{0}), Argument(static_cast<float>(kTopP)),
                  number(shape.vocab_size)});
}

}  // namespace

std::string flashinfer_refusal(const Shape& shape) {
  if (shape.format != reference::LogitFormat::kFloat32) return "takes rows of fp32";
  if (shape.vocab_size % kVectorWidth != 0) return "built for rows of a multiple of 4 tokens";
  if (shape.vocab_size < kSlicedVocabularyMin) return "built for 24,576 tokens and more";
  if (shape.requests * (shape.draft_length + 1) > kSlicedRowsMax) return "built for up to 128 rows";
  return shape.draft_length == 0 ? "needs a drafted token" : "";
}

std::string probabilities(PeerKernels& kernels, const Shape& shape, std::size_t rows,
                          const Argument& logits) {
  const std::size_t count = rows * shape.vocab_size;
  softmax(kernels, shape, rows, logits, kernels.out<float>("probabilities", count));
  if (!shape.has_filters) return "probabilities";
  renormalise_top_k(kernels, shape, rows, kernels.out<float>("probabilities", count),
                    kernels.out<float>("after_top_k", count));
  renormalise_top_p(kernels, shape, rows, kernels.out<float>("after_top_k", count),
                    kernels.out<float>("after_top_p", count));
  return "after_top_p";
}

}  // namespace draftproof::tools::cost
