#include "tools/draftproof/subjects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "fixtures/mutants/catalog.h"
#include "gpu/cuda_device.h"
#include "gpu/emulated_device.h"
#include "gpu/emulator/text/parsed_module.h"
#include "gpu/fused_verifier.h"
#include "gpu/kernels/embedded.h"
#include "gpu/launches/verify.h"
#include "gpu/verifiers.h"
#include "reference/error.h"
#include "reference/verify/verifiers.h"
#include "tools/draftproof/embedded_patches.h"
#include "tools/draftproof/kernel_mutants.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

constexpr std::string_view kMutantPrefix = "mutant:";

[[noreturn]] void refuse(const std::string& message, const std::string& place) {
  throw Error(ErrorKind::kInput, message, place);
}

std::vector<std::string> chosen_rules(const std::vector<std::string>& has,
                                      const SubjectSettings& settings, const std::string& subject) {
  if (settings.rule.empty()) return has;
  const auto& known = reference::verify::rules();
  if (std::find(known.begin(), known.end(), settings.rule) == known.end()) {
    refuse(fmt::format("unknown rule \"{}\"; known: {}", settings.rule, fmt::join(known, ", ")),
           "--rule");
  }
  if (std::find(has.begin(), has.end(), settings.rule) == has.end()) {
    refuse(fmt::format("{} has no rule \"{}\"; it has: {}", subject, settings.rule,
                       fmt::join(has, ", ")),
           "--rule");
  }
  return {settings.rule};
}

void refuse_device(const SubjectSettings& settings) {
  if (settings.device.empty()) return;
  refuse(fmt::format("{} runs on the CPU and on no device; leave --device out", settings.subject),
         "--device " + settings.device);
}

SubjectChoice reference_subject(const SubjectSettings& settings) {
  refuse_device(settings);
  SubjectChoice choice{"reference", "cpu", {}, {}, {}};
  choice.rules = chosen_rules(reference::verify::rules(), settings, choice.name);
  choice.make = [](const std::string& rule) {
    return SubjectInstance{nullptr, reference::verify::make_verifier(rule),
                           reference::verify::make_verifier(rule)};
  };
  return choice;
}

/// Kernels on a device; `texts` absent: the embedded ones.
SubjectChoice kernel_subject(const SubjectSettings& settings, const std::string& name,
                             std::optional<gpu::PatchedText> texts) {
  SubjectChoice choice{name, make_device(settings.device)->name(), {}, {}, {}};
  choice.rules = chosen_rules(gpu::kernel_rules(), settings, name);
  choice.make = [device = settings.device, texts = std::move(texts)](const std::string& rule) {
    SubjectInstance instance;
    instance.device = make_device(device);
    instance.verifier = gpu::make_kernel_verifier(*instance.device, rule, texts);
    instance.twin = reference::verify::make_verifier(rule);
    return instance;
  };
  return choice;
}

/// Fused acceptance, its work divided otherwise for every schedule seed.
SubjectChoice fused_subject(const SubjectSettings& settings) {
  SubjectChoice choice{"fused", make_device(settings.device)->name(), {}, {}, {}};
  choice.rules = chosen_rules(gpu::fused_rules(), settings, choice.name);
  choice.make = [device = settings.device](const std::string& rule) {
    SubjectInstance instance;
    instance.device = make_device(device);
    instance.verifier = std::make_unique<gpu::FusedVerifier>(*instance.device, rule);
    instance.twin = reference::verify::make_verifier(rule);
    return instance;
  };
  return choice;
}

/// The module whose entry has this name: shaping, or a rule's. Empty: none that files stand in for.
std::string module_with(std::string_view entry) {
  for (const char* format : {"f32", "bf16", "f16"})
    if (entry == fmt::format("draftproof_shape_rows_{}", format)) return "shaping";
  for (const gpu::launches::VerifyRule& rule : gpu::launches::verify_rules())
    for (const char* known : rule.entries)
      if (entry == known) return rule.module;
  return "";
}

/// The module that a text stands in for, by the entries it holds. Its file name means nothing.
std::string module_of(const std::string& ptx, const std::string& file) {
  std::string other;  // an entry of ours that a rule in two launches has no use for
  bool is_ours = true;
  for (const auto& function : gpu::emulator::parse_module(ptx, file).functions) {
    if (!function.is_entry) continue;
    const std::string module = module_with(function.name);
    if (!module.empty()) return module;
    other = function.name;
    is_ours = is_ours && function.name.starts_with("draftproof_");
  }
  if (is_ours && !other.empty()) {
    refuse(fmt::format("no property judges its entry {} from a file; fused acceptance is --subject "
                       "fused, other kernels have tests of their own: ctest --test-dir build -R "
                       "differential",
                       other),
           file);
  }
  refuse(
      "has no entry draftproof_shape_rows_{f32,bf16,f16} and none of a rule of ours "
      "(draftproof_verify_*); describe somebody else's kernel by a card",
      file);
}

