// Distributions: laws over token ids as exact rationals, normalised by construction, so that a law
// that does not sum to one is refused where it enters and nowhere else has to be thought of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reference/mass.h"
#include "reference/scalar.h"

namespace draftproof::reference {

class Distribution {
 public:
  /// Precondition: at least one token, no negative probability, and the sum is exactly 1.
  explicit Distribution(std::vector<Exact> probabilities);

  std::size_t vocab_size() const { return probabilities_.size(); }
  const Exact& operator[](std::size_t token) const { return probabilities_[token]; }
  const std::vector<Exact>& probabilities() const { return probabilities_; }

  friend bool operator==(const Distribution&, const Distribution&) = default;

 private:
  std::vector<Exact> probabilities_;
};

/// ".1,.3,.6" or "1/3,2/3". Throws Error(kInput) at `place`, naming the sum when it is not 1.
Distribution distribution_from_text(std::string_view text, std::string_view place = "");
/// "1/10, 3/10, 3/5"
std::string to_string(const Distribution& law);

/// Weights over their sum. Precondition: none is negative, the sum is positive.
Distribution normalised(std::vector<Exact> weights);
/// mass / total of every token. Precondition: the row has no status.
Distribution distribution_of(const MassRow& row);
/// All probability on one token.
Distribution point_mass(std::size_t vocab_size, std::size_t token);

/// Half the sum of |first - second|. Precondition: equal vocab_size.
Exact total_variation(const Distribution& first, const Distribution& second);

}  // namespace draftproof::reference
