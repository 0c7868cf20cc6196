// Distances between contracts on one row: how far apart two engines' laws are for the same request,
// in exact rationals, and with which parameter they part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/contract.h"

namespace draftproof::reference {

/// A contract with the request it is asked to carry out (defaults may differ between engines).
struct ContractUse {
  const Contract* contract = nullptr;
  RowRequest request;
};

/// What one contract makes of the row.
struct ContractLaw {
  ContractUse use;
  RowLaw row;
  std::string refusal;  ///< not empty: the engine refuses the request, and there is no law
  std::vector<Parameter> ignored;

  bool has_law() const { return refusal.empty() && row.status == Status::kOk; }
};

struct ContractDistance {
  Exact total_variation;
  double divergence =
      0;  ///< Kullback-Leibler of the second from the first in nats, may be infinite
  /// The first parameter, in the first contract's order, with which the laws differ when the
  /// parameters are switched on one after the other in both; absent when the laws are equal.
  std::optional<Parameter> parting;
};

/// Every pair: distance[i][j] is absent where i or j has no law.
struct ContractComparison {
  std::vector<ContractLaw> laws;
  std::vector<std::vector<std::optional<ContractDistance>>> distance;
};

/// Throws Error(kInput) when a request is not valid. An engine that refuses is no error here.
ContractComparison compare(const std::vector<ContractUse>& uses, const std::vector<float>& logits,
                           const History& history);

/// sum of first ln(first / second), in nats; infinity when `second` lacks a token of `first`.
double divergence(const Distribution& first, const Distribution& second);

}  // namespace draftproof::reference
