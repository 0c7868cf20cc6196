// Goal: the target forward has the same bits on a GPU as on the emulated device, and with the real
// cuBLAS values inside the certified error at both batch shapes. Method: one sequence, decoded and
// verified at once.
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tests/differential/forward_history.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::tests {
namespace {

using Logits = std::vector<std::vector<float>>;

class TargetForwardOnGpu : public GpuTest {
 protected:
  /// Logits of the tokens, so many rows a step.
  Logits logits_of(gpu::Device& device, std::size_t rows_at_once, const gpu::Cublas* cublas) {
    gpu::KernelModules modules(device, gpu::embedded_texts());
    gpu::TargetForwardOptions options;
    options.cublas = cublas;
    gpu::TargetForward forward(modules, weights_, options);
    gpu::PagedWindow window(4, {{0, 9, 3, 12, 5, 8, 2, 7}});
    Logits logits;
    for (std::size_t i = 0; i < tokens_.size(); i += rows_at_once) {
      gpu::ForwardStep step = window.step();
      window.feed(step, 0, std::span(tokens_).subspan(i, rows_at_once));
      const gpu::ForwardResult result = forward.step(step);
      for (const auto& each : result.observations) ADD_FAILURE() << each.check << each.message;
      logits.insert(logits.end(), result.logits.begin(), result.logits.end());
      window.commit(0, static_cast<int>(rows_at_once));
    }
    return logits;
  }

  reference::model::ToyLlamaWeights weights_ =
      reference::model::make_toy_llama_weights(forward_config(), 31);
  std::vector<Token> tokens_{4, 40, 90, 12, 13, 14, 0, 96};
};

TEST_F(TargetForwardOnGpu, HasTheBitsOfTheEmulatedDeviceAtEveryBatchShape) {
  const auto emulated = gpu::make_emulated_device();
  const Logits expected = logits_of(*emulated, 1, nullptr);
  for (const std::size_t rows_at_once : {std::size_t{1}, std::size_t{4}, tokens_.size()})
    EXPECT_EQ(logits_of(*device_, rows_at_once, nullptr), expected) << rows_at_once;
}

TEST_F(TargetForwardOnGpu, StaysInsideTheCertifiedErrorWithCublas) {
  if (is_stand_in()) GTEST_SKIP() << "cuBLAS needs a GPU; its stand-in has a test of its own";
  std::optional<gpu::CublasLibrary> library;
  try {
    library = gpu::open_cublas();
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const gpu::Cublas cublas(*library);
  RecordProperty("cublas_version", cublas.version());
  const Logits decoded = logits_of(*device_, 1, &cublas);
  const Logits verified = logits_of(*device_, tokens_.size(), &cublas);
  RecordProperty("same_bits_at_both_shapes", decoded == verified ? 1 : 0);
  expect_explained(reference::model::ToyLlama(weights_).forward_sequence(tokens_), decoded,
                   verified);
}

}  // namespace
}  // namespace draftproof::tests
