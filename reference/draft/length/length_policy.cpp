// Length policies as drafters.
#include "reference/draft/length/length_policy.h"

#include <algorithm>

namespace draftproof::reference::draft {
namespace {

class PolicedDrafter final : public Drafter {
 public:
  PolicedDrafter(model::ToyModelPtr draft, LengthPolicy policy, ChainDraw draw)
      : draft_(std::move(draft)), policy_(std::move(policy)), draw_(draw) {}

  law::Memory initial(const Context& prompt) const override {
    return policy_.initial ? policy_.initial(prompt) : law::Memory{};
  }

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory& shared,
                       law::Chooser& chooser) const override {
    const int limit = policy_.limit ? std::min(policy_.limit(begin, own, shared), begin.draft_count)
                                    : begin.draft_count;
    law::DraftTree tree;
    Context context = begin.context;
    while (tree.size() < limit) {
      const LawRow& row = draft_->row(context);
      if (policy_.stops_before && policy_.stops_before(row)) break;
      const Token token = next_token(row, tree.size(), chooser);
      append(tree, token, draw_ == ChainDraw::kSampled ? row : LawRow{});
      if (policy_.stops_behind && policy_.stops_behind(row, token)) break;
      context.push_back(token);
    }
    if (policy_.drafted) policy_.drafted(begin, tree, own, shared);
    return tree;
  }

  void commit(const law::StepEnd& end, law::Memory& own, law::Memory& shared) const override {
    if (policy_.verified) policy_.verified(end, own, shared);
  }

 private:
  Token next_token(const LawRow& row, int offset, law::Chooser& chooser) const {
    if (draw_ == ChainDraw::kLargest) return first_maximum(row);
    return chooser.draw(row, {offset, Purpose::kDraft});
  }

  model::ToyModelPtr draft_;
  LengthPolicy policy_;
  ChainDraw draw_;
};

}  // namespace

std::shared_ptr<const Drafter> policed_drafter(model::ToyModelPtr draft, LengthPolicy policy,
                                               ChainDraw draw) {
  return std::make_shared<PolicedDrafter>(std::move(draft), std::move(policy), draw);
}

}  // namespace draftproof::reference::draft
