// Judge: evidence in, verdicts out; no engine is asked. One check is an audit in a setting of the
// matrix; the run's budget of false alarms is spread over all checks that can raise one
// (oracle/family.h), whether they were reached or not, so that more data never costs more budget.
//
// Looks: a case's trials are looked at when 1, 2, 4, ... times first_look of them are there. An
// alarm at any look stays. Verdicts therefore depend on the set of transcripts alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracle/verdict.h"
#include "properties/audits/evidence.h"
#include "properties/audits/known_target.h"
#include "properties/audits/matrix.h"

namespace draftproof::properties::audits {

/// A mode that gives up the target's law on purpose, as told by the configuration or the server.
struct LossyMode {
  std::string name;                 ///< "synthetic acceptance", "threshold_acc 0.9", ...
  std::string source;               ///< who says so: "draftproof.toml", "GET /server_info", ...
  std::optional<double> budget_tv;  ///< the distance that was declared; absent: none was
};

/// How the engine is said to accept, where somebody says so: what is due of accepted drafts.
enum class DraftRule : std::uint8_t {
  kUnknown,  ///< the least of all others
  kRatio,    ///< sampled drafts, kept with probability min(1, target / draft)
  kMatch,    ///< sampled drafts, kept where the target's own token is the same
  kGreedy,   ///< the draft's likeliest tokens, under either
};

struct JudgeSettings {
  double false_alarms = 1e-6;  ///< of the whole run
  double effect_tv = 0.01;     ///< a law check is settled once it certifies so much
  Capabilities baseline = {}, speculative = {};
  const KnownTarget* target = nullptr;  ///< null: nobody knows the law
  const KnownTarget* draft = nullptr;   ///< the drafter's law, where known: sharper bets
  DraftRule draft_rule = DraftRule::kUnknown;
  bool has_baseline = true;          ///< false: one server only, which never stops drafting
  std::string contract = "default";  ///< of reference::contracts(): how rescored rows are shaped
  /// Pointwise slack of the engine's arithmetic in nats a token, derived or measured.
  double tolerance = 0;
  /// Bound on the difference of two logits of an arm at one history, for near ties.
  double near_tie_bound = 0;
  /// The engine promises that a seed gives the same tokens with and without drafts (sample and
  /// match with coins keyed by position). A difference then refutes; otherwise it is only told.
  bool promises_same_seed = false;
  std::optional<LossyMode> lossy;
  std::vector<std::string> audits;  ///< ids; empty: all that apply
  std::string replay;               ///< command line of witnesses, "{case}" for the case's id
};

/// What a check is and needs, for lists, plans and reports.
struct AuditInfo {
  std::string id;  ///< "next_token_law"
  oracle::Claim claim = oracle::Claim::kWellFormed;
  std::string statement;  ///< one sentence
  std::string citation;
  bool can_be_false = false;  ///< takes a share of the budget
  bool needs_known_law = false, needs_counters = false, needs_logprobs = false;
  bool is_greedy = false, is_sampled = false;  ///< which settings it speaks of
  bool needs_baseline = false, needs_shared_seed = false;
  bool needs_grammar = false, needs_lossy_mode = false;
  bool is_for_one_server = false;  ///< asked where there is no baseline only
  bool is_control = false;         ///< of the baseline: its alarm convicts nobody, and takes the
                                   ///< ground from the checks that rest on it
};
/// In the order in which a reader understands them (audit_list.cpp).
const std::vector<AuditInfo>& audit_infos();

/// The checks of this matrix: pairs (audit, setting); the number that alarms are split over.
struct Check {
  std::size_t audit = 0;    ///< index in audit_infos()
  std::size_t setting = 0;  ///< index in Matrix::settings
};
/// Audits that are asked for by name are checks wherever they speak of the setting, those that are
/// not where everything is there that they need. Throws Error(kInput) that lists the audits' ids
/// for a name that is none.
std::vector<Check> checks_of(const Matrix& matrix, const JudgeSettings& settings);

inline constexpr const char* kLeftOut = "left out by [audits] include";

/// Why this audit is a check in no setting of the matrix: kLeftOut, "no setting has
/// temperature 0", "the engine reports no logprobs". Empty: it is one.
std::string absence_of(const AuditInfo& info, const Matrix& matrix, const JudgeSettings& settings);

/// One verdict a check, in the order of checks_of(). Checks without evidence are inconclusive and
/// say what is missing. Verdict::setting is the setting's id.
std::vector<oracle::Verdict> judge(const Matrix& matrix, const Evidence& evidence,
                                   const JudgeSettings& settings);

/// Of one setting alone, with the run's share of the budget: for whoever decides whether to go on.
std::vector<oracle::Verdict> judge_setting(const Matrix& matrix, const Evidence& evidence,
                                           const JudgeSettings& settings, std::size_t setting);

/// Whether more trials of this setting would change nothing that is asked: each of its law checks
/// has alarmed, or certifies effect_tv.
bool is_settled(const std::vector<oracle::Verdict>& verdicts, const JudgeSettings& settings);

}  // namespace draftproof::properties::audits
