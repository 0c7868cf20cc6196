// Law page: the exact law of one iteration as algebra that a person can follow with a pencil.
#pragma once

#include <string>

#include "reference/law/output_law.h"
#include "reference/law/rule.h"

namespace draftproof::tools {

/// A tiny case, what a rule makes of it, and what it should have made of it.
struct LawResult {
  reference::law::LawRule rule;
  reference::law::ModelCase tiny_case;
  reference::law::EmissionLaw emission;
  reference::law::SequenceLaw joint;   ///< draft_count + 1 tokens
  reference::law::SequenceLaw target;  ///< the plain decoder's
  reference::Exact distance;           ///< total variation between the two
};

LawResult law_result(reference::law::ModelCase tiny_case, const std::string& rule);

/// A fraction, or where it is too long to read "~" and six digits.
std::string readable(const reference::Exact& value);

std::string law_page(const LawResult& result);
/// Schema "draftproof/law/1"; every probability is a rational as text.
std::string law_json(const LawResult& result);

}  // namespace draftproof::tools
