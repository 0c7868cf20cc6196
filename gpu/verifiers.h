// Verifiers: our kernels on a device, as reference::Verifier. Two launches a call, whatever the
// number of requests: shape_rows over all rows, then the rule over all requests. Which rules there
// are, and how one is added, is said in gpu/launches/verify.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "gpu/kernel_modules.h"
#include "reference/verifier.h"

namespace draftproof::gpu {

/// Kernels other than the embedded ones: broken on purpose (gpu/ptx_patch.h), or built elsewhere.
struct PatchedText {
  std::string name;       ///< of the verifier, for instance "mutant:kernel_row_offset_12"
  std::string statement;  ///< one line: what is different
  KernelTexts modules;
};

/// The rules that have a kernel: "chain", "greedy", ...
const std::vector<std::string>& kernel_rules();

/// The module that runs `rule`, which several rules may share. Throws Error(kInput) for an unknown
/// rule.
std::string kernel_module(std::string_view rule);

/// Our kernels of `rule` on `device`, which must outlive the verifier; named "kernels", or as
/// `patched` says. Throws Error(kInput) for an unknown rule or a text that does not load.
std::unique_ptr<reference::Verifier> make_kernel_verifier(
    Device& device, std::string_view rule, std::optional<PatchedText> patched = std::nullopt);

}  // namespace draftproof::gpu
