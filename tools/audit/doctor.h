// Doctor: what must be true of two arms before anything is judged of them, asked of the arms
// themselves: that one drafts and the other does not (counters move), that both serve one model
// (the same law where no draft can be, the same tokenizer), that parameters and seeds are obeyed,
// that reported probabilities are what they are said to be, that a baseline on a toy has the toy's
// law. Few requests, no verdict on speculation: whoever fails here would be judged for the wrong
// thing.
//
// Drafts are never longer than what is left to emit but one, so an answer of one token comes from
// no draft: laws of single tokens tell models apart, whatever is wrong with the speculation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/known_target.h"
#include "tools/audit/config.h"
#include "tools/engines/client.h"

namespace draftproof::tools::audit {

enum class Standing : std::uint8_t {
  kHolds,
  kLimited,   ///< so it is, and something cannot be audited for it
  kNotKnown,  ///< not told, or not shown
  kFails,
};
/// "yes", "limited", "not known", "NO"
std::string_view to_string(Standing standing);

struct Finding {
  std::string subject;   ///< "baseline", "speculative", "both"
  std::string question;  ///< "makes drafts"
  Standing standing = Standing::kNotKnown;
  std::string says;    ///< the evidence, one line
  std::string remedy;  ///< empty: none is needed
  bool is_needed =
      false;  ///< no audit can start where it fails, nor conclude where it is not known
};

struct ArmRecord {
  properties::Arm arm = properties::Arm::kSpeculative;
  std::string address;  ///< url, command or runner; no credentials are in it
  engines::ArmFacts facts;
  properties::Capabilities capabilities;
  std::vector<std::pair<std::string, std::string>> deployment;
  std::string tokenizer_hash;  ///< SHA-256 of ids of texts; empty: the server does not cut texts
  std::string template_hash;   ///< SHA-256 of the chat template; empty: not told
  std::optional<double> tokens_per_second;
};

struct DoctorReport {
  std::vector<ArmRecord> arms;
  std::vector<Finding> findings;
  std::vector<std::string> cannot_audit;  ///< audits and parameters, each with its reason
  std::uint64_t requests = 0;
};

/// One arm, reachable.
struct Patient {
  properties::Arm arm = properties::Arm::kSpeculative;
  std::shared_ptr<engines::ArmClient> client;
  ArmRecord record;
};

struct DoctorSettings {
  /// Prompts by ids or by text; at least one. The last one repeats itself, for lookup drafts.
  std::vector<properties::SamplingRequest> prompts;
  std::uint64_t seed = 1;
  int concurrency = 8;
  int draw_count = 160;  ///< single tokens of a prompt and arm
  std::optional<std::string> declared_lossy;
  const properties::audits::KnownTarget* target = nullptr;  ///< null: nobody knows the law
};

/// Its url, command or runner, as typed.
std::string address_of(const ArmConfig& given);

/// Of the prompts of a matrix at most four, and the one that repeats itself.
DoctorSettings doctor_settings(const AuditConfig& config);
/// A patient with what it tells of itself. Throws as ArmClient::facts.
Patient patient_of(properties::Arm arm, std::shared_ptr<engines::ArmClient> client,
                   const ArmConfig& given);

/// One patient or both arms, the baseline first. Whatever an arm answers is a finding.
DoctorReport examine(std::vector<Patient> patients, const DoctorSettings& settings);

/// 0: all that is needed was shown. 2: something needed was not shown, or something is not as told.
/// 3: something needed does not hold: an audit would judge the wrong thing.
int exit_code_of(const DoctorReport& report);

enum class DoctorForm { kText, kMarkdown, kJson };
/// JSON conforms to tools/schema/doctor.schema.json.
std::string page_of(const DoctorReport& report, DoctorForm form);

/// Where an examination is kept for plans. One server alone has a file of its own, so that it does
/// not take a pair's place.
std::filesystem::path doctor_file(const std::filesystem::path& report_dir, bool is_pair);

/// Rates and capabilities of an earlier examination, for plans: reads what page_of() wrote as JSON.
/// Empty where there is no such file, or it is no such file.
std::vector<ArmRecord> read_doctor_record(const std::filesystem::path& file);

}  // namespace draftproof::tools::audit
