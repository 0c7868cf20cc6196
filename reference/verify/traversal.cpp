// Traversal verification on integer masses (the rule and its order of judging are in traversal.h).
#include "reference/verify/traversal.h"

#include <algorithm>

#include "reference/error.h"
#include "reference/verify/chain.h"
#include "reference/verify/rows.h"

namespace draftproof::reference::verify {
namespace {

/// The nodes of a request that are there, with their rows; index 0 is the base, i + 1 is node i.
struct Tree {
  std::vector<MassRow> target;
  std::vector<MassRow> draft;
  std::vector<std::vector<int>> children;
  Status status = Status::kOk;
  std::size_t status_row = 0;
};

Status node_status(const Batch& batch, const Request& request, int node, MassRow& draft) {
  const Token token = request.proposal.tokens[node];
  if (!is_token(batch, token)) return Status::kDraftTokenRange;
  draft = draft_law(batch, request, static_cast<std::size_t>(node));
  if (draft.status != Status::kOk) return draft.status;
  return draft.mass[token] == 0 ? Status::kDraftMassZero : Status::kOk;
}

Tree read_tree(const Batch& batch, const Request& request) {
  const Proposal& proposal = request.proposal;
  const std::size_t count = proposal.tokens.size();
  Tree tree{{count + 1, MassRow()}, {count + 1, MassRow()}, {}, Status::kOk, 0};
  tree.children.resize(count + 1);
  std::vector<bool> is_there(count + 1, false);
  is_there[0] = true;
  for (std::size_t row = 0; row <= count; ++row) {
    if (row > 0) {
      const int node = static_cast<int>(row) - 1;
      const int parent = proposal.parents.empty() ? node - 1 : proposal.parents[node];
      if (!is_there[parent + 1] || proposal.tokens[node] == kPlaceholder) continue;
      is_there[row] = true;
      tree.children[parent + 1].push_back(node);
      tree.status = node_status(batch, request, node, tree.draft[row]);
      tree.status_row = static_cast<std::size_t>(parent + 1);
      if (tree.status != Status::kOk) return tree;
    }
    tree.target[row] = target_law(batch, request, row);
    tree.status = tree.target[row].status;
    tree.status_row = row;
    if (tree.status != Status::kOk) return tree;
  }
  return tree;
}

/// Where the walk stands: a node, what is left of it, and how many children were taken away.
struct Stop {
  int node = -1;
  Rest rest;
  std::size_t tried = 0;
};

MassRow shortened(const std::vector<Wide>& weights, const Wide& sum) {
  const int shift = std::max(0, sum.bits() - 62);
  MassRow row;
  for (const Wide& weight : weights) {
    row.mass.push_back(weight.word_above(shift));
    row.total += row.mass.back();
  }
  return row;
}

}  // namespace

RequestOutcome traversal(const Batch& batch, const Request& request, const Coins& coins) {
  const auto coin = [&](std::size_t offset, Purpose purpose, int slot) {
    const auto position = request.position + static_cast<std::uint32_t>(offset);
    return coins.coin(
        {request.id, position, purpose, static_cast<std::uint32_t>(slot), request.iteration});
  };
  const Tree tree = read_tree(batch, request);
  if (tree.status != Status::kOk) return stopped({}, tree.status, tree.status_row);

  std::vector<Stop> path = {{-1, {tree.target[0], kWholeRatio}, 0}};
  while (true) {
    Stop& here = path.back();
    const std::vector<int>& children = tree.children[here.node + 1];
    if (here.tried < children.size() && here.rest.rate > 0) {
      const int child = children[here.tried];
      const PrefixRatio rate = carried(here.rest.rate, here.rest.row, tree.draft[child + 1],
                                       request.proposal.tokens[child]);
      path.push_back({child, {tree.target[child + 1], rate}, 0});
      continue;
    }
    const std::size_t depth = path.size() - 1;
    if (depth == 0 || keeps_whole(coin(depth - 1, Purpose::kAccept, here.node), here.rest.rate)) {
      const bool is_bonus = children.empty();
      RequestOutcome outcome;
      outcome.accepted_count = static_cast<int>(depth);
      for (std::size_t i = 1; i <= depth; ++i) {
        outcome.accepted_nodes.push_back(path[i].node);
        outcome.emitted.push_back({request.proposal.tokens[path[i].node], Reason::kAccepted});
      }
      const Purpose purpose = is_bonus ? Purpose::kBonus : Purpose::kRecovered;
      outcome.emitted.push_back({draw(coin(depth, purpose, 0), here.rest.row),
                                 is_bonus ? Reason::kBonus : Reason::kRecovered});
      return outcome;
    }
    const int taken_away = here.node;
    path.pop_back();
    ++path.back().tried;
    path.back().rest = without_child(path.back().rest, tree.draft[taken_away + 1]);
  }
}

Rest without_child(const Rest& rest, const MassRow& draft) {
  const std::vector<Wide> weights = block_residual(rest.rate, rest.row, draft);
  Wide sum;
  for (const Wide& weight : weights) sum += weight;
  const WideMass totals = static_cast<WideMass>(rest.row.total) * draft.total;
  const Wide either = sum + Wide::product(kWholeRatio - rest.rate, totals);
  DRAFTPROOF_CHECK(either > Wide(), "a child that is accepted for sure was taken away");
  Rest left;
  left.row = shortened(weights, sum);
  if (sum == either) return left;  // the rate stays whole
  // The quotient bit by bit: twice what is left over, against what divides.
  left.rate = 0;
  Wide over = sum;
  for (PrefixRatio bit = kWholeRatio >> 1; bit > 0; bit >>= 1) {
    over += over;
    if (over < either) continue;
    over = over - either;
    left.rate |= bit;
  }
  return left;
}

}  // namespace draftproof::reference::verify
