// Our kernels as pipelines: whatever their verifiers launch is what is counted.
#include <utility>

#include "gpu/fused_verifier.h"
#include "gpu/verifiers.h"
#include "reference/coin.h"
#include "tools/cost/pipeline.h"

namespace draftproof::tools::cost {

namespace {

/// What a block may have on every GPU from an A100 on (163 KiB), but for what an entry has of its
/// own.
constexpr std::uint32_t kSharedBytesMax = 160 * 1024;

PipelineRun judged(std::shared_ptr<reference::Verifier> verifier, const Input& input) {
  reference::Batch batch = input.batch;
  const reference::Outcome outcome = verifier->verify(batch, reference::PhiloxCoins(1), {});
  PipelineRun run;
  for (const reference::RequestOutcome& request : outcome.requests)
    run.accepted.push_back(static_cast<std::size_t>(request.accepted_count));
  run.kept = std::move(verifier);
  return run;
}

Pipeline two_launches(const std::string& rule, const std::string& remark) {
  Pipeline pipeline;
  pipeline.name = "draftproof." + rule;
  pipeline.remark = remark;
  pipeline.run = [=](RecordingDevice& device, const Input& input) {
    return judged(gpu::make_kernel_verifier(device, rule), input);
  };
  return pipeline;
}

Pipeline fused(std::uint32_t block_capacity, bool has_draft_records) {
  Pipeline pipeline;
  pipeline.name = has_draft_records ? "draftproof.fused+records" : "draftproof.fused";
  pipeline.remark = has_draft_records
                        ? "one launch; draft rows were shaped when they were drawn from"
                        : "one launch; draft rows are shaped in it";
  pipeline.run = [=](RecordingDevice& device, const Input& input) {
    gpu::FusedDivision division;
    division.block_capacity = block_capacity;
    division.shared_bytes_max = kSharedBytesMax;
    division.has_draft_records = has_draft_records;
    PipelineRun run =
        judged(std::make_shared<gpu::FusedVerifier>(device, "chain", division), input);
    if (has_draft_records) run.first_launch = device.launches().size() - 1;
    return run;
  };
  return pipeline;
}

}  // namespace

std::vector<Pipeline> own_pipelines(std::uint32_t block_capacity) {
  return {two_launches("chain", "shaping of all rows, then the chain rule"),
          two_launches("block", "shaping of all rows, then block verification"),
          fused(block_capacity, false), fused(block_capacity, true)};
}

}  // namespace draftproof::tools::cost
