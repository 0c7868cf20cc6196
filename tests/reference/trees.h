// Draft trees for tests of rules: rows of small weights, and where their coins lie.
#pragma once

#include "tests/reference/batches.h"

namespace draftproof::reference {

/// A batch of one request whose tokens have these parents; `target` has one row more than tokens.
inline Batch one_tree(std::vector<Token> tokens, std::vector<int> parents, std::vector<Row> target,
                      std::vector<Row> draft = {}) {
  const bool is_one_hot = draft.empty();
  Batch batch = one_request(std::move(tokens), std::move(target), std::move(draft));
  batch.requests[0].proposal.parents = std::move(parents);
  if (is_one_hot) batch.draft_kind = RowKind::kOneHot;
  return batch;
}

}  // namespace draftproof::reference
