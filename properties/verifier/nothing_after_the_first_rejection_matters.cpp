// Causality: what lies behind the end of a request's verification is not read. Rows behind it may
// be NaN, tokens behind it no ids, coins behind it anything; the outcome stays. Under the chain
// rule the coins of decisions that were not made do not matter either.
#include <limits>

#include "properties/laws.h"
#include "properties/shrink.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Purpose;
using reference::Reason;
using reference::Request;
using reference::RequestOutcome;

/// The target row at which a request ended.
std::size_t end_row(const RequestOutcome& outcome) {
  if (outcome.status != reference::Status::kOk)
    return static_cast<std::size_t>(std::max(0, outcome.status_position));
  return outcome.emitted.empty() ? 0 : outcome.emitted.size() - 1;
}

void spoil_rows(Request& request, std::size_t end, std::size_t vocab_size) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = end + 1; i < request.target_rows.size(); ++i)
    request.target_rows[i].assign(vocab_size, nan);
  for (std::size_t i = end + 1; i < request.proposal.rows.size(); ++i)
    request.proposal.rows[i].assign(vocab_size, nan);
  for (std::size_t i = end + 1; i < request.proposal.tokens.size(); ++i)
    request.proposal.tokens[i] = std::numeric_limits<reference::Token>::max() - 1;
}

/// Other coins for every address that decided nothing.
void spoil_coins(Case& value, const Request& request, const RequestOutcome& outcome) {
  const std::size_t end = end_row(outcome);
  const bool is_bonus = !outcome.emitted.empty() && outcome.emitted.back().reason == Reason::kBonus;
  for (auto& [address, coin] : value.coins) {
    if (address.request != request.id) continue;
    const std::size_t row = address.position - request.position;
    bool is_idle = row > end;
    if (value.rule == "chain" && row < end) is_idle = address.purpose != Purpose::kAccept;
    if (value.rule == "chain" && row == end)
      is_idle = is_bonus ? address.purpose != Purpose::kBonus : address.purpose == Purpose::kBonus;
    if (is_idle) coin = ~coin;
  }
}

std::optional<Complaint> judge(const Subject& subject, const Case& recorded) {
  const Case value = with_written_coins(recorded);
  const reference::Outcome base = run(*subject.verifier, value);
  Case other_rows = value, other_coins = value, shorter = value;
  const std::size_t count = std::min(base.requests.size(), value.batch.requests.size());
  for (std::size_t r = 0; r < count; ++r) {
    Request& request = other_rows.batch.requests[r];
    const std::size_t end = end_row(base.requests[r]);
    spoil_rows(request, end, value.batch.vocab_size);
    spoil_coins(other_coins, value.batch.requests[r], base.requests[r]);
    Request& cut = shorter.batch.requests[r];
    if (cut.target_rows.size() <= end + 2) continue;
    cut.target_rows.resize(end + 2);
    cut.proposal.tokens.resize(end + 1);
    if (!cut.proposal.rows.empty()) cut.proposal.rows.resize(end + 1);
    if (!cut.proposal.parents.empty()) cut.proposal.parents.resize(end + 1);
  }
  if (auto found = difference(base, run(*subject.verifier, other_rows),
                              "rows and tokens behind the end were replaced by NaN and non-ids"))
    return found;
  if (auto found = difference(base, run(*subject.verifier, other_coins),
                              "coins that decide nothing were inverted"))
    return found;
  return difference(base, run(*subject.verifier, shorter),
                    "the draft was cut behind the token that ended it");
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "nothing_after_the_first_rejection_matters");
  shape.draft_count_max = 6;
  shape.with_unjudgeable = course.traits().declares_masses;
  try_nasty_cases(course, seed, shape, course.by_battery(30, 250, 10000));
}

}  // namespace

Property nothing_after_the_first_rejection_matters() {
  return built({
      .id = "nothing_after_the_first_rejection_matters",
      .statement = "Rows, tokens and coins behind the first rejection do not change the outcome.",
      .citation = "numerics contract, edge table: rows behind the first rejection are not read",
      .claim = oracle::Claim::kSequenceLossless,
      .smallest_visible_effect = "any change of an outcome by what lies behind its end",
      .exemption =
          [](const reference::VerifierTraits& traits) {
            const bool reads_all = traits.rule == "block" || traits.rule == "traversal";
            return std::string(reads_all ? "its rule reads every row" : "");
          },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
