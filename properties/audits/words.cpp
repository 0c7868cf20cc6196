#include "properties/audits/words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "properties/describe.h"

namespace draftproof::properties {

std::string to_string(Arm arm) { return arm == Arm::kBaseline ? "baseline" : "speculative"; }

namespace audits {

using reference::Token;

std::string words_of(std::span<const Token> tokens) {
  std::string text;
  for (const Token token : tokens) text += (text.empty() ? "" : " ") + std::to_string(token);
  return text.empty() ? "none" : text;
}

std::string words_of(const SamplingRequest& request) {
  std::string text = "prompt " + words_of(request.prompt) + ", temperature " +
                     short_number(request.sampling.temperature);
  const auto add = [&](const char* name, double value, double off) {
    if (value != off) text += std::string(", ") + name + " " + short_number(value);
  };
  add("top_k", static_cast<double>(request.sampling.top_k), 0);
  add("top_p", request.sampling.top_p, 1);
  add("min_p", request.sampling.min_p, 0);
  add("repetition penalty", request.adjustments.penalties.repetition, 1);
  add("frequency penalty", request.adjustments.penalties.frequency, 0);
  add("presence penalty", request.adjustments.penalties.presence, 0);
  return text + ", " + std::to_string(request.max_tokens) + " tokens";
}

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

std::string rounded_up(double value) { return short_number(std::ceil(value * 1e4) / 1e4); }

std::string percent(double share) { return rounded(100 * share) + "%"; }

std::optional<std::string> malformation(const SamplingRequest& request,
                                        const Completion& completion, int vocab_size) {
  if (completion.end == CompletionEnd::kFailed) return completion.failure;
  for (const Token token : completion.token_ids)
    if (token < 0 || token >= vocab_size)
      return "token " + std::to_string(token) + ", and the vocabulary has ids 0 to " +
             std::to_string(vocab_size - 1);
  const auto asked = static_cast<std::size_t>(request.max_tokens);
  const std::size_t emitted = completion.token_ids.size();
  if (emitted <= asked && (emitted == asked || completion.end == CompletionEnd::kStop)) return {};
  return std::to_string(emitted) + " tokens where " + std::to_string(asked) + " are due";
}

SamplingRequest request_for(const AuditSettings& settings, const Prompt& prompt,
                            const reference::Sampling& sampling) {
  SamplingRequest request = settings.request;
  request.prompt = prompt;
  request.sampling = sampling;
  return request;
}

std::vector<Prompt> by_length(std::vector<Prompt> prompts) {
  std::stable_sort(prompts.begin(), prompts.end(), [](const Prompt& first, const Prompt& second) {
    return first.size() < second.size();
  });
  return prompts;
}

oracle::Verdict verdict_of(const Engine& engine, const char* property, oracle::Claim claim) {
  oracle::Verdict verdict;
  verdict.claim = claim;
  verdict.property = property;
  verdict.subject = engine.capabilities().name;
  return verdict;
}

void convict(oracle::Verdict& verdict, oracle::Witness witness, const AuditSettings& settings) {
  witness.replay = settings.replay;
  verdict.kind = oracle::VerdictKind::kViolated;
  verdict.witness = std::move(witness);
}

}  // namespace audits
}  // namespace draftproof::properties
