// Coins, counted: how many of the 2^64 values of a coin decide one way. Found by bisection on the
// very functions that reference/verify decides with, each of which is monotone in its coin; so the
// law of an integer rule is known exactly, and may be held against the paper's in rationals.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "reference/law/output_law.h"
#include "reference/mass.h"
#include "reference/token.h"
#include "reference/verify/wide.h"

namespace draftproof::reference::law {

/// The share of coins that `holds` is true for. Precondition: true for all coins below some number,
/// false from there on.
Exact share_of_coins(const std::function<bool(std::uint64_t)>& holds);

/// The law of a draw from these weights by one coin.
LawRow law_of_draw(const std::vector<WideMass>& weights);
LawRow law_of_draw(const std::vector<verify::Wide>& weights);
LawRow law_of_draw(const MassRow& row);

/// Adds the emissions that end behind `accepted` with a token of this law.
void add_ends(EmissionLaw& law, const Context& accepted, const Exact& reach, const LawRow& last);

/// 2^-bits.
Exact two_to_minus(int bits);

}  // namespace draftproof::reference::law
