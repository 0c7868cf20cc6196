// Regular expressions for structured output. They match whole texts, and know what is regular:
//   literals     \ . [ ] ( ) { } * + ? | ^ $ stand for themselves behind a backslash only; a
//                character beyond ASCII is all its bytes of UTF-8
//   escapes      \d \w \s (ASCII) and \D \W \S, \n \t \r \f \v, \xHH up to 7f
//   . [abc] [^a-z\d]
//                one character; `.` is all but \n. Classes list ASCII, negated ones, `.`, \D, \W
//                and \S take well-formed UTF-8 beyond it too, never a byte of a character
//   ( ) (?: ) |  grouping, nothing is captured; an alternative may be empty
//   * + ? {m} {m,} {m,n}
// What engines' expressions have beyond this is refused rather than read in another way: anchors
// (the whole text is matched anyway), lazy and possessive counts, look-around, back references.
#pragma once

#include <string_view>

#include "reference/model/byte_automaton.h"
#include "reference/model/pattern.h"

namespace draftproof::reference::model {

/// Groups within groups; more are refused.
inline constexpr int kGroupDepthMax = 100;

/// Throws Error(kInput) at "pattern, byte N" (from 0) that names the remedy: what does not parse,
/// groups too deep, counts that exceed Pattern::kPositionsMax.
Pattern parse_regular_expression(std::string_view expression);

/// The automaton of the texts that `expression` matches as a whole. Throws Error(kInput) as
/// parse_regular_expression(), and at "pattern" when its automaton exceeds a limit of Pattern.
ByteAutomaton regular_expression(std::string_view expression);

}  // namespace draftproof::reference::model
