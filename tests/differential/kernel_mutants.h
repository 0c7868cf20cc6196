// The broken kernels of fixtures/mutants/kernels, ready to run on the emulated device.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/ptx_patch.h"
#include "gpu/verifiers.h"

namespace draftproof::tests {

struct KernelMutant {
  gpu::PtxPatch patch;
  std::string rule;  ///< the first rule whose kernels the patch breaks
};

inline void PrintTo(const KernelMutant& mutant, std::ostream* out) { *out << mutant.patch.name; }

inline std::vector<KernelMutant> kernel_mutants() {
  std::vector<KernelMutant> mutants;
  for (const auto& entry :
       std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR "/fixtures/mutants/kernels")) {
    if (entry.path().extension() != ".ptxpatch") continue;
    std::ifstream in(entry.path());
    std::ostringstream text;
    text << in.rdbuf();
    gpu::PtxPatch patch = gpu::parse_ptx_patch(text.str(), entry.path().filename().string());
    const std::vector<std::string> rules = gpu::rules_of(patch);
    // The kernels of other families have properties and tests of their own.
    if (!rules.empty()) mutants.push_back({std::move(patch), rules.front()});
  }
  std::sort(mutants.begin(), mutants.end(), [](const KernelMutant& one, const KernelMutant& other) {
    return one.patch.name < other.patch.name;
  });
  return mutants;
}

/// A verifier with the device it runs on.
struct DeviceSubject {
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<reference::Verifier> verifier;
};

inline DeviceSubject make_kernel_mutant(const KernelMutant& mutant) {
  DeviceSubject subject;
  subject.device = gpu::make_emulated_device();
  subject.verifier = gpu::make_kernel_verifier(
      *subject.device, mutant.rule, gpu::patched_kernels(mutant.patch, gpu::embedded_texts()));
  return subject;
}

}  // namespace draftproof::tests
