// Scalars: the number types laws are computed in. Exact is a rational of unbounded size, so that
// "zero distance" means zero; double is for reading and for sizes that rationals cannot reach.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <string>

namespace draftproof::reference {

using Exact = boost::multiprecision::cpp_rational;
using BigInteger = boost::multiprecision::cpp_int;

/// "3/10"; integers without a denominator.
std::string to_string(const Exact& value);
/// Parses ".3", "0.3", "3/10", "1e-3", "-2" as exact rationals. Throws Error(kInput).
Exact exact_from_text(const std::string& text);
/// The dyadic rational a float is. Precondition: finite.
Exact exact_from_double(double value);

}  // namespace draftproof::reference
