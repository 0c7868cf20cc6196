// Scorers.
#include "reference/law/scorer.h"

namespace draftproof::reference::law {
namespace {

class ModelScorer final : public Scorer {
 public:
  explicit ModelScorer(model::ToyModelPtr target) : target_(std::move(target)) {}

  std::vector<LawRow> rows(const Context& context, const DraftTree& draft,
                           const Memory&) const override {
    std::vector<LawRow> rows = {target_->row(context)};
    for (int node = 0; node < draft.size(); ++node) {
      Context longer = context;
      for (Token token : draft.tokens_to(node)) longer.push_back(token);
      rows.push_back(target_->row(longer));
    }
    return rows;
  }

 private:
  model::ToyModelPtr target_;
};

}  // namespace

std::shared_ptr<const Scorer> model_scorer(model::ToyModelPtr target) {
  return std::make_shared<ModelScorer>(std::move(target));
}

}  // namespace draftproof::reference::law
