// Other people's pipelines, launched as their own launchers do: FlashInfer 0.7.4, SGLang 0.5.23 and
// vLLM 0.32.0 (tools/kernels/*.requirements).
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "tools/cost/flashinfer_kernels.h"
#include "tools/cost/peer_kernels.h"
#include "tools/cost/pipeline.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::cost {

namespace {

using gpu::Argument;

constexpr std::uint32_t kPeerThreads = 1024;

Argument word(std::size_t value) { return Argument(static_cast<std::uint32_t>(value)); }

gpu::LaunchOptions launch_of(std::size_t blocks, std::uint32_t threads,
                             std::uint32_t shared_bytes) {
  gpu::LaunchOptions options;
  options.grid.x = static_cast<std::uint32_t>(blocks);
  options.block.x = threads;
  options.dynamic_shared_bytes = shared_bytes;
  return options;
}

std::vector<std::size_t> sizes(const std::vector<std::int32_t>& counts) {
  return {counts.begin(), counts.end()};
}

std::vector<std::int32_t> draft_tokens(const Input& input) {
  std::vector<std::int32_t> tokens;
  for (const reference::Request& request : input.batch.requests)
    tokens.insert(tokens.end(), request.proposal.tokens.begin(), request.proposal.tokens.end());
  return tokens;
}

PipelineRun run_flashinfer(RecordingDevice& device, const Input& input,
                           const std::filesystem::path& folder) {
  const Shape& shape = input.shape;
  auto kernels = std::make_shared<PeerKernels>(device, folder / "flashinfer");
  const std::string target =
      probabilities(*kernels, shape, shape.requests * (shape.draft_length + 1),
                    kernels->in("logits", joined_target_rows(input.batch)));
  const std::vector<std::int32_t> zeros(shape.requests, 0);
  const Argument none(std::uint64_t{0});
  kernels->launch(
      "chain", "ELj4ELb1Efi", launch_of(shape.requests, kPeerThreads, kSamplingSharedBytes),
      {kernels->in("draft_probabilities", joined_draft_rows(input.batch)),
       kernels->in("draft_tokens", draft_tokens(input)), Argument(kernels->pointer(target)),
       kernels->out<std::int32_t>("tokens", shape.requests * (shape.draft_length + 1)),
       kernels->in("accepts", zeros), kernels->in("emits", zeros), word(shape.draft_length),
       word(shape.vocab_size), none, Argument(std::uint64_t{7}), none, Argument(std::uint64_t{0}),
       word(0), word(0)});
  PipelineRun run;
  run.accepted = sizes(kernels->read<std::int32_t>("emits"));
  run.kept = kernels;
  return run;
}

/// A chain as a tree: node 0 is the root, each node has one child.
struct ChainTree {
  std::vector<std::int64_t> tokens, numbers, children, siblings;

  explicit ChainTree(const Input& input) {
    const std::size_t nodes = input.shape.draft_length + 1;
    for (const reference::Request& request : input.batch.requests) {
      for (std::size_t node = 0; node < nodes; ++node) {
        tokens.push_back(node == 0 ? 0 : request.proposal.tokens[node - 1]);
        children.push_back(node + 1 < nodes ? static_cast<std::int64_t>(node + 1) : -1);
        siblings.push_back(-1);
      }
    }
    numbers.resize(tokens.size());
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  }
};

PipelineRun run_sglang(RecordingDevice& device, const Input& input,
                       const std::filesystem::path& folder) {
  const Shape& shape = input.shape;
  const std::size_t nodes = shape.draft_length + 1;
  const std::size_t all = shape.requests * nodes;
  auto shared = std::make_shared<PeerKernels>(device, folder / "flashinfer");
  auto kernels = std::make_shared<PeerKernels>(device, folder / "sglang");
  const std::string target =
      probabilities(*shared, shape, all, shared->in("logits", joined_target_rows(input.batch)));
  const ChainTree tree(input);
  kernels->launch(
      "tree", "ELj4ELb1Efil", launch_of(shape.requests, kPeerThreads, kSamplingSharedBytes),
      {kernels->out<std::int32_t>("predicts", all), kernels->out<std::int32_t>("accept_index", all),
       kernels->out<std::int32_t>("accept_count", shape.requests),
       kernels->in("tokens", tree.tokens), kernels->in("numbers", tree.numbers),
       kernels->in("children", tree.children), kernels->in("siblings", tree.siblings),
       // Accepted whatever the target's mass is, as long as there is some.
       kernels->in("coins", std::vector<float>(all, 0.0f)),
       kernels->in("final_coins", std::vector<float>(shape.requests, 0.5f)),
       Argument(shared->pointer(target)),
       kernels->in("draft_probabilities", std::vector<float>(all * shape.vocab_size, 0.0f)),
       word(shape.requests), word(nodes), word(nodes), word(shape.vocab_size), Argument(1.0f),
       Argument(1.0f)});
  PipelineRun run;
  run.accepted = sizes(kernels->read<std::int32_t>("accept_count"));
  run.kept =
      std::make_shared<std::pair<std::shared_ptr<PeerKernels>, std::shared_ptr<PeerKernels>>>(
          shared, kernels);
  return run;
}

/// vLLM's kernels take their arguments by name: what Triton wrote beside the PTX has the order.
class VllmKernels {
 public:
  VllmKernels(RecordingDevice& device, const std::filesystem::path& folder)
      : folder_(folder), kernels_(device, folder) {}

