// What the kernels cost on a GPU: one shape_rows launch and one verify_chain launch, batch after
// batch, with the rows already on the device. A launch is timed from the call to its end as the
// host sees it, so that the figures include some microseconds of launch and synchronisation. Bytes
// are the logits that a launch must read at least once. Run by tools/gpu_check.sh; skips without a
// GPU.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "gpu/cuda_device.h"
#include "gpu/kernels/arguments/verify.h"
#include "gpu/packed_batch.h"
#include "gpu/verifiers.h"
#include "reference/error.h"

namespace draftproof::tools {
namespace {

using gpu::Argument;
using gpu::Buffer;

reference::Batch random_batch(std::size_t vocab_size, int requests, int drafts, bool has_filters) {
  reference::Batch batch;
  batch.vocab_size = vocab_size;
  batch.preset = reference::preset("default");
  batch.format = reference::LogitFormat::kBfloat16;
  std::mt19937_64 engine(5);
  const auto row = [&] {
    reference::Row values(vocab_size);
    for (float& value : values)
      value = reference::rounded_to(batch.format,
                                    static_cast<float>(engine() >> 40) * 0x1p-24f * 16 - 8);
    return values;
  };
  for (int r = 0; r < requests; ++r) {
    reference::Request request;
    request.id = static_cast<std::uint32_t>(r);
    if (has_filters) request.sampling = {0.8, 50, 0.95, 0};
    for (int i = 0; i <= drafts; ++i) request.target_rows.push_back(row());
    for (int i = 0; i < drafts; ++i) {
      request.proposal.rows.push_back(request.target_rows[static_cast<std::size_t>(i)]);
      request.proposal.tokens.push_back(static_cast<reference::Token>(engine() % vocab_size));
    }
    batch.requests.push_back(std::move(request));
  }
  return batch;
}

/// A batch on the device, and both launches over it.
class Workload {
 public:
  Workload(gpu::Device& device, const reference::Batch& batch)
      : device_(device),
        packed_(gpu::pack(batch, reference::PhiloxCoins(1), {}, {})),
        count_(static_cast<std::uint32_t>(batch.requests.size())),
        slots_(packed_.padded_draft_count + 1),
        target_rows_(upload(packed_.target_rows)),
        draft_rows_(upload(packed_.draft_rows)),
        tokens_(upload(packed_.draft_tokens)),
        parameters_(upload(packed_.parameters)),
        target_records_(device, count_ * slots_ * sizeof(gpu::kernels::RowRecord), "records"),
        draft_records_(device, count_ * slots_ * sizeof(gpu::kernels::RowRecord), "records"),
        emitted_(device, count_ * slots_ * sizeof(std::int32_t), "emitted"),
        reasons_(device, count_ * slots_ * sizeof(std::int32_t), "reasons"),
        outcomes_(device, count_ * sizeof(gpu::kernels::OutcomeRecord), "outcomes") {
    const gpu::KernelTexts texts = gpu::embedded_texts();
    shaping_ = device.load(texts.at("shaping"), "shaping.ptx");
    chain_ = device.load(texts.at("chain"), "chain.ptx");
  }

  void shape(std::uint32_t threads) {
    const Argument arguments[] = {
        Argument(target_rows_.pointer()),     Argument(packed_.target_row_stride),
        Argument(draft_rows_.pointer()),      Argument(packed_.draft_row_stride),
        Argument(tokens_.pointer()),          Argument(parameters_.pointer()),
        Argument(target_records_.pointer()),  Argument(draft_records_.pointer()),
        Argument(packed_.draft_kind),         Argument(count_),
        Argument(packed_.padded_draft_count), Argument(packed_.vocab_size),
        Argument(packed_.fraction_bits)};
    launch(*shaping_, "draftproof_shape_rows_bf16", count_ * (2 * slots_ - 1), threads, arguments);
  }

  void verify(std::uint32_t threads) {
    draftproof_verify_arguments arguments{};
    arguments.target_rows = target_rows_.pointer();
    arguments.target_row_stride = packed_.target_row_stride;
    arguments.draft_rows = draft_rows_.pointer();
    arguments.draft_row_stride = packed_.draft_row_stride;
    arguments.draft_tokens = tokens_.pointer();
    arguments.requests = parameters_.pointer();
    arguments.target_records = target_records_.pointer();
    arguments.draft_records = draft_records_.pointer();
    arguments.seed = 1;
    arguments.emitted_tokens = emitted_.pointer();
    arguments.emitted_reasons = reasons_.pointer();
    arguments.outcomes = outcomes_.pointer();
    arguments.format = DRAFTPROOF_BFLOAT16;
    arguments.draft_kind = static_cast<std::uint32_t>(packed_.draft_kind);
    arguments.request_count = count_;
    arguments.padded_draft_count = packed_.padded_draft_count;
    arguments.vocab_size = packed_.vocab_size;
    const Argument list[] = {Argument(arguments)};
    launch(*chain_, "draftproof_verify_chain_bf16", count_, threads, list);
  }

  std::size_t row_bytes() const {
    return packed_.target_rows.bytes.size() + packed_.draft_rows.bytes.size();
  }

 private:
  Buffer upload(const gpu::BufferImage& image) {
    Buffer buffer(device_, image.bytes.size(), "input");
    buffer.write(std::span<const std::byte>(image.bytes));
    return buffer;
  }

  void launch(const gpu::Module& module, const std::string& entry, std::uint32_t grid,
              std::uint32_t threads, std::span<const Argument> arguments) {
    gpu::LaunchOptions options;
    options.grid.x = grid;
    options.block.x = threads;
    const gpu::LaunchReport report = device_.launch(module, entry, options, arguments);
    DRAFTPROOF_CHECK(report.observations.empty(), entry);
  }

  gpu::Device& device_;
  gpu::PackedBatch packed_;
  std::uint32_t count_, slots_;
  Buffer target_rows_, draft_rows_, tokens_, parameters_;
  Buffer target_records_, draft_records_, emitted_, reasons_, outcomes_;
  std::unique_ptr<gpu::Module> shaping_, chain_;
};

/// Arguments: vocabulary, requests, threads a block, filters on.
void run(benchmark::State& state, bool shapes) {
  if (!gpu::has_cuda_device()) {
    state.SkipWithError("this machine has no GPU");
    return;
  }
  const auto device = gpu::make_cuda_device();
  const auto threads = static_cast<std::uint32_t>(state.range(2));
  Workload workload(*device,
                    random_batch(static_cast<std::size_t>(state.range(0)),
                                 static_cast<int>(state.range(1)), 4, state.range(3) != 0));
  workload.shape(threads);
  for (auto iteration : state) shapes ? workload.shape(threads) : workload.verify(threads);
  if (shapes)
    state.SetBytesProcessed(static_cast<std::int64_t>(workload.row_bytes()) * state.iterations());
  state.SetLabel(device->name());
}

void shape_rows(benchmark::State& state) { run(state, true); }
void verify_chain(benchmark::State& state) { run(state, false); }

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"vocab", "requests", "threads", "filters"})
      ->ArgsProduct({{32000, 128256}, {4, 64}, {256, 512, 1024}, {0, 1}})
      ->Unit(benchmark::kMicrosecond)
      ->UseRealTime();
}
BENCHMARK(shape_rows)->Apply(sizes);
BENCHMARK(verify_chain)->Apply(sizes);

}  // namespace
}  // namespace draftproof::tools

BENCHMARK_MAIN();
