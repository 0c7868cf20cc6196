// Describe: a case in words, the "Let" of a witness. Small cases are told in full, large ones by
// what a reader needs to recognise them; the JSON always holds everything.
#pragma once

#include <string>

#include "properties/case.h"

namespace draftproof::properties {

/// Several lines without a newline at the end. Coins are told for requests of scripted cases.
std::string describe(const Case& value);

/// "0.6225": short decimals for reading, never for comparing.
std::string short_number(double value);
/// "coin 0x8000000000000000 (u = 0.5)".
std::string describe_coin(std::uint64_t coin);

}  // namespace draftproof::properties
