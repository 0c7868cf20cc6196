#include "tools/audit/examination.h"

#include <utility>

#include "reference/error.h"

namespace draftproof::tools::audit {
namespace {

constexpr int kDraws = 40;  // of a prompt and arm: gross differences, before anything is judged

std::string line_of(const Finding& finding) {
  std::string line = finding.question + ": " + std::string(to_string(finding.standing));
  if (!finding.says.empty()) line += ", " + finding.says;
  if (!finding.remedy.empty()) line += "; " + finding.remedy;
  return line;
}

}  // namespace

std::vector<Patient> patients_of(const AuditConfig& config, const Arms& arms) {
  std::vector<Patient> patients;
  for (const properties::Arm arm : arms.arms())
    patients.push_back(
        patient_of(arm, arms.shared(arm),
                   arm == properties::Arm::kBaseline ? config.baseline : config.speculative));
  if (patients.size() == 1 && patients[0].record.facts.is_speculative == false)
    patients[0].arm = patients[0].record.arm = properties::Arm::kBaseline;
  return patients;
}

std::vector<std::string> need_sound_arms(const AuditConfig& config, const Arms& arms,
                                         const properties::audits::KnownTarget* target) {
  DoctorSettings settings = doctor_settings(config);
  settings.draw_count = kDraws;
  settings.target = target;
  const DoctorReport report = examine(patients_of(config, arms), settings);
  std::vector<std::string> warnings;
  for (const Finding& finding : report.findings) {
    if (!finding.is_needed) continue;
    const std::string place = finding.subject == "both" ? "both arms" : finding.subject;
    if (finding.standing == Standing::kFails)
      throw Error(
          ErrorKind::kInput,
          line_of(finding) + " (draftproof doctor shows all; --skip-doctor judges all the same)",
          place);
    if (finding.standing == Standing::kNotKnown) warnings.push_back(place + " " + line_of(finding));
  }
  return warnings;
}

}  // namespace draftproof::tools::audit
