// Diffusion drafts of several steps.
#include "reference/draft/diffusion.h"

namespace draftproof::reference::draft {

DiffusionBlock::DiffusionBlock(const model::Toy& toy, const ChainPoint& point) {
  const Context seen = joined(hidden_in(point.memory), {point.context.back()});
  second_ = toy.draft->row(joined(seen, {0, 0}));
  for (Token second = 0; second < toy.draft->vocab_size(); ++second)
    first_given_.push_back(toy.draft->row(joined(seen, {0, second, second})));
}

const LawRow& DiffusionBlock::first_given(Token second) const {
  return first_given_.at(static_cast<std::size_t>(second));
}

LawRow DiffusionBlock::first() const {
  LawRow row(second_.size());
  for (std::size_t second = 0; second < row.size(); ++second)
    for (std::size_t first = 0; first < row.size(); ++first)
      row[first] += second_[second] * first_given_[second][first];
  return row;
}

LawRow DiffusionBlock::second_given(Token first) const {
  LawRow row = second_;
  for (std::size_t second = 0; second < row.size(); ++second)
    row[second] *= first_given_[second][static_cast<std::size_t>(first)];
  return over_sum(std::move(row));
}

LawRow reports_one_hot(const DiffusionBlock&, int, Token, Token) { return {}; }

LawRow reports_conditionals(const DiffusionBlock& block, int offset, Token first, Token) {
  return offset == 0 ? block.first() : block.second_given(first);
}

DraftFunctions diffusion_functions(const model::Toy& toy, BlockReport report,
                                   const law::CoinUse& second_noise) {
  DraftFunctions functions;
  functions.draft = [toy, report = std::move(report), second_noise](const law::StepBegin& begin,
                                                                    const law::Memory& memory,
                                                                    law::Chooser& chooser) {
    law::DraftTree tree;
    if (begin.draft_count == 0) return tree;
    const DiffusionBlock block(toy, {begin.context, {}, memory});
    const Token second = chooser.draw(block.second(), second_noise);
    const Token first = chooser.draw(block.first_given(second), {0, Purpose::kDraft});
    append(tree, first, report(block, 0, first, second));
    if (begin.draft_count > 1) append(tree, second, report(block, 1, first, second));
    return tree;
  };
  return with_hidden(std::move(functions));
}

}  // namespace draftproof::reference::draft
