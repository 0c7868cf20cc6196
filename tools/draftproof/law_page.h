// Law page: an exact law as algebra that a person can follow with a pencil.
#pragma once

#include <string>

#include "tools/draftproof/law_result.h"

namespace draftproof::tools {

/// A fraction, or where it is too long to read "~" and six digits.
std::string readable(const reference::Exact& value);

/// True when the result is told position by position: the draft is a chain of a draft model, from
/// the first token on, and the rows are the user's own or steps are asked for.
bool has_steps(const LawPlan& plan);

std::string law_page(const LawResult& result);
/// Schema "draftproof/law/2"; every probability is a rational as text.
std::string law_json(const LawResult& result);

}  // namespace draftproof::tools
