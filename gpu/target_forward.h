// TargetForward: the forward pass of a target model on a device, for verification: rows of decoding
// and of verification at once, over a paged K/V window on the device, so that whatever a commit, a
// slot, a position or a mask gets wrong changes logits.
//
// Every stage runs in our kernels (gpu/kernels/model), bit for bit the same at M = 1 and at
// M = draft length + 1; or the projections and lm_head run in cuBLAS, as engines have it, which
// promises no such thing: then parity is judged by the certified error of the float64 model
// (reference/model), with which this shares the weights and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu/cublas.h"
#include "gpu/kernel_modules.h"
#include "gpu/kernels/arguments/kv.h"
#include "gpu/launches/model.h"
#include "gpu/paged_window.h"
#include "reference/model/toy_llama_weights.h"

namespace draftproof::gpu {

/// What device buffers have room for.
struct TargetForwardOptions {
  std::uint32_t row_max = 16;
  std::uint32_t position_count = 64;
  std::uint32_t sequence_count = 1;
  std::uint32_t page_max = 8;  ///< entries of a table
  std::uint32_t page_size = 4;
  std::uint32_t page_count = 16;
  std::uint32_t mask_words = 1;
  std::uint32_t block_threads = launches::kModelBlockThreads;
  const Cublas* cublas = nullptr;  ///< multiplies; null: our kernel does. Must outlive the forward
};

struct ForwardResult {
  std::vector<std::vector<float>> logits;  ///< by row
  std::vector<reference::Observation> observations;
  reference::RunCounts counts;
};

/// What the commit kernel answered, by sequence.
struct CommitResult {
  std::vector<std::int32_t> lengths;
  std::vector<std::uint32_t> statuses;  ///< enum draftproof_kv_status
  std::vector<reference::Observation> observations;
};

class TargetForward {
 public:
  /// `modules` must outlive this. With cuBLAS, weights are widened to fp32 on the device.
  TargetForward(KernelModules& modules, const reference::model::ToyLlamaWeights& weights,
                const TargetForwardOptions& options);

  /// Computes the rows of a step and writes their cells. A fault of a kernel is an observation.
  /// Throws Error(kInput) for sizes that no launch takes, as commit() does. Precondition: at most
  /// row_max rows, tables and lengths of all sequences, masks of at most mask_words.
  ForwardResult step(const ForwardStep& step, const LaunchManner& manner = {});

  /// Moves the cells that each sequence keeps of `step` together behind its length, in all layers,
  /// by the commit kernel (gpu/kernels/kv): `kept[s]` are offsets behind the length of sequence s.
  /// Precondition: `step` is the last one that was computed.
  CommitResult commit(const ForwardStep& step, std::span<const std::vector<int>> kept,
                      const LaunchManner& manner = {});

 private:
  struct Layer {
    Buffer attention_norm, qkv, output, mlp_norm, gate_up, down;
    DevicePointer keys, values;
  };

  Buffer uploaded(std::span<const float> values, const char* label);
  Buffer uploaded_matrix(std::span<const float> values, const char* label);
  Buffer room(std::size_t floats, const char* label);
  void upload(const ForwardStep& step);
  void upload_kept(const ForwardStep& step, std::span<const std::vector<int>> kept);
  std::size_t pool_floats() const;
  draftproof_kv_plane plane_of(const Buffer& pools) const;
  template <class Arguments>
  void launch(const Arguments& arguments);
  void multiply(const Buffer& input, std::uint32_t input_width, const Buffer& weight,
                const Buffer& output, std::uint32_t output_width);
  void normalise(const Buffer& input, const Buffer& weight, const Buffer& output);
  void add(const Buffer& addend);
  void attend(const Layer& layer);
  void run_layer(const Layer& layer);

  KernelModules& modules_;
  reference::model::ToyLlamaConfig config_;
  TargetForwardOptions options_;
  bool stores_bfloat16_;
  Buffer embedding_, final_norm_, lm_head_, cosines_, sines_;
  Buffer keys_, values_;  ///< the pools of all layers, one behind the other
  std::vector<Layer> layers_;
  // Of a step: what it is, and its activations.
  Buffer row_count_, tokens_, positions_, slots_, sequences_, masks_, tables_, lengths_;
  Buffer fed_counts_, kept_counts_, kept_nodes_, kept_lengths_, statuses_;
  Buffer hidden_, normed_, qkv_, mixed_, projected_, gate_up_, gated_, logits_;
  std::uint32_t rows_ = 0;
  LaunchManner manner_;
  ForwardResult result_;
};

}  // namespace draftproof::gpu
