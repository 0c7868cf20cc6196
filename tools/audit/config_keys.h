// Config keys: every key of draftproof.toml with its type, range, default and flag, as one table:
// the reader, --print-config, the schema's test and the page read it. A key that is not here is a
// mistake of whoever typed it, and is refused.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::tools::audit {

/// Lists take one value in the place of a list of one.
enum class KeyType {
  kText,
  kTexts,
  kFlag,
  kFlags,
  kInteger,
  kIntegers,
  kNumber,
  kNumbers,
  kDuration,  ///< "20m", or seconds
  kIdLists,   ///< [[1, 2], [3]]; one list is a list of one
  kTable,     ///< names of the user's own -> text, number or flag
};

struct ConfigKey {
  std::string name;  ///< "run.seed"
  KeyType type = KeyType::kText;
  std::string initial;  ///< as TOML; empty: none
  std::string summary;
  std::string flag = {};  ///< "--seed"; empty: in the file alone
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// In the order of the page.
const std::vector<ConfigKey>& config_keys();
/// nullptr when there is none.
const ConfigKey* config_key(std::string_view name);
/// The known key that `name` is likeliest meant for: "run.seed" for "run.sed" and for "seed";
/// empty when none is near.
std::string nearest_key(std::string_view name);

}  // namespace draftproof::tools::audit
