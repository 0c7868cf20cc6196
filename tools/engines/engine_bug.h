// Engine bugs: state faults, by the names that command lines take.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "fixtures/state_faults/state_fault.h"
#include "reference/error.h"

namespace draftproof::tools {

/// None of this name: nullptr.
inline const fixtures::StateFault* find_engine_bug(std::string_view name) {
  const auto& faults = fixtures::state_faults();
  const auto found = std::find_if(faults.begin(), faults.end(),
                                  [&](const auto& fault) { return fault.name == name; });
  return found == faults.end() ? nullptr : &*found;
}

/// Throws Error(kInput) at "--bug" that says where the names are: there are too many for a line.
inline const fixtures::StateFault& engine_bug(std::string_view name) {
  if (const fixtures::StateFault* fault = find_engine_bug(name)) return *fault;
  throw Error(
      ErrorKind::kInput,
      "\"" + std::string(name) + "\" is no fault of an engine, see: draftproof list state-faults",
      "--bug");
}

}  // namespace draftproof::tools
