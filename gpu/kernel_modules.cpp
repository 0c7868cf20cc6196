#include "gpu/kernel_modules.h"

#include <utility>
#include <vector>

#include "gpu/kernels/embedded.h"
#include "reference/error.h"

namespace draftproof::gpu {

bool kernels_are_embedded() { return !kernels::embedded_modules().empty(); }

KernelTexts embedded_texts() {
  if (!kernels_are_embedded())
    throw Error(ErrorKind::kEnvironment,
                "this build has no own kernels: configure with an nvcc (DRAFTPROOF_CUDA=ON), or "
                "with DRAFTPROOF_PTX_DIR set to a folder with their PTX");
  KernelTexts texts;
  for (const kernels::EmbeddedModule& module : kernels::embedded_modules())
    texts.emplace(module.name, module.ptx);
  return texts;
}

KernelModules::KernelModules(Device& device, KernelTexts texts)
    : device_(device), texts_(std::move(texts)) {}

const Module& KernelModules::module(std::string_view name) {
  const auto loaded = loaded_.find(name);
  if (loaded != loaded_.end()) return *loaded->second;
  const auto text = texts_.find(std::string(name));
  if (text == texts_.end())
    throw Error(ErrorKind::kInput, "there is no PTX text of module '" + std::string(name) + "'");
  auto module = device_.load(text->second, std::string(name) + ".ptx");
  return *loaded_.emplace(name, std::move(module)).first->second;
}

LaunchReport KernelModules::launch(const KernelLaunch& launch, const LaunchManner& manner) {
  LaunchOptions options;
  options.grid = launch.grid;
  options.block = launch.block;
  options.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  options.is_cooperative = launch.is_cooperative;
  options.schedule = manner.schedule;
  options.schedule_seed = manner.schedule_seed;
  options.warp_instruction_limit = manner.warp_instruction_limit;
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < launch.argument_count; ++i) {
    const auto* bytes = static_cast<const std::byte*>(launch.arguments[i].data);
    arguments.emplace_back(std::vector<std::byte>(bytes, bytes + launch.arguments[i].bytes));
  }
  return device_.launch(module(launch.module), launch.entry, options, arguments);
}

}  // namespace draftproof::gpu
