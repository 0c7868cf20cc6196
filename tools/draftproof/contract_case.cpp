// The texts of `draftproof law` as one row, one history and one request a contract;
// contract_comparison.h declares it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "reference/error.h"
#include "reference/scalar.h"
#include "tools/draftproof/contract_comparison.h"
#include "tools/draftproof/law_options.h"
#include "tools/draftproof/typed_row.h"

namespace draftproof::tools {
namespace {

using reference::Token;

Token id_of(const std::string& text, const std::string& option) {
  Token id = 0;
  const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || next != text.data() + text.size() || id < 0)
    refuse(fmt::format("\"{}\" is no token id; write 0,3", text), option);
  return id;
}

std::vector<Token> ids_of(const std::string& text, const std::string& option) {
  std::vector<Token> ids;
  if (text.empty()) return ids;
  for (const std::string& part : parts_of(text, ',')) ids.push_back(id_of(part, option));
  return ids;
}

double bias_value_of(const std::string& text) {
  if (text == "-inf") return -INFINITY;
  try {
    return reference::exact_from_text(text).convert_to<double>();
  } catch (const Error& error) {
    refuse(error.message() + "; -inf bans the token", "--logit-bias");
  }
}

reference::TokenBias bias_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    refuse(fmt::format("\"{}\" has no colon; write 3:-1.5", text), "--logit-bias");
  return {id_of(text.substr(0, colon), "--logit-bias"), bias_value_of(text.substr(colon + 1))};
}

std::vector<float> logits_of(const LawSettings& settings) {
  if (settings.target.find(';') != std::string::npos)
    refuse("several rows; contracts are compared on one", "--target");
  if (settings.target.empty()) refuse("no token; write logits as 0,-1,-inf", "--target");
  std::vector<float> logits;
  if (settings.contracts.is_probabilities) {
    const auto law = reference::distribution_from_text(settings.target, "--target");
    for (const auto& probability : law.probabilities())
      logits.push_back(static_cast<float>(std::log(probability.convert_to<double>())));
    return logits;
  }
  for (const std::string& part : parts_of(settings.target, ','))
    logits.push_back(logit_of(part, "--target"));
  return logits;
}

reference::Adjustments adjustments_of(const ContractSettings& settings, std::size_t vocab_size) {
  reference::Adjustments adjustments;
  adjustments.penalties.repetition = settings.repetition_penalty.value_or(1);
  adjustments.penalties.frequency = settings.frequency_penalty.value_or(0);
  adjustments.penalties.presence = settings.presence_penalty.value_or(0);
  if (settings.last_n && *settings.last_n < -1)
    refuse(fmt::format("{} tokens; give 0 or more, or -1 for all", *settings.last_n), "--last-n");
  adjustments.penalties.last_n = settings.last_n;
  for (const std::string& text : settings.logit_bias)
    adjustments.logit_bias.push_back(bias_of(text));
  if (!settings.allowed_ids.empty())
    adjustments.allowed_ids = ids_of(settings.allowed_ids, "--allowed-ids");
  if (!settings.bad_words.empty())
    for (const std::string& word : parts_of(settings.bad_words, ';'))
      adjustments.bad_words.push_back(ids_of(word, "--bad-words"));
  adjustments.min_tokens = settings.min_tokens.value_or(0);
  adjustments.end_tokens = ids_of(settings.end_tokens, "--eos");
  if (settings.mask.empty()) return adjustments;
  std::vector<bool> mask(vocab_size, false);
  for (const Token id : ids_of(settings.mask, "--mask")) {
    if (static_cast<std::size_t>(id) >= vocab_size)
      refuse(fmt::format("token {} is outside the vocabulary of {}", id, vocab_size), "--mask");
    mask[static_cast<std::size_t>(id)] = true;
  }
  adjustments.grammar_mask = std::move(mask);
  return adjustments;
}

reference::Sampling sampling_of(const LawSettings& settings, const reference::Sampling& absent) {
  return {settings.temperature.value_or(absent.temperature), settings.top_k.value_or(absent.top_k),
          settings.top_p.value_or(absent.top_p), settings.min_p.value_or(absent.min_p)};
}

bool has_adjustments(const ContractSettings& s) {
  return s.repetition_penalty || s.frequency_penalty || s.presence_penalty || s.last_n ||
         !s.logit_bias.empty() || !s.allowed_ids.empty() || !s.bad_words.empty() || s.min_tokens ||
         !s.end_tokens.empty() || !s.mask.empty() || !s.prompt.empty() || !s.history.empty() ||
         !s.drafted.empty() || s.is_probabilities || s.uses_defaults;
}

bool is_preset(const std::string& name) {
  const auto& list = reference::presets();
  return std::any_of(list.begin(), list.end(),
                     [&](const reference::Preset& entry) { return entry.name == name; });
}

}  // namespace

bool asks_for_contracts(const LawSettings& settings) {
  return settings.contracts.presets.size() > 1 || has_adjustments(settings.contracts) ||
         !is_preset(settings.preset);
}

ContractReport contract_report(const LawSettings& settings) {
  std::vector<std::string> names = settings.contracts.presets;
  if (names.empty()) names = {settings.preset};
  for (const std::string& name : names) reference::contract(name);  // unknown names first
  refuse_unread_by_contracts(settings);
  if (!settings.draft.empty())
    refuse("goes with one preset and plain shaping; leave it out to look at a row", "--draft");
  ContractReport report;
  report.logits = logits_of(settings);
  report.history = {ids_of(settings.contracts.prompt, "--prompt"),
                    ids_of(settings.contracts.history, "--history"),
                    ids_of(settings.contracts.drafted, "--drafted")};
  const auto adjustments = adjustments_of(settings.contracts, report.logits.size());
  std::vector<reference::ContractUse> uses;
  for (const std::string& name : names) {
    const reference::Contract& contract = reference::contract(name);
    const auto absent =
        settings.contracts.uses_defaults ? contract.defaults : reference::Sampling{};
    uses.push_back({&contract, {sampling_of(settings, absent), adjustments}});
  }
  report.comparison = reference::compare(uses, report.logits, report.history);
  for (const reference::ContractLaw& law : report.comparison.laws) {
    report.steps.emplace_back();
    if (law.refusal.empty())
      report.steps.back() = reference::steps_of_row(*law.use.contract, report.logits,
                                                    law.use.request, report.history);
  }
  return report;
}

}  // namespace draftproof::tools
