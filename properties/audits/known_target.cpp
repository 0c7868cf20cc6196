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
    reference::History history;
    history.prompt = request.prompt;
    history.committed.assign(emitted.begin(), emitted.end());
    const std::vector<float> logits = reference::adjusted(row_behind(history), request.adjustments,
                                                          history, contract_.adjustments);
    const bool has_path = contract_.with_min_p && request.sampling.min_p > 0;
    const reference::MassRow row = reference::shape(
        logits, request.sampling, has_path ? *contract_.with_min_p : contract_.preset);
    DRAFTPROOF_CHECK(row.status == reference::Status::kOk, "a toy's row has no law");
    std::vector<double> law;
    law.reserve(row.mass.size());
    for (const reference::Mass mass : row.mass)
      law.push_back(static_cast<double>(mass) / static_cast<double>(row.total));
    return law;
  }

 private:
  std::vector<float> row_behind(const reference::History& history) const {
    std::vector<Token> tokens = history.prompt;
    tokens.insert(tokens.end(), history.committed.begin(), history.committed.end());
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

}  // namespace draftproof::properties::audits
