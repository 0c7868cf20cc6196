#include "properties/audits/known_target.h"

#include <utility>

#include "reference/contract.h"
#include "reference/error.h"
#include "reference/kv/recurrent_slots.h"

namespace draftproof::properties::audits {
namespace {

using reference::Token;

class ToyTarget final : public KnownTarget {
 public:
  explicit ToyTarget(ToyTargetOptions options)
      : options_(std::move(options)), contract_(reference::contract(options_.contract)) {}

  int vocab_size() const override { return options_.model->vocab_size(); }

  std::vector<double> next(const SamplingRequest& request,
                           std::span<const Token> emitted) const override {
    return shaped_law(contract_, row_behind(request.prompt, emitted), request, emitted);
  }

  int memory(const SamplingRequest& request) const override {
    // Adjustments look at the whole history, and a window moves where its tokens stand.
    return request.adjustments == reference::Adjustments{} && options_.window == 0 ? options_.memory
                                                                                   : -1;
  }

 private:
  std::vector<float> row_behind(const Prompt& prompt, std::span<const Token> emitted) const {
    std::vector<Token> tokens = prompt;
    tokens.insert(tokens.end(), emitted.begin(), emitted.end());
    const auto window = static_cast<std::size_t>(options_.window);
    const std::size_t hidden = window > 0 && tokens.size() > window ? tokens.size() - window : 0;
    reference::decode::Seen seen;
    seen.tokens = std::span<const Token>(tokens).subspan(hidden);
    seen.first_position = static_cast<std::int32_t>(hidden);
    if (options_.model->is_recurrent()) seen.state = reference::kv::state_of(tokens);
    return options_.model->row(seen);
  }

  ToyTargetOptions options_;
  const reference::Contract& contract_;
};

}  // namespace

std::unique_ptr<KnownTarget> toy_target(ToyTargetOptions options) {
  DRAFTPROOF_CHECK(options.model != nullptr, "a known target needs a model");
  return std::make_unique<ToyTarget>(std::move(options));
}

std::vector<double> shaped_law(const reference::Contract& contract,
                               const std::vector<float>& logits, const SamplingRequest& request,
                               std::span<const Token> emitted) {
  reference::History history;
  history.prompt = request.prompt;
  history.committed.assign(emitted.begin(), emitted.end());
  const std::vector<float> row =
      reference::adjusted(logits, request.adjustments, history, contract.adjustments);
  const bool has_path = contract.with_min_p && request.sampling.min_p > 0;
  const reference::MassRow shaped =
      reference::shape(row, request.sampling, has_path ? *contract.with_min_p : contract.preset);
  if (shaped.status != reference::Status::kOk)
    throw Error(ErrorKind::kInput, "a row of logits that has no law", "contract " + contract.name);
  std::vector<double> law;
  law.reserve(shaped.mass.size());
  for (const reference::Mass mass : shaped.mass)
    law.push_back(static_cast<double>(mass) / static_cast<double>(shaped.total));
  return law;
}

}  // namespace draftproof::properties::audits
