// Arms: both sides of an audit, up and reachable: servers that run already, servers and programs
// that we start, and those end with the object. What they told when the run began is kept, so that
// another model behind the same port is noticed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/audit/arm_change.h"
#include "tools/audit/config.h"

namespace draftproof::tools::audit {

class Arms {
 public:
  /// Logs and programs of ours go to `folder`. Throws Error(kInput), Error(kEnvironment) with the
  /// arm's name: nobody answers, somebody else does, it ends at its start, an expectation is unmet.
  Arms(const AuditConfig& config, const std::filesystem::path& folder);
  Arms(const Arms&) = delete;
  ~Arms();

  bool has_baseline() const { return baseline_ != nullptr; }
  /// Precondition: has_baseline() for Arm::kBaseline.
  engines::ArmClient& client(properties::Arm arm) const;
  std::shared_ptr<engines::ArmClient> shared(properties::Arm arm) const;
  const engines::ArmFacts& facts(properties::Arm arm) const;
  std::vector<properties::Arm> arms() const;
  /// Who reads answers again: another server of the same weights; null: the speculative one itself.
  std::shared_ptr<engines::ArmClient> scorer() const { return scorer_; }

  /// Asks again. What differs from the beginning, or why an arm no longer answers.
  std::optional<ArmChange> what_changed();
  /// Of a process of ours that has ended: its arm, how, and the last lines of its log.
  std::string what_ended() const;

 private:
  struct Side;
  const Side& side(properties::Arm arm) const;
  std::unique_ptr<Side> baseline_, speculative_;
  std::shared_ptr<engines::ArmClient> scorer_;
};

/// "llama.cpp b6012, model NAME, vocabulary 16, drafts by ngram of 3": one line of what an arm
/// told.
std::string line_of(const engines::ArmFacts& facts);

/// What identifies an engine within a run, as JSON: engine, version, model, vocabulary, method. No
/// address and no counter is in it.
std::string identity_of(const engines::ArmFacts& facts);

}  // namespace draftproof::tools::audit
