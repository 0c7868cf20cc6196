// Cases: what a property runs a subject on. A case is a JSON value, never a generator state, so a
// failing one can be shrunk, replayed and kept in fixtures/regressions for ever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/verifier.h"

namespace draftproof::properties {

struct Case {
  std::string property;  ///< id of the property that it is a case of
  std::string rule = "chain";
  reference::Batch batch;
  std::optional<std::uint64_t> seed;  ///< Philox coins; absent: the scripted ones below
  std::map<reference::CoinAddress, std::uint64_t> coins;
  std::uint64_t fallback_coin = 0;
  reference::Execution execution;
  std::string note;
  /// What a right subject of this rule answers, one per request; empty when not recorded.
  std::vector<reference::RequestOutcome> expected;
};

/// Schema "draftproof/case/1" (tools/schema/case.schema.json). Floats round-trip exactly; -inf, inf
/// and nan are strings; coins are hexadecimal strings; long rows with a common value are written as
/// {"fill", "size", "at"}. Equal cases give equal text.
std::string to_json(const Case& value);
/// Throws Error(kInput) with `place` and the path of the field at fault.
Case case_from_json(std::string_view text, std::string_view place);

std::unique_ptr<reference::Coins> coins_of(const Case& value);

}  // namespace draftproof::properties
