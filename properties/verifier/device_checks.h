// Device checks: the two properties that judge what a device saw while a subject ran.
#pragma once

#include <functional>
#include <string>

#include "properties/course.h"

namespace draftproof::properties::verifier {

/// Complains about the first unsafe observation whose check name `is_meant`.
Judge no_observation(std::function<bool(const std::string& check)> is_meant);

/// Nasty cases under every schedule and block size; large rows, ragged drafts, padding.
void run_under_all_schedules(Course& course, std::uint64_t seed, const std::string& property);

std::string unless_on_device(const reference::VerifierTraits& traits);

}  // namespace draftproof::properties::verifier
