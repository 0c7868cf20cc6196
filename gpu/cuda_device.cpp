// A fault of a kernel ends the driver's context for good, so that the device reports it once as an
// observation, and refuses every call after it.
#include "gpu/cuda_device.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "gpu/cuda_driver.h"
#include "gpu/emulator/code/decoded_module.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

/// The observation's check for a driver result, by the numbers of the driver API's CUresult.
std::string check_of(CudaResult result) {
  switch (result) {
    case 700:  // illegal address
      return "bounds";
    case 702:  // timeout
      return "limit";
    case 710:
      return "assert";
    case 716:
      return "misaligned";
    default:  // illegal instruction, address space, launch failure, ...
      return "trap";
  }
}

class CudaModule final : public Module {
 public:
  CudaModule(const CudaDriver& driver, CudaModuleHandle* handle, std::vector<EntryInfo> entries)
      : driver_(driver), handle_(handle), entries_(std::move(entries)) {}
  // After a fault the context is gone, and with it the module: the result says nothing of use.
  ~CudaModule() override { driver_.unload_module(handle_); }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  const std::vector<EntryInfo>& entries() const override { return entries_; }
  CudaModuleHandle* handle() const { return handle_; }

 private:
  const CudaDriver& driver_;
  CudaModuleHandle* handle_;
  std::vector<EntryInfo> entries_;
};

Error refused(std::string_view entry, const std::string& message) {
  return Error(ErrorKind::kInput, message, std::string(entry));
}

void check_block(const EntryInfo& entry, const Dim3& block) {
  const auto required = entry.required_block;
  if (required && (required->x != block.x || required->y != block.y || required->z != block.z))
    throw refused(entry.name, "needs the block that its .reqntid names");
  if (entry.max_block && block.count() > entry.max_block->count())
    throw refused(entry.name, "takes at most " + std::to_string(entry.max_block->count()) +
                                  " threads a block, not " + std::to_string(block.count()));
}

const EntryInfo& checked_entry(const Module& module, std::string_view name,
                               std::span<const Argument> arguments, const LaunchOptions& options) {
  const auto& entries = module.entries();
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const EntryInfo& entry) { return entry.name == name; });
  if (found == entries.end()) {
    std::string known;
    for (const EntryInfo& entry : entries) known += (known.empty() ? "" : ", ") + entry.name;
    throw refused(name, "no such entry; the module has: " + known);
  }
  if (arguments.size() != found->parameters.size())
    throw refused(name, "takes " + std::to_string(found->parameters.size()) + " arguments, not " +
                            std::to_string(arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].bytes().size() != found->parameters[i].size)
      throw refused(name, "argument " + std::to_string(i) + " takes " +
                              std::to_string(found->parameters[i].size) + " bytes, not " +
                              std::to_string(arguments[i].bytes().size()));
  check_block(*found, options.block);
  return *found;
}

class CudaDevice final : public Device {
 public:
  CudaDevice() : driver_(cuda_driver()) {
    require(driver_.device(&ordinal_, 0), "cannot open the first GPU");
    std::array<char, 256> name{};
    require(driver_.device_name(name.data(), name.size(), ordinal_), "cannot read the GPU's name");
    name_ = name.data();
    require(driver_.retain_context(&context_, ordinal_), "cannot make a context on " + name_);
  }
  ~CudaDevice() override { driver_.release_context(ordinal_); }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string name() const override { return name_; }
  bool observes() const override { return false; }

