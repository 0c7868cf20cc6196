// Statuses: a row that cannot be judged gives the status of the edge table (numerics contract,
// section 2) and no token; accepted tokens before it stay; rows behind the end raise nothing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"
#include "reference/shaping.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Batch;
using reference::Request;
using reference::Row;
using reference::RowKind;
using reference::Status;
using reference::Token;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The edge table for one row, read off the values; the range of a row is left to the shaping,
/// which alone knows the scales in use.
Status status_of(const Row& row, RowKind kind) {
  if (kind == RowKind::kProbabilities) {
    for (float value : row)
      if (!(value >= 0 && value <= 1)) return Status::kBadProbability;
    return Status::kOk;
  }
  bool has_finite = false;
  for (float value : row)
    if (std::isnan(value)) return Status::kNan;
  for (float value : row) {
    if (value == kInfinity) return Status::kPositiveInfinity;
    has_finite = has_finite || std::isfinite(value);
  }
  return has_finite ? Status::kOk : Status::kEmptyRow;
}

bool is_greedy(const std::string& rule) { return rule == "greedy" || rule == "tree-greedy"; }

/// Rules that take each drafted token for certain, whatever law it came from.
bool reads_no_draft_rows(const std::string& rule) {
  return is_greedy(rule) || rule == "target-only" || rule == "match";
}

Status target_status(const Batch& batch, const Request& request, int row, const std::string& rule) {
  const Status status = status_of(request.target_rows[row], batch.target_kind);
  if (status != Status::kOk || is_greedy(rule)) return status;
  return target_law(batch, request, row).status;
}

/// Why the walk has to stop at `row`, in the order of the rule; kOk when it does not.
Status obstacle(const Batch& batch, const Request& request, int row, const std::string& rule) {
  const bool ended = row == draft_count(request);
  if (!ended && !is_token(batch, request.proposal.tokens[row])) return Status::kDraftTokenRange;
  const Status target = target_status(batch, request, row, rule);
  if (target != Status::kOk || ended || reads_no_draft_rows(rule)) return target;
  if (batch.draft_kind == RowKind::kOneHot) return Status::kOk;
  const Status draft = status_of(request.proposal.rows[row], batch.draft_kind);
  if (draft != Status::kOk) return draft;
  const reference::MassRow law = draft_law(batch, request, row);
  if (law.status != Status::kOk) return law.status;
  return law.mass[request.proposal.tokens[row]] == 0 ? Status::kDraftMassZero : Status::kOk;
}

/// The status that is due at `row`, and whether it is there. Rows up to `last` are walked.
bool is_right(const reference::RequestOutcome& out, Status due, int row, int last, int kept) {
  if (due == Status::kOk) return row < last || out.status == Status::kOk;
  return row == last && out.status == due && out.status_position == row &&
         static_cast<int>(out.emitted.size()) == kept;
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const std::string& rule = subject.verifier->traits().rule;
  // Whether the block rule keeps a token depends on all rows: it walks them all, and keeps none
  // where one cannot be judged.
  const bool walks_all = rule == "block";
  const reference::Outcome outcome = run(*subject.verifier, value);
  for (std::size_t r = 0; r < value.batch.requests.size(); ++r) {
    const Request& request = value.batch.requests[r];
    const reference::RequestOutcome out = answer(outcome, r);
    const bool has_status = out.status != Status::kOk;
    const int end =
        walks_all ? (has_status ? out.status_position : draft_count(request)) : out.accepted_count;
    const int last = std::clamp(end, 0, draft_count(request));
    for (int row = 0; row <= last; ++row) {
      const Status due = obstacle(value.batch, request, row, rule);
      if (is_right(out, due, row, last, walks_all ? 0 : row)) continue;
      return Complaint{
          "request " + std::to_string(request.id) + " has status " + std::string(to_string(due)) +
              " at row " + std::to_string(row) +
              (due == Status::kOk ? " and a token" : " and no token of that row or behind it"),
          told(outcome, r),
          "the edge table states one answer for this row",
          {}};
    }
  }
  return std::nullopt;
}

/// One way to spoil one row of a request whose rows are otherwise the same, so that it is reached.
struct Spoiling {
  Status status;
  bool in_draft;
  void (*apply)(Row& row, std::size_t at);
};

