// The reference as a Verifier: what every other subject is compared with.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reference/verifier.h"

namespace draftproof::reference::verify {

/// The names of the rules, in the order in which they are listed: for chains "chain", "greedy",
/// "block"; for trees and chains "tree-greedy", "target-only", "with-replacement",
/// "without-replacement", "traversal", "match".
const std::vector<std::string>& rules();

/// A Verifier named "reference" of that rule. Throws Error(kInput) that lists the known rules.
/// A rule for chains throws BrokenInvariant in verify() for parents other than i - 1.
std::unique_ptr<Verifier> make_verifier(std::string_view rule);

}  // namespace draftproof::reference::verify
