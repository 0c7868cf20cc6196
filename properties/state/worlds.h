// The catalogue of worlds: small engines in which everything that may happen does happen, each made
// for one part of an engine's state.
#pragma once

#include <string_view>
#include <vector>

#include "properties/state/world.h"

namespace draftproof::properties::state {

enum class WorldSize : std::uint8_t {
  kSmall,  ///< all of them in some seconds
  kLarge,  ///< longer outputs and drafts: minutes
};

/// All worlds, in the order in which they are listed.
std::vector<World> worlds(WorldSize size = WorldSize::kSmall);
/// Throws Error(kInput) that lists the known names.
World world(std::string_view name, WorldSize size = WorldSize::kSmall);

/// What a request emits that was served alone and never drafted for, at most `count` tokens; its id
/// is `id`. Of worlds that are scripted only.
std::vector<reference::Token> serial_output(const World& world, int number,
                                            reference::decode::RequestId id, int count);

}  // namespace draftproof::properties::state
