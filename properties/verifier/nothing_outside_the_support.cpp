// Support: whatever the coins, no token is emitted that the target's law excludes (masked, filtered
// out, or below the last mass). A verifier that compares inclusively fails at coin 0 only, once in
// 2^24 fp32 draws, which no sample of reasonable size shows: jaymody/speculative-sampling#5.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "properties/describe.h"
#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"
#include "reference/shaping.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Batch;
using reference::Request;
using reference::Row;
using reference::ShapingStep;

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool has_step(const Batch& batch, ShapingStep step) {
  const auto& steps = batch.preset.steps;
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

/// Zero for every arithmetic: masked, or strictly behind the k-th logit. Where a mass vanishes or
/// a top-p prefix ends depends on rounding, so a subject that promises no masses is not held to it.
bool is_surely_excluded(const Batch& batch, const Request& request, const Row& row,
                        std::size_t token) {
  if (batch.target_kind == reference::RowKind::kProbabilities) return row[token] == 0;
  if (row[token] == kNever) return true;
  const bool has_top_k =
      has_step(batch, ShapingStep::kTopK) || has_step(batch, ShapingStep::kJointTopKTopP);
  const std::int64_t k = request.sampling.top_k;
  if (!has_top_k || k <= 0 || k >= static_cast<std::int64_t>(row.size())) return false;
  return std::count_if(row.begin(), row.end(), [&](float each) { return each > row[token]; }) >= k;
}

std::optional<std::string> why_excluded(const reference::VerifierTraits& traits, const Batch& batch,
                                        const Request& request, std::size_t row, int token) {
  if (!is_token(batch, token)) return "it is no token id";
  const reference::MassRow law = target_law(batch, request, row);
  if (law.status != reference::Status::kOk || law.mass[token] > 0) return std::nullopt;
  const auto id = static_cast<std::size_t>(token);
  if (!traits.declares_masses && !is_surely_excluded(batch, request, request.target_rows[row], id))
    return std::nullopt;
  return "its target probability is 0";
}

/// The target row that token `index` was emitted at. A malformed path is another property's.
std::size_t row_of(const Request& request, const reference::RequestOutcome& outcome,
                   std::size_t index) {
  if (request.proposal.parents.empty() || index == 0 || index > outcome.accepted_nodes.size())
    return index;
  const int node = outcome.accepted_nodes[index - 1];
  const bool is_node = node >= 0 && std::cmp_less(node, request.proposal.tokens.size());
  return is_node ? static_cast<std::size_t>(node) + 1 : index;
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const reference::Outcome outcome = run(*subject.verifier, value);
  for (std::size_t r = 0; r < std::min(outcome.requests.size(), value.batch.requests.size()); ++r) {
    const Request& request = value.batch.requests[r];
    const auto& emitted = outcome.requests[r].emitted;
    for (std::size_t i = 0; i < std::min(emitted.size(), request.target_rows.size()); ++i) {
      const std::size_t row = row_of(request, outcome.requests[r], i);
      const auto why =
          why_excluded(subject.verifier->traits(), value.batch, request, row, emitted[i].token);
      if (!why) continue;
      return Complaint{"token " + std::to_string(emitted[i].token) + " of request " +
                           std::to_string(request.id) + " is never emitted at row " +
                           std::to_string(row) + ": " + *why,
                       told(outcome, r),
                       "a token outside the target's support is an error at any coin, however rare",
                       {}};
    }
  }
  return std::nullopt;
}

/// Target probability 0 for the drafted token, and the coin at which an inclusive comparison errs.
Case zero_at_coin_zero(const reference::VerifierTraits& traits) {
  Case value;
  value.property = "nothing_outside_the_support";
  value.rule = traits.rule;
  value.batch.vocab_size = 2;
  value.batch.preset = reference::preset("default");
  value.batch.draft_kind = traits.draft_kinds.front();
  value.batch.format = traits.formats.front();
  Request request;
  request.target_rows = {{kNever, 0.0f}, {0.0f, 0.0f}};
  request.proposal.tokens = {0};
  if (value.batch.draft_kind == reference::RowKind::kLogits) request.proposal.rows = {{0.0f, 0.0f}};
  if (value.batch.draft_kind == reference::RowKind::kProbabilities)
    request.proposal.rows = {{0.5f, 0.5f}};
  value.batch.requests = {request};
  value.note = "an inclusive comparison accepts a token of probability 0 at coin 0";
  return value;
}

void course(Course& course, std::uint64_t seed) {
  if (!course.attempt(zero_at_coin_zero(course.traits()))) return;
  CaseShape shape = shape_for(course.traits(), "nothing_outside_the_support");
  shape.with_trees = course.traits().takes_trees;
  shape.with_unjudgeable = course.traits().declares_masses;
  // Endpoints of the coin axis are where comparisons err: half of the batches use nothing else.
  try_nasty_cases(course, seed, shape, course.by_battery(60, 600, 20000),
                  [](Case& value, Random& random) {
                    if (random.once_in(2)) return;
                    value.seed.reset();
                    value.coins.clear();
                    value.fallback_coin = random.once_in(3) ? ~std::uint64_t{0} : 0;
                  });
}

}  // namespace

Property nothing_outside_the_support() {
  return built({
      .id = "nothing_outside_the_support",
      .statement = "No emitted token has target probability zero, whatever the coins.",
      .citation = "Leviathan et al. 2023, section 2.3: a token of target probability 0 is accepted "
                  "with probability 0 and has no residual",
      .claim = oracle::Claim::kSupportSafe,
      .smallest_visible_effect = "one coin, endpoints of the coin axis included",
      .exemption = [](const reference::VerifierTraits&) { return std::string(); },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
