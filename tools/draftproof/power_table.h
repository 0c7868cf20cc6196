// Power table: for every fault of a toy chain the tokens that our evidence takes, what was foretold
// before any was drawn, and how often published criteria pass it on the same decoder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/draftproof/settings.h"

namespace draftproof::tools {

struct PowerTableSettings {
  bool is_smoke = false;  ///< four decoders, few runs
  std::uint64_t seed = 1;
  std::function<bool()> stopped = [] { return false; };
};

/// The criteria that every row holds, in the order of PowerRow::passes.
const std::vector<std::string>& power_criteria();

struct PowerRow {
  std::string fault, statement, report;
  double distance = 0;  ///< total variation of a token behind its last one, in a long text
  /// Median tokens until the e-value reaches 1e9; absent: more than `tokens_max`.
  std::optional<double> directed, places, joint;
  std::optional<double> foretold;  ///< of all bets together
  std::string strongest;           ///< the directed bet that was to grow most
  std::uint64_t alarms = 0;        ///< runs in which all bets together alarmed
  std::vector<std::uint64_t> passes;
};

struct PowerTable {
  std::uint64_t runs = 0, tokens_max = 0;
  bool is_complete = true;
  std::vector<PowerRow> rows;  ///< the first is the right chain
};

PowerTable power_table(const PowerTableSettings& settings);

std::string power_text(const PowerTable& table, bool is_markdown);
std::string power_json(const PowerTable& table);

}  // namespace draftproof::tools
