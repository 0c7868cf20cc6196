// Pipeline: from logits to emitted tokens by somebody's kernels, in as many launches as they take.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/cost/input.h"
#include "tools/cost/recording_device.h"

namespace draftproof::tools::cost {

/// A pipeline that ran once: its launches on the recording device, and what they decided.
struct PipelineRun {
  std::vector<std::size_t> accepted;  ///< by request
  std::size_t first_launch = 0;       ///< launches before it are not the pipeline's
  std::shared_ptr<void> kept;         ///< what the recorded launches need
};

struct Pipeline {
  std::string name;     ///< "draftproof.fused", "flashinfer.chain"
  std::string remark;   ///< one line: what is in it, and what is left out
  std::string fetched;  ///< folder below third_party that it needs; empty: none
  /// Why the pipeline does not judge such a batch; empty when it does.
  std::function<std::string(const Shape&)> refusal;
  std::function<PipelineRun(RecordingDevice&, const Input&)> run;
};

/// Ours. `block_capacity`: blocks of 1,024 threads that the device holds at once.
std::vector<Pipeline> own_pipelines(std::uint32_t block_capacity);
/// Others', from the PTX that tools/kernels/fetch.sh brought into `third_party`.
std::vector<Pipeline> peer_pipelines(const std::filesystem::path& third_party);

}  // namespace draftproof::tools::cost
