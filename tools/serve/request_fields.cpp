#include "tools/serve/request_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "reference/error.h"
#include "tools/serve/tokenizer.h"

namespace draftproof::tools::serve {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& message) {
  throw Error(ErrorKind::kInput, message, place);
}

std::vector<Token> prompt_of(const Json& value, const std::string& place, const Served& served) {
  std::vector<Token> ids = value.is_string()
                               ? tokenize(*served.spelling, value.get<std::string>(), place)
                               : vocabulary_ids_of(value, place, kPromptIdsMax, served);
  if (ids.empty()) refuse(place, "is empty; give at least one token");
  if (room_behind(ids, served) < 1)
    refuse(place, fmt::format("has {} tokens, and a context of {} leaves no room behind it",
                              ids.size(), served.config->context_max));
  return ids;
}

}  // namespace

std::vector<std::vector<Token>> prompts_of(const Json& value, const std::string& place,
                                           const Served& served) {
  if (value.is_string()) return {prompt_of(value, place, served)};
  if (!value.is_array()) refuse(place, "must be a text, an array of ids, or an array of those");
  if (value.empty()) refuse(place, "is empty; give at least one token");
  if (value.front().is_number()) return {prompt_of(value, place, served)};
  if (value.size() > kPromptsMax)
    refuse(place, fmt::format("has {} prompts; at most {} are taken", value.size(), kPromptsMax));
  std::vector<std::vector<Token>> prompts;
  for (const Json& each : value)
    prompts.push_back(prompt_of(each, fmt::format("{}[{}]", place, prompts.size()), served));
  return prompts;
}

std::vector<reference::TokenBias> bias_of(const Json& value, const std::string& place,
                                          const Served& served, double low, double high) {
  if (!value.is_object()) refuse(place, "must be an object {\"ID\": BIAS}");
  std::vector<reference::TokenBias> biases;
  for (const auto& [name, bias] : value.items()) {
    const std::string at = place + "." + name.substr(0, 40);
    Token id = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    // "007" would be token 7 once more, and there is no end to zeros.
    if (error != std::errc() || end != name.data() + name.size() || id < 0 ||
        id >= served.vocab_size() || name != std::to_string(id))
      refuse(at, fmt::format("is no id in [0, {})", served.vocab_size()));
    if (!bias.is_number() || bias.get<double>() < low || bias.get<double>() > high)
      refuse(at, fmt::format("must be a number in [{}, {}]", low, high));
    biases.push_back({id, bias.get<double>()});
  }
  return biases;
}

std::vector<Token> vocabulary_ids_of(const Json& value, const std::string& place,
                                     std::size_t count_max, const Served& served) {
  std::vector<Token> ids = ids_of(value, place, count_max);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= served.vocab_size())
      refuse(fmt::format("{}[{}]", place, i),
             fmt::format("token {} is outside the vocabulary of {} tokens", ids[i],
                         served.vocab_size()));
  return ids;
}

int room_behind(const std::vector<Token>& prompt, const Served& served) {
  const auto room = static_cast<std::int64_t>(served.config->context_max) -
                    static_cast<std::int64_t>(prompt.size());
  return static_cast<int>(std::max<std::int64_t>(room, 0));
}

int tokens_within(const std::vector<Token>& prompt, std::optional<std::int64_t> max_tokens,
                  const std::string& place, const Served& served) {
  const int room = room_behind(prompt, served);
  if (!max_tokens) return room;
  if (*max_tokens > room)
    refuse(place, fmt::format("is {}; the context of {} tokens has room for {} behind this prompt",
                              *max_tokens, served.config->context_max, room));
  return static_cast<int>(*max_tokens);
}

/// As many as a server takes at a time.
constexpr std::int64_t kOrdersMax = 1024;

std::vector<Order> orders_for(const std::vector<std::vector<Token>>& prompts, const Order& order,
                              std::int64_t choice_count) {
  std::vector<Order> orders;
  const auto count = static_cast<std::int64_t>(prompts.size()) * choice_count;
  if (count > kOrdersMax)
    refuse("prompt", fmt::format("{} prompts with {} choices are {} completions; {} at most in one "
                                 "request",
                                 prompts.size(), choice_count, count, kOrdersMax));
  for (const std::vector<Token>& prompt : prompts) {
    for (std::int64_t choice = 0; choice < choice_count; ++choice) {
      orders.push_back(order);
      orders.back().spec.prompt = prompt;
      if (order.spec.seed) *orders.back().spec.seed += static_cast<std::uint64_t>(choice);
    }
  }
  return orders;
}

void add_stop_tokens(Order& order, const std::vector<Token>& ids) {
  for (const Token id : ids) order.spec.stops.push_back({id});
}

FinishKind kind_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEos:
    case FinishReason::kStop:
      return FinishKind::kStop;
    case FinishReason::kLength:
    case FinishReason::kContext:
      return FinishKind::kLength;
    case FinishReason::kNone:
    case FinishReason::kCancelled:
    case FinishReason::kStatus:
      break;
  }
  return FinishKind::kAborted;
}

double finite(double logprob, double least) {
  // A faulty engine's; as the least logprob it would look like an answer.
  DRAFTPROOF_CHECK(!std::isnan(logprob), "a logprob is no number");
  return std::max(logprob, least);
}

}  // namespace draftproof::tools::serve
