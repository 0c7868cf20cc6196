#include "properties/audits/words.h"

#include <cmath>
#include <cstdio>

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

}  // namespace audits
}  // namespace draftproof::properties
