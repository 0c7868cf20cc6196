// Launches of the acceptance rules: which there are, what each reads, whether arguments will do.
//
// To add a rule: write gpu/kernels/verify/MODULE.cu with entries that take
// draftproof_verify_arguments by value, one a storage format where logits are read; add one row to
// the table in verify.cpp. The verifier (gpu/verifiers.h) then packs what the row says that the
// rule reads, leaves everything else null or unwritten, and launches one block a request behind
// shape_rows; checks and the command take up the rule by its name. The reference has a rule of the
// same name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gpu/kernel_launch.h"
#include "gpu/kernels/arguments/verify.h"

namespace draftproof::gpu::launches {

struct VerifyRule {
  const char* name = "";    ///< as reference::verify::rules() has it: "chain", "tree-greedy"
  const char* module = "";  ///< stem of the .cu file
  /// By draftproof_logit_format; the same three times where no logits are read.
  const char* entries[3] = {};
  bool takes_trees = false;                  ///< reads `parents`, writes `accepted_nodes`
  bool reads_target_rows = false;            ///< else records say enough
  bool reads_draft_rows = false;             ///< draft rows and their records
  bool is_greedy = false;                    ///< records are those of greedy requests
  std::uint32_t coins = 0;                   ///< bit c: column c of the coins is read; 0: none
  bool is_keyed_by_iteration = false;        ///< coins have the request's iteration, not 0
  std::uint32_t draft_count_max = 1u << 16;  ///< largest padded_draft_count
};

/// All rules that have kernels.
std::span<const VerifyRule> verify_rules();
/// Null when there is none of that name.
const VerifyRule* verify_rule(std::string_view name);

/// Coin columns of a target slot under `rule`.
std::uint32_t coin_columns(const VerifyRule& rule);

/// Whether a launch of `rule` with these arguments is sound, as far as the host can see. Buffers
/// that the rule does not read are not looked at.
draftproof_result check(const VerifyRule& rule, const draftproof_verify_arguments& arguments);

/// One block a request. Precondition: check() passes; `arguments` outlives the launch.
KernelLaunch launch_of(const VerifyRule& rule, const draftproof_verify_arguments& arguments);

}  // namespace draftproof::gpu::launches
