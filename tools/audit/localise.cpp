#include "tools/audit/localise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "properties/audits/audit_list.h"
#include "properties/audits/findings.h"
#include "properties/audits/partings.h"
#include "properties/audits/words.h"
#include "reference/error.h"
#include "tools/audit/fault_tables.h"
#include "tools/audit/token_roles.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using properties::Transcript;
using properties::audits::Audit;
using properties::audits::AuditCase;
using properties::audits::CheckContext;
using properties::audits::Evidence;
using properties::audits::JudgeSettings;
using properties::audits::MarginBound;
using properties::audits::Matrix;
using properties::audits::PairedTrial;
using properties::audits::rounded;
using properties::audits::Seeding;
using properties::audits::Setting;
using reference::Token;

/// Of audits that are asked again trial by trial; evenly spread when there are more.
constexpr std::size_t kTrialsMax = 2048;
/// Tokens of laws, about: every n-th trial when there are more, which is enough for a description.
constexpr std::uint64_t kTokensMax = 400000;
constexpr std::size_t kLawsMax = std::size_t{1} << 16;

constexpr const char* kPosition = "position in the output";
constexpr const char* kBefore = "what stands before the token";
constexpr const char* kPromptLength = "prompt length";
constexpr const char* kInFlight = "requests in flight when it was sent";
constexpr const char* kAsked = "how often its prompt was asked before";
constexpr const char* kAccepted = "drafted tokens accepted in the completion";

using Roles = std::optional<std::vector<TokenRole>>;

GroupKey role_group(const Roles& roles, std::size_t position) {
  if (position == 0) return {kBefore, 0, "the prompt"};
  if (!roles || position > roles->size()) return {kBefore, 9, "not told"};
  switch ((*roles)[position - 1]) {
    case TokenRole::kPrompt:
      return {kBefore, 1, "the first token"};
    case TokenRole::kAccepted:
      return {kBefore, 2, "an accepted token"};
    case TokenRole::kRecovered:
      return {kBefore, 3, "a recovered token"};
    case TokenRole::kBonus:
      break;
  }
  return {kBefore, 4, "a bonus token"};
}

/// Who else was on the engine when a request was sent, by the clients' clock.
class Company {
 public:
  explicit Company(const CheckContext& context) {
    properties::audits::for_each_transcript(
        context, Arm::kSpeculative, [&](const AuditCase&, const Transcript& transcript) {
          if (const auto& timing = transcript.completion.timing) {
            sent_.push_back(timing->sent);
            ended_.push_back(timing->ended);
          }
        });
    std::sort(sent_.begin(), sent_.end());
    std::sort(ended_.begin(), ended_.end());
  }

  std::optional<std::uint64_t> in_flight(const Transcript& transcript) const {
    if (!transcript.completion.timing) return {};
    const double now = transcript.completion.timing->sent;
    const auto begun = std::upper_bound(sent_.begin(), sent_.end(), now) - sent_.begin();
    const auto over = std::upper_bound(ended_.begin(), ended_.end(), now) - ended_.begin();
    return static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(begun - over, 1));
  }

 private:
  std::vector<double> sent_, ended_;
};

std::vector<GroupKey> trial_groups(const Transcript& transcript, const Company& company) {
  std::vector<GroupKey> groups;
  if (!transcript.request.prompt.empty())
    groups.push_back(number_group(kPromptLength, transcript.request.prompt.size()));
  if (const auto count = company.in_flight(transcript))
    groups.push_back(number_group(kInFlight, *count));
  const bool is_first = transcript.key.trial == 0 && transcript.key.repeat == 0;
  groups.push_back({kAsked, is_first ? 0 : 1, is_first ? "never" : "once at least"});
  return groups;
}

/// Conditioned on the outcome: a description of where trials that break stand, and of nothing else.
void add_accepted(std::vector<GroupKey>& groups, const Transcript& transcript) {
  const auto& counters = transcript.completion.counters;
  if (!counters || counters->drafted <= 0) return;
  if (counters->accepted <= 0) {
    groups.push_back({kAccepted, 0, "none"});
  } else {
    const bool is_all = counters->accepted >= counters->drafted;
    groups.push_back({kAccepted, is_all ? 2 : 1, is_all ? "all" : "some"});
  }
}

