// Proposals: drafted tokens with the law they were drawn from, and the batch a verifier judges.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/shaping.h"
#include "reference/token.h"

namespace draftproof::reference {

/// How a law is written down. kOneHot has no rows: each drafted token is its own law.
enum class RowKind : std::uint8_t { kLogits, kProbabilities, kOneHot };

/// The storage type of logits on a device. Values here are always fp32, exactly representable in
/// it.
enum class LogitFormat : std::uint8_t { kFloat32, kBfloat16, kFloat16 };

std::string_view to_string(RowKind kind);
std::string_view to_string(LogitFormat format);

/// `value` rounded to nearest-even in `format`, widened again.
float rounded_to(LogitFormat format, float value);

using Row = std::vector<float>;

/// Drafted tokens a request may have: more than any engine drafts, far less than coin slots hold.
inline constexpr std::size_t kProposalTokensMax = std::size_t{1} << 16;

/// What one request's drafter hands over. tokens.size() is the draft length, 0 allowed. rows: one
/// per token, the law it was drawn from, or none for kOneHot.
///
/// Drafted token i is node i of a tree; parents[i] < i is the node it continues, -1 for none, so
/// that there are no cycles. Tokens with the same parent are siblings, and their order is the order
/// in which they were drawn and are tested; whether siblings may carry equal tokens is said by each
/// rule. A chain is the tree with parents[i] = i - 1. A kPlaceholder is no node: it and all that
/// continues it are not there, so that in a chain the draft ends at it.
struct Proposal {
  std::vector<Token> tokens;
  std::vector<Row> rows;
  std::vector<int> parents;  ///< one per token; empty means chain

  friend bool operator==(const Proposal&, const Proposal&) = default;
};

/// One request at one verification, with tokens.size() + 1 target rows: row 0 is the target's law
/// of the next token where nothing of the draft is taken, row i + 1 the one behind drafted token i
/// and all that it continues. In a chain row i thus judges token i and the last one is the bonus's.
struct Request {
  std::uint32_t id = 0;         ///< `request` of its coin addresses
  std::uint32_t position = 0;   ///< `position` of the first drafted token's coins
  std::uint32_t iteration = 0;  ///< < 2^24, another one in every verification of a request; read by
                                ///< the rules that look past the first failure (block), no others
  Sampling sampling;
  Proposal proposal;
  std::vector<Row> target_rows;

  friend bool operator==(const Request&, const Request&) = default;
};

/// Requests judged together. Target and draft logits are shaped by the same sampling and preset;
/// rows given as probabilities are final laws and are not shaped.
struct Batch {
  std::size_t vocab_size = 0;
  Preset preset;
  RowKind draft_kind = RowKind::kLogits;
  RowKind target_kind = RowKind::kLogits;  ///< kProbabilities only for subjects that take them
  LogitFormat format = LogitFormat::kFloat32;
  std::vector<Request> requests;

  friend bool operator==(const Batch&, const Batch&) = default;
};

/// Throws Error(kInput) naming request and field when sizes do not fit together.
void validate(const Batch& batch);

}  // namespace draftproof::reference
