// Proposals: how row kinds and storage formats are written, and whether the sizes of a batch fit
// together.
#include "reference/proposal.h"

#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

/// Rounds to nearest-even at `fraction_bits` bits behind the leading one, gradual underflow below
/// 2^min_exponent, infinity from the midpoint above `largest` on.
float rounded(float value, int fraction_bits, int min_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  // Powers of two scale exactly, and double holds every intermediate value, so that the only
  // rounding is the one of nearbyint (to nearest-even: the default mode, which nothing changes).
  const double units = std::ldexp(static_cast<double>(value), fraction_bits - exponent);
  const double result = std::ldexp(std::nearbyint(units), exponent - fraction_bits);
  if (std::fabs(result) > largest)
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  return static_cast<float>(result);
}

/// Throws the complaints about one request, each with the request's place in the batch.
class RequestCheck {
 public:
  RequestCheck(const Batch& batch, std::size_t index)
      : batch_(batch), place_("requests[" + std::to_string(index) + "]") {}

  void run(const Request& request) const {
    check_sampling(request.sampling);
    const Proposal& proposal = request.proposal;
    const std::size_t draft_count = proposal.tokens.size();
    if (draft_count > kProposalTokensMax)
      refuse("proposal.tokens", "has " + std::to_string(draft_count) + " entries; draft at most " +
                                    std::to_string(kProposalTokensMax));
    if (request.iteration >= 1U << 24) refuse("iteration", "must stay below 2^24");
    require_count("target_rows", request.target_rows.size(), draft_count + 1,
                  "one per drafted token and one for the bonus");
    check_rows("target_rows", request.target_rows, batch_.target_kind);
    const bool is_one_hot = batch_.draft_kind == RowKind::kOneHot;
    require_count("proposal.rows", proposal.rows.size(), is_one_hot ? 0 : draft_count,
                  is_one_hot ? "one-hot drafts have no rows" : "one per drafted token");
    check_rows("proposal.rows", proposal.rows, batch_.draft_kind);
    check_parents(proposal);
    // The bonus coin has the position behind the last drafted token.
    if (std::numeric_limits<std::uint32_t>::max() - request.position < draft_count)
      refuse("position", "position + draft length must stay below 2^32");
  }

 private:
  [[noreturn]] void refuse(const std::string& field, const std::string& message) const {
    throw Error(ErrorKind::kInput, message, place_ + "." + field);
  }

  void check_sampling(const Sampling& sampling) const {
    try {
      validate(sampling);
    } catch (const Error& error) {
      refuse("sampling", error.message());
    }
  }

  void require_count(const std::string& field, std::size_t has, std::size_t needs,
                     const std::string& why) const {
    if (has != needs)
      refuse(field, "has " + std::to_string(has) + " entries, needs " + std::to_string(needs) +
                        " (" + why + ")");
  }

  void check_rows(const std::string& field, const std::vector<Row>& rows, RowKind kind) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string row_field = field + "[" + std::to_string(i) + "]";
      require_count(row_field, rows[i].size(), batch_.vocab_size, "vocab_size");
      if (kind != RowKind::kLogits || batch_.format == LogitFormat::kFloat32) continue;
      for (float logit : rows[i])
        if (!std::isnan(logit) && rounded_to(batch_.format, logit) != logit)
          refuse(row_field, "holds " + std::to_string(logit) + ", which " +
                                std::string(to_string(batch_.format)) +
                                " cannot represent; round it first");
    }
  }

  void check_parents(const Proposal& proposal) const {
    if (proposal.parents.empty()) return;
    require_count("proposal.parents", proposal.parents.size(), proposal.tokens.size(),
                  "one per drafted token, or none for a chain");
    for (std::size_t i = 0; i < proposal.parents.size(); ++i)
      if (proposal.parents[i] < -1 || proposal.parents[i] >= static_cast<int>(i))
        refuse("proposal.parents[" + std::to_string(i) + "]",
               "must name an earlier token, or -1 for the root");
  }

  const Batch& batch_;
  const std::string place_;
};

}  // namespace

std::string_view to_string(RowKind kind) {
  switch (kind) {
    case RowKind::kLogits:
      return "logits";
    case RowKind::kProbabilities:
      return "probabilities";
    case RowKind::kOneHot:
      return "one-hot";
  }
  return "unknown-row-kind";
}

std::string_view to_string(LogitFormat format) {
  switch (format) {
    case LogitFormat::kFloat32:
      return "float32";
    case LogitFormat::kBfloat16:
      return "bfloat16";
    case LogitFormat::kFloat16:
      return "float16";
  }
  return "unknown-logit-format";
}

float rounded_to(LogitFormat format, float value) {
  switch (format) {
    case LogitFormat::kFloat32:
      return value;
    case LogitFormat::kBfloat16:
      return rounded(value, 7, -126, 0x1.fep+127);
    case LogitFormat::kFloat16:
      return rounded(value, 10, -14, 65504);
  }
  DRAFTPROOF_CHECK(false, "unknown format");
  return value;
}

void validate(const Batch& batch) {
  if (batch.vocab_size == 0 ||
      batch.vocab_size > static_cast<std::size_t>(std::numeric_limits<Token>::max()))
    throw Error(ErrorKind::kInput,
                "vocab_size is " + std::to_string(batch.vocab_size) + "; give 1 to 2^31 - 1",
                "batch");
  if (batch.target_kind == RowKind::kOneHot)
    throw Error(ErrorKind::kInput, "target_kind one-hot has no rows; give logits", "batch");
  for (std::size_t i = 0; i < batch.requests.size(); ++i)
    RequestCheck(batch, i).run(batch.requests[i]);
}

}  // namespace draftproof::reference
