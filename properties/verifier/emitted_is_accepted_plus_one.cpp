// Form: accepted tokens are the drafted ones, in order, and exactly one more token follows: the
// recovered one after a rejection, the bonus when the draft ended. With a status, none follows.
#include <utility>

#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Reason;
using reference::Request;
using reference::RequestOutcome;
using reference::Status;

/// What is malformed about an outcome; empty when it is well-formed.
std::string fault(const Case& value, const Request& request, const RequestOutcome& out) {
  const int count = draft_count(request);
  if (out.accepted_count < 0 || out.accepted_count > count)
    return "the accepted count lies outside 0 .. " + std::to_string(count) +
           ", the number of drafted tokens";
  const int expected_length = out.accepted_count + (out.status == Status::kOk ? 1 : 0);
  if (static_cast<int>(out.emitted.size()) != expected_length)
    return "emitted is not accepted " + std::string(out.status == Status::kOk ? "+ 1" : "+ 0");
  // These read every row before they keep a token, so that any row may be the one.
  const bool reads_all = value.rule == "block" || value.rule == "traversal";
  if (out.status != Status::kOk &&
      (reads_all ? out.status_position < 0 || out.status_position > count || out.accepted_count > 0
                 : out.status_position != out.accepted_count))
    return reads_all ? "the status is of no row, or a token was accepted in spite of it"
                     : "the status is not that of the row behind the accepted tokens";
  for (int i = 0; i < static_cast<int>(out.emitted.size()); ++i) {
    const reference::EmittedToken& each = out.emitted[i];
    const std::string which = "token " + std::to_string(i);
    if (!is_token(value.batch, each.token)) return which + " is no token id";
    if (i < out.accepted_count) {
      if (each.reason != Reason::kAccepted) return which + " is accepted by count, not by reason";
      if (each.token != request.proposal.tokens[i]) return which + " is not the drafted token";
    } else if (each.reason != (i < count ? Reason::kRecovered : Reason::kBonus)) {
      return which + " has the wrong reason";
    }
  }
  return "";
}

/// True when a node that is there continues `node`.
bool has_children(const Request& request, int node) {
  for (std::size_t i = 0; i < request.proposal.tokens.size(); ++i)
    if (request.proposal.parents[i] == node &&
        request.proposal.tokens[i] != reference::kPlaceholder)
      return true;
  return false;
}

/// The same for a tree: the accepted tokens are those of a path from the base.
std::string tree_fault(const Case& value, const Request& request, const RequestOutcome& out) {
  const reference::Proposal& proposal = request.proposal;
  const auto count = static_cast<int>(proposal.tokens.size());
  if (std::cmp_not_equal(out.accepted_nodes.size(), out.accepted_count))
    return "there is not one node for each accepted token";
  const int expected_length = out.accepted_count + (out.status == Status::kOk ? 1 : 0);
  if (std::cmp_not_equal(out.emitted.size(), expected_length))
    return "emitted is not accepted " + std::string(out.status == Status::kOk ? "+ 1" : "+ 0");
  int last = -1;
  for (int i = 0; i < out.accepted_count; ++i) {
    const int node = out.accepted_nodes[i];
    const std::string which = "token " + std::to_string(i);
    if (node < 0 || node >= count || proposal.parents[node] != last)
      return which + " does not continue the one before it";
    if (out.emitted[i].reason != Reason::kAccepted)
      return which + " is accepted by count, not by reason";
    if (out.emitted[i].token != proposal.tokens[node] ||
        !is_token(value.batch, proposal.tokens[node]))
      return which + " is not the drafted token";
    last = node;
  }
  if (value.rule == "traversal") return "";
  if (out.status != Status::kOk)
    return out.status_position == last + 1
               ? ""
               : "the status is not that of the row behind the accepted tokens";
  if (!is_token(value.batch, out.emitted.back().token)) return "the last token is no token id";
  const Reason reason = has_children(request, last) ? Reason::kRecovered : Reason::kBonus;
  return out.emitted.back().reason == reason ? "" : "the last token has the wrong reason";
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const reference::Outcome outcome = run(*subject.verifier, value);
  const std::size_t count = value.batch.requests.size();
  if (outcome.requests.size() != count)
    return Complaint{std::to_string(count) + " outcomes",
                     std::to_string(outcome.requests.size()),
                     "there is one outcome for each request",
                     {}};
  for (std::size_t r = 0; r < count; ++r) {
    const Request& request = value.batch.requests[r];
    const bool is_tree = !request.proposal.parents.empty();
    const std::string what = (is_tree ? tree_fault : fault)(value, request, outcome.requests[r]);
    if (what.empty()) continue;
    return Complaint{"request " + std::to_string(request.id) +
                         ": the accepted drafted tokens, then one more, or none with a status",
                     told(outcome, r),
                     what,
                     {}};
  }
  return std::nullopt;
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "emitted_is_accepted_plus_one");
  shape.with_trees = course.traits().takes_trees;
  shape.draft_count_max = 8;
  shape.with_unjudgeable = course.traits().declares_masses;
  try_nasty_cases(course, seed, shape, course.by_battery(50, 400, 20000));
}

}  // namespace

Property emitted_is_accepted_plus_one() {
  return built({
      .id = "emitted_is_accepted_plus_one",
      .statement =
          "Without a status, the accepted drafted tokens and exactly one more are emitted, "
          "each with its reason.",
      .citation = "Leviathan et al. 2023, algorithm 1",
      .claim = oracle::Claim::kWellFormed,
      .smallest_visible_effect = "one malformed outcome",
      .exemption = [](const reference::VerifierTraits&) { return std::string(); },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