  std::unique_ptr<Module> load(std::string_view ptx, std::string_view file_name) override {
    enter();
    // The parser names what is malformed by line, and knows the entries' parameters.
    auto entries = emulator::decode(ptx, file_name, [](std::string_view) { return false; }).entries;
    const std::string text(ptx);
    std::string log(16384, '\0');
    std::array options{kCudaErrorLog, kCudaErrorLogBytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    CudaModuleHandle* handle = nullptr;
    const CudaResult result =
        driver_.load_module(&handle, text.c_str(), options.size(), options.data(), values.data());
    if (result != kCudaSuccess)
      throw Error(ErrorKind::kInput,
                  "the driver does not take this PTX: " + cuda_error_text(driver_, result) + " " +
                      log.substr(0, log.find_first_of(std::string("\n\0", 2))),
                  std::string(file_name));
    return std::make_unique<CudaModule>(driver_, handle, std::move(entries));
  }

  DevicePointer allocate(std::size_t bytes, std::string_view label) override {
    enter();
    CudaAddress address = 0;
    require(driver_.allocate(&address, std::max<std::size_t>(bytes, 1)),
            "cannot allocate " + std::to_string(bytes) + " bytes for " + std::string(label));
    return address;
  }

  // Called by destructors too, also when the context is lost: the result says nothing of use then.
  void free(DevicePointer pointer) override {
    driver_.set_context(context_);
    driver_.release(pointer);
  }

  void write(DevicePointer to, std::span<const std::byte> from) override {
    enter();
    if (!from.empty())
      require(driver_.copy_to_device(to, from.data(), from.size()), "cannot write device memory");
  }

  void read(DevicePointer from, std::span<std::byte> to, std::optional<std::byte>) override {
    // What a faulting kernel left behind cannot be read any more.
    if (is_lost_) {
      std::fill(to.begin(), to.end(), std::byte{0});
      return;
    }
    enter();
    if (!to.empty())
      require(driver_.copy_to_host(to.data(), from, to.size()), "cannot read device memory");
  }

  LaunchReport launch(const Module& module, std::string_view entry, const LaunchOptions& options,
                      std::span<const Argument> arguments) override {
    const EntryInfo& info = checked_entry(module, entry, arguments, options);
    LaunchReport report;
    report.schedule_seed = options.schedule_seed;
    if (is_lost_) return report;
    CudaFunctionHandle* const function = function_for(module, info, options);
    std::vector<void*> parameters;
    for (const Argument& argument : arguments)
      parameters.push_back(const_cast<std::byte*>(argument.bytes().data()));
    // A cooperative launch is refused where its blocks cannot all be resident.
    const CudaResult launched =
        options.is_cooperative
            ? driver_.launch_cooperative(function, options.grid.x, options.grid.y, options.grid.z,
                                         options.block.x, options.block.y, options.block.z,
                                         options.dynamic_shared_bytes, nullptr, parameters.data())
            : driver_.launch(function, options.grid.x, options.grid.y, options.grid.z,
                             options.block.x, options.block.y, options.block.z,
                             options.dynamic_shared_bytes, nullptr, parameters.data(), nullptr);
    require(launched, "cannot launch " + info.name);
    report.counts.launches = 1;
    const CudaResult result = driver_.synchronise();
    if (result != kCudaSuccess) report.observations.push_back(fault(info, result));
    return report;
  }

  /// The entry, ready for a launch with these options.
  CudaFunctionHandle* function_for(const Module& module, const EntryInfo& info,
                                   const LaunchOptions& options) {
    enter();
    CudaFunctionHandle* function = nullptr;
    require(driver_.function(&function, static_cast<const CudaModule&>(module).handle(),
                             info.name.c_str()),
            "cannot find entry " + info.name);
    if (options.dynamic_shared_bytes != 0)
      require(driver_.set_attribute(function, kCudaMaxDynamicSharedBytes,
                                    static_cast<int>(options.dynamic_shared_bytes)),
              info.name + " cannot have " + std::to_string(options.dynamic_shared_bytes) +
                  " bytes of dynamic shared memory");
    return function;
  }

  int attribute(int number) const {
    int value = 0;
    require(driver_.device_attribute(&value, number, ordinal_), "cannot ask what the GPU has");
    return value;
  }

 private:
  void require(CudaResult result, const std::string& what) const {
    if (result != kCudaSuccess)
      throw Error(ErrorKind::kEnvironment, what + ": " + cuda_error_text(driver_, result), name_);
  }

  /// Makes the context current, whichever thread calls.
  void enter() const {
    if (is_lost_)
      throw Error(ErrorKind::kEnvironment,
                  "a kernel's fault has ended this process's context; start a new process", name_);
    require(driver_.set_context(context_), "cannot enter the context");
  }

  reference::Observation fault(const EntryInfo& entry, CudaResult result) {
    is_lost_ = true;
    reference::Observation observation;
    observation.check = check_of(result);
    observation.message = "the driver reports: " + cuda_error_text(driver_, result);
    observation.place.kernel = entry.name;
    return observation;
  }

  const CudaDriver& driver_;
  CudaOrdinal ordinal_ = 0;
  CudaContextHandle* context_ = nullptr;
  std::string name_;
  bool is_lost_ = false;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device() { return std::make_unique<CudaDevice>(); }

CudaFunctionHandle* cuda_function(Device& device, const Module& module, std::string_view entry,
                                  const LaunchOptions& options,
                                  std::span<const Argument> arguments) {
  auto* const cuda = dynamic_cast<CudaDevice*>(&device);
  DRAFTPROOF_CHECK(cuda != nullptr, device.name() + " is no GPU");
  return cuda->function_for(module, checked_entry(module, entry, arguments, options), options);
}

std::optional<int> cuda_attribute(const Device& device, int attribute) {
  const auto* const cuda = dynamic_cast<const CudaDevice*>(&device);
  if (cuda == nullptr) return std::nullopt;
  return cuda->attribute(attribute);
}

bool has_cuda_device() {
  try {
    cuda_driver();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace draftproof::gpu
