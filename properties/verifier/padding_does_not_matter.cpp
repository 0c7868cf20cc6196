// Padding: neither empty slots on the draft axis of device buffers nor masked tokens behind the end
// of the vocabulary change an outcome.
#include <algorithm>
#include <limits>

#include "properties/laws.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"
#include "reference/mass.h"

namespace draftproof::properties::verifier {
namespace {

using reference::RowKind;

int longest_draft(const Case& value) {
  std::size_t longest = 0;
  for (const reference::Request& request : value.batch.requests)
    longest = std::max(longest, request.proposal.tokens.size());
  return static_cast<int>(longest);
}

/// The case with `count` more tokens that have no mass in any law.
Case with_masked_tokens(const Case& value, std::size_t count) {
  Case result = value;
  result.batch.vocab_size += count;
  const auto pad = [&](reference::Row& row, RowKind kind) {
    const float nothing = kind == RowKind::kLogits ? -std::numeric_limits<float>::infinity() : 0.0f;
    row.resize(result.batch.vocab_size, nothing);
  };
  for (reference::Request& request : result.batch.requests) {
    for (reference::Row& row : request.target_rows) pad(row, value.batch.target_kind);
    for (reference::Row& row : request.proposal.rows) pad(row, value.batch.draft_kind);
  }
  return result;
}

/// Ids just behind the vocabulary would become tokens of the padded one.
bool has_stray_ids(const Case& value) {
  for (const reference::Request& request : value.batch.requests)
    for (reference::Token token : request.proposal.tokens)
      if (token >= 0 && !is_token(value.batch, token)) return true;
  return false;
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const reference::Outcome base = run(*subject.verifier, value);
  for (int more : {1, 5}) {
    Case padded = value;
    padded.execution.padded_draft_count = longest_draft(value) + more;
    auto found = difference(base, run(*subject.verifier, padded),
                            std::to_string(more) + " more slots on the draft axis");
    if (found) return found;
  }
  if (has_stray_ids(value)) return std::nullopt;
  const std::size_t vocab_size_max = subject.verifier->traits().vocab_size_max;
  for (std::size_t more : {1, 33}) {
    const std::size_t size = value.batch.vocab_size + more;
    // Another number of fraction bits is another declared law.
    if (size > vocab_size_max ||
        reference::fraction_bits(size) != reference::fraction_bits(value.batch.vocab_size))
      continue;
    auto found = difference(base, run(*subject.verifier, with_masked_tokens(value, more)),
                            std::to_string(more) + " masked tokens behind the vocabulary");
    if (found) return found;
  }
  return std::nullopt;
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "padding_does_not_matter");
  shape.with_trees = course.traits().takes_trees;
  try_nasty_cases(course, seed, shape, course.by_battery(25, 200, 10000));
}

}  // namespace

Property padding_does_not_matter() {
  return built({
      .id = "padding_does_not_matter",
      .statement = "Padding of the draft axis or of the vocabulary does not change an outcome.",
      .citation = "numerics contract, edge table: any vocabulary, any tail, no padding needed",
      .claim = oracle::Claim::kBatchInvariant,
      .smallest_visible_effect = "any outcome that changes with padding",
      .exemption = [](const reference::VerifierTraits&) { return std::string(); },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
