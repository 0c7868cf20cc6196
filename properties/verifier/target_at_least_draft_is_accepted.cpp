// Acceptance: a drafted token to which the target gives at least the draft's probability is kept at
// every coin, the largest included.
#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Batch;
using reference::MassRow;
using reference::Request;
using reference::Status;
using reference::WideMass;

/// True when acceptance of the token at `row` is certain for this subject's arithmetic.
bool is_certain(const reference::VerifierTraits& traits, const Batch& batch, const Request& request,
                std::size_t row) {
  const reference::Token token = request.proposal.tokens[row];
  if (!is_token(batch, token)) return false;
  const MassRow target = target_law(batch, request, row), draft = draft_law(batch, request, row);
  if (target.status != Status::kOk || draft.status != Status::kOk || draft.mass[token] == 0)
    return false;
  const WideMass target_side = WideMass{target.mass[token]} * draft.total;
  const WideMass draft_side = WideMass{draft.mass[token]} * target.total;
  if (traits.declares_masses) return target_side >= draft_side;
  // Arithmetic that rounds is held to equal rows, and to ratios above 1 + 2^-16.
  if (batch.draft_kind == batch.target_kind &&
      request.proposal.rows[row] == request.target_rows[row])
    return true;
  return target_side - (target_side >> 16) > draft_side;
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const reference::Outcome outcome = run(*subject.verifier, value);
  for (std::size_t r = 0; r < value.batch.requests.size(); ++r) {
    const Request& request = value.batch.requests[r];
    const reference::RequestOutcome out = answer(outcome, r);
    // A count that is none is for emitted_is_accepted_plus_one to refute.
    if (out.status != Status::kOk || out.accepted_count < 0) continue;
    if (out.accepted_count >= draft_count(request)) continue;
    const auto row = static_cast<std::size_t>(out.accepted_count);
    if (!is_certain(subject.verifier->traits(), value.batch, request, row)) continue;
    return Complaint{"drafted token " + std::to_string(request.proposal.tokens[row]) +
                         " of request " + std::to_string(request.id) + " is accepted at row " +
                         std::to_string(row),
                     told(outcome, r),
                     "the target gives it at least the draft's probability, so every coin accepts",
                     {}};
  }
  return std::nullopt;
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "target_at_least_draft_is_accepted");
  try_nasty_cases(course, seed, shape, course.by_battery(60, 500, 20000),
                  [](Case& value, Random& random) {
                    if (random.once_in(2)) return;
                    value.seed.reset();
                    value.coins.clear();
                    value.fallback_coin = ~std::uint64_t{0};
                  });
}

}  // namespace

Property target_at_least_draft_is_accepted() {
  return built({
      .id = "target_at_least_draft_is_accepted",
      .statement = "A drafted token whose target probability is at least its draft probability is "
                   "accepted at every coin.",
      .citation = "Leviathan et al. 2023, section 2.3: min(1, p/q) = 1",
      .claim = oracle::Claim::kMarginalLossless,
      .smallest_visible_effect = "one coin, the largest included",
      .exemption =
          [](const reference::VerifierTraits& traits) {
            return unless_rule(traits, {"chain", "with-replacement", "without-replacement"});
          },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
