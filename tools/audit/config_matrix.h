// Config matrix: what a configuration asks, expanded: its settings, its prompts, and a case for
// each pair: a law case whose trials are independent in both arms, a case of shared seeds, a greedy
// case of few trials. What the configuration leaves open is the battery's: smoke, standard, deep.
#pragma once

#include <string>
#include <vector>

#include "tools/audit/config.h"
#include "tools/audit/config_values.h"

namespace draftproof::tools::audit {

struct ConfigMatrix {
  properties::audits::Matrix matrix;
  std::vector<std::string> not_exercised;
  std::optional<int> vocab_size;
};

/// Reads prompt files and manifests of toys. Throws Error(kInput) as load_config.
ConfigMatrix config_matrix(const ConfigValues& values, const AuditConfig& config);

}  // namespace draftproof::tools::audit
