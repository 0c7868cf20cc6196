// Card evidence: what the runs of a card's kernel have shown so far, and the verdicts it adds up
// to. Collecting and judging are apart, so that the judge can be tested on records that no device
// made.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/kernel_card.h"
#include "oracle/replay.h"
#include "oracle/verdict.h"
#include "tools/draftproof/commands/card_cases.h"

namespace draftproof::tools {

/// What a request of a case answered.
struct CardAnswer {
  std::vector<reference::Token> tokens;
  std::int64_t accept_count = 0, emit_count = 0;

  friend bool operator==(const CardAnswer&, const CardAnswer&) = default;
};

class CardEvidence {
 public:
  /// `replay` is printed as the command that repeats a finding.
  CardEvidence(const gpu::KernelCard& card, std::string replay)
      : card_(&card), replay_(std::move(replay)) {}

  /// The first run of a case, request by request.
  void judge(const CardCase& made, const oracle::ReplayRule& rule,
             const std::vector<CardAnswer>& answers);
  /// A further run of the same case under another schedule.
  void compare(const CardCase& made, const std::vector<CardAnswer>& first,
               const std::vector<CardAnswer>& other, const std::string& schedule);
  /// What the device saw, in any run.
  void observe(const CardCase& made, const gpu::CardRun& run);

  /// All verdicts. `is_complete` is false when the plan was cut short: nothing is upheld then. Of a
  /// request that follows no course of decisions the replay cannot tell which token was due: what
  /// rests on that is then not upheld either.
  std::vector<oracle::Verdict> verdicts(bool is_complete, bool device_observes,
                                        double seconds) const;

 private:
  /// The findings of one property: how many, and the one on the least case.
  struct Findings {
    std::uint64_t count = 0;
    std::uint64_t least_size = 0;
    std::optional<oracle::Witness> witness;
  };
  void add(Findings& findings, const CardCase& made, std::string where, std::string expected,
           std::string observed, std::string because);
  oracle::Verdict verdict(const Findings& findings, bool is_complete) const;
  oracle::Verdict decisions(bool is_complete) const;
  /// As verdict(), for what is judged only where a request follows the replay.
  oracle::Verdict followed(const Findings& findings, bool is_complete) const;
  oracle::Verdict certain_tokens(bool is_complete) const;
  oracle::Verdict safety(bool races, bool is_complete, bool device_observes) const;

  const gpu::KernelCard* card_;
  std::string replay_;
  std::uint64_t cases_ = 0, requests_ = 0, runs_ = 0, comparisons_ = 0;
  oracle::ReplayJudgement total_;
  std::int64_t threshold_depth_max_ = 0, cumulative_depth_max_ = 0;
  std::uint64_t rejected_at_one_ = 0;
  std::map<oracle::ReplayFault, Findings> faults_;
  Findings schedules_, inputs_;
  /// By check and both PTX lines.
  std::map<std::tuple<std::string, int, int>, reference::Observation> observations_;
  std::map<std::string, std::uint64_t> cells_;
  std::uint64_t thread_instructions_ = 0;
};

}  // namespace draftproof::tools
