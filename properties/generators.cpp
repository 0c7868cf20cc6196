// Batches of nasty requests. The case is drawn through RapidCheck (rapidcheck.h): its generators
// choose what a case is made of, seeded from the property's own seed and never from a clock.
#include "properties/generators.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "oracle/threshold.h"
#include "properties/coin_iteration.h"
#include "properties/draft_trees.h"
#include "properties/laws.h"
#include "reference/shaping.h"

namespace draftproof::properties {
namespace {

using reference::Batch;
using reference::LogitFormat;
using reference::MassRow;
using reference::Purpose;
using reference::Request;
using reference::Row;
using reference::RowKind;
using reference::Status;
using reference::Token;

constexpr std::uint64_t kCoinMax = ~std::uint64_t{0};
/// Above this vocabulary size tokens are chosen without shaping a row, which would sort it.
constexpr std::size_t kShapedUpTo = 4096;

/// Everything about a case but its rows.
struct Outline {
  std::size_t vocab_size;
  RowKind draft_kind;
  LogitFormat format;
  std::string preset;
  bool is_scripted;
  std::uint64_t fill_seed;
};

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const reference::Preset& preset : reference::presets()) names.push_back(preset.name);
  return names;
}

/// Sizes around powers of two and odd ones: edges of warps, tiles and vector loads.
rc::Gen<std::size_t> vocab_sizes(std::size_t largest) {
  std::vector<std::size_t> edges = {1, 2, 3, 5, 7};
  for (std::size_t power = 8; power <= largest; power *= 2)
    for (std::size_t size : {power - 1, power, power + 1}) edges.push_back(size);
  std::erase_if(edges, [&](std::size_t size) { return size > largest; });
  return rc::gen::weightedOneOf<std::size_t>(
      {{3, rc::gen::elementOf(edges)},
       {1, rc::gen::inRange<std::size_t>(1, largest + 1)},
       {2, rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(largest, 8) + 1)}});
}

rc::Gen<Outline> outlines(const CaseShape& shape) {
  const auto vocab =
      shape.vocab_size > 0 ? rc::gen::just(shape.vocab_size) : vocab_sizes(shape.vocab_size_max);
  return rc::gen::construct<Outline>(
      vocab, rc::gen::elementOf(shape.draft_kinds), rc::gen::elementOf(shape.formats),
      rc::gen::elementOf(shape.presets.empty() ? preset_names() : shape.presets),
      rc::gen::arbitrary<bool>(), rc::gen::arbitrary<std::uint64_t>());
}

/// The drafted token of one position: usually one that its law can draw.
Token drafted(const Batch& batch, const Request& request, std::size_t position, Random& random) {
  const Row* row = batch.draft_kind == RowKind::kOneHot
                       ? &request.target_rows[row_before(request.proposal, position)]
                       : &request.proposal.rows[position];
  const bool is_random_token = random.once_in(batch.draft_kind == RowKind::kOneHot ? 3 : 40);
  if (is_random_token) return static_cast<Token>(random.below(batch.vocab_size));
  if (batch.vocab_size > kShapedUpTo) {
    std::size_t best = random.below(row->size());
    for (int i = 0; i < 8; ++i) {
      const std::size_t other = random.below(row->size());
      if ((*row)[other] > (*row)[best]) best = other;
    }
    if (random.once_in(2))
      best = static_cast<std::size_t>(std::max_element(row->begin(), row->end()) - row->begin());
    return static_cast<Token>(best);
  }
  const MassRow law = batch.draft_kind == RowKind::kProbabilities
                          ? reference::from_probabilities(*row)
                          : reference::shape(*row, request.sampling, batch.preset);
  if (law.status != Status::kOk) return static_cast<Token>(random.below(batch.vocab_size));
  return token_with_mass(random, law);
}

