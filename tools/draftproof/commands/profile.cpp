// profile: what acceptance from logits costs, by our kernels and by others', on the same inputs.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <ostream>

#include "gpu/cuda_device.h"
#include "reference/error.h"
#include "tools/cost/cost.h"
#include "tools/cost/report.h"
#include "tools/draftproof/profile_settings.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

reference::LogitFormat storage_of(const std::string& name) {
  if (name == "bfloat16") return reference::LogitFormat::kBfloat16;
  return name == "float16" ? reference::LogitFormat::kFloat16 : reference::LogitFormat::kFloat32;
}

cost::Plan cost_plan_of(const ProfileSettings& settings) {
  cost::Plan plan;
  for (const std::uint64_t vocabulary : settings.vocabularies) {
    for (const std::uint64_t requests : settings.requests) {
      for (const bool has_filters : {false, true}) {
        if (settings.filters != "both" && has_filters != (settings.filters == "on")) continue;
        plan.shapes.push_back({vocabulary, settings.draft_length, requests, has_filters,
                               storage_of(settings.logits)});
      }
    }
  }
  plan.pipelines = settings.pipelines;
  plan.third_party = settings.third_party;
  plan.seed = settings.seed.empty() ? 1 : seed_from(settings.seed, "--seed");
  plan.repeats = settings.repeats;
  plan.is_cold = settings.is_cold;
  return plan;
}

/// Before anything is measured, which takes minutes.
void refuse_unwritable(const std::string& file) {
  if (file.empty()) return;
  if (std::filesystem::is_directory(file))
    throw Error(ErrorKind::kInput, "is a folder; name a file in it", "--write");
  const std::string reason = store::why_unwritable(std::filesystem::path(file).parent_path());
  if (!reason.empty())
    throw Error(ErrorKind::kInput,
                "cannot write " + file + ": " + reason + "; name a file in a folder of yours",
                "--write");
}

std::string refusal_of_nothing(const std::string& file) {
  return file.empty() ? "is empty; name a file" : "";
}

}  // namespace

void add_profile(CLI::App& app, ProfileSettings& settings) {
  CLI::App& command = *app.add_subcommand(
      "profile", "What acceptance costs: counted on the emulated device, timed on a GPU");
  command
      .add_option("--pipeline", settings.pipelines,
                  "Parts of names (draftproof, flashinfer, sglang, vllm); default: all")
      ->delimiter(',');
  command.add_option("--vocab", settings.vocabularies, "Vocabularies; default 32000")
      ->delimiter(',')
      ->check(CLI::Range(8, 1 << 20));
  command.add_option("--requests", settings.requests, "Requests of a batch; default 1")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  command
      .add_option("--draft-length", settings.draft_length, "Drafted tokens a request; default 4")
      ->check(CLI::Range(0, 64));
  command.add_option("--filters", settings.filters, "Top-k 50 and top-p 0.95; default off")
      ->check(CLI::IsMember({"off", "on", "both"}));
  command
      .add_option("--logits", settings.logits, "Storage of logits; others' kernels take float32")
      ->check(CLI::IsMember({"float32", "bfloat16", "float16"}));
  command.add_option("--device", settings.device, "emulator counts, cuda times")
      ->check(CLI::IsMember({"emulator", "cuda"}));
  command.add_flag("--cold", settings.is_cold, "Timed with nothing of the input in L2");
  command.add_option("--repeats", settings.repeats, "Timed repeats; default 20")
      ->check(CLI::Range(1, 100'000));
  command.add_option("--seed", settings.seed, "Of the logits; default 1");
  command.add_option("--third-party", settings.third_party,
                     "Where tools/kernels/fetch.sh wrote; default build/third_party");
  command.add_option("--write", settings.file, "Also write the JSON to this file")
      ->check(refusal_of_nothing);
  command.add_option("-o,--output", settings.output, "What stdout carries")
      ->check(CLI::IsMember({"text", "md", "json"}));
}

ExitCode profile_command(const ProfileSettings& settings, const Streams& streams) {
  refuse_unwritable(settings.file);
  const auto device =
      settings.device == "cuda" ? gpu::make_cuda_device() : cost::make_counting_device();
  const cost::Costs costs = cost::measure(*device, cost_plan_of(settings));
  const std::string json = cost::cost_json(costs);
  streams.out << (settings.output == "json" ? json
                                            : cost::cost_page(costs, settings.output == "md"));
  if (!settings.file.empty())
    store::write_atomically(settings.file, json, "name another file with --write");
  const bool any_failed = std::any_of(costs.rows.begin(), costs.rows.end(),
                                      [](const cost::Cost& row) { return row.is_failed; });
  return any_failed ? ExitCode::kViolated : ExitCode::kUpheld;
}

}  // namespace draftproof::tools
