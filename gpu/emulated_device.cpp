// EmulatedDevice: modules, memory and launches of the emulator behind the Device interface.
#include "gpu/emulated_device.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulator/code/decoded_module.h"
#include "gpu/emulator/machine/launch.h"
#include "gpu/emulator/machine/memory.h"
#include "reference/error.h"

namespace draftproof::gpu {

namespace {

using emulator::DecodedModule;
using emulator::Program;
using emulator::Space;
using emulator::Variable;

constexpr std::uint64_t kBlockThreadsMax = 1024;
/// What every GPU takes in one direction (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr Dim3 kBlockMax{1024, 1024, 64};
constexpr Dim3 kGridMax{0x7fffffff, 65535, 65535};
/// What the largest GPUs give one block, static and dynamic together.
constexpr std::uint64_t kSharedBytesMax = 232448;

class EmulatedModule : public Module {
 public:
  EmulatedModule(DecodedModule module, emulator::GlobalMemory& memory)
      : module_(std::move(module)), memory_(memory) {}
  ~EmulatedModule() override {
    for (const Variable& variable : module_.variables) memory_.free(variable.address);
  }
  EmulatedModule(const EmulatedModule&) = delete;
  EmulatedModule& operator=(const EmulatedModule&) = delete;
  const std::vector<EntryInfo>& entries() const override { return module_.entries; }
  const DecodedModule& decoded() const { return module_; }

 private:
  DecodedModule module_;
  emulator::GlobalMemory& memory_;  ///< where the module's variables are
};

std::string dim_text(const Dim3& dim) {
  std::ostringstream out;
  out << dim.x << "x" << dim.y << "x" << dim.z;
  return out.str();
}

void check_block(const EntryInfo& info, const LaunchOptions& options) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::kInput, message, "launch of " + info.name);
  };
  const Dim3& block = options.block;
  // Each direction by itself first: the product of three may wrap around.
  const auto check_directions = [&](const char* what, const Dim3& dim, const Dim3& most) {
    if (dim.x == 0 || dim.y == 0 || dim.z == 0) fail("grid and block must not be empty");
    if (dim.x > most.x || dim.y > most.y || dim.z > most.z) {
      fail(std::string("a ") + what + " of " + dim_text(dim) + " is beyond " + dim_text(most) +
           ", the most in each direction on a GPU");
    }
  };
  check_directions("grid", options.grid, kGridMax);
  check_directions("block", block, kBlockMax);
  if (options.grid.count() > 0xffffffffu / emulator::kWarpsMax) {
    fail("a grid of " + dim_text(options.grid) + " is too large; launch it in parts");
  }
  if (block.count() > kBlockThreadsMax) {
    fail("a block of " + dim_text(block) + " has more than 1024 threads; use a smaller one");
  }
  if (info.required_block) {
    const Dim3& required = *info.required_block;
    if (block.x != required.x || block.y != required.y || block.z != required.z) {
      fail("the entry requires a block of " + dim_text(required) + ", not " + dim_text(block));
    }
  }
  if (info.max_block && block.count() > info.max_block->count()) {
    fail("the entry allows blocks of up to " + std::to_string(info.max_block->count()) +
         " threads, not " + dim_text(block));
  }
  if (info.static_shared_bytes + options.dynamic_shared_bytes > kSharedBytesMax) {
    fail("a block has no more than " + std::to_string(kSharedBytesMax) +
         " bytes of shared memory; ask for less");
  }
}