std::uint64_t stride_of(const CheckContext& context) {
  std::uint64_t tokens = 0;
  properties::audits::for_each_transcript(context, Arm::kSpeculative,
                                          [&](const AuditCase&, const Transcript& transcript) {
                                            tokens += transcript.completion.token_ids.size();
                                          });
  return tokens / kTokensMax + 1;
}

std::vector<FaultTable> of_known_law(const CheckContext& context, const Company& company) {
  const std::uint64_t stride = stride_of(context);
  PlaceTables tables;
  std::map<std::pair<std::string, std::vector<Token>>, std::vector<double>> laws;
  properties::audits::for_each_transcript(
      context, Arm::kSpeculative, [&](const AuditCase& audit_case, const Transcript& transcript) {
        if (transcript.completion.end == CompletionEnd::kFailed || transcript.key.repeat > 0 ||
            transcript.key.trial % stride != 0)
          return;
        const std::span<const Token> tokens = transcript.completion.token_ids;
        if (laws.size() > kLawsMax) laws.clear();
        const std::vector<GroupKey> of_trial = trial_groups(transcript, company);
        const Roles roles = roles_of(transcript.completion);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
          auto& law = laws[{audit_case.id, {tokens.begin(), tokens.begin() + i}}];
          if (law.empty()) law = context.settings.target->next(audit_case.request, tokens.first(i));
          std::vector<GroupKey> groups = of_trial;
          groups.push_back(number_group(kPosition, i + 1));
          if (!transcript.completion.steps.empty()) groups.push_back(role_group(roles, i));
          tables.add(groups, law, tokens[i],
                     properties::audits::place_coin(context.matrix, transcript.key, i));
          if (tokens[i] < 0 || static_cast<std::size_t>(tokens[i]) >= law.size()) return;
        }
      });
  return tables.tables();
}

/// As many trials of each case from either arm: cases weigh alike in both.
std::vector<FaultTable> of_two_arms(const CheckContext& context) {
  const std::uint64_t stride = stride_of(context);
  ArmTables tables;
  for (const PairedTrial& pair :
       properties::audits::paired_trials(context, Seeding::kIndependent)) {
    if (pair.speculative->key.trial % stride != 0) continue;
    for (const Transcript* transcript : {pair.baseline, pair.speculative}) {
      const auto& tokens = transcript->completion.token_ids;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        std::vector<GroupKey> groups = {number_group(kPosition, i + 1)};
        if (!transcript->request.prompt.empty())
          groups.push_back(number_group(kPromptLength, transcript->request.prompt.size()));
        tables.add(groups,
                   pair.audit_case->id + " " + std::to_string(i) + " " + std::to_string(tokens[i]),
                   transcript->key.arm);
      }
    }
  }
  return tables.tables();
}

/// The first token of `output` that breaks the audit, and how many were held against it.
struct Broken {
  std::optional<std::size_t> position;
  std::size_t compared = 0;
};

Broken parted(const Completion& expected, const Completion& output) {
  const auto position = properties::audits::first_difference(expected, output);
  return {position, position ? *position + 1 : output.token_ids.size()};
}

/// Token by token, where each position can break and nothing behind the first that does is
/// compared.
std::vector<FaultTable> of_positions(
    const Company& company, const std::vector<std::pair<const Transcript*, Broken>>& outputs) {
  ShareTables of_tokens, of_trials;
  for (const auto& [transcript, broken] : outputs) {
    const Roles roles = roles_of(transcript->completion);
    for (std::size_t i = 0; i < broken.compared; ++i) {
      std::vector<GroupKey> groups = {number_group(kPosition, i + 1)};
      if (!transcript->completion.steps.empty()) groups.push_back(role_group(roles, i));
      of_tokens.add(groups, broken.position == i);
    }
    std::vector<GroupKey> groups = trial_groups(*transcript, company);
    add_accepted(groups, *transcript);
    of_trials.add(groups, broken.position.has_value());
  }
  std::vector<FaultTable> tables = of_tokens.tables("share of tokens");
  for (FaultTable& table : of_trials.tables("share of trials")) tables.push_back(std::move(table));
  return tables;
}

