#include "gpu/packed_batch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "gpu/logit_bits.h"
#include "gpu/request_parameters.h"
#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using kernels::DraftLawKind;
using kernels::RequestParameters;
using reference::Batch;
using reference::LogitFormat;
using reference::Request;

/// Elements between rows in the roomy layout; odd, so that rows start at every alignment.
constexpr std::size_t kRoomyGap = 3;

template <class T>
void put(BufferImage& image, std::size_t offset, const T& value) {
  std::memcpy(image.bytes.data() + offset, &value, sizeof(T));
  image.use(offset, offset + sizeof(T));
}

template <class T>
T get(const BufferImage& image, std::size_t offset) {
  T value;
  std::memcpy(&value, image.bytes.data() + offset, sizeof(T));
  return value;
}

void put_row(BufferImage& image, std::size_t offset, LogitFormat format,
             const reference::Row& row) {
  const std::size_t bytes = bytes_of(format);
  std::byte* to = image.bytes.data() + offset;
  if (format == LogitFormat::kFloat32) {
    std::memcpy(to, row.data(), row.size() * bytes);
  } else {
    for (const float value : row) {
      const auto bits = static_cast<std::uint16_t>(bits_of(format, value));
      std::memcpy(to, &bits, sizeof(bits));
      to += sizeof(bits);
    }
  }
  image.use(offset, offset + row.size() * bytes);
}

RequestParameters parameters_of(const Batch& batch, const Request& request,
                                const PackingRule& rule) {
  RequestParameters parameters =
      rule.is_greedy_always ? greedy_parameters(batch.preset)
                            : request_parameters(request.sampling, batch.preset, batch.vocab_size);
  parameters.draft_count = static_cast<std::uint32_t>(request.proposal.tokens.size());
  parameters.coin_request = request.id;
  parameters.coin_position = request.position;
  parameters.coin_iteration = request.iteration;
  return parameters;
}

DraftLawKind draft_kind_of(const Batch& batch, const PackingRule& rule) {
  if (!rule.reads_draft_rows) return DraftLawKind::kOneHot;
  switch (batch.draft_kind) {
    case reference::RowKind::kLogits:
      return DraftLawKind::kLogits;
    case reference::RowKind::kProbabilities:
      return DraftLawKind::kProbabilities;
    case reference::RowKind::kOneHot:
      return DraftLawKind::kOneHot;
  }
  DRAFTPROOF_CHECK(false, "unknown draft kind");
  return DraftLawKind::kOneHot;
}

LogitFormat draft_format(const PackedBatch& packed, const Batch& batch) {
  return packed.draft_kind == DraftLawKind::kProbabilities ? LogitFormat::kFloat32 : batch.format;
}

/// Where things of one request stand, in bytes.
struct Offsets {
  Offsets(const PackedBatch& packed, const Batch& batch)
      : target_slots(packed.padded_draft_count + 1u),
        coin_columns(packed.coin_columns),
        draft_slots(packed.padded_draft_count),
        target_row_bytes(packed.target_row_stride * bytes_of(batch.format)),
        draft_row_bytes(packed.draft_row_stride * bytes_of(draft_format(packed, batch))) {}
  std::size_t target_row(std::size_t request, std::size_t position) const {
    return (request * target_slots + position) * target_row_bytes;
  }
  std::size_t draft_row(std::size_t request, std::size_t position) const {
    return (request * draft_slots + position) * draft_row_bytes;
  }
  std::size_t token(std::size_t request, std::size_t position) const {
    return (request * draft_slots + position) * sizeof(reference::Token);
  }
  std::size_t coin(std::size_t request, std::size_t position, std::size_t column) const {
    return ((request * target_slots + position) * coin_columns + column) * sizeof(std::uint64_t);
  }

  std::size_t target_slots, coin_columns, draft_slots, target_row_bytes, draft_row_bytes;
};

/// Where a drafted token stands in its tree.
struct Node {
  bool is_there = false;
  std::uint32_t depth = 0;    ///< drafted tokens that lead to it, itself not counted
  std::uint32_t sibling = 0;  ///< its number among the children of its parent that are there
};

int parent_of(const reference::Proposal& proposal, std::size_t node) {
  return proposal.parents.empty() ? static_cast<int>(node) - 1 : proposal.parents[node];
}

std::vector<Node> nodes_of(const reference::Proposal& proposal) {
  std::vector<Node> nodes(proposal.tokens.size());
  std::vector<std::uint32_t> children(nodes.size() + 1, 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int parent = parent_of(proposal, i);
    const bool is_reached = parent < 0 || nodes[static_cast<std::size_t>(parent)].is_there;
    if (!is_reached || proposal.tokens[i] == reference::kPlaceholder) continue;
    nodes[i] = {true, parent < 0 ? 0 : nodes[static_cast<std::size_t>(parent)].depth + 1,
                children[static_cast<std::size_t>(parent + 1)]++};
  }
  return nodes;
}

