// Words of divergences (words.h).
#include "properties/state/words.h"

#include <cstdio>
#include <cstring>

namespace draftproof::properties::state {

using reference::Row;
using reference::Token;

namespace {

template <typename Number>
std::string listed(const std::vector<Number>& numbers) {
  constexpr std::size_t kShown = 16;
  const std::size_t first = numbers.size() > kShown ? numbers.size() - kShown : 0;
  std::string text = first > 0 ? "[..." : "[";
  for (std::size_t i = first; i < numbers.size(); ++i)
    text += (text.size() > 1 ? " " : "") + std::to_string(numbers[i]);
  return text + "]";
}

}  // namespace

std::string words(const std::vector<Token>& tokens) { return listed(tokens); }

std::string words(const std::vector<std::int64_t>& numbers) { return listed(numbers); }

std::string words(const Row& row) {
  std::string text = "(";
  for (std::size_t token = 0; token < row.size() && token < 16; ++token) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.9g", token > 0 ? " " : "",
                  static_cast<double>(row[token]));
    text += number;
  }
  return text + (row.size() > 16 ? " ...)" : ")");
}

std::string words(const reference::Proposal& proposal) {
  if (proposal.parents.empty()) return listed(proposal.tokens);
  return listed(proposal.tokens) + " with parents " + listed(proposal.parents);
}

std::string words(const reference::RequestOutcome& outcome) {
  std::vector<Token> tokens;
  for (const reference::EmittedToken& out : outcome.emitted) tokens.push_back(out.token);
  std::string text = std::to_string(outcome.accepted_count) + " accepted, emitted " +
                     listed(tokens) + ", status " +
                     std::string(reference::to_string(outcome.status));
  if (!outcome.accepted_nodes.empty()) text += ", nodes " + listed(outcome.accepted_nodes);
  return text;
}

std::string words(const reference::kv::Cell& cell) {
  if (!cell.is_written()) return "nothing written";
  char history[32];
  std::snprintf(history, sizeof history, "0x%llx", static_cast<unsigned long long>(cell.history));
  return "token " + std::to_string(cell.token) + " at position " + std::to_string(cell.position) +
         ", history " + history;
}

bool is_same(const Row& first, const Row& second) {
  return first.size() == second.size() &&
         (first.empty() ||
          std::memcmp(first.data(), second.data(), first.size() * sizeof(float)) == 0);
}

}  // namespace draftproof::properties::state
