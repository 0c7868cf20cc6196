// A device for the KV kernels: launches checked by the rules of the C interface, watched by the
// emulator, under a schedule and a block size of their own each; the first thing that is wrong is
// thrown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/kernel_modules.h"
#include "gpu/launches/kv.h"

namespace draftproof::tests {

/// What a kernel did that it should not have.
struct Disparity : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void demand(bool holds, const std::string& what) {
  if (!holds) throw Disparity(what);
}

/// Uniform choices of a history: a pure function of its seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  /// In [0, count).
  int below(int count) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(count)); }
  /// In [from, to].
  int between(int from, int to) { return from + below(to - from + 1); }
  bool is_one_in(int count) { return below(count) == 0; }
  template <class Value>
  Value of(std::initializer_list<Value> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }
  std::uint64_t word() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

/// Values on the device.
template <class Value>
class DeviceArray {
 public:
  DeviceArray(gpu::Device& device, std::vector<Value> values, const char* label)
      : values_(std::move(values)), buffer_(device, values_.size() * sizeof(Value), label) {
    if (!values_.empty()) buffer_.write(std::span<const Value>(values_));
  }
  draftproof_pointer pointer() const { return values_.empty() ? 0 : buffer_.pointer(); }
  std::vector<Value> read() const {
    std::vector<Value> values(values_.size());
    if (!values.empty()) buffer_.read(std::span<Value>(values));
    return values;
  }
  const std::vector<Value>& written() const { return values_; }

 private:
  std::vector<Value> values_;
  gpu::Buffer buffer_;
};

class KvDevice {
 public:
  /// `device`: the emulated one where it is none.
  explicit KvDevice(gpu::KernelTexts texts, std::uint64_t seed = 1,
                    std::unique_ptr<gpu::Device> device = nullptr)
      : device_(device ? std::move(device) : gpu::make_emulated_device()),
        modules_(*device_, std::move(texts)),
        dice_(seed) {}

  gpu::Device& device() { return *device_; }

  template <class Value>
  DeviceArray<Value> array(std::vector<Value> values, const char* label) {
    return {*device_, std::move(values), label};
  }

  /// Checks and launches. Block sizes are drawn where `arguments` ask for none.
  template <class Arguments>
  gpu::LaunchReport run(Arguments arguments) {
    if (arguments.block_threads == 0) arguments.block_threads = dice_.of({32u, 64u, 96u, 256u});
    const draftproof_result result = gpu::launches::check(arguments);
    demand(result.code == DRAFTPROOF_OK, std::string("refused: ") + result.text);
    const gpu::KernelLaunch launch = gpu::launches::launch_of(arguments);
    if (launch.grid.count() == 0) return {};
    ++launches_;
    const auto kind = dice_.of({reference::ScheduleKind::kRandom, reference::ScheduleKind::kRandom,
                                reference::ScheduleKind::kFirstWarpFirst,
                                reference::ScheduleKind::kLastWarpFirst});
    const gpu::LaunchReport report = modules_.launch(launch, {kind, dice_.word(), 0});
    for (const auto& seen : report.observations)
      demand(seen.severity == reference::Severity::kNote,
             std::string(launch.entry) + ": " + seen.check + ": " + seen.message);
    return report;
  }

  std::int64_t launches() const { return launches_; }

 private:
  std::unique_ptr<gpu::Device> device_;
  gpu::KernelModules modules_;
  Dice dice_;
  std::int64_t launches_ = 0;
};

/// All statuses must be 0.
inline void demand_done(const DeviceArray<std::uint32_t>& statuses, const char* what) {
  const std::vector<std::uint32_t> words = statuses.read();
  for (std::size_t i = 0; i < words.size(); ++i)
    demand(words[i] == 0,
           std::string(what) + ": status " + std::to_string(words[i]) + " of " + std::to_string(i));
}

}  // namespace draftproof::tests
