// Shaped targets: histories, and the laws behind them (shaped_target.h).
#include "reference/law/shaped_target.h"

#include <cmath>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

class ShapedScorer final : public Scorer {
 public:
  explicit ShapedScorer(ShapedTarget target) : target_(std::move(target)) {}

  std::vector<LawRow> rows(const Context& context, const DraftTree& draft,
                           const Memory&) const override {
    std::vector<LawRow> rows = {row_behind(target_, context, {})};
    for (int node = 0; node < draft.size(); ++node)
      rows.push_back(row_behind(target_, context, draft.tokens_to(node)));
    return rows;
  }

 private:
  ShapedTarget target_;
};

}  // namespace

std::function<std::vector<float>(const Context&)> logarithms_of(model::ToyModelPtr model) {
  return [model = std::move(model)](const Context& context) {
    std::vector<float> logits;
    for (const Exact& probability : model->row(context))
      logits.push_back(static_cast<float>(std::log(probability.convert_to<double>())));
    return logits;
  };
}

reference::History history_behind(const ShapedTarget& target, const Context& context,
                                  std::vector<Token> drafted) {
  DRAFTPROOF_CHECK(context.size() >= target.prompt_length, std::to_string(context.size()));
  const auto end_of_prompt = context.begin() + static_cast<std::ptrdiff_t>(target.prompt_length);
  return {{context.begin(), end_of_prompt}, {end_of_prompt, context.end()}, std::move(drafted)};
}

LawRow row_behind(const ShapedTarget& target, const Context& context,
                  const std::vector<Token>& drafted) {
  const reference::History history = history_behind(target, context, drafted);
  RowRequest request = target.request;
  if (target.grammar)
    request.adjustments.grammar_mask = target.grammar->mask_behind(output_of(history));
  Context all = context;
  all.insert(all.end(), drafted.begin(), drafted.end());
  return law_of_row(target.contract, target.logits(all), request, history).probabilities();
}

model::ToyModelPtr serial_model(const ShapedTarget& target) {
  return model::function_model(target.vocab_size, [target](const Context& context) {
    return row_behind(target, context, {});
  });
}

std::shared_ptr<const Scorer> shaped_scorer(const ShapedTarget& target) {
  return std::make_shared<ShapedScorer>(target);
}

}  // namespace draftproof::reference::law
