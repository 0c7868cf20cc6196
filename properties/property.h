// Properties: what must hold of a subject, one per file in properties/verifier.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/verdict.h"
#include "properties/case.h"
#include "reference/verifier.h"

namespace draftproof::properties {

/// What is judged, and what it is held against. `twin` is the reference of the subject's rule; for
/// a common-mode fault it carries the same fault, so that only the exact law can tell.
struct Subject {
  reference::Verifier* verifier = nullptr;
  reference::Verifier* twin = nullptr;
};

enum class Battery : std::uint8_t { kSmoke, kStandard, kDeep };

struct Settings {
  std::uint64_t seed = 1;
  Battery battery = Battery::kStandard;
  double false_alarms = 1e-9;
  /// True when time is up or the user interrupts. A property that stops early is kInconclusive
  /// unless it has found a violation; what it saw so far is in its evidence.
  std::function<bool()> stopped = [] { return false; };
  /// Called now and then: done, of.
  std::function<void(std::uint64_t, std::uint64_t)> progress = [](std::uint64_t, std::uint64_t) {};
};

struct Property {
  std::string id;         ///< "emitted_law_is_target_law"
  std::string statement;  ///< one sentence
  std::string citation;   ///< theorem, contract section or report it comes from
  oracle::Claim claim;
  /// Why the property says nothing about this subject ("takes no coins"); empty when it applies.
  std::function<std::string(const reference::VerifierTraits&)> exemption;
  std::function<oracle::Verdict(const Subject&, const Settings&)> check;
  /// Judges one recorded case of this property.
  std::function<oracle::Verdict(const Subject&, const Case&)> replay;
};

/// All properties, in the order in which they are checked and listed.
const std::vector<Property>& catalog();
/// Throws Error(kInput) that lists the ids.
const Property& property(std::string_view id);

}  // namespace draftproof::properties