  PeerKernels& buffers() { return kernels_; }
  void set(const std::string& name, const Argument& value) {
    arguments_.insert_or_assign(name, value);
  }
  void set(const std::string& name, std::size_t value) { set(name, word(value)); }
  template <class T>
  void in(const std::string& name, const std::vector<T>& values) {
    set(name, kernels_.in(name, values));
  }
  /// A table with a row of `stride` cells for each of `rows`.
  template <class T>
  void table(const std::string& name, std::size_t rows, std::size_t stride) {
    set(name + "_ptr", kernels_.out<T>(name + "_ptr", rows * stride));
    set(name + "_stride", stride);
  }
  void launch(const std::string& file, gpu::Dim3 grid) {
    const auto described = nlohmann::json::parse(store::read_file(folder_ / (file + ".json")));
    gpu::LaunchOptions options;
    options.grid = grid;
    options.block.x = 32 * described.at("num_warps").get<std::uint32_t>();
    options.dynamic_shared_bytes = described.at("shared").get<std::uint32_t>();
    std::vector<Argument> arguments;
    for (const auto& parameter : described.at("parameters"))
      arguments.push_back(arguments_.at(parameter.at("name").get<std::string>()));
    kernels_.launch(file, described.at("entry").get<std::string>(), options, std::move(arguments));
  }