/// Makes one thing of a request impossible to judge.
void spoil(const Batch& batch, Request& request, Random& random) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<Row>& rows = !request.proposal.rows.empty() && random.once_in(2)
                               ? request.proposal.rows
                               : request.target_rows;
  const bool is_probability =
      &rows == &request.proposal.rows && batch.draft_kind == RowKind::kProbabilities;
  Row& row = rows[random.below(rows.size())];
  float& value = row[random.below(row.size())];
  switch (random.below(6)) {
    case 0:
      value = nan;
      break;
    case 1:
      value = is_probability ? 1.5f : infinity;
      break;
    case 2:
      std::fill(row.begin(), row.end(), is_probability ? 0.0f : -infinity);
      break;
    case 3:
      value = is_probability ? -0.25f : 32768.0f;
      break;
    default:
      if (!request.proposal.tokens.empty())
        request.proposal.tokens[random.below(request.proposal.tokens.size())] = random.pick<Token>(
            {-2, static_cast<Token>(batch.vocab_size), std::numeric_limits<Token>::max(),
             std::numeric_limits<Token>::min()});
  }
}

/// Sets top-p or min-p so that the mass that it asks for is, to a unit, one that a row has: the
/// only place where a filter that computes its masses a little differently keeps another set.
void filter_at_edge(const Batch& batch, Request& request, Random& random) {
  if (batch.target_kind != RowKind::kLogits) return;
  const bool is_draft =
      batch.draft_kind == RowKind::kLogits && random.once_in(3) && !request.proposal.rows.empty();
  const std::vector<Row>& rows = is_draft ? request.proposal.rows : request.target_rows;
  reference::Sampling before = request.sampling;
  before.top_p = 1;
  before.min_p = 0;
  // Filters that come before the temperature read the masses at temperature 1, and so on.
  if (random.once_in(3)) before.top_k = 0;
  if (random.once_in(3)) before.temperature = 1;
  MassRow law = reference::shape(rows[random.below(rows.size())], before, batch.preset);
  if (law.status != Status::kOk) return;
  std::erase(law.mass, reference::Mass{0});
  std::sort(law.mass.rbegin(), law.mass.rend());
  const std::size_t last = random.below(std::min<std::size_t>(law.mass.size(), 64));
  const bool is_top_p = random.once_in(2);
  const reference::Mass asked =
      is_top_p ? std::accumulate(law.mass.begin(),
                                 law.mass.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                 reference::Mass{0})
               : law.mass[last];
  double factor =
      static_cast<double>(asked) / static_cast<double>(is_top_p ? law.total : law.mass[0]);
  if (random.once_in(2)) factor = std::nextafter(factor, random.once_in(2) ? 0.0 : 1.0);
  (is_top_p ? request.sampling.top_p : request.sampling.min_p) = factor;
}

bool is_greedy(const std::string& rule) { return rule == "greedy" || rule == "tree-greedy"; }

/// The row of the next drafted token: near the target's where it stands, for a sibling often the
/// row of the one before it.
void add_draft_row(const Batch& batch, Request& request, Random& random) {
  std::vector<Row>& rows = request.proposal.rows;
  if (batch.draft_kind == RowKind::kOneHot) return;
  const std::vector<int>& parents = request.proposal.parents;
  const std::size_t node = rows.size();
  for (std::size_t other = node; !parents.empty() && other-- > 0;)
    if (parents[other] == parents[node] && !random.once_in(3)) {
      rows.push_back(Row(rows[other]));
      return;
    }
  if (batch.draft_kind == RowKind::kLogits)
    rows.push_back(related_logits(random, request.target_rows[row_before(request.proposal, node)],
                                  batch.format));
  else
    rows.push_back(nasty_probabilities(random, batch.vocab_size));
}

/// Draws siblings again that carry the token of an earlier one: most trees have few such.
void settle_siblings(const Batch& batch, Request& request, Random& random) {
  reference::Proposal& proposal = request.proposal;
  const auto is_taken = [&](std::size_t node) {
    for (std::size_t other = 0; other < node; ++other)
      if (proposal.parents[other] == proposal.parents[node] &&
          proposal.tokens[other] == proposal.tokens[node])
        return true;
    return false;
  };
  for (std::size_t node = 1; node < proposal.tokens.size(); ++node)
    for (int tries = random.between(0, 6); tries > 0 && is_taken(node); --tries)
      proposal.tokens[node] = drafted(batch, request, node, random);
}

