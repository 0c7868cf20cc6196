// Drafters and scorers out of functions.
#include "reference/draft/functions.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

class FunctionDrafter final : public Drafter {
 public:
  explicit FunctionDrafter(DraftFunctions functions) : functions_(std::move(functions)) {
    DRAFTPROOF_CHECK(functions_.draft, "a drafter that does not draft");
  }
  law::Memory initial(const Context& prompt) const override {
    return functions_.initial ? functions_.initial(prompt) : law::Memory{};
  }
  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory&,
                       law::Chooser& chooser) const override {
    return functions_.draft(begin, own, chooser);
  }
  void commit(const law::StepEnd& end, law::Memory& own, law::Memory&) const override {
    if (functions_.commit) own = functions_.commit(end, own);
  }

 private:
  DraftFunctions functions_;
};

class FunctionScorer final : public law::Scorer {
 public:
  explicit FunctionScorer(ScorerFunctions functions) : functions_(std::move(functions)) {
    DRAFTPROOF_CHECK(functions_.rows, "a scorer without rows");
  }
  law::Memory initial(const Context& prompt) const override {
    return functions_.initial ? functions_.initial(prompt) : law::Memory{};
  }
  std::vector<LawRow> rows(const Context& context, const law::DraftTree& draft,
                           const law::Memory& memory) const override {
    return functions_.rows(context, draft, memory);
  }
  void commit(const law::StepEnd& end, law::Memory& memory) const override {
    if (functions_.commit) memory = functions_.commit(end, memory);
  }

 private:
  ScorerFunctions functions_;
};

}  // namespace

std::shared_ptr<const Drafter> function_drafter(DraftFunctions functions) {
  return std::make_shared<FunctionDrafter>(std::move(functions));
}

std::shared_ptr<const law::Scorer> function_scorer(ScorerFunctions functions) {
  return std::make_shared<FunctionScorer>(std::move(functions));
}

law::DraftTree drawn_chain(const ChainLaws& laws, const law::StepBegin& begin,
                           const law::Memory& memory, law::Chooser& chooser) {
  law::DraftTree tree;
  std::vector<Token> drafted;
  while (static_cast<int>(drafted.size()) < begin.draft_count) {
    const ChainPoint point{begin.context, drafted, memory};
    if (laws.stops && laws.stops(point)) break;
    const LawRow row = laws.drawn(point);
    if (row.empty()) break;
    LawRow reported = laws.reported ? laws.reported(point) : LawRow{};
    const Token token = chooser.draw(row, {point.offset(), Purpose::kDraft});
    append(tree, token, std::move(reported));
    drafted.push_back(token);
  }
  return tree;
}

DraftFunctions chain_functions(ChainLaws laws) {
  DraftFunctions functions;
  functions.draft = [laws = std::move(laws)](const law::StepBegin& begin, const law::Memory& memory,
                                             law::Chooser& chooser) {
    return drawn_chain(laws, begin, memory, chooser);
  };
  return functions;
}

ChainLaws reporting_drawn(PointLaw law) { return {law, law, {}}; }

ChainLaws greedy_drawn(PointLaw law) {
  return {[law = std::move(law)](const ChainPoint& point) {
            const LawRow row = law(point);
            return row.empty() ? row
                               : one_hot_row(static_cast<int>(row.size()), first_maximum(row));
          },
          {},
          {}};
}

law::Decoding decoding_by(model::ToyModelPtr target, DraftFunctions functions,
                          std::string_view rule, int draft_count, const Context& prompt) {
  law::Decoding decoding;
  decoding.scorer = law::model_scorer(target);
  decoding.target = std::move(target);
  decoding.drafter = function_drafter(std::move(functions));
  decoding.rule = law::law_rule(rule).make(law::checked(law::law_rule(rule), {}));
  decoding.draft_count = draft_count;
  decoding.prompt = prompt;
  return decoding;
}

Context joined(const Context& context, const std::vector<Token>& tokens) {
  Context longer = context;
  longer.insert(longer.end(), tokens.begin(), tokens.end());
  return longer;
}

Context last_tokens(const Context& context, std::size_t count) {
  return {context.end() - static_cast<std::ptrdiff_t>(std::min(count, context.size())),
          context.end()};
}

LawRow over_sum(LawRow row) {
  Exact sum = 0;
  for (const Exact& probability : row) sum += probability;
  if (sum == 0) return {};
  for (Exact& probability : row) probability /= sum;
  return row;
}

}  // namespace draftproof::reference::draft
