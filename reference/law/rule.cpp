// The registry of rules, and the rows that a rule reads.
#include "reference/law/rule.h"

#include "reference/error.h"
#include "reference/law/chain.h"
#include "reference/law/greedy.h"

namespace draftproof::reference::law {
namespace {

template <class Scalar>
const LawRow<Scalar>& row_at(const LawTable<Scalar>& table, int vocab_size, Context context,
                             const std::vector<Token>& drafted, int count) {
  context.insert(context.end(), drafted.begin(), drafted.begin() + count);
  DRAFTPROOF_CHECK(context.size() < table.size(), "the table ends before this context");
  return table[context.size()][context_index(vocab_size, context)];
}

}  // namespace

template <class Scalar>
const LawRow<Scalar>& Iteration<Scalar>::target(const std::vector<Token>& drafted,
                                                int count) const {
  return row_at(tables_.target, tables_.vocab_size, base_, drafted, count);
}

template <class Scalar>
const LawRow<Scalar>& Iteration<Scalar>::drawn(const std::vector<Token>& drafted, int count) const {
  return row_at(tables_.draft, tables_.vocab_size, base_, drafted, count);
}

template <class Scalar>
LawRow<Scalar> Iteration<Scalar>::reported(const std::vector<Token>& drafted, int count) const {
  if (tables_.report == DraftReport::kLawDrawn) return drawn(drafted, count);
  LawRow<Scalar> row(static_cast<std::size_t>(tables_.vocab_size), Scalar(0));
  row[drafted[count]] = 1;
  return row;
}

template class Iteration<Exact>;
template class Iteration<double>;

const std::vector<LawRule>& law_rules() {
  static const std::vector<LawRule> list = {
      {"chain", "Leviathan, Kalman, Matias 2023, algorithm 1; Chen et al. 2023, algorithm 2",
       "min(1, target(x) / draft(x))", "max(0, target - draft), normalised", "target", chain<Exact>,
       chain<double>},
      {"greedy", "greedy decoding of the target, drafts only save steps",
       "1 if x is the first maximum of target, else 0", "the first maximum of target",
       "the first maximum of target", greedy<Exact>, greedy<double>},
  };
  return list;
}

const LawRule& law_rule(std::string_view name) {
  std::string known;
  for (const LawRule& rule : law_rules()) {
    if (rule.name == name) return rule;
    known += (known.empty() ? "" : ", ") + rule.name;
  }
  throw Error(ErrorKind::kInput, "unknown rule '" + std::string(name) + "'; known: " + known);
}

}  // namespace draftproof::reference::law
