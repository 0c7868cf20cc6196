// Random draft trees for holding two verifiers against each other: the batches of random_batch.h
// with parents of every shape, siblings that are equal, and tokens that lead somewhere.
#pragma once

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/differential/random_batch.h"

namespace draftproof::tests {

/// Turns the chains of a random case into trees.
class Grafter {
 public:
  explicit Grafter(std::uint64_t seed) : random_(seed) {}

  void graft(reference::Batch& batch) {
    for (reference::Request& request : batch.requests) {
      reference::Proposal& proposal = request.proposal;
      const auto shape = below(7);
      for (std::size_t i = 0; i < proposal.tokens.size(); ++i)
        proposal.parents.push_back(parent(static_cast<int>(i), shape));
      if (shape == 6) proposal.parents.clear();
      // Siblings in several dozens want rows that every one of them could come from.
      is_flat_ = below(4) == 0;
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

  /// Makes node `i` one that a walk may well come to.
  void lead(const reference::Batch& batch, reference::Request& request, std::size_t i) {
    reference::Proposal& proposal = request.proposal;
    const int parent = proposal.parents.empty() ? static_cast<int>(i) - 1 : proposal.parents[i];
    const reference::Row& target = request.target_rows[static_cast<std::size_t>(parent + 1)];
    const bool has_logits = batch.draft_kind == reference::RowKind::kLogits;
    if (has_logits && is_flat_) std::fill(proposal.rows[i].begin(), proposal.rows[i].end(), 1.0f);
    if (has_logits && !is_flat_ && below(2) == 0) {
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
  bool is_flat_ = false;
};

}  // namespace draftproof::tests
