// Targets in two stages.
#include "reference/draft/layers.h"

#include <algorithm>

namespace draftproof::reference::draft {

Token shallow_cell(int vocab_size, Token previous, Token token) {
  return (previous + token) % vocab_size;
}

Token skipped_cell(int, Token, Token token) { return token; }

Context cells_of(int vocab_size, const Context& context, CellOf cell) {
  Context cells;
  Token previous = 0;
  for (const Token token : context) {
    cells.push_back(cell(vocab_size, previous, token));
    previous = token;
  }
  return cells;
}

model::ToyModelPtr layered_target(const model::Toy& toy) {
  const int vocab_size = toy.target->vocab_size();
  return model::function_model(vocab_size, [target = toy.target, vocab_size](const Context& c) {
    return target->row(cells_of(vocab_size, c, shallow_cell));
  });
}

ScorerFunctions cell_scorer(const model::Toy& toy, CellOf written) {
  const int vocab_size = toy.target->vocab_size();
  // Behind those in memory come cells that the draft wrote.
  const auto cells_behind = [=](const law::Memory& memory, const Context& tokens) {
    Context cells(memory.begin(), memory.end());
    for (std::size_t t = cells.size(); t < tokens.size(); ++t)
      cells.push_back(written(vocab_size, t == 0 ? 0 : tokens[t - 1], tokens[t]));
    return cells;
  };
  ScorerFunctions scorer;
  scorer.initial = [vocab_size](const Context& prompt) {
    return memory_of(cells_of(vocab_size, fed(prompt), shallow_cell));
  };
  scorer.rows = [=, target = toy.target](const Context& context, const law::DraftTree& draft,
                                         const law::Memory& memory) {
    std::vector<LawRow> rows;
    for (int node = -1; node < draft.size(); ++node)
      rows.push_back(target->row(cells_behind(memory, joined(context, draft.tokens_to(node)))));
    return rows;
  };
  scorer.commit = [=](const law::StepEnd& end, const law::Memory& memory) {
    return memory_of(cells_behind(memory, fed(end.after)));
  };
  return scorer;
}

PointLaw early_exit_law(const model::Toy& toy) {
  return [draft = toy.draft](const ChainPoint& point) {
    const Context context = joined(point.context, point.drafted);
    return draft->row(last_tokens(cells_of(draft->vocab_size(), context, shallow_cell), 2));
  };
}

PointLaw adapter_law(const model::Toy& toy) {
  return [draft = toy.draft](const ChainPoint& point) {
    const Context context = joined(point.context, point.drafted);
    return draft->row(last_tokens(cells_of(draft->vocab_size(), context, shallow_cell), 1));
  };
}

PointLaw skipping_law(const model::Toy& toy, std::function<int(const Context&)> mask_of) {
  return [draft = toy.draft, mask_of = std::move(mask_of)](const ChainPoint& point) {
    const Context context = joined(point.context, point.drafted);
    const int vocab_size = draft->vocab_size();
    Context cells = cells_of(vocab_size, context, skipped_cell);
    if (mask_of(point.context) == 1) {
      const Context mixed = cells_of(vocab_size, context, shallow_cell);
      for (std::size_t t = 0; t < cells.size(); t += 2) cells[t] = mixed[t];
    }
    return draft->row(last_tokens(cells, 2));
  };
}

std::function<bool(const ChainPoint&)> stops_unsure(PointLaw law, Exact threshold) {
  return [law = std::move(law), threshold = std::move(threshold)](const ChainPoint& point) {
    const LawRow row = law(point);
    return !row.empty() && *std::max_element(row.begin(), row.end()) < threshold;
  };
}

std::function<bool(const ChainPoint&)> stops_behind_unlikely(PointLaw law, Exact threshold) {
  return [law = std::move(law), threshold = std::move(threshold)](const ChainPoint& point) {
    if (point.drafted.empty()) return false;
    const std::vector<Token> before(point.drafted.begin(), point.drafted.end() - 1);
    const LawRow row = law({point.context, before, point.memory});
    return row[static_cast<std::size_t>(point.drafted.back())] < threshold;
  };
}

}  // namespace draftproof::reference::draft