/// Our entries as PTX files that were built elsewhere; what is not given is the embedded text.
SubjectChoice files_subject(const SubjectSettings& settings) {
  gpu::PatchedText texts;
  if (gpu::kernels_are_embedded()) texts.modules = gpu::embedded_texts();
  std::vector<std::string> modules;
  for (const std::string& file : settings.kernels) {
    std::string ptx = store::read_file(file);
    modules.push_back(module_of(ptx, file));
    if (std::count(modules.begin(), modules.end(), modules.back()) > 1) {
      refuse("holds the module \"" + modules.back() + "\" a second time; leave one file out", file);
    }
    texts.modules[modules.back()] = std::move(ptx);
  }
  texts.name = fmt::format("kernels:{}", fmt::join(settings.kernels, ","));
  texts.statement = "our entries as compiled elsewhere";
  SubjectChoice choice = kernel_subject(settings, texts.name, texts);
  // A rule that runs none of the files would be upheld in their name without having met them.
  std::erase_if(choice.rules, [&](const std::string& rule) {
    return std::none_of(modules.begin(), modules.end(), [&](const std::string& module) {
      return module == gpu::kernel_module(rule) || module == "shaping";
    });
  });
  if (choice.rules.empty()) {
    refuse(fmt::format("no file given runs the rule \"{}\"; leave --rule out", settings.rule),
           "--rule");
  }
  return choice;
}

/// The reference that a mutant is held against: for a common-mode fault one with the same fault.
std::unique_ptr<reference::Verifier> twin_of(const std::string& mutant, const std::string& rule) {
  const auto& known = fixtures::mutants();
  const bool is_fixture = std::any_of(known.begin(), known.end(),
                                      [&](const auto& info) { return info.name == mutant; });
  auto twin = is_fixture ? fixtures::make_twin(mutant) : nullptr;
  return twin ? std::move(twin) : reference::verify::make_verifier(rule);
}

/// Our kernels with a fault in their PTX.
SubjectChoice kernel_mutant_subject(const SubjectSettings& settings, const gpu::PtxPatch& patch) {
  SubjectChoice choice{settings.subject, make_device(settings.device)->name(), {}, {}, {}};
  const std::vector<std::string> rules = gpu::rules_of(patch);
  if (rules.empty()) {
    refuse(fmt::format("breaks the module \"{}\", which no rule of acceptance runs; the tests of "
                       "its family hold it against its own properties",
                       patch.module),
           settings.subject);
  }
  choice.rules = chosen_rules(rules, settings, choice.name);
  choice.make = [device = settings.device, name = patch.name,
                 texts =
                     gpu::patched_kernels(patch, gpu::embedded_texts())](const std::string& rule) {
    SubjectInstance instance;
    instance.device = make_device(device);
    instance.verifier = gpu::make_kernel_verifier(*instance.device, rule, texts);
    instance.twin = twin_of(name, rule);
    return instance;
  };
  return choice;
}

/// Refuses a patch of kernels that no property judges, with where it is judged.
void refuse_if_in_a_folder(const std::string& name) {
  for (const PatchPlace& place : patches_in_folders()) {
    if (place.name != name) continue;
    refuse(fmt::format("no property judges the kernels that mutant \"{}\" breaks; a test does that "
                       "fixtures/mutants/kernels/{}/README.md names: ctest --test-dir build -R "
                       "\"Patches|Broken\"",
                       name, place.folder),
           "--subject");
  }
}

SubjectChoice mutant_subject(const SubjectSettings& settings) {
  const std::string name = settings.subject.substr(kMutantPrefix.size());
  const gpu::PtxPatch* patch = find_kernel_mutant(name);
  const auto& known = fixtures::mutants();
  const bool is_fixture =
      std::any_of(known.begin(), known.end(), [&](const auto& info) { return info.name == name; });
  if (patch == nullptr && !is_fixture) {
    refuse_if_in_a_folder(name);
    refuse(fmt::format("unknown mutant \"{}\"; see: draftproof list mutants", name), "--subject");
  }
  if (patch != nullptr && (!is_fixture || gpu::kernels_are_embedded())) {
    return kernel_mutant_subject(settings, *patch);
  }
  refuse_device(settings);
  SubjectChoice choice{settings.subject, "cpu", {}, {}, {}};
  if (patch != nullptr) {
    choice.warnings.push_back(name +
                              ": no kernel is embedded, so its twin on the CPU is judged; "
                              "build with nvcc to judge the kernel");
  }
  choice.rules = chosen_rules({fixtures::make_mutant(name)->traits().rule}, settings, choice.name);
  choice.make = [name](const std::string& rule) {
    return SubjectInstance{nullptr, fixtures::make_mutant(name), twin_of(name, rule)};
  };
  return choice;
}

SubjectChoice named_subject(const SubjectSettings& settings) {
  if (!settings.kernels.empty()) return files_subject(settings);
  if (settings.subject == "reference") return reference_subject(settings);
  if (settings.subject.empty() || settings.subject == "kernels") {
    return kernel_subject(settings, "kernels", std::nullopt);
  }
  if (settings.subject == "fused") return fused_subject(settings);
  if (settings.subject.starts_with(kMutantPrefix)) return mutant_subject(settings);
  refuse(fmt::format("unknown subject \"{}\"; known: reference, kernels, fused, mutant:NAME (see: "
                     "draftproof list mutants)",
                     settings.subject),
         "--subject");
}

}  // namespace

std::unique_ptr<gpu::Device> make_device(const std::string& name) {
  if (name.empty() || name == "emulator") return gpu::make_emulated_device();
  if (name == "cuda") return gpu::make_cuda_device();
  refuse(fmt::format("unknown device \"{}\"; known: emulator, cuda", name), "--device");
}

SubjectChoice choose_subject(const SubjectSettings& settings) {
  SubjectChoice choice = named_subject(settings);
  for (const std::string& rule : choice.rules) choice.make(rule);
  return choice;
}

std::string describe_kernels() {
  const auto count = gpu::kernels::embedded_modules().size();
  return count == 0 ? "none embedded" : fmt::format("embedded ({} modules)", count);
}

}  // namespace draftproof::tools
