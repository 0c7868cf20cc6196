// Regex grammar: a regular expression as llama.cpp's GBNF, so that one grammar of a request means
// the same to every engine. What is read: literals, '.', classes with ranges and negation, \d \w \s
// and their opposites, escapes, groups with and without ?:, alternation, * + ? {n} {n,} {n,m}, and
// the anchors ^ and $ at the ends. Matching is of the whole answer, as engines do.
#pragma once

#include <string>

namespace draftproof::tools::engines {

/// "root ::= ...". Throws Error(kInput) at "grammar" for what GBNF cannot say (look-around, back
/// references, lazy quantifiers, anchors inside, flags) and for what is no regular expression.
std::string gbnf_of_regex(const std::string& regex);

}  // namespace draftproof::tools::engines