/// Writes the coins of one request: of each node its accept coin, of each target row the others.
void pack_request_coins(PackedBatch& packed, const PackingRule& rule, const Offsets& offsets,
                        const reference::Coins& coins, std::size_t index, const Request& request) {
  using reference::Purpose;
  constexpr Purpose kPurposes[] = {Purpose::kAccept, Purpose::kRecovered, Purpose::kBonus,
                                   Purpose::kTreeLevel, Purpose::kTreeSecond};
  const std::vector<Node> nodes = nodes_of(request.proposal);
  const auto put_coin = [&](std::size_t slot, std::uint32_t column, std::uint32_t depth,
                            std::uint32_t sibling) {
    if ((rule.coins >> column & 1) == 0) return;
    reference::CoinAddress address;
    address.request = request.id;
    address.position = request.position + depth;
    address.purpose = kPurposes[column];
    address.slot = sibling;
    address.iteration = rule.is_keyed_by_iteration ? request.iteration : 0;
    put(packed.coins, offsets.coin(index, slot, column), coins.coin(address));
  };
  for (std::size_t row = 0; row <= nodes.size(); ++row) {
    if (row < nodes.size() && nodes[row].is_there)
      put_coin(row, kernels::kAcceptColumn, nodes[row].depth, nodes[row].sibling);
    if (row > 0 && !nodes[row - 1].is_there) continue;
    const std::uint32_t depth = row == 0 ? 0 : nodes[row - 1].depth + 1;
    for (std::uint32_t column = kernels::kRecoveredColumn; column < packed.coin_columns; ++column)
      put_coin(row, column, depth, 0);
  }
}

void pack_coins(PackedBatch& packed, const Batch& batch, const PackingRule& rule,
                const Offsets& offsets, const reference::Coins& coins) {
  if (rule.coins == 0) return;
  if (const auto* philox = dynamic_cast<const reference::PhiloxCoins*>(&coins)) {
    packed.seed = philox->seed();
    return;
  }
  packed.coins.bytes.resize(offsets.coin(batch.requests.size(), 0, 0));
  for (std::size_t r = 0; r < batch.requests.size(); ++r)
    pack_request_coins(packed, rule, offsets, coins, r, batch.requests[r]);
}

/// The parents of every request, where one of them drafts no chain.
void pack_parents(PackedBatch& packed, const Batch& batch, const Offsets& offsets) {
  const auto is_chain = [](const Request& request) {
    for (std::size_t i = 0; i < request.proposal.parents.size(); ++i)
      if (request.proposal.parents[i] != static_cast<int>(i) - 1) return false;
    return true;
  };
  if (std::all_of(batch.requests.begin(), batch.requests.end(), is_chain)) return;
  packed.parents.bytes.resize(offsets.token(batch.requests.size(), 0));
  for (std::size_t r = 0; r < batch.requests.size(); ++r)
    for (std::size_t i = 0; i < batch.requests[r].proposal.tokens.size(); ++i)
      put(packed.parents, offsets.token(r, i),
          static_cast<std::int32_t>(parent_of(batch.requests[r].proposal, i)));
}

}  // namespace

void BufferImage::use(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (!used.empty() && used.back().end == begin)
    used.back().end = end;
  else
    used.push_back({begin, end});
}