 private:
  std::filesystem::path folder_;
  PeerKernels kernels_;
  std::map<std::string, Argument> arguments_;
};

void put_rows(VllmKernels& kernels, const Input& input) {
  const Shape& shape = input.shape;
  std::vector<float> draft = joined_draft_rows(input.batch);
  for (float& value : draft) value = std::log(value);
  std::vector<std::int32_t> proposed, ends{0}, request_of, place_of, requests;
  for (const reference::Request& request : input.batch.requests) {
    const auto index = static_cast<std::int32_t>(requests.size());
    requests.push_back(index);
    for (std::size_t row = 0; row <= shape.draft_length; ++row) {
      proposed.push_back(row == 0 ? 0 : request.proposal.tokens[row - 1]);
      request_of.push_back(index);
      place_of.push_back(static_cast<std::int32_t>(row));
    }
    ends.push_back(static_cast<std::int32_t>(proposed.size()));
  }
  std::vector<std::int64_t> places(proposed.size());
  std::iota(places.begin(), places.end(), std::int64_t{5});
  kernels.in("target_logits_ptr", joined_target_rows(input.batch));
  kernels.in("draft_logits_ptr", draft);
  kernels.in("draft_sampled_ptr", proposed);
  kernels.in("cu_num_logits_ptr", ends);
  kernels.in("idx_mapping_ptr", requests);
  kernels.in("expanded_idx_mapping_ptr", request_of);
  kernels.in("expanded_local_pos_ptr", place_of);
  kernels.in("temp_ptr", std::vector<float>(shape.requests, 1.0f));
  kernels.in("seed_ptr", std::vector<std::int64_t>(shape.requests, 11));
  kernels.in("pos_ptr", places);
}

PipelineRun run_vllm(RecordingDevice& device, const Input& input,
                     const std::filesystem::path& folder) {
  const Shape& shape = input.shape;
  const std::size_t rows = shape.requests * (shape.draft_length + 1);
  const std::size_t blocks = (shape.vocab_size + 8191) / 8192;
  const std::size_t tiles = (shape.vocab_size + 1023) / 1024;
  auto kernels = std::make_shared<VllmKernels>(device, folder / "vllm");
  put_rows(*kernels, input);
  kernels->set("target_logits_stride", shape.vocab_size);
  kernels->set("draft_logits_stride_0", shape.draft_length * shape.vocab_size);
  kernels->set("draft_logits_stride_1", shape.vocab_size);
  kernels->set("vocab_size", shape.vocab_size);
  kernels->set("num_speculative_steps", shape.draft_length);
  kernels->set("vocab_num_blocks", blocks);
  kernels->set("resample_num_blocks", tiles);
  kernels->table<std::int64_t>("sampled", shape.requests, shape.draft_length + 1);
  const Argument counts = kernels->buffers().out<std::int32_t>("num_sampled_ptr", shape.requests);
  for (const char* name : {"num_sampled_ptr", "rejected_steps_ptr", "rejected_step_ptr"})
    kernels->set(name, counts);
  for (const std::string name : {"target_rejected_logsumexp_ptr", "draft_rejected_logsumexp_ptr"})
    kernels->set(name, kernels->buffers().out<float>(name, shape.requests));
  kernels->table<std::int64_t>("target_local_argmax", rows, blocks);
  for (const std::string name : {"target_local_max", "target_local_sumexp", "draft_local_max",
                                 "draft_local_sumexp", "local_residual_mass"})
    kernels->table<float>(name, rows, blocks);
  kernels->table<std::int64_t>("resampled_local_argmax", shape.requests, tiles);
  kernels->table<float>("resampled_local_max", shape.requests, tiles);
  for (const char* name : {"contexts_stride", "watermark_key_0", "watermark_key_1"})
    kernels->set(name, std::size_t{0});
  const auto requests = static_cast<std::uint32_t>(shape.requests);
  kernels->launch("v2_stats",
                  {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(blocks), 1});
  kernels->launch("v2_rejection", {requests, 1, 1});
  kernels->launch("v2_resample", {requests, static_cast<std::uint32_t>(tiles), 1});
  kernels->launch("v2_insert", {requests, 1, 1});
  PipelineRun run;
  // The resampled token is among those counted.
  for (const std::int32_t count : kernels->buffers().read<std::int32_t>("num_sampled_ptr"))
    run.accepted.push_back(static_cast<std::size_t>(count) - 1);
  run.kept = kernels;
  return run;
}

std::string vllm_refusal(const Shape& shape) {
  if (shape.format != reference::LogitFormat::kFloat32) return "fetched for rows of fp32";
  if (shape.has_filters) return "top-k and top-p are kernels of their own, which are not fetched";
  if (shape.vocab_size > 16 * 8192) return "built for up to 131,072 tokens";
  return shape.draft_length == 0 ? "needs a drafted token" : "";
}

}  // namespace

std::vector<Pipeline> peer_pipelines(const std::filesystem::path& third_party) {
  const auto bound = [&](auto run) {
    return [=](RecordingDevice& device, const Input& input) {
      return run(device, input, third_party);
    };
  };
  return {{"flashinfer.chain",
           "softmax, top-k and top-p where asked for, chain; drafts as probabilities", "flashinfer",
           flashinfer_refusal, bound(run_flashinfer)},
          {"sglang.tree",
           "softmax (FlashInfer's stands in for torch's), top-k and top-p, tree of one branch; the "
           "zeroed draft rows are not counted",
           "sglang", flashinfer_refusal, bound(run_sglang)},
          {"vllm.v2", "statistics of rows, rejection, resampling, insertion; drafts as logits",
           "vllm", vllm_refusal, bound(run_vllm)}};
}

}  // namespace draftproof::tools::cost
