// Words: what a divergence says of tokens, rows, drafts and outcomes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/kv/cell.h"
#include "reference/outcome.h"
#include "reference/proposal.h"

namespace draftproof::properties::state {

/// "[1 2 3]"; of long ones the last sixteen, behind "[... ".
std::string words(const std::vector<reference::Token>& tokens);
std::string words(const std::vector<std::int64_t>& numbers);
/// "(0.5 1 -inf)", enough digits to tell two apart.
std::string words(const reference::Row& row);
/// "[1 2 3]", with "parents [-1 0 0]" where it is a tree.
std::string words(const reference::Proposal& proposal);
/// "2 accepted, emitted [1 2 3], status ok"
std::string words(const reference::RequestOutcome& outcome);
/// "token 3 at position 7, history 0x12"
std::string words(const reference::kv::Cell& cell);

/// Equal bits.
bool is_same(const reference::Row& first, const reference::Row& second);

}  // namespace draftproof::properties::state
