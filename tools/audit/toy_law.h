// Toy law: the known law behind the name of a toy: a manifest that `toy write` wrote, or a toy that
// `serve` serves, under the shaping of an engine's contract.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/audits/known_target.h"

namespace draftproof::tools::audit {

struct ToyLaw {
  std::unique_ptr<properties::audits::KnownTarget> target;
  std::unique_ptr<properties::audits::KnownTarget> draft;  ///< null: not known
  /// Ids that a context of one token gives a probability above 1e-9: specials, which real toys have
  /// for traps, are not among them.
  std::vector<reference::Token> live;
};

/// `toy` is a file where it ends in ".json". `vocab_size` is of the toy "hashed"; others
/// have their own. Throws Error(kInput) at `place` (a name that is not known) or at the manifest.
ToyLaw toy_law(const std::string& toy, const std::string& contract, std::optional<int> vocab_size,
               const std::string& place);

/// The contract that an engine's dialect is held to: "default" for engines that none is written of.
std::string contract_of_engine(const std::string& engine);

}  // namespace draftproof::tools::audit
