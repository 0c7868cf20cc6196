#include "tools/audit/token_roles.h"

#include <algorithm>
#include <cstddef>

namespace draftproof::tools::audit {
namespace {

using properties::Completion;
using properties::VerifyStep;

/// The roles when `first` tokens come before the first verification.
std::optional<std::vector<TokenRole>> roles_behind(const Completion& completion,
                                                   std::size_t first) {
  const auto& tokens = completion.token_ids;
  std::vector<TokenRole> roles(std::min(first, tokens.size()), TokenRole::kPrompt);
  for (const VerifyStep& step : completion.steps) {
    const auto accepted = static_cast<std::size_t>(step.accepted);
    if (step.accepted < 0 || accepted > step.draft_ids.size()) return {};
    for (std::size_t i = 0; i < accepted && roles.size() < tokens.size(); ++i) {
      if (tokens[roles.size()] != step.draft_ids[i]) return {};
      roles.push_back(TokenRole::kAccepted);
    }
    if (roles.size() < tokens.size())
      roles.push_back(accepted < step.draft_ids.size() ? TokenRole::kRecovered : TokenRole::kBonus);
  }
  if (roles.size() != tokens.size()) return {};
  return roles;
}

}  // namespace

std::optional<std::vector<TokenRole>> roles_of(const Completion& completion) {
  if (completion.steps.empty()) return {};
  for (const std::size_t first : {std::size_t{1}, std::size_t{0}})
    if (auto roles = roles_behind(completion, first)) return roles;
  return {};
}

}  // namespace draftproof::tools::audit
