// The list of rules, and what they have in common.
#include "reference/law/rule.h"

#include <algorithm>

#include "reference/error.h"
#include "reference/law/rules/rules.h"

namespace draftproof::reference::law {

Emission emission_of(const DraftTree& draft, const Decision& decision) {
  Emission emission;
  int parent = -1;
  for (int node : decision.accepted) {
    DRAFTPROOF_CHECK(draft.nodes.at(node).parent == parent, "accepted nodes are not a path");
    emission.tokens.push_back(draft.nodes[node].token);
    parent = node;
  }
  emission.accepted_count = static_cast<int>(decision.accepted.size());
  if (decision.last) emission.tokens.push_back(*decision.last);
  return emission;
}

const std::vector<LawRule>& law_rules() {
  static const std::vector<LawRule> list = [] {
    std::vector<LawRule> all;
    for (const auto rule : {rules::chain_rule,
                            rules::greedy_rule,
                            rules::block_rule,
                            rules::match_rule,
                            rules::shared_noise_rule,
                            rules::hsd_rule,
                            rules::typical_sampled_rule,
                            rules::relaxed_rule,
                            rules::thresholds_rule,
                            rules::synthetic_rule,
                            rules::judge_rule,
                            rules::entropy_relaxed_rule,
                            rules::fly_rule,
                            rules::ensemble_rule,
                            rules::cascade_rule,
                            rules::at_least_draft_rule,
                            rules::always_accept_rule,
                            rules::temperature_mismatch_rule,
                            rules::target_only_rule,
                            rules::tree_greedy_rule,
                            rules::with_replacement_rule,
                            rules::without_replacement_rule,
                            rules::k_seq_rule,
                            rules::greedy_multi_draft_rule,
                            rules::traversal_rule,
                            rules::lookahead_rule,
                            rules::medusa_typical_rule})
      all.push_back(rule());
    std::stable_partition(all.begin(), all.end(),
                          [](const LawRule& rule) { return rule.kind == RuleKind::kLossless; });
    return all;
  }();
  return list;
}

const LawRule& law_rule(std::string_view name) {
  std::string known;
  for (const LawRule& rule : law_rules()) {
    if (rule.name == name) return rule;
    known += (known.empty() ? "" : ", ") + rule.name;
  }
  throw Error(ErrorKind::kInput, "unknown rule '" + std::string(name) + "'; known: " + known);
}

OptionValues checked(const LawRule& rule, const OptionValues& given) {
  OptionValues values;
  std::string known;
  for (const RuleOption& option : rule.options) {
    values[option.name] = option.value;
    known += (known.empty() ? "" : ", ") + option.name;
  }
  for (const auto& [name, value] : given) {
    if (!values.contains(name))
      throw Error(ErrorKind::kInput, "rule " + rule.name + " has no option '" + name +
                                         "'; it has " + (known.empty() ? "none" : known));
    for (const RuleOption& option : rule.options)
      if (option.name == name && (value < option.low || value > option.high))
        throw Error(ErrorKind::kInput, name + " = " + to_string(value) + " is outside [" +
                                           to_string(option.low) + ", " + to_string(option.high) +
                                           "]");
    values[name] = value;
  }
  return values;
}

}  // namespace draftproof::reference::law
