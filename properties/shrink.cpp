// Candidates for a simpler case, boldest first, and the search through them.
#include "properties/shrink.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/coin_iteration.h"
#include "properties/laws.h"
#include "reference/error.h"

namespace draftproof::properties {
namespace {

using reference::CoinAddress;
using reference::Purpose;
using reference::Request;
using reference::Row;
using reference::Token;

constexpr std::uint64_t kCoinMax = ~std::uint64_t{0};
/// Single values are simplified only in rows that a person would read.
constexpr std::size_t kReadableVocab = 32;

/// A candidate is made only when it is looked at.
using Thunk = std::function<Case()>;
using Thunks = std::vector<Thunk>;
/// Thousands of thunks share the one case that they simplify.
using Shared = std::shared_ptr<const Case>;

void propose_fewer_requests(const Shared& value, Thunks& thunks) {
  const std::size_t count = value->batch.requests.size();
  for (std::size_t chunk = count; chunk >= 1; chunk /= 2) {
    if (chunk == count) continue;  // no request at all shows nothing
    for (std::size_t first = 0; first + chunk <= count; first += chunk)
      thunks.push_back([=] {
        Case result = *value;
        auto& requests = result.batch.requests;
        requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(first),
                       requests.begin() + static_cast<std::ptrdiff_t>(first + chunk));
        result.expected.clear();
        return result;
      });
  }
}

void propose_fewer_tokens(const Shared& value, Thunks& thunks) {
  const std::size_t size = value->batch.vocab_size;
  for (std::size_t chunk = size / 2; chunk >= 1; chunk /= 2) {
    // In a large vocabulary only the bold cuts are worth their runs.
    if (size > 4096 && chunk < size / 16) break;
    for (std::size_t end = size; end >= chunk; end -= chunk)
      thunks.push_back([=] { return without_tokens(*value, end - chunk, chunk); });
  }
}

void propose_shorter_drafts(const Shared& value, Thunks& thunks) {
  for (std::size_t r = 0; r < value->batch.requests.size(); ++r) {
    const std::size_t count = value->batch.requests[r].proposal.tokens.size();
    if (count > 2)
      thunks.push_back([=] {
        Case result = *value;
        for (std::size_t i = count; i > count / 2; --i)
          result = without_draft_token(result, r, i - 1);
        return result;
      });
    for (std::size_t i = count; i > 0; --i)
      thunks.push_back([=] { return without_draft_token(*value, r, i - 1); });
  }
}

template <class Change>
void propose(const Shared& value, Thunks& thunks, Change change) {
  thunks.push_back([=] {
    Case result = *value;
    change(result);
    return result;
  });
}

void propose_plain_settings(const Shared& value, Thunks& thunks) {
  const reference::Preset& plain = reference::preset("default");
  if (value->batch.preset != plain)
    propose(value, thunks, [](Case& c) { c.batch.preset = reference::preset("default"); });
  if (value->batch.format != reference::LogitFormat::kFloat32)
    propose(value, thunks, [](Case& c) { c.batch.format = reference::LogitFormat::kFloat32; });
  if (value->execution.block_threads != 0)
    propose(value, thunks, [](Case& c) { c.execution.block_threads = 0; });
  if (value->execution.padded_draft_count != 0)
    propose(value, thunks, [](Case& c) { c.execution.padded_draft_count = 0; });
  if (value->execution.schedule != reference::ScheduleKind::kFirstWarpFirst)
    propose(value, thunks,
            [](Case& c) { c.execution.schedule = reference::ScheduleKind::kFirstWarpFirst; });
  const reference::Sampling off;
  for (std::size_t r = 0; r < value->batch.requests.size(); ++r) {
    const reference::Sampling& sampling = value->batch.requests[r].sampling;
    const auto set = [&](auto member) {
      if (sampling.*member != off.*member)
        propose(value, thunks, [=](Case& c) {
          c.batch.requests[r].sampling.*member = reference::Sampling{}.*member;
        });
    };
    set(&reference::Sampling::temperature);
    set(&reference::Sampling::top_k);
    set(&reference::Sampling::top_p);
    set(&reference::Sampling::min_p);
  }
}

/// Moves a request to id `id` and position 0 and takes its written coins along.
void readdress(Case& value, std::size_t index, std::uint32_t id) {
  Request& request = value.batch.requests[index];
  std::map<CoinAddress, std::uint64_t> coins;
  for (const auto& [address, coin] : value.coins) {
    CoinAddress moved = address;
    if (address.request == request.id) {
      moved.request = id;
      moved.position -= request.position;
    }
    coins[moved] = coin;
  }
  value.coins = std::move(coins);
  request.id = id;
  request.position = 0;
}

void propose_plain_addresses(const Shared& value, Thunks& thunks) {
  if (value->seed) return;
  for (std::size_t r = 0; r < value->batch.requests.size(); ++r) {
    const Request& request = value->batch.requests[r];
    const auto id = static_cast<std::uint32_t>(r);
    const bool is_taken =
        std::any_of(value->batch.requests.begin(), value->batch.requests.end(),
                    [&](const Request& other) { return &other != &request && other.id == id; });
    if ((request.id != id || request.position != 0) && !is_taken)
      propose(value, thunks, [=](Case& c) { readdress(c, r, id); });
  }
}

/// How plain a coin is: 0, then the largest, the middle, anything else.
int rank(std::uint64_t coin) {
  if (coin == 0) return 0;
  if (coin == kCoinMax) return 1;
  return coin == kCoinMax / 2 + 1 ? 2 : 3;
}

void propose_plain_coins(const Shared& value, Thunks& thunks) {
  if (value->seed) {
    thunks.push_back([=] { return with_written_coins(*value); });
    return;
  }
  if (value->fallback_coin != 0) propose(value, thunks, [](Case& c) { c.fallback_coin = 0; });
  // A coin that equals the fallback need not be written down at all.
  for (const auto& [address, coin] : value->coins) {
    const CoinAddress at = address;
    if (rank(coin) > 0 || value->fallback_coin == 0)
      propose(value, thunks, [=](Case& c) { c.coins.erase(at); });
    for (std::uint64_t plain : {std::uint64_t{0}, kCoinMax, kCoinMax / 2 + 1})
      if (rank(plain) < rank(coin)) propose(value, thunks, [=](Case& c) { c.coins[at] = plain; });
  }
}

/// How plain a logit is; every proposal lowers the rank or the size.
double weight(float value) {
  if (value == 0 && !std::signbit(value)) return 0;
  if (std::isnan(value)) return 4000;
  if (std::isinf(value)) return 1;
  const double size = std::fabs(value);
  return 2 + std::min(size, 1000.0) + (std::floor(size) == size ? 0 : 1000);
}

/// Values that a float might be replaced by.
std::vector<float> plainer(float value) {
  std::vector<float> candidates = {0.0f, -std::numeric_limits<float>::infinity()};
  if (std::isfinite(value)) {
    for (double each : {1.0, std::round(double{value}), std::floor(double{value} / 2)})
      candidates.push_back(static_cast<float>(each));
  }
  std::erase_if(candidates, [&](float each) { return !(weight(each) < weight(value)); });
  return candidates;
}

template <class RowsOf>
void propose_plain_rows(const Shared& value, Thunks& thunks, std::size_t r, RowsOf rows_of,
                        bool is_probability) {
  const std::vector<Row>& rows = rows_of(value->batch.requests[r]);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float even = is_probability ? 1.0f / static_cast<float>(rows[i].size()) : 0.0f;
    if (std::any_of(rows[i].begin(), rows[i].end(), [&](float each) { return each != even; }))
      propose(value, thunks, [=](Case& c) {
        Row& row = rows_of(c.batch.requests[r])[i];
        std::fill(row.begin(), row.end(), even);
      });
    if (rows[i].size() > kReadableVocab || is_probability) continue;
    for (std::size_t v = 0; v < rows[i].size(); ++v)
      for (float plain : plainer(rows[i][v]))
        propose(value, thunks, [=](Case& c) { rows_of(c.batch.requests[r])[i][v] = plain; });
  }
}

