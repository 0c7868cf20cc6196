#include "tools/draftproof/law_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "reference/error.h"
#include "tools/draftproof/law_case.h"
#include "tools/draftproof/law_options.h"
#include "tools/draftproof/typed_row.h"

namespace draftproof::tools {
namespace {

namespace law = reference::law;
namespace model = reference::model;
using reference::Exact;
using reference::Token;

/// Drafted tokens of an iteration: a walk of more would never end.
constexpr int kNodesMax = 64;

/// "2,1" as numbers of at least `least`.
std::vector<int> numbers_of(const std::string& text, int least, const std::string& option) {
  std::vector<int> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    int number = 0;
    const char* const first = text.data() + begin;
    const auto [rest, fault] = std::from_chars(first, text.data() + end, number);
    if (fault != std::errc() || rest != text.data() + end || number < least)
      refuse(fmt::format("'{}' is no list of numbers from {} on; write 2,1", text, least), option);
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

std::vector<Token> tokens_of(const std::string& text, int vocab_size, const std::string& option) {
  std::vector<Token> tokens;
  for (int number : numbers_of(text, 0, option)) {
    if (number >= vocab_size)
      refuse(fmt::format("token {} is outside the vocabulary of {}", number, vocab_size), option);
    tokens.push_back(number);
  }
  return tokens;
}

/// What `lookup` answers; its complaint gets the option that named the thing.
template <class Lookup, class Name>
auto named(const Lookup& lookup, const Name& name, const std::string& option) {
  try {
    return lookup(name);
  } catch (const Error& error) {
    refuse(error.message(), option);
  }
}

law::OptionValues options_of(const law::LawRule& rule, const std::vector<std::string>& texts) {
  law::OptionValues given;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos) refuse("'" + text + "' is no NAME=VALUE", "--rule-option");
    const std::string name = text.substr(0, sign);
    if (given.contains(name)) refuse("'" + name + "' is given twice; keep one", "--rule-option");
    given[name] = named(reference::exact_from_text, text.substr(sign + 1), "--rule-option");
  }
  return named([&](const auto& values) { return law::checked(rule, values); }, given,
               "--rule-option");
}

law::SiblingDraw siblings_of(const std::string& name) {
  static const std::map<std::string, law::SiblingDraw> names = {
      {"independent", law::SiblingDraw::kIndependent},
      {"without-replacement", law::SiblingDraw::kWithoutReplacement},
      {"largest", law::SiblingDraw::kLargest},
      {"largest-then-drawn", law::SiblingDraw::kLargestThenDrawn}};
  const auto found = names.find(name);
  if (found == names.end())
    refuse("'" + name +
               "' is none of independent, without-replacement, largest, "
               "largest-then-drawn",
           "--siblings");
  return found->second;
}

/// The shape of the draft, checked against what the rule takes.
std::vector<int> parents_of(const LawSettings& settings, const law::LawRule& rule) {
  if (settings.tree.empty()) return law::chain_parents(settings.length);
  if (rule.shape == law::TakenShape::kChain)
    refuse(fmt::format("rule {} takes a chain; leave --tree out, or see draftproof list rules",
                       rule.name),
           "--tree");
  const std::vector<int> widths = numbers_of(settings.tree, 1, "--tree");
  double nodes = 0;
  double level = 1;
  for (int width : widths) nodes += level *= width;
  if (nodes > kNodesMax)
    refuse(fmt::format("{} nodes, more than {}; make it smaller", nodes, kNodesMax), "--tree");
  if (rule.shape == law::TakenShape::kOneLevel && widths.size() > 1)
    refuse(fmt::format("rule {} takes siblings of one level, as --tree {}", rule.name, widths[0]),
           "--tree");
  return law::tree_parents(widths);
}

void check_siblings(const law::LawRule& rule, const law::ModelCase& tiny) {
  if (rule.siblings.empty()) return;
  const bool has_siblings = tiny.parents != law::chain_parents(tiny.draft_count());
  const bool is_known =
      std::find(rule.siblings.begin(), rule.siblings.end(), tiny.siblings) != rule.siblings.end();
  if (has_siblings && !is_known) {
    refuse(fmt::format("rule {} is not right for siblings drawn so; its laws hold when: {}",
                       rule.name, rule.conditions),
           "--siblings");
  }
}

law::ModelCase tiny_of(const LawSettings& settings, const law::LawRule& rule, LawPlan& plan) {
  law::ModelCase tiny;
  if (settings.toy.empty()) {
    LawSettings rows = settings;
    if (!settings.tree.empty()) {
      rows.length = static_cast<int>(numbers_of(settings.tree, 1, "--tree").size());
    }
    tiny = law_case(rows);
    plan.source = "rows given";
    plan.rows_depend_on_position_only = true;
  } else {
    if (!settings.target.empty()) refuse("a toy brings its own rows; leave it out", "--target");
    if (settings.length < 0) {
      refuse(fmt::format("{} is no draft length; give 0 or more", settings.length), "--length");
    }
    if (settings.length > kNodesMax) {
      refuse(fmt::format("{} drafted tokens, more than {}; shorten the draft", settings.length,
                         kNodesMax),
             "--length");
    }
    plan.toy = named(model::toy, settings.toy, "--toy");
    plan.source = "toy " + settings.toy;
    tiny = law::chain_case(plan.toy.target, plan.toy.draft, 0);
  }
  tiny.parents = parents_of(settings, rule);
  tiny.siblings = siblings_of(settings.siblings);
  if (settings.reports_one_hot) tiny.report = law::DraftReport::kOneHot;
  check_siblings(rule, tiny);
  return tiny;
}

/// True when `rule` is right for siblings as the method draws them: for those its own rule takes.
bool takes_siblings_of(const reference::draft::Method& method, const law::LawRule& rule) {
  if (rule.siblings.empty() || rule.name == method.rule) return true;
  const auto& rules = law::law_rules();
  const auto own = std::find_if(rules.begin(), rules.end(), [&](const law::LawRule& entry) {
    return entry.name == method.rule;
  });
  if (own == rules.end() || own->siblings.empty()) return false;
  return std::all_of(own->siblings.begin(), own->siblings.end(), [&](law::SiblingDraw draw) {
    return std::find(rule.siblings.begin(), rule.siblings.end(), draw) != rule.siblings.end();
  });
}

/// Why the rule cannot decide about a draft of this shape; empty when it can.
std::string misfit(const law::DraftTree& draft, const law::LawRule& rule, bool takes_siblings) {
  if (draft.is_chain()) return "";
  if (rule.shape == law::TakenShape::kChain) return "takes a chain, and the method drafts a tree";
  const bool is_one_level = std::all_of(draft.nodes.begin(), draft.nodes.end(),
                                        [](const auto& node) { return node.parent < 0; });
  if (rule.shape == law::TakenShape::kOneLevel && !is_one_level)
    return "takes siblings of one level, and the method drafts a deeper tree";
  return takes_siblings ? "" : "is not right for siblings as the method draws them";
}

/// The rule that the user chose instead of the method's. What a method drafts shows only when it
/// drafts, so every draft is looked at.
void take_rule(LawPlan& plan) {
  const law::LawRule& rule = *plan.rule;
  const bool is_greedy = rule.decoded == law::DecodedLaw::kGreedy;
  const bool was_greedy = plan.method->decoded == law::DecodedLaw::kGreedy;
  if (was_greedy && !is_greedy) {
    refuse(fmt::format("method {} decodes greedily; take a rule that does, such as {}",
                       plan.method->name, plan.method->rule),
           "--rule");
  }
  if (is_greedy && !was_greedy) plan.decoding.target = model::greedy_model(plan.decoding.target);
  plan.decoding.rule = [decide = rule.make(plan.options), &entry = law::law_rule(rule.name),
                        own = plan.method->rule,
                        takes_siblings = takes_siblings_of(*plan.method, rule)](
                           const law::Verification& step, law::Chooser& chooser) {
    const std::string why = misfit(step.draft, entry, takes_siblings);
    if (!why.empty())
      refuse(fmt::format("rule {} {}; leave it out: the method's is {}", entry.name, why, own),
             "--rule");
    return decide(step, chooser);
  };
}

void plan_method(const LawSettings& settings, LawPlan& plan) {
  if (!settings.target.empty()) {
    refuse("a method has a toy of its own; leave --target out, choose with --toy", "--method");
  }
  const auto find = [](const std::string& name) { return &reference::draft::method(name); };
  plan.method = named(find, settings.method, "--method");
  const std::string toy = settings.toy.empty() ? plan.method->toys.front() : settings.toy;
  plan.toy = named(model::toy, toy, "--toy");
  plan.source = fmt::format("method {} over toy {}", plan.method->name, toy);
  plan.decoding = named(plan.method->make, plan.toy, "--toy");
  const std::string rule = settings.rule.empty() ? plan.method->rule : settings.rule;
  const bool is_listed = std::any_of(law::law_rules().begin(), law::law_rules().end(),
                                     [&](const law::LawRule& entry) { return entry.name == rule; });
  if (is_listed || !settings.rule.empty()) {
    plan.rule = named(law::law_rule, rule, "--rule");
    plan.options = options_of(*plan.rule, settings.rule_options);
  }
  if (!settings.rule.empty()) take_rule(plan);
}

void plan_model(const LawSettings& settings, LawPlan& plan) {
  // Faults bring rules of their own; any rule that takes the shape will do.
  const std::string usual =
      settings.shows_faults && !settings.tree.empty() ? "target-only" : "chain";
  plan.rule = named(law::law_rule, settings.rule.empty() ? usual : settings.rule, "--rule");
  plan.options = options_of(*plan.rule, settings.rule_options);
  plan.tiny = tiny_of(settings, *plan.rule, plan);
  plan.decoding = law::decoding_of(*plan.tiny, plan.rule->make(plan.options));
  plan.decoding.prompt = plan.toy.prompt;
  if (!settings.tree.empty()) {
    // Nodes deeper than the draft is long are left out; the tree says how deep it is.
    plan.decoding.draft_count = static_cast<int>(numbers_of(settings.tree, 1, "--tree").size());
  }
  if (plan.rule->decoded == law::DecodedLaw::kGreedy) {
    plan.decoding.target = model::greedy_model(plan.decoding.target);
  }
}

void plan_limits(const LawSettings& settings, LawPlan& plan) {
  law::Limits& limits = plan.decoding.limits;
  if (!settings.contracts.end_tokens.empty()) {
    const auto ends = tokens_of(settings.contracts.end_tokens, plan.vocab_size(), "--eos");
    limits.eos = ends.front();
    for (std::size_t i = 1; i < ends.size(); ++i) limits.stops.push_back({ends[i]});
  }
  for (const std::string& stop : settings.stops)
    limits.stops.push_back(tokens_of(stop, plan.vocab_size(), "--stop"));
  if (settings.token_count_max && *settings.token_count_max < 1)
    refuse(fmt::format("{} tokens; give 1 or more", *settings.token_count_max), "--max-tokens");
  limits.token_count_max = settings.token_count_max;
  const bool is_limited = limits.eos || !limits.stops.empty() || limits.token_count_max;
  if (is_limited && !settings.tokens)
    refuse("the end of a request needs --tokens: how many of them to follow", "--tokens");
  if (!settings.contracts.prompt.empty())
    plan.decoding.prompt = tokens_of(settings.contracts.prompt, plan.vocab_size(), "--prompt");
}

}  // namespace

