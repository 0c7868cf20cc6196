// Toy acceptance: how often a drafted token is kept by a rule that keeps as many as can be kept:
// the sum over tokens of min(target, draft) (Leviathan, Kalman, Matias, ICML 2023, theorem 3.5),
// behind any history, exactly, since both laws are known.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {

/// A draft's law in the ids of its target, however it numbers them itself.
std::unique_ptr<properties::audits::KnownTarget> known_draft(const ToySpec& draft,
                                                             const std::string& contract);

/// Precondition: laws over the same ids.
double acceptance(std::span<const double> target, std::span<const double> draft);
/// Of both behind one history. Precondition: one vocabulary.
double acceptance(const properties::audits::KnownTarget& target,
                  const properties::audits::KnownTarget& draft,
                  const properties::SamplingRequest& request,
                  std::span<const reference::Token> emitted);

/// Of a bigram's draft at temperature 1, by the last token. Precondition: a bigram.
std::vector<double> acceptance_by_last_token(const ToySpec& draft);

}  // namespace draftproof::tools::toys
