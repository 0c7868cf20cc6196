// Which options of `draftproof law` do not go together; law_options.h says why they are refused.
#include "tools/draftproof/law_options.h"

#include <string>
#include <vector>

#include "reference/error.h"

namespace draftproof::tools {
namespace {

struct Given {
  const char* option;
  bool is_given;
};

void refuse_any(const std::vector<Given>& options, const std::string& message) {
  for (const Given& entry : options)
    if (entry.is_given) throw Error(ErrorKind::kInput, message, entry.option);
}

std::vector<Given> contract_options(const ContractSettings& settings) {
  return {{"--preset", settings.presets.size() > 1},
          {"--repetition-penalty", settings.repetition_penalty.has_value()},
          {"--frequency-penalty", settings.frequency_penalty.has_value()},
          {"--presence-penalty", settings.presence_penalty.has_value()},
          {"--last-n", settings.last_n.has_value()},
          {"--logit-bias", !settings.logit_bias.empty()},
          {"--allowed-ids", !settings.allowed_ids.empty()},
          {"--bad-words", !settings.bad_words.empty()},
          {"--min-tokens", settings.min_tokens.has_value()},
          {"--mask", !settings.mask.empty()},
          {"--history", !settings.history.empty()},
          {"--drafted", !settings.drafted.empty()},
          {"--from-probabilities", settings.is_probabilities},
          {"--engine-defaults", settings.uses_defaults}};
}

std::vector<Given> shape_options(const LawSettings& settings) {
  return {{"--length", settings.length != 1},
          {"--tree", !settings.tree.empty()},
          {"--siblings", settings.siblings != "independent"},
          {"--one-hot", settings.reports_one_hot}};
}

std::vector<Given> row_options(const LawSettings& settings) {
  return {
      {"--draft", !settings.draft.empty()},    {"--temperature", settings.temperature.has_value()},
      {"--top-k", settings.top_k.has_value()}, {"--top-p", settings.top_p.has_value()},
      {"--min-p", settings.min_p.has_value()}, {"--preset", settings.preset != "default"}};
}

void refuse_unread_by_faults(const LawSettings& settings) {
  refuse_any({{"--method", !settings.method.empty()}},
             "--faults needs rows of a draft model; "
             "leave it out");
  refuse_any({{"--rule", !settings.rule.empty()},
              {"--rule-option", !settings.rule_options.empty()},
              {"--siblings", settings.siblings != "independent"},
              {"--one-hot", settings.reports_one_hot},
              {"--coins", !settings.coins.empty()},
              {"--steps", settings.shows_steps},
              {"--eos", !settings.contracts.end_tokens.empty()},
              {"--stop", !settings.stops.empty()},
              {"--max-tokens", settings.token_count_max.has_value()}},
             "every fault brings its own; leave it out beside --faults");
  refuse_any({{"--iterations", settings.iterations != 1}},
             "--faults goes as far as --tokens says; give that");
  refuse_any({{"--output", settings.output.format != OutputFormat::kText}},
             "--faults writes text only; leave it out");
}

}  // namespace

void refuse_unread_by_decodings(const LawSettings& settings) {
  refuse_any(
      contract_options(settings.contracts),
      "belongs to contracts on one row of logits; leave it out beside drafts and iterations");
  if (settings.shows_faults) refuse_unread_by_faults(settings);
  if (!settings.toy.empty() || !settings.method.empty())
    refuse_any(row_options(settings), "a toy brings rows of its own, which are laws; leave it out");
  if (!settings.method.empty()) {
    refuse_any(shape_options(settings), "the method decides the shape of its draft; leave it out");
    refuse_any({{"--steps", settings.shows_steps}},
               "shows chains of a draft model; leave it out beside --method");
  } else if (settings.tree.empty()) {
    refuse_any({{"--siblings", settings.siblings != "independent"}},
               "a chain has no siblings; add --tree, as --tree 2");
  } else {
    refuse_any({{"--length", settings.length != 1}},
               "--tree says how deep the draft is; leave it out");
    refuse_any({{"--steps", settings.shows_steps}},
               "shows chains of a draft model; leave it out beside --tree");
  }
}

void refuse_unread_by_contracts(const LawSettings& settings) {
  refuse_any({{"--rule", !settings.rule.empty()}, {"--steps", settings.shows_steps}},
             "contracts are compared on one row, without rule or draft; leave it out");
  refuse_any(shape_options(settings),
             "contracts are compared on one row, without rule or draft; leave it out");
}

}  // namespace draftproof::tools
