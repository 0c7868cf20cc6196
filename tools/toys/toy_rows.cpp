#include "tools/toys/toy_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/error.h"

namespace draftproof::tools::toys {
namespace {

using reference::Token;

/// 128 MiB.
constexpr std::size_t kNumbersKept = std::size_t{1} << 24;

}  // namespace

ToyRows::ToyRows(const ToySpec& spec) : spec_(spec), weights_(weights_of(spec)) {
  if (spec.kind != ToyKind::kBigram) model_.emplace(weights_, std::nullopt);
}

std::vector<double> ToyRows::behind(std::span<const Token> history) {
  if (history.empty())
    throw Error(ErrorKind::kInput, "is empty; a toy needs a token to begin with", "prompt");
  for (const Token token : history)
    if (token < 0 || token >= spec_.vocab_size)
      throw Error(ErrorKind::kInput,
                  fmt::format("has id {}; this toy has ids 0 to {}", token, spec_.vocab_size - 1),
                  "prompt");
  if (spec_.kind == ToyKind::kBigram) history = history.last(1);
  const std::lock_guard lock(one_at_a_time_);
  std::vector<Token> name(history.begin(), history.end());
  const auto found = known_.find(name);
  if (found != known_.end()) return found->second;
  std::vector<double> row = computed(history);
  if (kept_ + row.size() + name.size() > kNumbersKept) {
    known_.clear();
    kept_ = 0;
  }
  kept_ += row.size() + name.size();
  return known_.emplace(std::move(name), std::move(row)).first->second;
}

std::vector<double> ToyRows::row_of(Token last) const {
  const auto width = static_cast<std::size_t>(weights_.config.hidden);
  const float* const state = weights_.embedding.data() + static_cast<std::size_t>(last) * width;
  double squares = 0;
  std::vector<std::size_t> written;  // a one-hot state is nearly nothing but zeros
  for (std::size_t i = 0; i < width; ++i) {
    squares += static_cast<double>(state[i]) * static_cast<double>(state[i]);
    if (state[i] != 0) written.push_back(i);
  }
  const double scale = 1 / std::sqrt(squares / static_cast<double>(width) +
                                     static_cast<double>(weights_.config.rms_epsilon));
  std::vector<double> logits(static_cast<std::size_t>(spec_.vocab_size));
  for (std::size_t token = 0; token < logits.size(); ++token)
    for (const std::size_t i : written)
      logits[token] += static_cast<double>(weights_.lm_head[token * width + i]) *
                       (static_cast<double>(state[i]) * scale);
  return logits;
}

std::vector<double> ToyRows::computed(std::span<const Token> history) {
  if (spec_.kind == ToyKind::kBigram) return row_of(history.back());
  // The last token is computed in any case: its row is what is asked for.
  const auto shared =
      std::mismatch(walked_.begin(), walked_.end(), history.begin(), history.end() - 1).first -
      walked_.begin();
  std::vector<int> kept(static_cast<std::size_t>(shared));
  std::iota(kept.begin(), kept.end(), 0);
  if (cells_.cell_count() > 0) cells_.keep(kept);
  const auto rows =
      reference::model::chain_rows(history.subspan(kept.size()), static_cast<int>(kept.size()));
  std::vector<double> logits = model_->forward(rows, cells_).back().logits;
  walked_.assign(history.begin(), history.end());
  return logits;
}

}  // namespace draftproof::tools::toys
