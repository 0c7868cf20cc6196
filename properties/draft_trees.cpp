#include "properties/draft_trees.h"

#include <algorithm>

#include "oracle/threshold.h"
#include "properties/generators.h"
#include "properties/laws.h"

namespace draftproof::properties {
namespace {

using reference::MassRow;
using reference::Purpose;
using reference::Request;
using reference::Status;
using reference::Token;

/// Where a walk may come to: a target row, how deep it is, and the children that are there.
struct Place {
  std::size_t row = 0;
  std::uint32_t depth = 0;
  std::vector<std::size_t> children;
};

/// Every place of a tree, the base first.
std::vector<Place> places_of(const reference::Proposal& proposal) {
  std::vector<Place> places(proposal.tokens.size() + 1);
  std::vector<bool> is_there(places.size());
  is_there[0] = true;
  for (std::size_t i = 0; i < proposal.tokens.size(); ++i) {
    const std::size_t before = row_before(proposal, i);
    places[i + 1].row = i + 1;
    places[i + 1].depth = places[before].depth + 1;
    is_there[i + 1] = is_there[before] && proposal.tokens[i] != reference::kPlaceholder;
    if (is_there[i + 1]) places[before].children.push_back(i);
  }
  std::vector<Place> there;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (is_there[i]) there.push_back(std::move(places[i]));
  return there;
}

/// The coin just below or at an edge.
std::uint64_t coin_at(oracle::Threshold edge, Random& random) {
  if (edge >= oracle::kAlways) return ~std::uint64_t{0};
  const auto coin = static_cast<std::uint64_t>(edge);
  return coin > 0 && random.once_in(2) ? coin - 1 : coin;
}

/// The masses of the children in order, a token once only; what is left of the row behind them.
MassRow in_order_of(const std::vector<Token>& children, MassRow row) {
  MassRow result;
  result.total = row.total;
  for (const Token token : children) {
    result.mass.push_back(row.mass[token]);
    row.total -= row.mass[token];
    row.mass[token] = 0;
  }
  result.mass.push_back(row.total);
  return result;
}

MassRow without(const std::vector<Token>& tokens, MassRow row) {
  for (const Token token : tokens) {
    row.total -= row.mass[token];
    row.mass[token] = 0;
  }
  return row;
}

/// Moves some coins of one place next to an edge of what is decided there.
void move_to_edges(Case& value, const Request& request, const Place& place, Random& random) {
  const MassRow target = target_law(value.batch, request, place.row);
  if (target.status != Status::kOk) return;
  const auto coin = [&](Purpose purpose) -> std::uint64_t& {
    return value.coins[{request.id, request.position + place.depth, purpose, 0, 0}];
  };
  const auto draw = [&](Purpose purpose, const MassRow& row) {
    if (row.total == 0) return;
    const auto edges = oracle::cumulative_thresholds(row);
    coin(purpose) = coin_at(edges[random.below(edges.size())], random);
  };
  draw(Purpose::kBonus, target);
  std::vector<Token> tokens;
  for (const std::size_t child : place.children) tokens.push_back(request.proposal.tokens[child]);
  const bool are_ids = std::all_of(tokens.begin(), tokens.end(),
                                   [&](Token token) { return is_token(value.batch, token); });
  if (tokens.empty() || !are_ids) return;
  draw(Purpose::kTreeLevel, in_order_of(tokens, target));
  draw(Purpose::kTreeSecond, without(tokens, target));
  const MassRow draft = draft_law(value.batch, request, place.children[0]);
  if (draft.status != Status::kOk || draft.mass[tokens[0]] == 0) return;
  coin(Purpose::kAccept) =
      coin_at(oracle::accept_threshold(target, draft, static_cast<std::size_t>(tokens[0])), random);
  const auto residual = oracle::residual_thresholds(target, draft);
  if (!residual.empty())
    coin(Purpose::kRecovered) = coin_at(residual[random.below(residual.size())], random);
}

}  // namespace

std::vector<int> nasty_parents(Random& random, int count) {
  std::vector<int> parents;
  const int shape = random.between(0, 6);
  for (int node = 0; node < count; ++node) {
    const int any = random.between(-1, node - 1);
    int parent = any;
    if (shape == 0) parent = node - 1;
    if (shape == 1) parent = -1;
    if (shape == 2) parent = (node + 1) / 2 - 1;
    if (shape == 3) parent = std::max(node - 1 - random.between(0, 2), -1);
    if (shape == 4) parent = std::min(any, random.between(-1, 2));
    parents.push_back(random.once_in(20) ? any : parent);
  }
  return parents;
}

std::size_t row_before(const reference::Proposal& proposal, std::size_t node) {
  return proposal.parents.empty() ? node : static_cast<std::size_t>(proposal.parents[node] + 1);
}

void script_tree_coins(Case& value, Random& random, bool with_edges) {
  value.seed.reset();
  for (const Request& request : value.batch.requests) {
    const std::vector<Place> places = places_of(request.proposal);
    for (const Place& place : places) {
      const std::uint32_t position = request.position + place.depth;
      for (const Purpose purpose :
           {Purpose::kRecovered, Purpose::kBonus, Purpose::kTreeLevel, Purpose::kTreeSecond})
        value.coins[{request.id, position, purpose, 0, 0}] = nasty_coin(random);
      for (std::uint32_t slot = 0; slot < place.children.size(); ++slot)
        value.coins[{request.id, position, Purpose::kAccept, slot, 0}] = nasty_coin(random);
    }
    // Places of one depth have their coins in common; the last one to be moved has its edges.
    for (const Place& place : places)
      if (with_edges && !random.once_in(3)) move_to_edges(value, request, place, random);
  }
}

}  // namespace draftproof::properties
