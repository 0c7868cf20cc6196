// Doctor: that drafts are made in the arm that is to draft, and in it alone: by the counters of
// each answer, by the server's own, and by its words.
#include <fmt/format.h>

#include <algorithm>

#include "reference/error.h"
#include "tools/audit/doctor_bench.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::SamplingRequest;

constexpr int kTokens = 32;
constexpr int kRequests = 8;

struct Movement {
  bool is_told = false;  ///< counters of drafts are reported at all
  std::int64_t drafted = 0, accepted = 0, emitted = 0;
  std::string server;  ///< counters of the server that grew: "drafts_total +12"
};

/// Runners tell counters of any name; one of all tokens grows without any draft.
bool speaks_of_drafts(const std::string& counter) {
  for (const char* word : {"draft", "accept", "spec", "skipped"})
    if (counter.find(word) != std::string::npos) return true;
  return false;
}

std::string growth(const std::map<std::string, double>& before,
                   const std::map<std::string, double>& after) {
  std::string lines;
  for (const auto& [name, value] : after) {
    if (!speaks_of_drafts(name)) continue;
    const auto found = before.find(name);
    const double was = found == before.end() ? 0 : found->second;
    if (value > was)
      lines += fmt::format("{}{} +{:g}", lines.empty() ? "" : ", ", name, value - was);
  }
  return lines;
}

Movement movement_of(Bench& bench, Patient& patient) {
  Movement movement;
  const auto before = patient.client->facts().counters;
  std::vector<SamplingRequest> requests;
  for (int i = 0; i < kRequests; ++i) {
    // Every second one is the prompt that repeats itself: lookup drafts find something there.
    const std::size_t prompt =
        i % 2 == 0 ? bench.settings().prompts.size() - 1 : static_cast<std::size_t>(i) / 2;
    requests.push_back(bench.request(prompt, 0, kTokens));
  }
  const auto completions = bench.ask(patient, requests);
  for (const Completion& each : completions) {
    movement.emitted += static_cast<std::int64_t>(each.token_ids.size());
    if (!each.counters) continue;
    movement.is_told = true;
    movement.drafted += each.counters->drafted;
    movement.accepted += each.counters->accepted;
  }
  const auto after = patient.client->facts().counters;
  for (const auto& [name, value] : after)
    movement.is_told = movement.is_told || speaks_of_drafts(name);
  movement.server = growth(before, after);
  return movement;
}

std::string words_of(const engines::ArmFacts& facts) {
  std::string words = facts.method.empty() ? "" : ", method " + facts.method;
  if (facts.draft_count) words += fmt::format(", {} tokens at most", *facts.draft_count);
  return words;
}

}  // namespace

void probe_drafts(Bench& bench, Patient& patient) {
  const bool is_to_draft = patient.arm == Arm::kSpeculative;
  const engines::ArmFacts& facts = patient.record.facts;
  const Movement movement = movement_of(bench, patient);
  const bool has_moved = movement.drafted > 0 || !movement.server.empty();
  Finding finding{to_string(patient.arm),
                  is_to_draft ? "makes drafts" : "makes no drafts",
                  Standing::kNotKnown,
                  "",
                  "",
                  true};
  if (has_moved) {
    finding.says = fmt::format(
        "{} drafted, {} accepted of {} tokens{}{}", movement.drafted, movement.accepted,
        movement.emitted, movement.server.empty() ? "" : "; " + movement.server, words_of(facts));
    finding.standing = is_to_draft ? Standing::kHolds : Standing::kFails;
    if (!is_to_draft) finding.remedy = "start the baseline without any speculative option";
  } else if (facts.is_speculative == true) {
    finding.says = "by its own words it speculates" + words_of(facts) +
                   (movement.is_told ? fmt::format("; no draft in {} requests", kRequests)
                                     : "; it tells no counters");
    finding.standing = !is_to_draft       ? Standing::kFails
                       : movement.is_told ? Standing::kFails
                                          : Standing::kNotKnown;
    finding.remedy = is_to_draft
                         ? "lookup drafts need prompts that repeat (n-gram sizes), others a "
                           "draft model that was loaded: see the server's log"
                         : "start the baseline without any speculative option";
  } else if (facts.is_speculative == false || movement.is_told) {
    finding.says = fmt::format("no draft in {} requests of {} tokens{}", kRequests, kTokens,
                               facts.is_speculative == false ? ", and none configured" : "");
    finding.standing = is_to_draft ? Standing::kFails : Standing::kHolds;
    if (is_to_draft)
      finding.remedy =
          "start it with its speculative options; `draftproof doctor --command LINE` "
          "knows which of them this engine has";
  } else {
    finding.says = "it tells neither counters nor its configuration";
    finding.remedy = "say what was started in [arm." + to_string(patient.arm) +
                     "] deployment, or take an engine's own protocol";
  }
  bench.add(std::move(finding));
}

void probe_lossy_mode(Bench& bench, Patient& patient) {
  const auto& mode = patient.record.facts.lossy_mode;
  const auto& declared = bench.settings().declared_lossy;
  const std::string subject = to_string(patient.arm);
  const std::string question = "keeps to the target's law by its own words";
  if (mode) {
    Finding finding{subject, question, Standing::kLimited, "no: " + *mode, "", false};
    finding.remedy = declared ? ""
                              : "declare it (speculation.declared_lossy) with a budget "
                                "([gate.approximate] tv), or switch it off";
    if (!declared) finding.standing = Standing::kFails;
    bench.add(std::move(finding));
  } else if (declared && patient.arm == Arm::kSpeculative) {
    bench.add({subject, question, Standing::kLimited, "declared: " + *declared, "", false});
  } else {
    bench.add({subject, question, Standing::kHolds, "no lossy mode is told", "", false});
  }
}

}  // namespace draftproof::tools::audit