rc::Seq<Case> candidates(const Case& simple) {
  const Shared value = std::make_shared<const Case>(simple);
  Thunks thunks;
  propose_fewer_requests(value, thunks);
  propose_shorter_drafts(value, thunks);
  propose_fewer_tokens(value, thunks);
  propose_plain_settings(value, thunks);
  propose_plain_coins(value, thunks);
  propose_plain_addresses(value, thunks);
  for (std::size_t r = 0; r < value->batch.requests.size(); ++r) {
    propose_plain_rows(
        value, thunks, r, [](auto& request) -> auto& { return request.target_rows; },
        value->batch.target_kind == reference::RowKind::kProbabilities);
    propose_plain_rows(
        value, thunks, r, [](auto& request) -> auto& { return request.proposal.rows; },
        value->batch.draft_kind == reference::RowKind::kProbabilities);
  }
  return rc::seq::map(rc::seq::fromContainer(std::move(thunks)),
                      [](const Thunk& thunk) { return thunk(); });
}

bool fits(const Case& value) {
  try {
    reference::validate(value.batch);
    return value.batch.vocab_size > 0 && !value.batch.requests.empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Case without_tokens(const Case& value, std::size_t first, std::size_t count) {
  DRAFTPROOF_CHECK(first + count <= value.batch.vocab_size && count < value.batch.vocab_size);
  Case result = value;
  result.expected.clear();
  result.batch.vocab_size -= count;
  const auto cut = [&](Row& row) {
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(first),
              row.begin() + static_cast<std::ptrdiff_t>(first + count));
  };
  for (std::size_t r = 0; r < result.batch.requests.size(); ++r) {
    Request& request = result.batch.requests[r];
    for (std::size_t i = 0; i < request.proposal.tokens.size(); ++i) {
      Token& token = request.proposal.tokens[i];
      if (!is_token(value.batch, token)) {
        // An id that was out of range stays as far out as it was.
        if (token >= 0) token -= static_cast<Token>(std::min<std::size_t>(count, token));
        continue;
      }
      const auto id = static_cast<std::size_t>(token);
      if (id >= first + count) token -= static_cast<Token>(count);
      if (id < first || id >= first + count) continue;
      request.proposal.tokens.resize(i);
      request.target_rows.resize(i + 1);
      if (!request.proposal.rows.empty()) request.proposal.rows.resize(i);
      if (!request.proposal.parents.empty()) request.proposal.parents.resize(i);
    }
    for (Row& row : request.target_rows) cut(row);
    for (Row& row : request.proposal.rows) cut(row);
  }
  return result;
}

namespace {

/// Removes a node; what continued it continues its parent.
void take_out(std::vector<int>& parents, std::size_t index) {
  const int node = static_cast<int>(index);
  const int parent = parents[index];
  parents.erase(parents.begin() + node);
  for (int& each : parents) {
    if (each == node)
      each = parent;
    else if (each > node)
      --each;
  }
}

}  // namespace

Case without_draft_token(const Case& value, std::size_t request_index, std::size_t index) {
  Case result = value;
  result.expected.clear();
  Request& request = result.batch.requests.at(request_index);
  const auto at = static_cast<std::ptrdiff_t>(index);
  const bool is_tree = !request.proposal.parents.empty();
  const bool is_first = index == 0 && !is_tree;
  request.proposal.tokens.erase(request.proposal.tokens.begin() + at);
  if (!request.proposal.rows.empty())
    request.proposal.rows.erase(request.proposal.rows.begin() + at);
  if (is_tree) take_out(request.proposal.parents, index);
  request.target_rows.erase(request.target_rows.begin() + at + (is_first ? 0 : 1));
  // Without its first token a draft starts one position later, so that its coins stay its own.
  if (is_first) ++request.position;
  return result;
}

Case with_written_coins(const Case& value) {
  if (!value.seed) return value;
  const auto coins = coins_of(value);
  Case result = value;
  result.seed.reset();
  for (const Request& request : value.batch.requests) {
    const bool is_tree = !request.proposal.parents.empty();
    const auto count = static_cast<std::uint32_t>(request.proposal.tokens.size());
    for (std::uint32_t i = 0; i <= count; ++i) {
      const auto write = [&](Purpose purpose, std::uint32_t slot) {
        const CoinAddress address{request.id, request.position + i, purpose, slot,
                                  coin_iteration(value, request)};
        result.coins[address] = coins->coin(address);
      };
      for (Purpose purpose : {Purpose::kAccept, Purpose::kRecovered, Purpose::kBonus})
        write(purpose, 0);
      if (!is_tree) continue;
      for (std::uint32_t slot = 1; slot < count; ++slot) write(Purpose::kAccept, slot);
      for (Purpose purpose : {Purpose::kTreeLevel, Purpose::kTreeSecond}) write(purpose, 0);
    }
  }
  return result;
}

Shrunk shrink(const Case& failing, const std::function<bool(const Case&)>& fails,
              std::uint64_t tries_max) {
  rc::Shrinkable<Case> current = rc::shrinkable::shrinkRecur(failing, candidates);
  Shrunk result;
  // Where one candidate helped its neighbours often help too, so the next round starts there and
  // goes once round; from the top again each time, a case of many numbers would take its square.
  std::size_t start = 0;
  while (!result.is_least) {
    result.is_least = true;
    auto simpler = rc::seq::concat(rc::seq::drop(start, current.shrinks()),
                                   rc::seq::take(start, current.shrinks()));
    for (std::size_t index = start; auto candidate = simpler.next(); ++index) {
      const Case value = candidate->value();
      if (!fits(value)) continue;
      if (result.tries++ >= tries_max) {
        result.is_least = false;
        result.value = current.value();
        return result;
      }
      if (!fails(value)) continue;
      current = *candidate;
      result.is_least = false;
      start = index;
      break;
    }
  }
  result.value = current.value();
  return result;
}

}  // namespace draftproof::properties
