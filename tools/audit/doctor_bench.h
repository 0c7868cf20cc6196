// Doctor's bench: asking patients and writing findings down, for the probes of doctor_*.cpp.
#pragma once

#include <string>
#include <vector>

#include "tools/audit/doctor.h"

namespace draftproof::tools::audit {

/// What a probe asks of, and writes to. Lives as long as the examination.
class Bench {
 public:
  Bench(std::vector<Patient>& patients, const DoctorSettings& settings, DoctorReport& report)
      : patients_(patients), settings_(settings), report_(report) {}

  const DoctorSettings& settings() const { return settings_; }
  std::vector<Patient>& patients() { return patients_; }
  /// nullptr when there is no such arm.
  Patient* patient(properties::Arm arm);

  /// The prompt at `index` (modulo their number) with these parameters, filters off.
  properties::SamplingRequest request(std::size_t index, double temperature, int max_tokens) const;
  /// A seed that no other probe uses.
  std::uint64_t next_seed();

  /// Completions in order, `together` at a time. What cannot be asked at all throws
  /// Error(kInput); a server that is gone Error(kEnvironment).
  std::vector<properties::Completion> ask(Patient& patient,
                                          const std::vector<properties::SamplingRequest>& requests,
                                          int together);
  std::vector<properties::Completion> ask(
      Patient& patient, const std::vector<properties::SamplingRequest>& requests) {
    return ask(patient, requests, settings_.concurrency);
  }
  properties::Completion ask_one(Patient& patient, const properties::SamplingRequest& request);

  void add(Finding finding) { report_.findings.push_back(std::move(finding)); }
  void cannot(const std::string& line) { report_.cannot_audit.push_back(line); }

 private:
  std::vector<Patient>& patients_;
  const DoctorSettings& settings_;
  DoctorReport& report_;
  std::uint64_t seeds_ = 0;
};

/// "failed: HTTP 500 ..." of the first that failed; empty when none did.
std::string failure_in(const std::vector<properties::Completion>& completions);

// Probes. Each writes at least one finding for each arm, or pair, that it speaks of.
void probe_answers(Bench& bench, Patient& patient);     ///< obeys counts, ids, temperature, top_k
void probe_repeats(Bench& bench, Patient& patient);     ///< greedy and seeded answers repeat
void probe_together(Bench& bench, Patient& patient);    ///< requests in flight; the rate
void probe_logprobs(Bench& bench, Patient& patient);    ///< sums, kind, truth
void probe_scores(Bench& bench, Patient& patient);      ///< prompt logprobs
void probe_drafts(Bench& bench, Patient& patient);      ///< on in one arm, off in the other
void probe_lossy_mode(Bench& bench, Patient& patient);  ///< by the server's own words
void probe_same_engine(Bench& bench);                   ///< names, vocabulary, tokenizer, template
void probe_same_model(Bench& bench);                    ///< laws of single tokens
void probe_known_law(Bench& bench, Patient& patient);   ///< toy control
void probe_against_itself(Bench& bench, Patient& patient);  ///< A/A control
/// What follows for audits from everything that was found.
void conclude(Bench& bench, const DoctorReport& report);

}  // namespace draftproof::tools::audit
