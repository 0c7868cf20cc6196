// Distances between contracts (contract_distance.h). Which step parts two laws is asked with the
// whole later pipeline in place, not by comparing pipelines step by step: engines order their steps
// differently, so that laws in the middle differ although the results agree.
#include "reference/contract_distance.h"

#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

ContractLaw law_under(const ContractUse& use, const std::vector<float>& logits,
                      const History& history) {
  ContractLaw law{use, {}, "", ignored(*use.contract, use.request)};
  if (const auto parameter = refused(*use.contract, use.request)) {
    law.refusal = "refuses the " + std::string(to_string(*parameter));
  } else {
    law.row = row_law(*use.contract, logits, use.request, history);
  }
  return law;
}

std::optional<Parameter> parting(const ContractUse& first, const ContractUse& second,
                                 const std::vector<float>& logits, const History& history) {
  const std::vector<Parameter> order = parameters_in_order(*first.contract);
  for (std::size_t on = 1; on <= order.size(); ++on) {
    RowRequest left = first.request;
    RowRequest right = second.request;
    for (std::size_t i = on; i < order.size(); ++i) {
      left = without(std::move(left), order[i]);
      right = without(std::move(right), order[i]);
    }
    const RowLaw a = row_law(*first.contract, logits, left, history);
    const RowLaw b = row_law(*second.contract, logits, right, history);
    if (a.status != b.status || a.law != b.law) return order[on - 1];
  }
  return std::nullopt;
}

}  // namespace

double divergence(const Distribution& first, const Distribution& second) {
  DRAFTPROOF_CHECK(first.vocab_size() == second.vocab_size(), "vocabularies differ");
  double sum = 0;
  for (std::size_t token = 0; token < first.vocab_size(); ++token) {
    if (first[token] == 0) continue;
    if (second[token] == 0) return std::numeric_limits<double>::infinity();
    const Exact ratio = first[token] / second[token];
    if (ratio != 1) sum += first[token].convert_to<double>() * std::log(ratio.convert_to<double>());
  }
  return sum;
}

ContractComparison compare(const std::vector<ContractUse>& uses, const std::vector<float>& logits,
                           const History& history) {
  ContractComparison comparison;
  for (const ContractUse& use : uses) comparison.laws.push_back(law_under(use, logits, history));
  for (const ContractLaw& first : comparison.laws) {
    auto& line = comparison.distance.emplace_back();
    for (const ContractLaw& second : comparison.laws) {
      line.emplace_back();
      if (!first.has_law() || !second.has_law()) continue;
      const Distribution& a = *first.row.law;
      const Distribution& b = *second.row.law;
      line.back() = ContractDistance{total_variation(a, b), divergence(a, b), std::nullopt};
      if (a != b) line.back()->parting = parting(first.use, second.use, logits, history);
    }
  }
  return comparison;
}

}  // namespace draftproof::reference