std::vector<std::pair<const Transcript*, Broken>> paired_outputs(const CheckContext& context) {
  const bool is_parity = context.info.id == "greedy_margin_parity";
  const MarginBound bound = is_parity ? properties::audits::margin_bound(
                                            context, properties::audits::self_control(context))
                                      : MarginBound{};
  std::vector<std::pair<const Transcript*, Broken>> outputs;
  for (const PairedTrial& pair : properties::audits::paired_trials(
           context, is_parity ? std::nullopt : std::optional<Seeding>(Seeding::kShared))) {
    const Completion& output = pair.speculative->completion;
    if (output.end == CompletionEnd::kFailed ||
        pair.baseline->completion.end == CompletionEnd::kFailed)
      continue;
    Broken broken = parted(pair.baseline->completion, output);
    const auto judged = is_parity
                            ? properties::audits::parting_of(context, *pair.baseline, output, bound)
                            : std::nullopt;
    if (judged && judged->parting.kind != oracle::PartingKind::kFault) broken.position.reset();
    outputs.push_back({pair.speculative, broken});
  }
  return outputs;
}

std::vector<std::pair<const Transcript*, Broken>> repeated_outputs(const CheckContext& context) {
  std::vector<std::pair<const Transcript*, Broken>> outputs;
  properties::audits::for_each_transcript(
      context, Arm::kSpeculative, [&](const AuditCase& audit_case, const Transcript& again) {
        const auto& firsts = context.evidence.of(audit_case.id, Arm::kSpeculative);
        const auto first = firsts.find(again.key.trial);
        if (again.key.repeat > 0 && first != firsts.end())
          outputs.push_back({&again, parted(first->second.completion, again.completion)});
      });
  return outputs;
}

/// Whatever else one trial can break: the audit is asked of each alone.
std::vector<FaultTable> of_single_trials(const CheckContext& context, const Company& company) {
  std::vector<const Transcript*> all;
  properties::audits::for_each_transcript(
      context, Arm::kSpeculative,
      [&](const AuditCase&, const Transcript& transcript) { all.push_back(&transcript); });
  ShareTables tables;
  const std::size_t step = all.size() / kTrialsMax + 1;
  JudgeSettings settings = context.settings;
  settings.audits = {context.info.id};
  const auto setting = static_cast<std::size_t>(&context.setting - context.matrix.settings.data());
  for (std::size_t i = 0; i < all.size(); i += step) {
    Evidence alone;
    alone.add(*all[i]);
    const auto& baseline = context.evidence.of(all[i]->key.case_id, Arm::kBaseline);
    if (const auto other = baseline.find(all[i]->key.trial); other != baseline.end())
      alone.add(other->second);
    std::vector<GroupKey> groups = trial_groups(*all[i], company);
    add_accepted(groups, *all[i]);
    tables.add(groups,
               oracle::merged(properties::audits::judge_setting(
                   context.matrix, alone, settings, setting)) == oracle::VerdictKind::kViolated);
  }
  return tables.tables("share of trials");
}

std::string told(const FaultTable& table) {
  constexpr std::size_t kToldMax = 8;
  std::vector<const FaultGroup*> groups;
  for (const FaultGroup& group : table.groups) groups.push_back(&group);
  std::string rest;
  if (groups.size() > kToldMax) {
    // Those that show most, in the table's order.
    std::vector<const FaultGroup*> most = groups;
    std::stable_sort(most.begin(), most.end(), [](const FaultGroup* one, const FaultGroup* other) {
      return one->size > other->size;
    });
    most.resize(kToldMax);
    groups.erase(std::remove_if(groups.begin(), groups.end(),
                                [&](const FaultGroup* group) {
                                  return std::find(most.begin(), most.end(), group) == most.end();
                                }),
                 groups.end());
    rest = "; " + std::to_string(table.groups.size() - kToldMax) + " more show less";
  }
  std::string text = "by " + table.by + ", " + table.unit + ": ";
  for (const FaultGroup* group : groups)
    text += (group == groups.front() ? "" : ", ") + group->name + " " + rounded(group->size) +
            " [" + rounded(group->bounds.low) + ", " + rounded(group->bounds.high) + "] of " +
            std::to_string(group->count);
  return text + rest;
}

