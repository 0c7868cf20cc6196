#include "properties/describe.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "properties/coin_iteration.h"
#include "properties/names.h"
#include "properties/number_text.h"

namespace draftproof::properties {
namespace {

using reference::Request;
using reference::Row;

constexpr std::size_t kToldVocab = 16;
constexpr std::size_t kToldRequests = 4;

std::string text_of(const Row& row) {
  if (row.size() > kToldVocab) {
    const auto top = std::max_element(row.begin(), row.end());
    return std::to_string(row.size()) + " values, largest " + short_number(*top) + " at id " +
           std::to_string(top - row.begin());
  }
  std::string text = "[";
  for (std::size_t v = 0; v < row.size(); ++v) text += (v == 0 ? "" : ", ") + short_number(row[v]);
  return text + "]";
}

std::string text_of(const reference::Sampling& sampling) {
  const reference::Sampling off;
  std::string text = "temperature " + short_number(sampling.temperature);
  if (sampling.top_k != off.top_k) text += ", top_k " + std::to_string(sampling.top_k);
  if (sampling.top_p != off.top_p) text += ", top_p " + short_number(sampling.top_p);
  if (sampling.min_p != off.min_p) text += ", min_p " + short_number(sampling.min_p);
  return text;
}

void tell_coins(const Case& value, const Request& request, std::size_t row, std::string& text) {
  using reference::Purpose;
  if (value.seed) return;
  const bool is_last = row == request.proposal.tokens.size();
  for (Purpose purpose : {Purpose::kAccept, Purpose::kRecovered, Purpose::kBonus}) {
    if (is_last != (purpose == Purpose::kBonus)) continue;
    const auto at =
        value.coins.find({request.id, request.position + static_cast<std::uint32_t>(row), purpose,
                          0, coin_iteration(value, request)});
    const std::uint64_t coin = at == value.coins.end() ? value.fallback_coin : at->second;
    text += "\n    " + std::string(name_of(purpose_names(), purpose)) + " " + describe_coin(coin);
  }
}

void tell(const Case& value, const Request& request, std::string& text) {
  text += "\n  request " + std::to_string(request.id) + ": " + text_of(request.sampling);
  for (std::size_t i = 0; i < request.target_rows.size(); ++i) {
    const bool is_drafted = i < request.proposal.tokens.size();
    text += "\n   row " + std::to_string(i) + ": target " + text_of(request.target_rows[i]);
    if (i < request.proposal.rows.size()) text += ", draft " + text_of(request.proposal.rows[i]);
    if (is_drafted) text += ", drafted token " + std::to_string(request.proposal.tokens[i]);
    if (is_drafted && !request.proposal.parents.empty())
      text += " behind row " + std::to_string(request.proposal.parents[i] + 1);
    tell_coins(value, request, i, text);
  }
}

}  // namespace

std::string short_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string describe_coin(std::uint64_t coin) {
  const std::string hexadecimal = json_of_coin(coin).get<std::string>();
  if (coin == ~std::uint64_t{0}) return "coin " + hexadecimal + " (the largest)";
  return "coin " + hexadecimal + " (u = " + short_number(static_cast<double>(coin) * 0x1p-64) + ")";
}

std::string describe(const Case& value) {
  const reference::Batch& batch = value.batch;
  std::string text = "vocabulary " + std::to_string(batch.vocab_size) + ", target " +
                     std::string(to_string(batch.target_kind)) + ", draft " +
                     std::string(to_string(batch.draft_kind)) + ", " +
                     std::string(to_string(batch.format)) + ", preset " + batch.preset.name;
  if (value.execution.block_threads != 0)
    text += ", block of " + std::to_string(value.execution.block_threads) + " threads";
  if (value.execution.padded_draft_count != 0)
    text += ", draft axis of " + std::to_string(value.execution.padded_draft_count) + " slots";
  if (value.seed) text += ", coins of seed " + json_of_coin(*value.seed).get<std::string>();
  for (std::size_t i = 0; i < std::min(batch.requests.size(), kToldRequests); ++i)
    tell(value, batch.requests[i], text);
  if (batch.requests.size() > kToldRequests)
    text += "\n  and " + std::to_string(batch.requests.size() - kToldRequests) + " more requests";
  return text;
}

}  // namespace draftproof::properties
