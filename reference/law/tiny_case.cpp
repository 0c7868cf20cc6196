// Tiny cases: tables over all contexts.
#include "reference/law/tiny_case.h"

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

LawTable<Exact> table(int vocab_size, int depth,
                      const std::function<Distribution(const Context&)>& law) {
  LawTable<Exact> rows(static_cast<std::size_t>(depth) + 1);
  for (int length = 0; length <= depth; ++length) {
    for (const Context& context : contexts(vocab_size, length)) {
      rows[length].push_back(law(context).probabilities());
      DRAFTPROOF_CHECK(rows[length].back().size() == static_cast<std::size_t>(vocab_size),
                       "vocabularies differ");
    }
  }
  return rows;
}

LawTable<double> table_in_double(const LawTable<Exact>& exact) {
  LawTable<double> rows(exact.size());
  for (std::size_t length = 0; length < exact.size(); ++length) {
    for (const LawRow<Exact>& row : exact[length]) {
      rows[length].emplace_back();
      for (const Exact& value : row) rows[length].back().push_back(static_cast<double>(value));
    }
  }
  return rows;
}

}  // namespace

std::size_t context_index(int vocab_size, std::span<const Token> context) {
  std::size_t index = 0;
  for (Token token : context) {
    DRAFTPROOF_CHECK(token >= 0 && token < vocab_size, std::to_string(token));
    index = index * static_cast<std::size_t>(vocab_size) + static_cast<std::size_t>(token);
  }
  return index;
}

std::vector<Context> contexts(int vocab_size, int length) {
  std::vector<Context> list = {{}};
  for (int n = 0; n < length; ++n) {
    std::vector<Context> longer;
    for (const Context& context : list) {
      for (Token token = 0; token < vocab_size; ++token) {
        longer.push_back(context);
        longer.back().push_back(token);
      }
    }
    list = std::move(longer);
  }
  return list;
}

TinyCase<Exact> table_case(int draft_count, int depth,
                           const std::function<Distribution(const Context&)>& target,
                           const std::function<Distribution(const Context&)>& draft) {
  DRAFTPROOF_CHECK(draft_count >= 0 && depth >= draft_count, std::to_string(depth));
  TinyCase<Exact> result;
  result.vocab_size = static_cast<int>(target({}).vocab_size());
  result.draft_count = draft_count;
  result.target = table(result.vocab_size, depth, target);
  if (depth > 0) result.draft = table(result.vocab_size, depth - 1, draft);
  return result;
}

TinyCase<Exact> position_case(const std::vector<Distribution>& target,
                              const std::vector<Distribution>& draft) {
  if (target.size() != draft.size() + 1)
    throw Error(ErrorKind::kInput, std::to_string(draft.size()) + " draft rows need " +
                                       std::to_string(draft.size() + 1) + " target rows, not " +
                                       std::to_string(target.size()));
  for (const std::vector<Distribution>* rows : {&target, &draft})
    for (const Distribution& row : *rows)
      if (row.vocab_size() != target[0].vocab_size())
        throw Error(ErrorKind::kInput, "laws have " + std::to_string(target[0].vocab_size()) +
                                           " and " + std::to_string(row.vocab_size()) +
                                           " tokens; give all of them the same number");
  const int draft_count = static_cast<int>(draft.size());
  return table_case(
      draft_count, draft_count, [&](const Context& context) { return target[context.size()]; },
      [&](const Context& context) { return draft[context.size()]; });
}

TinyCase<double> in_double(const TinyCase<Exact>& exact) {
  return {exact.vocab_size, exact.draft_count, table_in_double(exact.target),
          table_in_double(exact.draft), exact.report};
}

}  // namespace draftproof::reference::law