bool asks_for_decoding(const LawSettings& settings) {
  return !settings.method.empty() || !settings.toy.empty() || !settings.tree.empty() ||
         settings.iterations != 1 || settings.tokens || !settings.stops.empty() ||
         settings.token_count_max || !settings.coins.empty() || !settings.rule_options.empty() ||
         settings.shows_faults ||
         (!settings.draft.empty() &&
          !(settings.contracts.end_tokens.empty() && settings.contracts.prompt.empty()));
}

LawPlan law_plan(const LawSettings& settings) {
  refuse_unread_by_decodings(settings);
  LawPlan plan;
  if (settings.method.empty()) {
    plan_model(settings, plan);
  } else {
    plan_method(settings, plan);
  }
  if (settings.iterations < 1)
    refuse(fmt::format("{} iterations; give 1 or more", settings.iterations), "--iterations");
  if (settings.tokens && *settings.tokens < 1)
    refuse(fmt::format("{} tokens; give 1 or more", *settings.tokens), "--tokens");
  if (!settings.coins.empty())
    plan.decoding.coins = named(law::coin_scheme, settings.coins, "--coins");
  plan.shape_option = !settings.method.empty() ? "--toy"
                      : settings.tree.empty()  ? "--length"
                                               : "--tree";
  plan.iterations = settings.iterations;
  plan.tokens = settings.tokens;
  plan.shows_steps = settings.shows_steps;
  if (settings.shows_faults && plan.decoding.draft_count == 0)
    refuse("nothing is drafted, so that no fault can show; give 1 or more", "--length");
  plan.seconds_max = settings.seconds_max;
  plan_limits(settings, plan);
  if (plan.shows_steps && !plan.decoding.prompt.empty())
    refuse("shows an iteration behind no prompt; leave it out", "--steps");
  return plan;
}

}  // namespace draftproof::tools
