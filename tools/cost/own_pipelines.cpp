// Our kernels as pipelines: whatever their verifiers launch is what is counted.
#include <utility>

#include "gpu/verifiers.h"
#include "reference/coin.h"
#include "tools/cost/pipeline.h"

namespace draftproof::tools::cost {

namespace {

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

}  // namespace

std::vector<Pipeline> own_pipelines(std::uint32_t) {
  return {two_launches("chain", "shaping of all rows, then the chain rule"),
          two_launches("block", "shaping of all rows, then block verification")};
}

}  // namespace draftproof::tools::cost
