#include "tools/cost/recording_device.h"

namespace draftproof::tools::cost {

RecordingDevice::~RecordingDevice() {
  for (const gpu::DevicePointer pointer : freed_) base_.free(pointer);
}

std::unique_ptr<gpu::Module> RecordingDevice::load(std::string_view ptx,
                                                   std::string_view file_name) {
  auto module = base_.load(ptx, file_name);
  names_[module.get()] = file_name.substr(0, file_name.find(".ptx"));
  return module;
}

gpu::LaunchReport RecordingDevice::launch(const gpu::Module& module, std::string_view entry,
                                          const gpu::LaunchOptions& options,
                                          std::span<const gpu::Argument> arguments) {
  RecordedLaunch launch;
  launch.module = &module;
  launch.module_name = names_[&module];
  launch.entry = entry;
  launch.options = options;
  launch.arguments.assign(arguments.begin(), arguments.end());
  launch.report = base_.launch(module, entry, options, arguments);
  launches_.push_back(launch);
  return launch.report;
}

}  // namespace draftproof::tools::cost
