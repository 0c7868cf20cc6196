#include "tools/audit/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reference/error.h"
#include "tools/audit/doctor_bench.h"
#include "tools/audit/prompt_set.h"
#include "tools/toys/sha256.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::SamplingRequest;

constexpr std::size_t kPromptsMax = 4;

/// Texts whose ids tell tokenizers apart: blanks, digits, letters of several scripts, markup.
const std::vector<std::string>& probe_texts() {
  static const std::vector<std::string> texts = {
      "a",
      "The bridge over the river",
      "  two  blanks",
      "1234567890",
      "x\n\ty\n",
      "caf\xC3\xA9 \xE2\x82\xAC \xE6\x97\xA5\xE6\x9C\xAC",
      "</s><|im_end|>",
      "don't",
      "{\"k\": [1]}"};
  return texts;
}

std::string tokenizer_hash(engines::ArmClient& client) {
  std::string ids;
  try {
    for (const std::string& text : probe_texts()) {
      const auto tokens = client.tokenize(text);
      if (!tokens) return "";
      for (const reference::Token token : *tokens) ids += std::to_string(token) + ",";
      ids += ";";
    }
  } catch (const Error&) {
    return "";  // A toy of three letters cuts none of them.
  }
  return toys::sha256(ids);
}

/// What an audit can do without.
bool may_stay_open(const std::string& question) {
  return question == "repeats itself" || question == "takes requests together" ||
         question == "reports logprobs" || question == "scores prompts";
}

/// Runs a probe; what it could not ask is a finding, what it lost ends the examination of the arm.
template <typename Probe>
bool run(Bench& bench, const std::string& subject, const std::string& question,
         const Probe& probe) {
  try {
    probe();
    return true;
  } catch (const Error& error) {
    const bool is_gone = error.kind() == ErrorKind::kEnvironment;
    const std::string refused =
        "ask otherwise: --prompts or --prompt-file, or name the toy that is served (--toy)";
    bench.add({subject, is_gone ? "stays up" : question,
               is_gone ? Standing::kFails : Standing::kNotKnown, error.what(),
               is_gone ? "look into the server's log and start it again" : refused,
               is_gone || !may_stay_open(question)});
    return !is_gone;
  }
}

bool examine_arm(Bench& bench, Patient& patient) {
  const std::string subject = to_string(patient.arm);
  const auto ask = [&](const std::string& question, void (*probe)(Bench&, Patient&)) {
    return run(bench, subject, question, [&] { probe(bench, patient); });
  };
  return ask("answers what it is asked", probe_answers) && ask("repeats itself", probe_repeats) &&
         ask("takes requests together", probe_together) &&
         ask("reports logprobs", probe_logprobs) && ask("scores prompts", probe_scores) &&
         ask("makes drafts", probe_drafts) && ask("gives the law up on purpose", probe_lossy_mode);
}

}  // namespace

std::string address_of(const ArmConfig& given) {
  if (given.process) return given.process->command;
  return given.runner.empty() ? given.client.url : given.runner;
}

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::kHolds:
      return "yes";
    case Standing::kLimited:
      return "limited";
    case Standing::kNotKnown:
      return "not known";
    case Standing::kFails:
      break;
  }
  return "NO";
}

Patient* Bench::patient(Arm arm) {
  for (Patient& each : patients_)
    if (each.arm == arm) return &each;
  return nullptr;
}

SamplingRequest Bench::request(std::size_t index, double temperature, int max_tokens) const {
  SamplingRequest request = settings_.prompts[index % settings_.prompts.size()];
  request.sampling = {};
  request.sampling.temperature = temperature;
  request.max_tokens = max_tokens;
  request.seed.reset();
  return request;
}

std::uint64_t Bench::next_seed() {
  // 31 bits, which every engine takes.
  return (settings_.seed * 0x9e3779b97f4a7c15U + ++seeds_ * 0xbf58476d1ce4e5b9U) >> 33U;
}

