#include "oracle/parity.h"

#include <algorithm>

namespace draftproof::oracle {
namespace {

std::string phrase(const reference::EmittedToken& token) {
  return std::to_string(token.token) + " (" + std::string(to_string(token.reason)) + ")";
}

std::string phrase_at(const reference::RequestOutcome& outcome, std::size_t index) {
  return index < outcome.emitted.size() ? phrase(outcome.emitted[index]) : "nothing";
}

std::string list_of(const std::vector<int>& nodes) {
  std::string text;
  for (const int node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node);
  return text.empty() ? "none" : text;
}

std::string count_of(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

std::optional<Difference> first_difference(const reference::RequestOutcome& expected,
                                           const reference::RequestOutcome& observed) {
  const auto number = [](int value) { return std::to_string(value); };
  const std::size_t length = std::max(expected.emitted.size(), observed.emitted.size());
  for (std::size_t i = 0; i < length; ++i) {
    const bool present = i < expected.emitted.size() && i < observed.emitted.size();
    if (!present || expected.emitted[i] != observed.emitted[i])
      return Difference{0, "token " + std::to_string(i), phrase_at(expected, i),
                        phrase_at(observed, i)};
  }
  if (expected.status != observed.status)
    return Difference{0, "status", std::string(to_string(expected.status)),
                      std::string(to_string(observed.status))};
  if (expected.accepted_count != observed.accepted_count)
    return Difference{0, "accepted count", number(expected.accepted_count),
                      number(observed.accepted_count)};
  if (expected.accepted_nodes != observed.accepted_nodes)
    return Difference{0, "accepted nodes", list_of(expected.accepted_nodes),
                      list_of(observed.accepted_nodes)};
  // The position says something only together with a status.
  if (expected.status != reference::Status::kOk &&
      expected.status_position != observed.status_position)
    return Difference{0, "row of the status", number(expected.status_position),
                      number(observed.status_position)};
  return std::nullopt;
}

std::optional<Difference> first_difference(const reference::Outcome& expected,
                                           const reference::Outcome& observed) {
  const std::size_t common = std::min(expected.requests.size(), observed.requests.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (auto difference = first_difference(expected.requests[i], observed.requests[i])) {
      difference->request = i;
      return difference;
    }
  }
  if (expected.requests.size() != observed.requests.size())
    return Difference{common, "number of outcomes", count_of(expected.requests.size(), "outcome"),
                      count_of(observed.requests.size(), "outcome")};
  return std::nullopt;
}

std::string describe(const reference::RequestOutcome& outcome) {
  std::string text = "accepted " + std::to_string(outcome.accepted_count) + ", emitted ";
  if (outcome.emitted.empty()) text += "nothing";
  for (std::size_t i = 0; i < outcome.emitted.size(); ++i)
    text += (i == 0 ? "" : ", ") + phrase(outcome.emitted[i]);
  if (outcome.status != reference::Status::kOk)
    text += ", status " + std::string(to_string(outcome.status)) + " at row " +
            std::to_string(outcome.status_position);
  return text;
}

}  // namespace draftproof::oracle
