// A request decoded by a method's parts with nothing in between: drafts, verifies, commits, in
// turn.
#pragma once

#include <gtest/gtest.h>

#include "reference/decode/method_source.h"
#include "reference/verify/verifiers.h"
#include "tests/reference/draft_cases.h"

namespace draftproof::reference::decode {

struct NaiveRequest {
  NaiveRequest(const MethodParts& request_parts, RequestId request_id, std::uint64_t seed)
      : parts(request_parts), id(request_id), coins(seed), tokens(request_parts.prompt) {
    if (tokens.empty()) tokens = {0};
  }

  Draft draft(law::Memory& shared) {
    DraftTask task;
    task.coin_request = id;
    task.position = static_cast<std::uint32_t>(tokens.size());
    task.iteration = iteration;
    task.tokens = tokens;
    task.draft_count_max = parts.draft_count;
    task.preset = preset("default");
    task.coins = &coins;
    return parts.drafts->draft(task, own, shared);
  }

  Row row_behind(const std::vector<Token>& drafted) const {
    std::vector<Token> seen = tokens;
    seen.insert(seen.end(), drafted.begin(), drafted.end());
    return parts.target->row({.tokens = seen});
  }

  RequestOutcome verify(const Draft& draft) const {
    Batch batch;
    batch.vocab_size = static_cast<std::size_t>(parts.target->vocab_size());
    batch.preset = preset("default");
    batch.draft_kind = draft.kind;
    Request request;
    request.id = id;
    request.position = static_cast<std::uint32_t>(tokens.size());
    request.iteration = iteration;
    request.proposal = draft.proposal;
    for (int node = -1; node < static_cast<int>(draft.proposal.tokens.size()); ++node)
      request.target_rows.push_back(row_behind(path_of(draft.proposal, node)));
    batch.requests = {request};
    return verify::make_verifier(parts.rule)->verify(batch, coins, {}).requests.at(0);
  }

  void commit(const Draft& draft, const RequestOutcome& outcome, law::Memory& shared) {
    std::vector<int> nodes = outcome.accepted_nodes;
    if (nodes.empty())
      for (int node = 0; node < outcome.accepted_count; ++node) nodes.push_back(node);
    for (const EmittedToken& emitted : outcome.emitted) tokens.push_back(emitted.token);
    parts.drafts->commit(draft, nodes, tokens, own, shared);
    ++iteration;
  }

  /// Answers the number of drafted tokens.
  int step(law::Memory& shared) {
    const Draft drafted = draft(shared);
    const RequestOutcome outcome = verify(drafted);
    EXPECT_EQ(outcome.status, Status::kOk);
    EXPECT_EQ(outcome.emitted.size(), static_cast<std::size_t>(outcome.accepted_count) + 1);
    accepted_count += outcome.accepted_count;
    commit(drafted, outcome, shared);
    return static_cast<int>(drafted.proposal.tokens.size());
  }

  const MethodParts& parts;
  RequestId id;
  PhiloxCoins coins;
  std::vector<Token> tokens;
  law::Memory own;
  std::uint32_t iteration = 0;
  int accepted_count = 0;
};

}  // namespace draftproof::reference::decode
