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

/// What one request's drafter hands over. tokens.size() is the draft length, 0 allowed; a
/// kPlaceholder ends the draft. rows: one per token, or none for kOneHot. parents: i-1 for a chain.
struct Proposal {
  std::vector<Token> tokens;
  std::vector<Row> rows;
  std::vector<int> parents;  ///< empty means chain

  friend bool operator==(const Proposal&, const Proposal&) = default;
};

/// One request at one verification: tokens.size() + 1 target rows, the last one for the bonus.
struct Request {
  std::uint32_t id = 0;        ///< `request` of its coin addresses
  std::uint32_t position = 0;  ///< `position` of the first drafted token's coins
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
