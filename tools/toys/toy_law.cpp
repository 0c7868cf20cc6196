// The law of a toy: float64 logits, the contract's steps, float64 weights.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/contract.h"
#include "reference/error.h"
#include "tools/toys/toy_rows.h"
#include "tools/toys/toy_spec.h"

namespace draftproof::tools::toys {
namespace {

using properties::SamplingRequest;
using reference::Token;

/// exp of less is below half of 2^-149, the least positive number of fp32.
constexpr double kLeastExponent = -104;

constexpr double kBanned = -std::numeric_limits<double>::infinity();

/// Weights of what is not banned. Ties of the largest are the lowest id's when greedy, as they are
/// in shaping.h.
std::vector<double> softmax(const std::vector<double>& logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> law(logits.size());
  double total = 0;
  for (std::size_t token = 0; token < law.size(); ++token) {
    if (logits[token] == kBanned) continue;
    const double exponent = (logits[token] - largest) / temperature;
    law[token] = exponent < kLeastExponent ? 0 : std::exp(exponent);
    total += law[token];
  }
  for (double& each : law) each /= total;
  return law;
}

std::vector<double> one_hot(const std::vector<double>& logits) {
  std::vector<double> law(logits.size());
  law[static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin())] =
      1;
  return law;
}

class ToyLaw final : public properties::audits::KnownTarget {
 public:
  ToyLaw(const ToySpec& spec, const std::string& contract)
      : rows_(spec), contract_(reference::contract(contract)) {}

  int vocab_size() const override { return rows_.vocab_size(); }

  std::vector<double> next(const SamplingRequest& request,
                           std::span<const Token> emitted) const override {
    reference::validate(request.sampling);
    reference::History history;
    history.prompt = request.prompt;
    history.committed.assign(emitted.begin(), emitted.end());
    std::vector<Token> tokens = history.prompt;
    tokens.insert(tokens.end(), emitted.begin(), emitted.end());
    const std::vector<double> logits = adjusted(rows_.behind(tokens), request, history);
    const bool has_path = contract_.with_min_p && request.sampling.min_p > 0;
    const reference::Preset& preset = has_path ? *contract_.with_min_p : contract_.preset;
    if (reference::is_greedy(request.sampling, preset)) return one_hot(logits);
    return softmax(filtered(logits, request.sampling, preset), request.sampling.temperature);
  }

 private:
  /// Adjustments are elementwise fp32 steps, in the engine as well.
  std::vector<double> adjusted(std::vector<double> logits, const SamplingRequest& request,
                               const reference::History& history) const {
    if (request.adjustments == reference::Adjustments{}) return logits;
    reference::validate(request.adjustments, logits.size());
    const std::vector<float> row =
        reference::adjusted(std::vector<float>(logits.begin(), logits.end()), request.adjustments,
                            history, contract_.adjustments);
    return {row.begin(), row.end()};
  }

  /// What the preset's filters throw out is banned.
  static std::vector<double> filtered(std::vector<double> logits,
                                      const reference::Sampling& sampling,
                                      const reference::Preset& preset) {
    const auto size = static_cast<std::int64_t>(logits.size());
    const bool filters =
        (sampling.top_k > 0 && sampling.top_k < size) || sampling.top_p < 1 || sampling.min_p > 0;
    if (!filters) return logits;
    const reference::MassRow row =
        reference::shape(std::vector<float>(logits.begin(), logits.end()), sampling, preset);
    if (row.status != reference::Status::kOk)
      throw Error(ErrorKind::kInput, "leaves no token of this toy's row", "sampling");
    for (std::size_t token = 0; token < logits.size(); ++token)
      if (row.mass[token] == 0) logits[token] = kBanned;
    return logits;
  }

  mutable ToyRows rows_;
  const reference::Contract& contract_;
};

}  // namespace

std::unique_ptr<properties::audits::KnownTarget> known_target(const ToySpec& spec,
                                                              const std::string& contract) {
  return std::make_unique<ToyLaw>(spec, contract);
}

}  // namespace draftproof::tools::toys
