// Breakpoint certificate: for a verifier whose coins are inputs, every decision of every node of
// the draft tree is probed at the predicted coin and its neighbours. Given one threshold per
// decision the realised law is then known to one coin in 2^64 (numerics contract, section
// 1: TV to ideal coins <= draft_count 2^-64 + vocab_size 2^-65). Deterministic: no false
// alarms. The expected decisions come from the rule's formula in rationals (Leviathan et al. 2023,
// section 2.3; Chen et al. 2023, theorem 1), never from an implementation of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/verdict.h"
#include "reference/mass.h"
#include "reference/outcome.h"

namespace draftproof::oracle {

/// The laws at every context of a draft tree, as integer masses. A context of length i is the
/// number with the base-vocab_size digits x_1..x_i, first token most significant. Rows of contexts
/// that no draft of positive probability reaches may be empty.
struct TreeLaw {
  int vocab_size = 0;
  int draft_count = 0;
  std::vector<std::vector<reference::MassRow>> target;  ///< [length 0..draft_count][context]
  std::vector<std::vector<reference::MassRow>> draft;   ///< [length 0..draft_count-1][context]
};

enum class DecisionKind : std::uint8_t { kAccept, kRecovered, kBonus };

/// One run of the subject: drafted tokens, the coins of every position, and what must come out.
struct Probe {
  std::vector<reference::Token> draft;         ///< draft_count tokens
  std::vector<std::uint64_t> accept_coins;     ///< draft_count
  std::vector<std::uint64_t> recovered_coins;  ///< draft_count
  std::uint64_t bonus_coin = 0;
  reference::RequestOutcome expected;
  DecisionKind kind = DecisionKind::kAccept;
  bool is_interior = false;  ///< a random coin, not a predicted edge: supports the assumption
};

struct PlanOptions {
  std::uint64_t seed = 1;
  int interior_per_decision = 1;
  /// How far from a predicted edge a probe stays, in coins. 0 for subjects that promise the integer
  /// masses; 2^45 (2e-6 on the unit interval) leaves room for fp32 arithmetic. Thresholds that are
  /// exactly 0 or 2^64 are not rounded by anyone and are probed at the endpoint all the same.
  std::uint64_t margin = 0;
};

struct Plan {
  int vocab_size = 0;
  int draft_count = 0;
  std::uint64_t margin = 0;
  std::uint64_t decisions = 0;
  std::vector<Probe> probes;
};

/// Drafted tokens without draft mass are no decision of the rule and are left out (numerics
/// contract, edge table). Coins irrelevant to a probe's decision are random, so that hidden
/// dependence shows.
Plan plan(const TreeLaw& law, const PlanOptions& options);

struct Certificate {
  VerdictKind kind = VerdictKind::kInconclusive;
  std::uint64_t decisions = 0;
  std::uint64_t probes = 0;
  std::uint64_t interior_probes = 0;
  std::uint64_t failed = 0;
  std::size_t first_failed = 0;  ///< index of the probe; valid when failed > 0
  std::string bound;             ///< rational: TV of the emitted sequence to ideal coins
  std::string assumption;        ///< with its size (oracle/hidden_share.h)
};

/// outcomes[i] belongs to plan.probes[i]; fewer outcomes than probes is inconclusive. The
/// assumption is sized so that random coins miss a larger anomaly with `miss_probability`.
Certificate judge(const Plan& plan, const std::vector<reference::RequestOutcome>& outcomes,
                  double miss_probability = 1e-9);

}  // namespace draftproof::oracle
