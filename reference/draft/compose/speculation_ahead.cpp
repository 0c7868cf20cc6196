// Speculation ahead.
#include "reference/draft/compose/speculation_ahead.h"

#include <algorithm>
#include <numeric>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

std::vector<Token> by_probability(const LawRow& row) {
  std::vector<Token> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  return order;
}

class AheadDrafter final : public Drafter {
 public:
  AheadDrafter(model::ToyModelPtr draft, const AheadOptions& options, DrafterPtr fallback)
      : draft_(std::move(draft)), options_(options), fallback_(std::move(fallback)) {}

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory& shared,
                       law::Chooser& chooser) const override {
    const std::vector<Speculation> hit = speculations_of(own);
    law::DraftTree tree;
    if (hit.empty() && fallback_) {
      law::Memory none;
      tree = fallback_->draft(begin, none, shared, chooser);
    } else {
      tree = chain(begin, hit.empty() ? nullptr : &hit.front().tokens, chooser);
    }
    own = memory_of(speculations(begin.context, tree, chooser));
    return tree;
  }

  void commit(const law::StepEnd& end, law::Memory& own, law::Memory&) const override {
    std::vector<Speculation> hit;
    for (const Speculation& entry : speculations_of(own))
      if (entry.kept == static_cast<int>(end.decision.accepted.size()) &&
          entry.last == end.decision.last)
        hit = {entry};
    own = memory_of(hit);
  }

 private:
  /// The cached tokens, or drawn ones, with the rows that both are drawn from.
  law::DraftTree chain(const law::StepBegin& begin, const std::vector<Token>* cached,
                       law::Chooser& chooser) const {
    law::DraftTree tree;
    Context context = begin.context;
    while (tree.size() < std::min(begin.draft_count, options_.speculated_count)) {
      const LawRow row = drawn_row(draft_->row(context), options_);
      const Token token = cached ? cached->at(static_cast<std::size_t>(tree.size()))
                                 : chooser.draw(row, {tree.size(), Purpose::kDraft});
      append(tree, token, row);
      context.push_back(token);
    }
    return tree;
  }

  std::vector<Speculation> speculations(const Context& base, const law::DraftTree& tree,
                                        law::Chooser& chooser) const {
    std::vector<Speculation> list;
    Context context = base;
    for (int kept = 0; kept <= tree.size(); ++kept) {
      std::optional<Token> drafted;
      if (kept < tree.size()) drafted = tree.nodes[kept].token;
      for (const Token last : expected_last(draft_->row(context), drafted, options_.fan_out)) {
        Speculation entry{kept, last, {}};
        Context behind = context;
        behind.push_back(last);
        for (int i = 0; i < options_.speculated_count; ++i) {
          const int slot = static_cast<int>(list.size()) + 1;
          entry.tokens.push_back(chooser.draw(drawn_row(draft_->row(behind), options_),
                                              {kept + 1 + i, Purpose::kDraft, slot}));
          behind.push_back(entry.tokens.back());
        }
        list.push_back(entry);
      }
      if (drafted) context.push_back(*drafted);
    }
    return list;
  }

  model::ToyModelPtr draft_;
  AheadOptions options_;
  DrafterPtr fallback_;
};

}  // namespace

LawRow drawn_row(const LawRow& row, const AheadOptions& options) {
  if (!options.damping) return row;
  LawRow damped = row;
  const std::vector<Token> order = by_probability(row);
  for (int rank = 0; rank < options.fan_out && rank < static_cast<int>(order.size()); ++rank)
    damped[static_cast<std::size_t>(order[static_cast<std::size_t>(rank)])] *= *options.damping;
  Exact sum = 0;
  for (const Exact& weight : damped) sum += weight;
  if (sum == 0) return row;
  for (Exact& weight : damped) weight /= sum;
  return damped;
}

std::vector<Token> expected_last(const LawRow& row, std::optional<Token> drafted, int fan_out) {
  std::vector<Token> tokens = by_probability(row);
  if (drafted) std::erase(tokens, *drafted);
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(fan_out)));
  return tokens;
}

DrafterPtr ahead_drafter(model::ToyModelPtr draft, const AheadOptions& options,
                         DrafterPtr fallback) {
  DRAFTPROOF_CHECK(options.speculated_count >= 1 && options.fan_out >= 0, "sizes");
  DRAFTPROOF_CHECK(!options.damping || (*options.damping >= 0 && *options.damping <= 1),
                   "damping is in [0, 1]");
  return std::make_shared<AheadDrafter>(std::move(draft), options, std::move(fallback));
}

law::Memory memory_of(const std::vector<Speculation>& speculations) {
  law::Memory memory;
  for (const Speculation& entry : speculations) {
    memory.insert(memory.end(),
                  {entry.kept, entry.last, static_cast<std::int64_t>(entry.tokens.size())});
    memory.insert(memory.end(), entry.tokens.begin(), entry.tokens.end());
  }
  return memory;
}

std::vector<Speculation> speculations_of(const law::Memory& memory) {
  std::vector<Speculation> list;
  for (std::size_t at = 0; at < memory.size();) {
    Speculation entry;
    entry.kept = static_cast<int>(memory.at(at));
    entry.last = static_cast<Token>(memory.at(at + 1));
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(at) + 3;
    entry.tokens.assign(from, from + static_cast<std::ptrdiff_t>(memory.at(at + 2)));
    at += 3 + entry.tokens.size();
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace draftproof::reference::draft
