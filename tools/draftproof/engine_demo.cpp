#include "tools/draftproof/engine_demo.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "oracle/explain.h"
#include "reference/error.h"
#include "tools/report/summary.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

using fixtures::StateEffect;
using oracle::VerdictKind;

constexpr const char* kIntroduction =
    "   A draft guesses tokens, the target checks several of them in one pass, and nobody who "
    "reads\n"
    "   the answers may be able to tell. Here an engine serves over loopback HTTP, once drafting\n"
    "   (speculative) and once token by token (baseline). Its target is a toy whose every\n"
    "   probability is known, and it is judged by its answers alone.\n\n";

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    result += line.empty() ? "\n" : "   " + line + "\n";
  return result;
}

/// Broken at spaces; later lines below the first one's text, which begins at column `indent`.
std::string hanging(const std::string& text, std::size_t indent) {
  constexpr std::size_t kWidth = 98;
  return fmt::format(
      "{}", fmt::join(report::wrapped(text, kWidth - indent), "\n" + std::string(indent, ' ')));
}

std::string paragraph(const std::string& text) { return "   " + hanging(text, 3) + "\n"; }

bool is_due(StateEffect effect) {
  return effect == StateEffect::kLossy || effect == StateEffect::kUnsafe;
}

double accepted_share(const EngineTrial& trial) {
  return trial.drafted == 0
             ? 0
             : 100.0 * static_cast<double>(trial.accepted) / static_cast<double>(trial.drafted);
}

bool is_violated(const oracle::Verdict& verdict) { return verdict.kind == VerdictKind::kViolated; }

/// The first verdict that has a witness; none: nullptr.
const oracle::Verdict* first_violated(const EngineTrial& trial) {
  const auto found = std::find_if(trial.verdicts.begin(), trial.verdicts.end(), is_violated);
  return found == trial.verdicts.end() ? nullptr : &*found;
}

}  // namespace

std::string trial_text(const EngineTrial& trial) {
  std::string text = fmt::format("   {} requests\n", trial.requests);
  for (const oracle::Verdict& verdict : trial.verdicts) {
    const bool is_wrong = is_violated(verdict);
    report::CheckResult check;
    check.verdict = verdict;
    const std::string evidence = report::evidence_of(check);
    text += fmt::format("   {:<13}{:<28}{}\n",
                        is_wrong ? "VIOLATED" : std::string(to_string(verdict.kind)),
                        verdict.property, hanging(evidence, 44));
    if (verdict.kind == VerdictKind::kUpheld)
      text += fmt::format("   {:<13}{:<28}{}\n", "", "would have seen",
                          hanging(verdict.smallest_visible_effect, 44));
  }
  if (const oracle::Verdict* first = first_violated(trial))
    text += fmt::format("\n   {}, least case:\n{}", first->property,
                        indented(oracle::explain(*first->witness)));
  return text;
}

std::string trial_meaning(const fixtures::StateFault& fault, const EngineTrial& right,
                          const EngineTrial& wrong) {
  if (const oracle::Verdict* first = first_violated(wrong)) {
    return paragraph(fmt::format(
        "{}. So \"{}\" is false for this engine, and the line above asks for the case again.",
        oracle::headline(wrong.verdicts), statement(first->claim)));
  }
  if (fault.effect == StateEffect::kInefficient) {
    return paragraph(fmt::format(
        "Every claim is upheld, and should be: the target has the last word on each token, so that "
        "a draft which reads the wrong state costs time, not truth. It shows in what is accepted: "
        "{:.1f}% of the drafted tokens, and {:.1f}% without the fault.",
        accepted_share(wrong), accepted_share(right)));
  }
  if (fault.effect == StateEffect::kHarmless)
    return paragraph(
        "Every claim is upheld, and should be: this one only looks wrong. A check that objected "
        "to it would be worth nothing.");
  return paragraph(fmt::format(
      "No claim is violated, and yet the engine is {}: these requests do not reach it, or it does "
      "not show in answers. An audit says what it would have seen, never that nothing is wrong. "
      "Beside a twin that never drafts it shows in: {}. Ask: draftproof explore --bug {}",
      to_string(fault.effect), fmt::join(fault.killed_by, ", "), fault.name));
}

ExitCode show_engine(int number, const fixtures::StateFault& fault, const Streams& streams) {
  const std::string replay = "draftproof demo --bug " + fault.name;
  streams.out << fmt::format("{}. A whole engine, audited over HTTP\n\n{}   The right engine\n",
                             number, kIntroduction)
              << std::flush;
  const EngineTrial right = try_engine(fault, nullptr, replay);
  streams.out << trial_text(right) << "\n"
              << paragraph(oracle::headline(right.verdicts) +
                           " \"Upheld\" is no proof: each line says what it would have seen.")
              << fmt::format("\n   The same engine with one fault: {}\n", fault.name)
              << paragraph(fault.statement + " (after " + fault.report + ")") << std::flush;
  const EngineTrial wrong = try_engine(fault, &fault, replay);
  streams.out << trial_text(wrong) << "\n" << trial_meaning(fault, right, wrong) << std::flush;

  DRAFTPROOF_CHECK(merged(right.verdicts) == VerdictKind::kUpheld,
                   "the right engine was not upheld in the setting of " + fault.name);
  const bool is_seen = merged(wrong.verdicts) == VerdictKind::kViolated;
  DRAFTPROOF_CHECK(is_due(fault.effect) || !is_seen,
                   fault.name + " violates a claim that it should not");
  return is_seen == is_due(fault.effect) ? ExitCode::kUpheld : ExitCode::kInconclusive;
}

}  // namespace draftproof::tools
