// Numbers as JSON carries them: floats as their shortest decimal, coins as hexadecimal strings, and
// strings for what JSON has no number for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace draftproof::properties {

using Json = nlohmann::ordered_json;

/// A number that reads back as the same float; "nan", "inf" or "-inf" otherwise. NaN payloads and
/// signs are not kept: every NaN is one value to everything that is judged here.
Json json_of(float value);
Json json_of(double value);

/// Absent when `value` is neither a number nor one of the three strings.
std::optional<double> double_of(const Json& value);
/// As double_of, but absent too when a finite number would become an infinite float.
std::optional<float> float_of(const Json& value);

/// "0x8000000000000000".
Json json_of_coin(std::uint64_t coin);
/// Reads "0x...", a decimal string, or an unsigned number.
std::optional<std::uint64_t> coin_of(const Json& value);

}  // namespace draftproof::properties
