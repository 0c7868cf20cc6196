// Expectations: [arm.x] expect = { ... }: facts that an arm has to tell of itself before anything
// is judged. Another model or method behind the same port is no verdict, it is a mistake.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/engines/client.h"

namespace draftproof::tools::audit {

/// Names that may stand in `expect`.
const std::vector<std::string>& expectation_names();

/// One line for each expectation that `facts` does not fulfil, or does not tell: "method is
/// draft-simple, not ngram". A text that ends in '*' holds by its beginning. Empty: all hold.
std::vector<std::string> unmet(const std::map<std::string, std::string>& expect,
                               const engines::ArmFacts& facts);

}  // namespace draftproof::tools::audit
