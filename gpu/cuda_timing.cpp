#include "gpu/cuda_timing.h"

#include "gpu/cuda_device.h"
#include "gpu/cuda_driver.h"
#include "reference/error.h"

namespace draftproof::gpu {

namespace {

constexpr std::uint32_t kMultiprocessorsOfH200 = 132;

void require(CudaResult result, const char* what) {
  if (result == kCudaSuccess) return;
  throw Error(ErrorKind::kEnvironment,
              std::string(what) + ": " + cuda_error_text(cuda_driver(), result), "timing");
}

class Event {
 public:
  Event() { require(cuda_driver().create_event(&handle_, 0), "cannot create an event"); }
  ~Event() { cuda_driver().destroy_event(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { require(cuda_driver().record_event(handle_, nullptr), "cannot record an event"); }
  void wait() { require(cuda_driver().wait_for_event(handle_), "a timed launch failed"); }
  double microseconds_since(const Event& start) const {
    float milliseconds = 0;
    require(cuda_driver().milliseconds_between(&milliseconds, start.handle_, handle_),
            "cannot read an event");
    return 1e3 * static_cast<double>(milliseconds);
  }

 private:
  CudaEventHandle* handle_ = nullptr;
};

struct ReadyLaunch {
  CudaFunctionHandle* function = nullptr;
  LaunchOptions options;
  std::vector<void*> parameters;

  void queue() {
    const CudaDriver& driver = cuda_driver();
    const Dim3& grid = options.grid;
    const Dim3& block = options.block;
    require(
        options.is_cooperative
            ? driver.launch_cooperative(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                        options.dynamic_shared_bytes, nullptr, parameters.data())
            : driver.launch(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                            options.dynamic_shared_bytes, nullptr, parameters.data(), nullptr),
        "cannot launch");
  }
};

std::vector<ReadyLaunch> ready(Device& device, std::span<const TimedLaunch> launches) {
  std::vector<ReadyLaunch> list;
  for (const TimedLaunch& launch : launches) {
    ReadyLaunch each{
        cuda_function(device, *launch.module, launch.entry, launch.options, launch.arguments),
        launch.options,
        {}};
    for (const Argument& argument : launch.arguments)
      each.parameters.push_back(const_cast<std::byte*>(argument.bytes().data()));
    list.push_back(std::move(each));
  }
  return list;
}

}  // namespace

std::vector<double> time_launches(Device& device, std::span<const TimedLaunch> launches,
                                  const TimingOptions& options) {
  DRAFTPROOF_CHECK(cuda_attribute(device, kCudaL2Bytes).has_value(), device.name());
  std::vector<ReadyLaunch> list = ready(device, launches);
  const auto l2_bytes = static_cast<std::size_t>(*cuda_attribute(device, kCudaL2Bytes));
  const Buffer cleared(device, options.is_cold ? 2 * l2_bytes : 0, "l2");
  Event start, end;
  std::vector<double> microseconds;
  for (int turn = 0; turn < options.warm_ups + options.repeats; ++turn) {
    if (options.is_cold)
      require(cuda_driver().fill_words(cleared.pointer(), static_cast<unsigned>(turn),
                                       cleared.bytes() / 4, nullptr),
              "cannot write over L2");
    start.record();
    for (ReadyLaunch& launch : list) launch.queue();
    end.record();
    end.wait();
    if (turn >= options.warm_ups) microseconds.push_back(end.microseconds_since(start));
  }
  return microseconds;
}

std::uint32_t multiprocessors(const Device& device) {
  const auto count = cuda_attribute(device, kCudaMultiprocessorCount);
  return count ? static_cast<std::uint32_t>(*count) : kMultiprocessorsOfH200;
}

}  // namespace draftproof::gpu
