// Identity: where the draft's rows are the target's rows, everything is accepted at every coin, and
// the request ends with its bonus. Finds rows that are shifted, shared or mixed up.
#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Batch;
using reference::Request;
using reference::RowKind;
using reference::Status;

/// True when every row of the draft can be judged, gives its token mass and equals the target's.
bool is_identity(const Batch& batch, const Request& request) {
  for (int i = 0; i <= draft_count(request); ++i) {
    if (target_law(batch, request, i).status != Status::kOk) return false;
    if (i == draft_count(request)) break;
    if (batch.draft_kind != batch.target_kind) return false;
    if (!is_token(batch, request.proposal.tokens[i])) return false;
    if (request.proposal.rows[i] != request.target_rows[i]) return false;
    if (draft_law(batch, request, i).mass[request.proposal.tokens[i]] == 0) return false;
  }
  return true;
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const reference::Outcome outcome = run(*subject.verifier, value);
  for (std::size_t r = 0; r < value.batch.requests.size(); ++r) {
    const Request& request = value.batch.requests[r];
    if (!is_identity(value.batch, request)) continue;
    if (answer(outcome, r).accepted_count == draft_count(request) &&
        answer(outcome, r).status == Status::kOk)
      continue;
    return Complaint{"request " + std::to_string(request.id) + " accepts all " +
                         std::to_string(draft_count(request)) + " drafted tokens",
                     told(outcome, r),
                     "draft and target have the same rows, so every ratio is 1",
                     {}};
  }
  return std::nullopt;
}

void make_identity(Case& value, Random& random) {
  for (Request& request : value.batch.requests) {
    for (std::size_t i = 0; i < request.proposal.tokens.size(); ++i) {
      request.proposal.rows[i] = request.target_rows[i];
      const reference::MassRow law = target_law(value.batch, request, i);
      const bool is_open = request.proposal.tokens[i] != reference::kPlaceholder;
      if (law.status == Status::kOk && is_open)
        request.proposal.tokens[i] = token_with_mass(random, law);
    }
  }
  value.seed.reset();
  value.coins.clear();
  value.fallback_coin = random.once_in(2) ? ~std::uint64_t{0} : random.bits();
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "identity_draft_accepts_all");
  shape.draft_kinds = {RowKind::kLogits};
  shape.draft_count_max = 8;
  try_nasty_cases(course, seed, shape, course.by_battery(50, 400, 15000), make_identity);
}

}  // namespace

Property identity_draft_accepts_all() {
  return built({
      .id = "identity_draft_accepts_all",
      .statement = "A draft whose law is the target's own is accepted in full at every coin.",
      .citation = "numerics contract, edge table: draft law == target law",
      .claim = oracle::Claim::kMarginalLossless,
      .smallest_visible_effect = "one coin, the largest included",
      .exemption = [](const reference::VerifierTraits& traits) -> std::string {
        for (RowKind kind : traits.draft_kinds)
          if (kind == RowKind::kLogits)
            return unless_rule(
                traits, {"chain", "block", "with-replacement", "without-replacement", "traversal"});
        return "it takes no draft logits";
      },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
