// A run with one check of every kind, made by hand: what the renderings are tested on.
#pragma once

#include "tools/report/report.h"

namespace draftproof::tests {

inline tools::report::CheckResult check_result(const std::string& property,
                                               oracle::VerdictKind kind, oracle::Claim claim) {
  tools::report::CheckResult result;
  result.id = property + "/chain";
  result.rule = "chain";
  result.device = "emulator";
  result.statement = "What " + property + " states.";
  result.citation = "a theorem";
  result.verdict.kind = kind;
  result.verdict.claim = claim;
  result.verdict.property = property;
  result.verdict.subject = "mutant:sample";
  result.verdict.trials = 18432;
  result.verdict.evidence = "evidence of " + property;
  result.verdict.seconds = 1.25;
  return result;
}

inline tools::report::CheckResult upheld_check() {
  auto check = check_result("identity_draft_accepts_all", oracle::VerdictKind::kUpheld,
                            oracle::Claim::kAccountingTruthful);
  check.verdict.smallest_visible_effect = "one coin in 2^64";
  check.verdict.bound = "3/18446744073709551616";
  check.verdict.assumption = "one threshold per decision";
  check.verdict.cells = {{"draft length 0", 12}, {"draft length 1", 34567}};
  check.verdict.notes = {"lossless but inefficient"};
  return check;
}

inline tools::report::CheckResult violated_check() {
  auto check = check_result("nothing_outside_the_support", oracle::VerdictKind::kViolated,
                            oracle::Claim::kSupportSafe);
  check.verdict.witness = oracle::Witness{"target 0, 1 | draft 1/2, 1/2; token 0, coin 0",
                                          "token 1, recovered",
                                          "token 0 < \"accepted\" & counted",
                                          "the comparison is inclusive, so 0 <= 0 accepts",
                                          "draftproof replay 0123456789ab --subject mutant:sample",
                                          R"({"schema":"draftproof/case/1"})"};
  reference::Observation seen;
  seen.check = "race";
  seen.message = "4 bytes at offset 8 of \"scratch\"";
  seen.place = {"verify_chain", 120, "chain.cu", 31, 0, 1, 0xff};
  seen.other = {"verify_chain", 98, "chain.cu", 27, 0, 0, 1};
  seen.schedule = "random:7";
  seen.count = 3;
  check.verdict.observations = {seen};
  return check;
}

inline tools::report::CheckResult inconclusive_check() {
  return check_result("batch_order_does_not_matter", oracle::VerdictKind::kInconclusive,
                      oracle::Claim::kBatchInvariant);
}

inline tools::report::CheckResult crashed_check() {
  auto check = check_result("inputs_unchanged", oracle::VerdictKind::kInconclusive,
                            oracle::Claim::kInputsUnchanged);
  check.internal_error = "chain.cpp:12: broken invariant: total > 0";
  return check;
}

/// One of an audit in a setting, with all that an audit says beyond a check.
inline tools::report::CheckResult audit_check(oracle::VerdictKind kind,
                                              const std::string& setting) {
  auto check = check_result("next_token_law", kind, oracle::Claim::kMarginalLossless);
  check.id = "next_token_law/" + setting;
  check.rule = check.device = "";
  check.verdict.setting = setting;
  check.verdict.log_alarm = 15.4;
  check.verdict.smallest_visible_effect = "TV 0.02 in 18 432 tokens";
  check.verdict.effect =
      oracle::Effect{"next token", 0.031, {0.025, 0.0371}, 0.0042, oracle::Interval{0, 0.01}, 1e-9};
  const bool is_violated = kind == oracle::VerdictKind::kViolated;
  check.verdict.log_e_value = is_violated ? 21.9 : 0.4;
  if (is_violated) {
    check.verdict.label = oracle::Label::kLossy;
    check.verdict.witness =
        oracle::Witness{"prompt two_token", "P = 0.62", "P = 0.65", "", "draftproof judge F", ""};
  }
  return check;
}

inline tools::report::Run sample_run(std::vector<tools::report::CheckResult> checks) {
  tools::report::Run run;
  run.started.run_id = "20260117-141203-7f3a";
  run.started.subject = "mutant:sample";
  run.started.command_line = {"check", "--subject", "mutant:sample"};
  run.started.environment = {"0.1.0", "a compiler", "a system", "embedded", "emulator"};
  run.started.budget = {7, "smoke", 1e-9, 120.0, 2};
  run.started.check_count = checks.size();
  run.checks = std::move(checks);
  run.exempted = {{"greedy_limits/chain", "takes no coins"}};
  run.warnings = {"a cause; a remedy"};
  run.finished.exit_code = 1;
  run.finished.seconds = 2.5;
  return run;
}

inline tools::report::Run sample_run() {
  return sample_run({upheld_check(), violated_check(), inconclusive_check(), crashed_check()});
}

/// An audit of two settings, one of them violated, and a section.
inline tools::report::Run sample_audit() {
  auto run = sample_run({audit_check(oracle::VerdictKind::kViolated, "t0.7-k8"),
                         audit_check(oracle::VerdictKind::kUpheld, "t1")});
  run.started.kind = "audit";
  run.started.facts = {{"target", "the baseline arm"},
                       {"speculative", "llama.cpp b6012 at http://127.0.0.1:8081"}};
  run.sections = {{"speed", "What speculation gains here", "2.1 tokens a call\n",
                   "2.1 tokens a call\n", R"({"committed_per_call": 2.1})"}};
  return run;
}

}  // namespace draftproof::tests