PackedBatch pack(const Batch& batch, const reference::Coins& coins,
                 const reference::Execution& execution, const PackingRule& rule) {
  DRAFTPROOF_CHECK(batch.target_kind == reference::RowKind::kLogits, "kernels take logits");
  std::size_t longest = 0;
  for (const Request& request : batch.requests)
    longest = std::max(longest, request.proposal.tokens.size());
  const bool is_roomy = execution.padded_draft_count != 0;
  DRAFTPROOF_CHECK(!is_roomy || std::cmp_less_equal(longest, execution.padded_draft_count),
                   "padded_draft_count is less than the longest draft");

  PackedBatch packed;
  packed.padded_draft_count = is_roomy ? static_cast<std::uint32_t>(execution.padded_draft_count)
                                       : static_cast<std::uint32_t>(longest);
  packed.vocab_size = static_cast<std::uint32_t>(batch.vocab_size);
  packed.target_row_stride = batch.vocab_size + (is_roomy ? kRoomyGap : 0);
  packed.draft_row_stride = packed.target_row_stride;
  packed.draft_kind = draft_kind_of(batch, rule);
  packed.coin_columns = rule.coin_columns;

  const Offsets offsets(packed, batch);
  const std::size_t count = batch.requests.size();
  const bool has_rows = packed.draft_kind != DraftLawKind::kOneHot;
  packed.target_rows.bytes.resize(offsets.target_row(count, 0));
  if (has_rows) packed.draft_rows.bytes.resize(offsets.draft_row(count, 0));
  packed.draft_tokens.bytes.resize(offsets.token(count, 0));
  packed.parameters.bytes.resize(count * sizeof(RequestParameters));
  for (std::size_t r = 0; r < count; ++r) {
    const Request& request = batch.requests[r];
    for (std::size_t i = 0; i < request.target_rows.size(); ++i)
      put_row(packed.target_rows, offsets.target_row(r, i), batch.format, request.target_rows[i]);
    for (std::size_t i = 0; has_rows && i < request.proposal.rows.size(); ++i)
      put_row(packed.draft_rows, offsets.draft_row(r, i), draft_format(packed, batch),
              request.proposal.rows[i]);
    for (std::size_t i = 0; i < request.proposal.tokens.size(); ++i)
      put(packed.draft_tokens, offsets.token(r, i), request.proposal.tokens[i]);
    put(packed.parameters, r * sizeof(RequestParameters), parameters_of(batch, request, rule));
  }
  if (rule.takes_trees) pack_parents(packed, batch, offsets);
  pack_coins(packed, batch, rule, offsets, coins);
  return packed;
}

namespace {

/// Replaces the elements of `row` whose bits differ between the two images.
void unpack_row(const BufferImage& before, const BufferImage& after, std::size_t offset,
                LogitFormat format, reference::Row& row) {
  const std::size_t bytes = bytes_of(format);
  for (std::size_t i = 0; i < row.size(); ++i, offset += bytes) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, after.bytes.data() + offset, bytes);
    if (std::memcmp(before.bytes.data() + offset, &bits, bytes) != 0)
      row[i] = value_of(format, bits);
  }
}

/// Replaces the parents of request `index` that differ between the two images.
void unpack_parents(const PackedBatch& before, const PackedBatch& after, const Offsets& offsets,
                    std::size_t index, reference::Proposal& proposal) {
  if (before.parents.bytes.empty()) return;
  for (std::size_t i = 0; i < proposal.tokens.size(); ++i) {
    const auto parent = get<std::int32_t>(after.parents, offsets.token(index, i));
    if (parent == get<std::int32_t>(before.parents, offsets.token(index, i))) continue;
    // Said in full for the first time: a chain says nothing.
    for (std::size_t node = proposal.parents.size(); node < proposal.tokens.size(); ++node)
      proposal.parents.push_back(static_cast<int>(node) - 1);
    proposal.parents[i] = parent;
  }
}

/// Whether the coins of request `index` are the same bits in both.
bool same_coins(const PackedBatch& before, const PackedBatch& after, const Offsets& offsets,
                std::size_t index) {
  if (before.coins.bytes.empty()) return true;
  const std::size_t begin = offsets.coin(index, 0, 0), end = offsets.coin(index + 1, 0, 0);
  return std::memcmp(before.coins.bytes.data() + begin, after.coins.bytes.data() + begin,
                     end - begin) == 0;
}

}  // namespace

void unpack_changes(const PackedBatch& before, const PackedBatch& after, Batch& batch) {
  const Offsets offsets(before, batch);
  const bool has_rows = before.draft_kind != DraftLawKind::kOneHot;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    Request& request = batch.requests[r];
    for (std::size_t i = 0; i < request.target_rows.size(); ++i)
      unpack_row(before.target_rows, after.target_rows, offsets.target_row(r, i), batch.format,
                 request.target_rows[i]);
    for (std::size_t i = 0; has_rows && i < request.proposal.rows.size(); ++i)
      unpack_row(before.draft_rows, after.draft_rows, offsets.draft_row(r, i),
                 draft_format(before, batch), request.proposal.rows[i]);
    for (std::size_t i = 0; i < request.proposal.tokens.size(); ++i)
      request.proposal.tokens[i] = get<reference::Token>(after.draft_tokens, offsets.token(r, i));
    unpack_parents(before, after, offsets, r, request.proposal);
    const auto held = get<RequestParameters>(before.parameters, r * sizeof(RequestParameters));
    auto parameters = get<RequestParameters>(after.parameters, r * sizeof(RequestParameters));
    request.id = std::exchange(parameters.coin_request, held.coin_request);
    request.position = std::exchange(parameters.coin_position, held.coin_position);
    request.iteration = std::exchange(parameters.coin_iteration, held.coin_iteration);
    if (std::memcmp(&parameters, &held, sizeof(held)) != 0 ||
        !same_coins(before, after, offsets, r))
      request.sampling.temperature = std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace draftproof::gpu