Request nasty_request(const CaseShape& shape, const Batch& batch, std::uint32_t id,
                      Random& random) {
  Request request;
  request.id = id;
  request.position = random.once_in(8) ? 0xfffffe00u : static_cast<std::uint32_t>(random.below(9));
  if (shape.with_filters) request.sampling = nasty_sampling(random, batch.vocab_size);
  if (is_greedy(shape.rule)) request.sampling = {};
  if (is_greedy(shape.rule)) request.sampling.temperature = 0;
  // Any iteration, where it counts.
  if (shape.rule == "block") request.iteration = static_cast<std::uint32_t>(random.bits() >> 40);
  const int count = random.between(0, shape.draft_count_max);
  for (int i = 0; i <= count; ++i) {
    const bool is_tied = shape.is_at_edges && !random.once_in(3);
    request.target_rows.push_back(
        (is_tied ? tied_logits : nasty_logits)(random, batch.vocab_size, batch.format));
  }
  if (shape.with_trees) request.proposal.parents = nasty_parents(random, count);
  for (int i = 0; i < count; ++i) add_draft_row(batch, request, random);
  if (shape.with_filters && shape.with_edge_coins && !is_greedy(shape.rule) &&
      (shape.is_at_edges || random.once_in(3))) {
    if (random.once_in(3))
      request.sampling.top_k = static_cast<std::int64_t>(1 + random.below(batch.vocab_size));
    if (!random.once_in(3) && (shape.is_at_edges || batch.vocab_size <= kShapedUpTo))
      filter_at_edge(batch, request, random);
  }
  for (int i = 0; i < count; ++i)
    request.proposal.tokens.push_back(drafted(batch, request, i, random));
  if (shape.with_trees && count > 0) settle_siblings(batch, request, random);
  if (shape.with_placeholders && shape.with_trees && count > 0 && random.once_in(8)) {
    request.proposal.tokens[random.below(static_cast<std::uint64_t>(count))] =
        reference::kPlaceholder;
  } else if (shape.with_placeholders && count > 0 && random.once_in(8)) {
    // One placeholder ends the draft, whatever stands behind it.
    const int end = random.between(0, count - 1);
    const int last = random.once_in(2) ? end : count - 1;
    for (int i = end; i <= last; ++i) request.proposal.tokens[i] = reference::kPlaceholder;
  }
  if (shape.with_unjudgeable && random.once_in(6)) spoil(batch, request, random);
  return request;
}

/// The coin just below or at an edge of the decision that it makes.
std::uint64_t edge_coin(const std::vector<oracle::Threshold>& edges, Random& random) {
  const oracle::Threshold edge = edges[random.below(edges.size())];
  if (edge >= oracle::kAlways) return kCoinMax;
  const auto coin = static_cast<std::uint64_t>(edge);
  return coin > 0 && random.once_in(2) ? coin - 1 : coin;
}

}  // namespace

CaseShape shape_for(const reference::VerifierTraits& traits, std::string property) {
  CaseShape shape;
  shape.property = std::move(property);
  shape.rule = traits.rule;
  shape.draft_kinds = traits.draft_kinds;
  shape.formats = traits.formats;
  shape.with_edge_coins = traits.declares_masses;
  shape.vocab_size_max = std::min(shape.vocab_size_max, traits.vocab_size_max);
  return shape;
}

reference::Sampling nasty_sampling(Random& random, std::size_t vocab_size) {
  const auto size = static_cast<std::int64_t>(vocab_size);
  reference::Sampling sampling;
  if (random.once_in(3)) return sampling;
  sampling.temperature = random.pick<double>({1, 1, 0.7, 0.3, 2, 0.01, 1000, 0, 1e-3, 4e-6});
  sampling.top_k = random.pick<std::int64_t>({0, 0, 0, 1, 2, 3, size / 2, size, size + 1, -1, 40});
  sampling.top_p = random.pick<double>({1, 1, 1, 0.9, 0.5, 0.1, 0.999999, 1e-9, 0});
  sampling.min_p = random.pick<double>({0, 0, 0, 0.05, 0.5, 1, 1e-6});
  return sampling;
}

