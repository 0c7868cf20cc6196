#include "tools/cost/cost.h"

#include <algorithm>

#include "gpu/cuda_timing.h"
#include "gpu/emulated_device.h"
#include "reference/error.h"
#include "tools/cost/copy_kernel.h"

namespace draftproof::tools::cost {

namespace {

void add(gpu::GlobalTraffic& sum, const gpu::GlobalTraffic& part) {
  sum.accesses += part.accesses;
  sum.requested_sectors += part.requested_sectors;
  sum.ideal_sectors += part.ideal_sectors;
  sum.distinct_sectors += part.distinct_sectors;
}

void add(gpu::AtomicTraffic& sum, const gpu::AtomicTraffic& part) {
  sum.accesses += part.accesses;
  sum.operations += part.operations;
  sum.turns += part.turns;
  sum.queue_max = std::max(sum.queue_max, part.queue_max);
}

void add(gpu::LaunchProfile& sum, const gpu::LaunchProfile& part) {
  sum.blocks += part.blocks;
  sum.warps += part.warps;
  add(sum.loads, part.loads);
  add(sum.stores, part.stores);
  sum.shared.accesses += part.shared.accesses;
  sum.shared.wavefronts += part.shared.wavefronts;
  sum.shared.ideal_wavefronts += part.shared.ideal_wavefronts;
  add(sum.global_atomics, part.global_atomics);
  add(sum.shared_atomics, part.shared_atomics);
  sum.local_accesses += part.local_accesses;
  sum.barriers += part.barriers;
  // One launch waits for the one before: paths add up.
  sum.barriers_block_max += part.barriers_block_max;
  sum.barriers_warp_max += part.barriers_warp_max;
  sum.warp_instructions += part.warp_instructions;
  sum.warp_instructions_max += part.warp_instructions_max;
  sum.thread_instructions += part.thread_instructions;
  for (std::size_t kind = 0; kind < gpu::kInstructionClasses; ++kind)
    sum.by_class[kind] += part.by_class[kind];
  sum.branches += part.branches;
  sum.divergent_branches += part.divergent_branches;
}

std::string refusal(const Pipeline& pipeline, const Shape& shape, const Plan& plan) {
  if (!pipeline.fetched.empty()) {
    if (!std::filesystem::exists(plan.third_party / pipeline.fetched / "complete"))
      return "not fetched: tools/kernels/fetch.sh " + pipeline.fetched;
    const bool needs_softmax = pipeline.fetched == "sglang";
    if (needs_softmax && !std::filesystem::exists(plan.third_party / "flashinfer" / "complete"))
      return "its softmax is not fetched: tools/kernels/fetch.sh flashinfer";
  }
  return pipeline.refusal ? pipeline.refusal(shape) : "";
}

LaunchCost cost_of(const RecordedLaunch& launch, const RegisterTable& table) {
  LaunchCost cost;
  cost.entry = launch.entry;
  cost.blocks = launch.options.grid.count();
  cost.block_threads = launch.options.block.count();
  cost.dynamic_shared_bytes = launch.options.dynamic_shared_bytes;
  cost.allotted = table.of(launch.module_name, launch.entry);
  cost.profile = launch.report.profile;
  return cost;
}

void require_right(const Pipeline& pipeline, const Shape& shape, const PipelineRun& run) {
  const bool is_right = run.accepted.size() == shape.requests &&
                        std::all_of(run.accepted.begin(), run.accepted.end(),
                                    [&](std::size_t count) { return count == shape.accepted(); });
  DRAFTPROOF_CHECK(is_right, pipeline.name + " did not accept what the batch has built in");
}

Timing timed(gpu::Device& device, std::span<const RecordedLaunch> launches, const Plan& plan) {
  std::vector<gpu::TimedLaunch> list;
  for (const RecordedLaunch& launch : launches)
    list.push_back({launch.module, launch.entry, launch.options, launch.arguments});
  gpu::TimingOptions options;
  options.repeats = plan.repeats;
  options.is_cold = plan.is_cold;
  return {gpu::time_launches(device, list, options)};
}

void run_into(Cost& cost, gpu::Device& device, const Pipeline& pipeline, const Input& input,
              const Plan& plan) {
  const RegisterTable table(plan.third_party);
  RecordingDevice recording(device);
  const PipelineRun run = pipeline.run(recording, input);
  const auto launches = std::span(recording.launches()).subspan(run.first_launch);
  for (const RecordedLaunch& launch : launches) {
    cost.launches.push_back(cost_of(launch, table));
    for (const auto& seen : launch.report.observations)
      cost.unsafe_observations += seen.severity == reference::Severity::kNote ? 0 : 1;
  }
  require_right(pipeline, input.shape, run);
  if (!device.observes()) cost.timing = timed(device, launches, plan);
}

Cost cost_of(gpu::Device& device, const Pipeline& pipeline, const Input& input, const Plan& plan) {
  Cost cost;
  cost.pipeline = pipeline.name;
  cost.remark = pipeline.remark;
  cost.shape = input.shape;
  cost.skipped = refusal(pipeline, input.shape, plan);
  if (!cost.skipped.empty()) return cost;
  try {
    run_into(cost, device, pipeline, input, plan);
  } catch (const std::exception& error) {
    cost.launches.clear();
    cost.skipped = std::string("failed: ") + error.what();
    cost.is_failed = true;
  }
  return cost;
}

bool is_selected(const std::string& name, const Plan& plan) {
  return plan.pipelines.empty() ||
         std::any_of(plan.pipelines.begin(), plan.pipelines.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

double over_floor(std::uint64_t sectors, const Shape& shape) {
  return static_cast<double>(sectors * 32) / static_cast<double>(shape.floor_bytes());
}

}  // namespace

double Timing::median() const {
  if (microseconds.empty()) return 0;
  std::vector<double> sorted = microseconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

gpu::LaunchProfile Cost::total() const {
  gpu::LaunchProfile sum;
  for (const LaunchCost& launch : launches)
    if (launch.profile) add(sum, *launch.profile);
  return sum;
}

double Cost::requested_over_floor() const {
  const gpu::LaunchProfile sum = total();
  return over_floor(sum.loads.requested_sectors + sum.stores.requested_sectors, shape);
}

double Cost::distinct_over_floor() const {
  const gpu::LaunchProfile sum = total();
  return over_floor(sum.loads.distinct_sectors + sum.stores.distinct_sectors, shape);
}

double Cost::instructions_an_element() const {
  return static_cast<double>(total().thread_instructions) / static_cast<double>(shape.elements());
}

Costs measure(gpu::Device& device, const Plan& plan) {
  std::vector<Pipeline> pipelines = own_pipelines(gpu::multiprocessors(device));
  for (Pipeline& peer : peer_pipelines(plan.third_party)) pipelines.push_back(std::move(peer));
  std::string known;
  for (const Pipeline& each : pipelines) known += (known.empty() ? "" : ", ") + each.name;
  std::erase_if(pipelines, [&](const Pipeline& each) { return !is_selected(each.name, plan); });
  if (pipelines.empty())
    throw Error(ErrorKind::kInput, "selects no pipeline; take parts of these names: " + known,
                "--pipeline");
  Costs costs;
  costs.device = device.name();
  costs.is_timed = !device.observes();
  costs.is_cold = plan.is_cold;
  costs.copied_gigabytes_a_second = copied_gigabytes_a_second(device, plan);
  for (const Shape& shape : plan.shapes) {
    const Input input = make_input(shape, plan.seed);
    for (const Pipeline& pipeline : pipelines)
      costs.rows.push_back(cost_of(device, pipeline, input, plan));
  }
  return costs;
}

std::unique_ptr<gpu::Device> make_counting_device() {
  gpu::EmulatedDeviceOptions options;
  options.counts_costs = true;
  options.check_races = false;
  options.warp_instruction_limit = std::uint64_t{1} << 36;
  return gpu::make_emulated_device(options);
}

}  // namespace draftproof::tools::cost