const std::vector<Spoiling>& spoilings() {
  static const std::vector<Spoiling> list = {
      {Status::kNan, false, [](Row& row, std::size_t at) { row[at] = kNan; }},
      {Status::kNan, true, [](Row& row, std::size_t at) { row[at] = kNan; }},
      {Status::kPositiveInfinity, false, [](Row& row, std::size_t at) { row[at] = kInfinity; }},
      {Status::kPositiveInfinity, true, [](Row& row, std::size_t at) { row[at] = kInfinity; }},
      {Status::kEmptyRow, false,
       [](Row& row, std::size_t) { std::fill(row.begin(), row.end(), -kInfinity); }},
      {Status::kEmptyRow, true,
       [](Row& row, std::size_t) { std::fill(row.begin(), row.end(), -kInfinity); }},
      // Where two apply the one listed first in the status word's order wins.
      {Status::kNan, false,
       [](Row& row, std::size_t at) {
         std::fill(row.begin(), row.end(), kInfinity);
         row[at] = -kNan;
       }},
  };
  return list;
}

/// Three drafted tokens over equal rows, one row of one request spoilt: at the first, the middle
/// and the last id, in rows 0 to 3.
Case table_case(const reference::VerifierTraits& traits, std::size_t vocab_size) {
  Case value;
  value.property = "unjudgeable_rows_give_a_status";
  value.rule = traits.rule;
  value.batch.vocab_size = vocab_size;
  value.batch.preset = reference::preset("default");
  const bool takes_logits = std::find(traits.draft_kinds.begin(), traits.draft_kinds.end(),
                                      RowKind::kLogits) != traits.draft_kinds.end();
  value.batch.draft_kind = takes_logits ? RowKind::kLogits : traits.draft_kinds.front();
  value.batch.format = traits.formats.front();
  value.fallback_coin = 0;
  std::uint32_t id = 0;
  for (const Spoiling& spoiling : spoilings()) {
    for (int row = 0; row <= 3; ++row) {
      for (std::size_t at : {std::size_t{0}, vocab_size / 2, vocab_size - 1}) {
        if (spoiling.in_draft && (row == 3 || !takes_logits)) continue;
        Request request;
        request.id = id++;
        request.target_rows.assign(4, Row(vocab_size, 0.0f));
        request.proposal.tokens.assign(3, static_cast<Token>(vocab_size - 1));
        if (value.batch.draft_kind == RowKind::kLogits)
          request.proposal.rows.assign(3, Row(vocab_size, 0.0f));
        if (value.batch.draft_kind == RowKind::kProbabilities)
          request.proposal.rows.assign(3, Row(vocab_size, 1.0f / static_cast<float>(vocab_size)));
        auto& rows = spoiling.in_draft ? request.proposal.rows : request.target_rows;
        spoiling.apply(rows[row], at);
        // What these rules follow at coin 0 is the first token, which has the maximum.
        if (is_greedy(traits.rule) || traits.rule == "match") request.proposal.tokens.assign(3, 0);
        value.batch.requests.push_back(request);
      }
    }
  }
  return value;
}

void course(Course& course, std::uint64_t seed) {
  for (std::size_t vocab_size : {1, 5, 70})
    if (!course.attempt(table_case(course.traits(), vocab_size), "edge table")) return;
  CaseShape shape = shape_for(course.traits(), "unjudgeable_rows_give_a_status");
  shape.with_unjudgeable = true;
  try_nasty_cases(course, seed, shape, course.by_battery(60, 500, 20000));
}

}  // namespace

Property unjudgeable_rows_give_a_status() {
  return built({
      .id = "unjudgeable_rows_give_a_status",
      .statement = "A row that cannot be judged gives its status and no token; every other row "
                   "gives none.",
      .citation = "numerics contract, section 2, edge table",
      .claim = oracle::Claim::kWellFormed,
      .smallest_visible_effect = "one wrong status in the edge table at any position",
      .exemption = [](const reference::VerifierTraits& traits) -> std::string {
        if (!traits.declares_masses) return "it does not promise the contract's statuses";
        return unless_rule(traits, {"chain", "greedy", "block", "tree-greedy", "target-only",
                                    "with-replacement", "without-replacement", "match"});
      },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
