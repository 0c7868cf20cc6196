// Speed of the emulator on somebody else's kernel: FlashInfer's chain sampling, vocabulary 32,000,
// four requests, four drafted tokens, every check on. Prints thread instructions per second on the
// one core that runs. Needs tools/kernels/fetch.sh flashinfer.
#include <benchmark/benchmark.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/kernel_card.h"
#include "oracle/replay.h"
#include "reference/error.h"
#include "tools/card_reader.h"
#include "tools/draftproof/commands/card_cases.h"

namespace draftproof::tools {
namespace {

constexpr const char* kCard = "fixtures/kernels/flashinfer_chain.toml";

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

gpu::CardInputs inputs_of(const CardCase& made) {
  gpu::CardInputs inputs;
  inputs.dims = {{"B", static_cast<std::int64_t>(made.spec.request_count)},
                 {"G", static_cast<std::int64_t>(made.spec.draft_count)},
                 {"V", static_cast<std::int64_t>(made.spec.vocab_size)}};
  inputs.buffers["draft_probs"] = bytes_of(made.draft_rows);
  inputs.buffers["target_probs"] = bytes_of(made.target_rows);
  inputs.buffers["draft_ids"] = bytes_of(made.draft);
  inputs.scalars["rng.seed"] = made.seed;
  inputs.scalars["rng.offset"] = made.offset;
  return inputs;
}

std::string ptx_text(const gpu::KernelCard& card, std::string& path) {
  path = third_party_folder(card, "") + "/" + card.build.name + "/" + card.stages.front().ptx;
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Forwards to a device and sums up what its launches cost this thread, copies left out.
class TimedDevice final : public gpu::Device {
 public:
  explicit TimedDevice(gpu::Device& device) : device_(&device) {}
  std::string name() const override { return device_->name(); }
  bool observes() const override { return device_->observes(); }
  std::unique_ptr<gpu::Module> load(std::string_view ptx, std::string_view file_name) override {
    return device_->load(ptx, file_name);
  }
  gpu::DevicePointer allocate(std::size_t bytes, std::string_view label) override {
    return device_->allocate(bytes, label);
  }
  void free(gpu::DevicePointer pointer) override { device_->free(pointer); }
  void write(gpu::DevicePointer to, std::span<const std::byte> from) override {
    device_->write(to, from);
  }
  void read(gpu::DevicePointer from, std::span<std::byte> to,
            std::optional<std::byte> poison) override {
    device_->read(from, to, poison);
  }
  gpu::LaunchReport launch(const gpu::Module& module, std::string_view entry,
                           const gpu::LaunchOptions& options,
                           std::span<const gpu::Argument> arguments) override {
    const double start = thread_seconds();
    gpu::LaunchReport report = device_->launch(module, entry, options, arguments);
    launch_seconds += thread_seconds() - start;
    return report;
  }

  double launch_seconds = 0;

 private:
  /// Time of this thread on a core: other programs on the machine do not count.
  static double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  gpu::Device* device_;
};

void flashinfer_chain(benchmark::State& state) {
  gpu::EmulatedDeviceOptions options;
  options.check_races = options.check_uninitialised = state.range(0) != 0;
  const auto emulated = gpu::make_emulated_device(options);
  TimedDevice device(*emulated);
  std::uint64_t thread_instructions = 0;
  try {
    const gpu::KernelCard card = read_card(kCard);
    std::string path;
    const std::string text = ptx_text(card, path);
    const gpu::CardKernel kernel(device, card, {{path, text}});
    const CardCaseSpec spec{CardLaw::kPeaked, CardCoins::kAny, 4, 4, 32000, 1};
    oracle::ReplayRule rule;
    rule.order = {oracle::DrawStep::kAccept, oracle::DrawStep::kRecount, oracle::DrawStep::kFinal};
    const gpu::CardInputs inputs = inputs_of(make_card_case(spec, rule, 4096, 1));
    for (auto step : state) {
      const gpu::CardRun run = kernel.run(inputs, {});
      if (!run.changed_inputs.empty()) state.SkipWithError("the kernel changed its inputs");
      thread_instructions += run.report.counts.thread_instructions;
    }
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return;
  }
  // A launch alone, and with the copies to and from the device that every check makes.
  state.counters["launch_instr/s"] =
      benchmark::Counter(static_cast<double>(thread_instructions) / device.launch_seconds);
  state.counters["run_instr/s"] =
      benchmark::Counter(static_cast<double>(thread_instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(flashinfer_chain)->ArgName("checks")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace draftproof::tools

BENCHMARK_MAIN();
