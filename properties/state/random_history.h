// Random worlds and histories, made from plain numbers: equal numbers give equal worlds, 0 is
// always the plainest choice and a missing number is 0, so that whoever shrinks numbers
// (RapidCheck) shrinks configurations and histories.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "properties/state/world.h"

namespace draftproof::properties::state {

/// How many numbers a world reads at most.
inline constexpr std::size_t kWorldChoices = 64;

/// A right engine of any configuration, one to three requests with any demands.
World world_of(std::span<const std::uint32_t> choices);

/// One action a number.
StateHistory history_of(const World& world, std::span<const std::uint32_t> choices);

/// What distinguishes a world from the plainest one, for reports: "rule match, pages of 2, ...".
std::string words(const World& world);

}  // namespace draftproof::properties::state
