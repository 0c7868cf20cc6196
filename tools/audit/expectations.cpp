#include "tools/audit/expectations.h"

#include <fmt/format.h>

namespace draftproof::tools::audit {
namespace {

std::string number(const std::optional<int>& value) {
  return value ? std::to_string(*value) : std::string();
}

/// Empty: not told.
std::string told(const std::string& name, const engines::ArmFacts& facts) {
  if (name == "engine") return facts.engine;
  if (name == "version") return facts.version;
  if (name == "model") return facts.model;
  if (name == "method") return facts.method;
  if (name == "vocab_size") return number(facts.vocab_size);
  if (name == "context_max") return number(facts.context_max);
  if (name == "slot_count") return number(facts.slot_count);
  if (name == "draft_count" || name == "num_speculative_tokens") return number(facts.draft_count);
  if (name == "lossy_mode") return facts.lossy_mode.value_or("");
  if (!facts.is_speculative) return "";
  return *facts.is_speculative ? "true" : "false";
}

bool holds(const std::string& wanted, const std::string& value) {
  if (!wanted.empty() && wanted.back() == '*')
    return value.starts_with(wanted.substr(0, wanted.size() - 1));
  return value == wanted;
}

}  // namespace

const std::vector<std::string>& expectation_names() {
  static const std::vector<std::string> names = {
      "engine",      "version",    "model",          "method",      "vocab_size",
      "context_max", "slot_count", "is_speculative", "draft_count", "num_speculative_tokens",
      "lossy_mode"};
  return names;
}

std::vector<std::string> unmet(const std::map<std::string, std::string>& expect,
                               const engines::ArmFacts& facts) {
  std::vector<std::string> lines;
  for (const auto& [name, wanted] : expect) {
    const std::string value = told(name, facts);
    if (value.empty()) {
      lines.push_back(fmt::format("{} is not told; {} was expected", name, wanted));
    } else if (!holds(wanted, value)) {
      lines.push_back(fmt::format("{} is {}, not {}", name, value, wanted));
    }
  }
  return lines;
}

}  // namespace draftproof::tools::audit