std::uint64_t nasty_coin(Random& random) {
  if (random.once_in(2)) return random.bits();
  return random.pick<std::uint64_t>({0, 1, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1,
                                     kCoinMax - 1, kCoinMax, std::uint64_t{1} << 40});
}

Token token_with_mass(Random& random, const MassRow& row) {
  if (random.once_in(2)) {
    reference::Mass point = random.below(row.total);
    for (std::size_t v = 0; v < row.mass.size(); ++v) {
      if (point < row.mass[v]) return static_cast<Token>(v);
      point -= row.mass[v];
    }
  }
  const std::size_t start = random.below(row.mass.size());
  for (std::size_t i = 0; i < row.mass.size(); ++i) {
    const std::size_t v = (start + i) % row.mass.size();
    if (row.mass[v] > 0) return static_cast<Token>(v);
  }
  return 0;
}

void script_coins(Case& value, Random& random, bool with_edges) {
  value.seed.reset();
  for (const Request& request : value.batch.requests) {
    const std::uint32_t iteration = coin_iteration(value, request);
    for (std::size_t i = 0; i <= request.proposal.tokens.size(); ++i) {
      const std::uint32_t position = request.position + static_cast<std::uint32_t>(i);
      for (Purpose purpose : {Purpose::kAccept, Purpose::kRecovered, Purpose::kBonus})
        value.coins[{request.id, position, purpose, 0, iteration}] = nasty_coin(random);
      if (!with_edges || random.once_in(3)) continue;
      const MassRow target = target_law(value.batch, request, i);
      if (target.status != Status::kOk) continue;
      value.coins[{request.id, position, Purpose::kBonus, 0, iteration}] =
          edge_coin(oracle::cumulative_thresholds(target), random);
      if (i == request.proposal.tokens.size()) continue;
      const Token token = request.proposal.tokens[i];
      if (!is_token(value.batch, token)) continue;
      const MassRow draft = draft_law(value.batch, request, i);
      if (draft.status != Status::kOk || draft.mass[token] == 0) continue;
      value.coins[{request.id, position, Purpose::kAccept, 0, iteration}] =
          edge_coin({oracle::accept_threshold(target, draft, token)}, random);
      const auto residual = oracle::residual_thresholds(target, draft);
      if (!residual.empty())
        value.coins[{request.id, position, Purpose::kRecovered, 0, iteration}] =
            edge_coin(residual, random);
    }
  }
}

Case nasty_case(const CaseShape& shape, std::uint64_t seed) {
  const Outline outline = outlines(shape)(rc::Random(seed), 100).value();
  Random random(outline.fill_seed);
  Case result;
  result.property = shape.property;
  result.rule = shape.rule;
  result.batch.vocab_size = outline.vocab_size;
  result.batch.draft_kind = outline.draft_kind;
  result.batch.format = outline.format;
  result.batch.preset = reference::preset(outline.preset);
  const auto first_id = random.once_in(8)
                            ? 0xffffff00u - static_cast<std::uint32_t>(random.below(9))
                            : static_cast<std::uint32_t>(random.below(1000));
  for (int i = 0; i < shape.request_count; ++i) {
    const std::uint32_t id = first_id + static_cast<std::uint32_t>(i);
    // The same rows and tokens under another id: what is cached by content or address must not mix.
    if (i > 0 && random.once_in(8)) {
      result.batch.requests.push_back(random.pick(result.batch.requests));
      result.batch.requests.back().id = id;
    } else {
      result.batch.requests.push_back(nasty_request(shape, result.batch, id, random));
    }
  }
  const bool with_edges =
      shape.with_edge_coins && (shape.is_at_edges || result.batch.vocab_size <= kShapedUpTo);
  if (outline.is_scripted || shape.is_at_edges)
    (shape.with_trees ? script_tree_coins : script_coins)(result, random, with_edges);
  else
    result.seed = random.bits();
  return result;
}

}  // namespace draftproof::properties
