// Subjects: the word behind --subject as verifiers that can be run, one set a thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "properties/property.h"
#include "reference/verifier.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// One runnable subject with everything it needs. Nothing in it is shared with another one.
struct SubjectInstance {
  std::unique_ptr<gpu::Device> device;  ///< null for subjects on the CPU
  std::unique_ptr<reference::Verifier> verifier;
  std::unique_ptr<reference::Verifier> twin;

  properties::Subject subject() const { return {verifier.get(), twin.get()}; }
};

/// A subject that was named rightly: it can be made for each of its rules.
struct SubjectChoice {
  std::string name;                ///< "kernels", "mutant:textbook_cycle"
  std::string device;              ///< "emulator", the GPU's name, or "cpu"
  std::vector<std::string> rules;  ///< after --rule has chosen
  std::vector<std::string> warnings;
  std::function<SubjectInstance(const std::string& rule)> make;
};

/// Throws Error(kInput or kEnvironment) for an unknown subject, rule or device, for PTX that does
/// not load, and for a device that the subject does not run on. Everything that can be wrong with
/// what the user named is found here, by making each rule's subject once.
SubjectChoice choose_subject(const SubjectSettings& settings);

/// "emulator" (also for ""), or "cuda". Throws Error(kEnvironment) when there is no such device.
std::unique_ptr<gpu::Device> make_device(const std::string& name);

/// "embedded (3 modules)", or that there are none.
std::string describe_kernels();

}  // namespace draftproof::tools
