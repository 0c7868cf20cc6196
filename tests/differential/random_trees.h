// Random draft trees for holding two verifiers against each other: the batches of random_batch.h
// with parents of every shape, siblings that are equal, and tokens that lead somewhere.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/differential/random_batch.h"

namespace draftproof::tests {

/// Turns the chains of a random case into trees.
class Grafter {
 public:
  explicit Grafter(std::uint64_t seed) : random_(seed) {}

  void graft(RandomCase& input) {
    // Constant coins keep or reject all siblings alike.
    if (below(4) != 0) input.coins = std::make_unique<reference::PhiloxCoins>(random_());
    reference::Batch& batch = input.batch;
    for (reference::Request& request : batch.requests) {
      reference::Proposal& proposal = request.proposal;
      const bool is_sampled = below(2) == 0;
      const auto shape = is_sampled && below(2) == 0 ? 4 : below(7);
      for (std::size_t i = 0; i < proposal.tokens.size(); ++i)
        proposal.parents.push_back(parent(static_cast<int>(i), shape));
      if (shape == 6) proposal.parents.clear();
      if (is_sampled) {
        draw_siblings(batch, request);
        continue;
      }
      for (std::size_t i = 0; i < proposal.tokens.size(); ++i) lead(batch, request, i);
    }
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  int parent(int node, std::size_t shape) {
    const int any = static_cast<int>(below(static_cast<std::size_t>(node) + 1)) - 1;
    if (below(20) == 0) return any;
    switch (shape) {
      case 0:  // a star
        return -1;
      case 1:  // a binary tree
        return (node + 1) / 2 - 1;
      case 2:  // deep
        return std::max(node - 1 - static_cast<int>(below(3)), -1);
      case 3:  // wide
        return std::min(any, static_cast<int>(below(4)) - 1);
      case 4:  // four a node
        return (node + 3) / 4 - 1;
      default:
        return any;
    }
  }

  float level() { return static_cast<float>(below(400)) / 100 - 2; }

  /// What a drafter samples: siblings share a law that all of them could come from, and few carry
  /// the same token; every row can be judged, so that several of them are tested.
  void draw_siblings(const reference::Batch& batch, reference::Request& request) {
    request.sampling = {};
    if (below(4) == 0) request.sampling.temperature = 0.5;
    for (reference::Row& row : request.target_rows)
      for (float& logit : row) logit = reference::rounded_to(batch.format, level());
    reference::Proposal& proposal = request.proposal;
    for (std::size_t i = 0; i < proposal.tokens.size(); ++i) {
      const int parent = proposal.parents.empty() ? static_cast<int>(i) - 1 : proposal.parents[i];
      int last = -1;
      std::vector<int> siblings;
      for (std::size_t j = 0; j < i && !proposal.parents.empty(); ++j)
        if (proposal.parents[j] == parent) siblings.push_back(last = static_cast<int>(j));
      auto any = static_cast<reference::Token>(below(batch.vocab_size));
      // Of two, the one that the target likes less: most are rejected.
      const reference::Row& target = request.target_rows[static_cast<std::size_t>(parent + 1)];
      const auto other = static_cast<reference::Token>(below(batch.vocab_size));
      if (target[other] < target[any] && below(4) != 0) any = other;
      const bool is_taken = last >= 0 && std::any_of(siblings.begin(), siblings.end(), [&](int j) {
                              return proposal.tokens[static_cast<std::size_t>(j)] == any;
                            });
      if (is_taken && below(16) != 0)
        any = static_cast<reference::Token>((proposal.tokens[last] + 1u) % batch.vocab_size);
      proposal.tokens[i] = any;
      if (proposal.rows.empty()) continue;
      if (last >= 0 && below(8) != 0)
        proposal.rows[i] = proposal.rows[last];
      else
        fill(batch, proposal.rows[i]);
    }
  }

  void fill(const reference::Batch& batch, reference::Row& row) {
    const bool is_logits = batch.draft_kind == reference::RowKind::kLogits;
    for (float& value : row)
      value = is_logits ? reference::rounded_to(batch.format, level())
                        : (1 + static_cast<float>(below(8))) / (8 * static_cast<float>(row.size()));
  }

  /// Makes node `i` one that a walk may well come to.
  void lead(const reference::Batch& batch, reference::Request& request, std::size_t i) {
    reference::Proposal& proposal = request.proposal;
    const int parent = proposal.parents.empty() ? static_cast<int>(i) - 1 : proposal.parents[i];
    const reference::Row& target = request.target_rows[static_cast<std::size_t>(parent + 1)];
    const bool has_logits = batch.draft_kind == reference::RowKind::kLogits;
    if (has_logits && below(2) == 0) {
      proposal.rows[i] = target;
      for (float& logit : proposal.rows[i])
        if (below(3) == 0)
          logit = reference::rounded_to(batch.format, logit + static_cast<float>(below(100)) / 50);
    }
    if (proposal.tokens[i] < 0) return;
    // A token of the target's best ones, or that of another sibling.
    if (below(3) == 0) {
      const auto best = std::max_element(target.begin(), target.end());
      proposal.tokens[i] = static_cast<reference::Token>(best - target.begin());
    } else if (i > 0 && below(8) == 0) {
      proposal.tokens[i] = proposal.tokens[below(i)];
    }
  }

  std::mt19937_64 random_;
};

}  // namespace draftproof::tests
