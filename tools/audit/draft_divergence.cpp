#include "tools/audit/draft_divergence.h"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Transcript;
using properties::audits::Evidence;
using properties::audits::KnownTarget;
using properties::audits::Matrix;

/// Answers of a case whose positions are looked at: laws of long contexts are dear.
constexpr std::uint64_t kTrialsRead = 32;

double divergence(const std::vector<double>& target, const std::vector<double>& draft) {
  double sum = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (!(target[i] > 0)) continue;
    if (i >= draft.size() || !(draft[i] > 0)) return std::numeric_limits<double>::infinity();
    sum += target[i] * std::log(target[i] / draft[i]);
  }
  return std::fmax(sum, 0);
}

void add_by_laws(const Transcript& transcript, const KnownTarget& target, const KnownTarget& draft,
                 DraftDivergence& total) {
  const auto& tokens = transcript.completion.token_ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::span<const reference::Token> before(tokens.data(), i);
    total.nats +=
        divergence(target.next(transcript.request, before), draft.next(transcript.request, before));
    ++total.positions;
  }
}

void add_by_logprobs(const Transcript& transcript, DraftDivergence& total) {
  for (const auto& step : transcript.completion.steps) {
    const auto one = divergence_of(step);
    if (!one) continue;
    total.nats += *one * static_cast<double>(step.draft_ids.size());
    total.positions += step.draft_ids.size();
  }
}

}  // namespace

std::optional<double> divergence_of(const properties::VerifyStep& step) {
  const std::size_t count = step.draft_ids.size();
  if (count == 0 || step.target_logprobs.size() != count || step.draft_logprobs.size() != count)
    return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(step.draft_logprobs[i])) return std::nullopt;
    const double log_ratio = step.target_logprobs[i] - step.draft_logprobs[i];
    const double ratio = std::exp(log_ratio);
    sum += (ratio > 0 ? ratio * log_ratio : 0) - ratio + 1;
  }
  return std::fmax(sum / static_cast<double>(count), 0);
}

std::optional<DraftDivergence> draft_divergence(const Matrix& matrix, const std::string& cohort,
                                                const Evidence& evidence, const KnownTarget* target,
                                                const KnownTarget* draft) {
  DraftDivergence total;
  total.is_exact = target != nullptr && draft != nullptr;
  for (const auto& each : matrix.cases) {
    if (cohort != "all" && each.cohort != cohort) continue;
    for (const auto& [trial, transcript] : evidence.of(each.id, Arm::kSpeculative)) {
      if (transcript.completion.end == properties::CompletionEnd::kFailed) continue;
      if (!total.is_exact) {
        add_by_logprobs(transcript, total);
      } else if (trial < kTrialsRead) {
        add_by_laws(transcript, *target, *draft, total);
      }
    }
  }
  if (total.positions == 0) return std::nullopt;
  total.nats /= static_cast<double>(total.positions);
  return total;
}

}  // namespace draftproof::tools::audit
