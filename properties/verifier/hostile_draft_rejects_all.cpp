// Hostility: a drafted token that the target excludes is rejected at every coin, coin 0 included,
// and with it everything behind it.
#include <limits>

#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Batch;
using reference::Request;
using reference::RowKind;
using reference::Status;

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// The first row whose drafted token the target excludes, with judgeable rows; -1 for none. Only
/// masked tokens count: a mass that merely vanishes is not zero in every arithmetic.
int hostile_row(const Batch& batch, const Request& request) {
  for (int i = 0; i < draft_count(request); ++i) {
    const reference::Token token = request.proposal.tokens[i];
    if (!is_token(batch, token)) return -1;
    const float value = request.target_rows[i][token];
    const bool is_probability = batch.target_kind == RowKind::kProbabilities;
    if (value != (is_probability ? 0.0f : kNever)) continue;
    if (target_law(batch, request, i).status != Status::kOk) return -1;
    const reference::MassRow draft = draft_law(batch, request, i);
    return draft.status == Status::kOk && draft.mass[token] > 0 ? i : -1;
  }
  return -1;
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const reference::Outcome outcome = run(*subject.verifier, value);
  for (std::size_t r = 0; r < std::min(outcome.requests.size(), value.batch.requests.size()); ++r) {
    const Request& request = value.batch.requests[r];
    const int row = hostile_row(value.batch, request);
    if (row < 0 || outcome.requests[r].accepted_count <= row) continue;
    return Complaint{"request " + std::to_string(request.id) + " accepts at most " +
                         std::to_string(row) + " tokens: the target excludes drafted token " +
                         std::to_string(request.proposal.tokens[row]),
                     told(outcome, r),
                     "min(1, 0) = 0 accepts at no coin, not even at coin 0",
                     {}};
  }
  return std::nullopt;
}

/// Rows in front of the hostile one are the target's own, so that it is reached.
void make_hostile(Case& value, Random& random) {
  Batch& batch = value.batch;
  for (Request& request : batch.requests) {
    const int count = draft_count(request);
    if (count == 0 || batch.vocab_size < 2) continue;
    request.sampling = {};
    const int hostile = random.between(0, count - 1);
    for (int i = 0; i <= hostile; ++i) {
      reference::Row& target = request.target_rows[i];
      if (i < hostile && batch.draft_kind == RowKind::kLogits) {
        request.proposal.rows[i] = target;
        request.proposal.tokens[i] = token_with_mass(random, target_law(batch, request, i));
        continue;
      }
      const auto token = static_cast<std::size_t>(random.below(batch.vocab_size));
      if (i == hostile) {
        target[token] = kNever;
        target[(token + 1) % target.size()] = 0.5f;
      }
      request.proposal.tokens[i] = static_cast<reference::Token>(token);
      if (!request.proposal.rows.empty()) request.proposal.rows[i][token] = 1.0f;
    }
  }
  value.seed.reset();
  value.coins.clear();
  value.fallback_coin = random.once_in(2) ? 0 : random.bits();
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "hostile_draft_rejects_all");
  try_nasty_cases(course, seed, shape, course.by_battery(50, 400, 15000), make_hostile);
}

}  // namespace

Property hostile_draft_rejects_all() {
  return built({
      .id = "hostile_draft_rejects_all",
      .statement = "A drafted token that the target excludes is rejected at every coin.",
      .citation = "Leviathan et al. 2023, section 2.3: min(1, p/q) = 0",
      .claim = oracle::Claim::kSupportSafe,
      .smallest_visible_effect = "one coin, coin 0 included",
      .exemption =
          [](const reference::VerifierTraits& traits) {
            return unless_rule(traits, {"chain", "with-replacement", "without-replacement"});
          },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
