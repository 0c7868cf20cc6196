// Variants: comparing the outcome of a case with that of a case that must give the same answers.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "properties/course.h"
#include "properties/generators.h"

namespace draftproof::properties::verifier {

/// The complaint about the first request whose outcomes differ; none when all agree.
std::optional<Complaint> difference(const reference::Outcome& expected,
                                    const reference::Outcome& observed, const std::string& because);

/// Runs so many generated batches of `shape`, each changed by `adapt`. With `sizes` the vocabulary
/// takes these in turn.
void try_nasty_cases(Course& course, std::uint64_t seed, CaseShape shape, std::uint64_t batches,
                     const std::function<void(Case&, Random&)>& adapt = nullptr,
                     const std::vector<std::size_t>& sizes = {});

}  // namespace draftproof::properties::verifier
