// Parallel draft and verification.
#include "reference/draft/compose/parallel_draft.h"

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

class ParallelDrafter final : public Drafter {
 public:
  explicit ParallelDrafter(model::ToyModelPtr draft) : draft_(std::move(draft)) {}

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory&,
                       law::Chooser&) const override {
    law::DraftTree tree;
    Context context = begin.context;
    while (tree.size() < begin.draft_count) {
      const auto at = static_cast<std::size_t>(tree.size());
      const Token token =
          at < own.size() ? static_cast<Token>(own[at]) : first_maximum(draft_->row(context));
      append(tree, token, {});
      context.push_back(token);
    }
    own.clear();
    for (int i = 0; i < begin.draft_count; ++i) {
      own.push_back(first_maximum(draft_->row(context)));
      context.push_back(static_cast<Token>(own.back()));
    }
    return tree;
  }

  void commit(const law::StepEnd& end, law::Memory& own, law::Memory&) const override {
    if (end.decision.last) own.clear();
  }

 private:
  model::ToyModelPtr draft_;
};

}  // namespace

int parallel_draft_count(const Exact& draft_speed, const Exact& target_speed) {
  DRAFTPROOF_CHECK(draft_speed > 0 && target_speed > 0, "speeds are positive");
  const Exact ratio = draft_speed / target_speed + Exact(1, 2);
  return std::max(1, static_cast<int>(numerator(ratio) / denominator(ratio)));
}

DrafterPtr parallel_drafter(model::ToyModelPtr draft) {
  return std::make_shared<ParallelDrafter>(std::move(draft));
}

law::RuleFunction greedy_without_bonus() {
  return [greedy = law::law_rule("greedy").make({})](const law::Verification& step,
                                                     law::Chooser& chooser) {
    law::Decision decision = greedy(step, chooser);
    const auto kept = static_cast<int>(decision.accepted.size());
    if (kept > 0 && kept == step.draft.size()) decision.last.reset();
    return decision;
  };
}

}  // namespace draftproof::reference::draft