std::vector<std::byte> parameter_block(const EntryInfo& info, std::span<const Argument> arguments) {
  if (arguments.size() != info.parameters.size()) {
    throw Error(ErrorKind::kInput,
                "takes " + std::to_string(info.parameters.size()) + " arguments, not " +
                    std::to_string(arguments.size()),
                "launch of " + info.name);
  }
  std::vector<std::byte> block;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ParameterInfo& parameter = info.parameters[i];
    const auto bytes = arguments[i].bytes();
    if (bytes.size() != parameter.size) {
      throw Error(ErrorKind::kInput,
                  "argument " + std::to_string(i) + " has " + std::to_string(bytes.size()) +
                      " bytes, the parameter " + std::to_string(parameter.size),
                  "launch of " + info.name);
    }
    block.resize(std::max(block.size(), parameter.offset + parameter.size));
    if (!bytes.empty()) std::memcpy(block.data() + parameter.offset, bytes.data(), bytes.size());
  }
  return block;
}

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const EmulatedDeviceOptions& options) : options_(options) {}

  std::string name() const override { return "emulator"; }
  bool observes() const override { return true; }

  std::unique_ptr<Module> load(std::string_view ptx, std::string_view file_name) override {
    DecodedModule module = emulator::decode(ptx, file_name);
    place_variables(module);
    return std::make_unique<EmulatedModule>(std::move(module), memory_);
  }

  DevicePointer allocate(std::size_t bytes, std::string_view label) override {
    return memory_.allocate(bytes, label);
  }
  void free(DevicePointer pointer) override { memory_.free(pointer); }
  void write(DevicePointer to, std::span<const std::byte> from) override {
    memory_.write(to, from);
  }
  void read(DevicePointer from, std::span<std::byte> to, std::optional<std::byte> poison) override {
    memory_.read(from, to, poison);
  }

  LaunchReport launch(const Module& module, std::string_view entry, const LaunchOptions& options,
                      std::span<const Argument> arguments) override {
    const auto* own = dynamic_cast<const EmulatedModule*>(&module);
    if (own == nullptr) {
      throw Error(ErrorKind::kInput, "the module was loaded on another kind of device",
                  "launch of " + std::string(entry));
    }
    const DecodedModule& decoded = own->decoded();
    const auto program =
        std::find_if(decoded.programs.begin(), decoded.programs.end(),
                     [&](const Program& candidate) { return candidate.info.name == entry; });
    if (program == decoded.programs.end()) {
      throw Error(ErrorKind::kInput, "has no entry '" + std::string(entry) + "'",
                  decoded.file_name);
    }
    check_block(program->info, options);
    const emulator::LaunchInput input{*program,      decoded.source_files,
                                      decoded.forms, options,
                                      options_,      parameter_block(program->info, arguments)};
    emulator::Launch launch(input, memory_, pool_, clock_);
    LaunchReport report = launch.run();
    trace_hash_ = launch.trace_hash();
    return report;
  }

  std::uint64_t trace_hash() const { return trace_hash_; }

 private:
  void place_variables(DecodedModule& module) {
    for (std::size_t i = 0; i < module.variables.size(); ++i) {
      Variable& variable = module.variables[i];
      try {
        variable.address = memory_.allocate(variable.bytes, variable.name);
      } catch (const Error& error) {
        while (i-- > 0) memory_.free(module.variables[i].address);
        throw Error(error.kind(), std::string("cannot place a variable: ") + error.what(),
                    module.file_name);
      }
    }
    emulator::apply_relocations(module);
    for (const Variable& variable : module.variables) {
      // A module's variables without an initialiser are zero (PTX ISA, 5.4.4).
      std::vector<std::byte> bytes = variable.initial;
      bytes.resize(variable.bytes);
      memory_.write(variable.address, bytes);
      memory_.find(variable.address)->is_constant = variable.space == Space::kConst;
    }
  }

  EmulatedDeviceOptions options_;
  emulator::GlobalMemory memory_;
  emulator::ThreadBlockPool pool_;
  emulator::Clock clock_ = 0;
  std::uint64_t trace_hash_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_emulated_device(const EmulatedDeviceOptions& options) {
  return std::make_unique<EmulatedDevice>(options);
}

std::uint64_t last_trace_hash(const Device& device) {
  const auto* emulated = dynamic_cast<const EmulatedDevice*>(&device);
  DRAFTPROOF_CHECK(emulated != nullptr, device.name());
  return emulated->trace_hash();
}

}  // namespace draftproof::gpu