/// How far the groups of a table are apart beyond their bounds; at most 0: they may be alike.
double gap_of(const FaultTable& table) {
  const auto less = [](const FaultGroup& one, const FaultGroup& other) {
    return one.size < other.size;
  };
  const auto [least, most] = std::minmax_element(table.groups.begin(), table.groups.end(), less);
  return most->bounds.low - least->bounds.high;
}

std::string headline(const FaultTable& table) {
  const auto less = [](const FaultGroup& one, const FaultGroup& other) {
    return one.size < other.size;
  };
  const auto [least, most] = std::minmax_element(table.groups.begin(), table.groups.end(), less);
  return "it differs most by " + table.by + ": " + rounded(most->size) + " at " + most->name +
         ", " + rounded(least->size) + " at " + least->name + " (" + table.unit + ")";
}

/// Tables whose groups differ, widest first; of the others their names.
std::vector<std::string> lines_of(const std::vector<FaultTable>& tables) {
  std::vector<const FaultTable*> differing;
  std::string alike;
  for (const FaultTable& table : tables) {
    if (gap_of(table) > 0) {
      differing.push_back(&table);
    } else {
      alike += (alike.empty() ? "" : ", ") + table.by;
    }
  }
  std::stable_sort(
      differing.begin(), differing.end(),
      [](const FaultTable* one, const FaultTable* other) { return gap_of(*one) > gap_of(*other); });
  std::vector<std::string> lines;
  if (!differing.empty()) lines.push_back(headline(*differing.front()));
  for (const FaultTable* table : differing) lines.push_back(told(*table));
  if (!alike.empty()) lines.push_back("no group stands out by: " + alike);
  if (!differing.empty())
    lines.push_back(
        "groups were chosen after looking, and what was accepted is part of the outcome: they "
        "describe where it shows, and convict nobody");
  return lines;
}

std::vector<FaultTable> tables_of(const CheckContext& context, const oracle::Verdict& verdict) {
  const Company company(context);
  const std::string& id = context.info.id;
  if (id == "greedy_margin_parity" || id == "same_seed_identity")
    return of_positions(company, paired_outputs(context));
  if (id == "seed_repeats") return of_positions(company, repeated_outputs(context));
  const bool is_law = verdict.claim == oracle::Claim::kMarginalLossless ||
                      verdict.claim == oracle::Claim::kSequenceLossless;
  if (!is_law) return of_single_trials(context, company);
  return context.settings.target != nullptr ? of_known_law(context, company) : of_two_arms(context);
}

}  // namespace

Localisation localise(const Matrix& matrix, const Evidence& evidence, const JudgeSettings& settings,
                      const oracle::Verdict& verdict) {
  const auto setting =
      std::find_if(matrix.settings.begin(), matrix.settings.end(),
                   [&](const Setting& each) { return each.id == verdict.setting; });
  DRAFTPROOF_CHECK(setting != matrix.settings.end(), verdict.setting);
  const auto audit =
      std::find_if(properties::audits::audits().begin(), properties::audits::audits().end(),
                   [&](const Audit& each) { return each.info.id == verdict.property; });
  Localisation found;
  if (audit == properties::audits::audits().end()) return found;
  CheckContext context{matrix, evidence, settings, *setting, audit->info, {}, 0, 0.05};
  for (const AuditCase& each : matrix.cases)
    if (&matrix.settings[each.setting] == &*setting) context.cases.push_back(&each);
  found.tables = tables_of(context, verdict);
  if (found.tables.empty()) return found;
  found.lines = lines_of(found.tables);
  return found;
}

}  // namespace draftproof::tools::audit
