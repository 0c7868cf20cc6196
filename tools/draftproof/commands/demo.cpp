// demo: what the tool is, in under a minute. One exact law; one broken verifier, refuted with its
// least case; our kernel, certified on the same kind of case; a whole engine over HTTP, right and
// with a fault in its state; three commands to go on with. A bug that is named chooses the parts
// that it is about.
#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "fixtures/mutants/catalog.h"
#include "gpu/verifiers.h"
#include "reference/error.h"
#include "tools/draftproof/check_run.h"
#include "tools/draftproof/commands/commands.h"
#include "tools/draftproof/engine_demo.h"
#include "tools/draftproof/kernel_mutants.h"
#include "tools/draftproof/law_page.h"
#include "tools/engines/engine_bug.h"

namespace draftproof::tools {
namespace {

constexpr const char* kLawProperty = "emitted_law_is_target_law";

/// How to call this very command from here: nothing says that it is on the PATH.
std::string runnable_name() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto nearby = std::filesystem::proximate(path, error);
  if (error || path.empty()) return "draftproof";
  return nearby.native().size() < path.native().size() ? nearby.string() : path.string();
}

/// What is shown when no bug is named: of verifiers and of engines.
constexpr const char* kVerifierBug = "textbook_cycle";
constexpr const char* kEngineBug = "rollback_does_nothing";

constexpr const char* kFurther =
    ". Three commands to go on with\n\n"
    "   I wrote a kernel      draftproof check --subject kernels --battery smoke\n"
    "   I maintain an engine  draftproof explore --world all\n"
    "   I want to understand  draftproof law --target .1,.6,.3 --draft .4,.3,.3 --length 2\n";

constexpr const char* kFurtherWithEngines =
    ". Three commands to go on with\n\n"
    "   Another fault         draftproof demo --bug history_masked_out\n"
    "   One that only costs   draftproof demo --bug bonus_not_fed_to_the_draft\n"
    "   An engine to ask      draftproof serve --toy hashed\n";

struct Bug {
  std::string statement;
  std::string killed_by;
};

Bug bug_of(const std::string& name) {
  if (const gpu::PtxPatch* patch = find_kernel_mutant(name)) {
    return {patch->statement, patch->kills};
  }
  for (const auto& info : fixtures::mutants()) {
    if (info.name != name) continue;
    if (info.kind == fixtures::MutantKind::kControl) {
      throw Error(ErrorKind::kInput,
                  fmt::format("{} only looks lossy: no property refutes it; name a mutant (see: "
                              "draftproof list mutants)",
                              name),
                  "--bug");
    }
    return {info.statement, info.killed_by};
  }
  throw Error(ErrorKind::kInput,
              fmt::format("\"{}\" is no mutant, see: draftproof list mutants; and no fault of an "
                          "engine, see: draftproof list state-faults",
                          name),
              "--bug");
}

/// One property against one subject, with the smoke battery, printed like a check.
ExitCode check_one(const std::string& property, const SubjectSettings& subject,
                   const DemoSettings& demo, const Streams& streams) {
  CheckSettings settings;
  settings.battery = properties::Battery::kSmoke;
  settings.reports = "none";
  settings.report_dir = demo.report_dir;
  settings.output = demo.output;
  const SubjectChoice choice = choose_subject(subject);
  properties::Settings property_settings;
  property_settings.battery = settings.battery;
  std::string arguments = " --subject " + choice.name;
  if (settings.report_dir != CheckSettings{}.report_dir) {
    arguments += " --report-dir " + settings.report_dir;
  }
  return run_and_report(plan_checks(choice, selected_properties({property}), property_settings),
                        {choice.name, choice.device, arguments}, settings, streams);
}

ExitCode show_law(const Streams& streams) {
  LawSettings settings;
  settings.target = ".1,.3,.6";
  settings.draft = ".7,.2,.1";
  const LawResult result = law_result(law_plan(settings));
  streams.out << "1. One exact law: draftproof law --target .1,.3,.6 --draft .7,.2,.1\n\n"
              << law_page(result) << "\n"
              << std::flush;
  return result.distance == 0 ? ExitCode::kUpheld : ExitCode::kViolated;
}

void show_further(int number, const char* further, const Streams& streams) {
  streams.out << "\n"
              << number << further << "\n   (draftproof is " << runnable_name() << " here)\n";
}

/// Parts 1 to 3.
ExitCode show_verifiers(const std::string& name, const DemoSettings& settings,
                        const Streams& streams) {
  const Bug bug = bug_of(name);
  const ExitCode law_code = show_law(streams);

  streams.out << fmt::format("2. A broken verifier is refuted: {}\n   {}\n\n", name, bug.statement)
              << std::flush;
  SubjectSettings mutant;
  mutant.subject = "mutant:" + name;
  const ExitCode mutant_code = check_one(bug.killed_by, mutant, settings, streams);

  SubjectSettings kernel;
  kernel.rule = "chain";
  const bool has_kernels = gpu::kernels_are_embedded();
  kernel.subject = has_kernels ? "kernels" : "reference";
  streams.out << (has_kernels
                      ? "\n3. Our CUDA kernel, as compiled, certified on the emulated device\n\n"
                      : "\n3. No kernel is embedded in this build, so the reference on the CPU is "
                        "certified\n   instead; put nvcc 13.0 on PATH and build again to see the "
                        "kernel\n\n")
              << std::flush;
  const ExitCode kernel_code = check_one(kLawProperty, kernel, settings, streams);
  if (mutant_code == ExitCode::kInterrupted || kernel_code == ExitCode::kInterrupted) {
    return ExitCode::kInterrupted;
  }
  DRAFTPROOF_CHECK(law_code == ExitCode::kUpheld, "the law of the tiny case is not the target's");
  DRAFTPROOF_CHECK(mutant_code == ExitCode::kViolated, name + " was not refuted");
  return kernel_code;
}

}  // namespace

ExitCode demo(const DemoSettings& settings, const Streams& streams) {
  if (const fixtures::StateFault* fault = find_engine_bug(settings.bug)) {
    const ExitCode code = show_engine(1, *fault, streams);
    show_further(2, kFurtherWithEngines, streams);
    return code;
  }
  const bool is_whole = settings.bug.empty();
  const ExitCode verifiers =
      show_verifiers(is_whole ? kVerifierBug : settings.bug, settings, streams);
  if (verifiers == ExitCode::kInterrupted) return verifiers;
  int number = 4;
  ExitCode engine = ExitCode::kUpheld;
  if (is_whole) {
    streams.out << "\n";
    engine = show_engine(number++, fixtures::state_fault(kEngineBug), streams);
  }
  show_further(number, kFurther, streams);
  return verifiers == ExitCode::kUpheld ? engine : verifiers;
}

}  // namespace draftproof::tools
