// check_card: holds somebody else's kernel, as compiled, against the exact replay of its own random
// stream. Collects runs of the card's kernel on a device, judges them with oracle/replay.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device.h"
#include "gpu/kernel_card.h"
#include "oracle/verdict.h"
#include "properties/property.h"

namespace draftproof::tools {

struct CardCheck {
  std::string card;               ///< path of the card (TOML)
  std::string third_party;        ///< folder with NAME/...ptx; empty: found near card and cwd
  gpu::Device* device = nullptr;  ///< runs the kernel; not owned
  std::uint64_t seed = 1;
  properties::Battery battery = properties::Battery::kStandard;
  /// True when time is up or the user interrupts: what was seen so far is judged.
  std::function<bool()> stopped = [] { return false; };
  /// Called now and then: launches done, launches planned.
  std::function<void(std::uint64_t, std::uint64_t)> progress = [](std::uint64_t, std::uint64_t) {};
};

/// The kernel of the card in `file`, loaded from the PTX that its build left below `third_party`
/// (see CardCheck). Throws Error(kInput) with FILE:LINE for a bad card, a missing or malformed PTX
/// file, an entry that does not fit the card.
gpu::CardKernel load_card(gpu::Device& device, const std::string& file,
                          const std::string& third_party);

/// One verdict a property, in a fixed order. Throws what load_card throws.
std::vector<oracle::Verdict> check_card(const CardCheck& settings);

}  // namespace draftproof::tools