std::vector<Completion> Bench::ask(Patient& patient, const std::vector<SamplingRequest>& requests,
                                   int together) {
  report_.requests += requests.size();
  const auto arms = engines::two_arms(patient.client, patient.client, together);
  return arms->generate(patient.arm, requests);
}

Completion Bench::ask_one(Patient& patient, const SamplingRequest& request) {
  ++report_.requests;
  return patient.client->complete(request);
}

std::string failure_in(const std::vector<Completion>& completions) {
  for (const Completion& each : completions)
    if (each.end == properties::CompletionEnd::kFailed)
      return "failed: " + (each.failure.empty() ? "no reason was given" : each.failure);
  return "";
}

DoctorSettings doctor_settings(const AuditConfig& config) {
  DoctorSettings settings;
  settings.seed = config.seed;
  settings.concurrency = config.concurrency;
  settings.declared_lossy = config.declared_lossy;
  std::set<std::string> names;
  SamplingRequest repeating;
  for (const auto& each : config.matrix.cases) {
    if (!names.insert(each.prompt_name).second) continue;
    SamplingRequest prompt;
    prompt.prompt = each.request.prompt;
    prompt.prompt_text = each.request.prompt_text;
    const bool repeats = each.prompt_name == "repeat" || each.prompt_name == "copy_edit";
    if (repeats)
      repeating = prompt;
    else if (settings.prompts.size() < kPromptsMax)
      settings.prompts.push_back(prompt);
  }
  if (repeating.prompt.empty() && repeating.prompt_text.empty()) {
    repeating = settings.prompts.front();
    const properties::Prompt once = repeating.prompt;
    for (int i = 0; i < 5; ++i)
      repeating.prompt.insert(repeating.prompt.end(), once.begin(), once.end());
  }
  settings.prompts.push_back(repeating);
  return settings;
}

Patient patient_of(Arm arm, std::shared_ptr<engines::ArmClient> client, const ArmConfig& given) {
  Patient patient{arm, std::move(client), {}};
  ArmRecord& record = patient.record;
  record.arm = arm;
  record.address = address_of(given);
  record.facts = patient.client->facts();
  record.capabilities = patient.client->capabilities();
  record.deployment = given.deployment;
  record.tokenizer_hash = tokenizer_hash(*patient.client);
  if (!record.facts.chat_template.empty())
    record.template_hash = toys::sha256(record.facts.chat_template);
  return patient;
}

DoctorReport examine(std::vector<Patient> patients, const DoctorSettings& settings) {
  DRAFTPROOF_CHECK(!patients.empty() && !settings.prompts.empty(), "nobody, or nothing, to ask");
  DoctorReport report;
  Bench bench(patients, settings, report);
  bool all_up = true;
  for (Patient& patient : patients) all_up = examine_arm(bench, patient) && all_up;
  if (all_up && patients.size() > 1) {
    all_up = run(bench, "both", "are one engine", [&] { probe_same_engine(bench); }) &&
             run(bench, "both", "serve one model", [&] { probe_same_model(bench); });
  }
  // Controls are of an arm that does not draft.
  Patient* baseline = bench.patient(Arm::kBaseline);
  if (all_up && baseline != nullptr) {
    static_cast<void>(
        run(bench, "baseline", "has the law of the toy",
            [&] { probe_known_law(bench, *baseline); }) &&
        run(bench, "baseline", "has its own law", [&] { probe_against_itself(bench, *baseline); }));
  }
  for (Patient& patient : patients) report.arms.push_back(patient.record);
  conclude(bench, report);
  return report;
}

int exit_code_of(const DoctorReport& report) {
  int code = 0;
  for (const Finding& each : report.findings) {
    if (each.standing == Standing::kFails) code = std::max(code, each.is_needed ? 3 : 2);
    if (each.standing == Standing::kNotKnown && each.is_needed) code = std::max(code, 2);
  }
  return code;
}

}  // namespace draftproof::tools::audit
