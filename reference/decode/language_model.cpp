// Toy language models for engines, and how they see tokens through a cache.
#include "reference/decode/language_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "reference/error.h"

namespace draftproof::reference::decode {
namespace {

using kv::history_behind;

/// ln 1 .. ln 256, rounded to fp32.
const std::array<float, 257>& logarithms() {
  static const std::array<float, 257> table = [] {
    std::array<float, 257> logs{};
    for (std::size_t weight = 1; weight < logs.size(); ++weight)
      logs[weight] = static_cast<float>(std::log(static_cast<double>(weight)));
    return logs;
  }();
  return table;
}

class Hashed final : public LanguageModel {
 public:
  explicit Hashed(const HashedModel& model) : model_(model) {
    const auto check = [](bool is_good, const char* message) {
      if (!is_good) throw Error(ErrorKind::kInput, message, "hashed model");
    };
    check(model.vocab_size >= 1, "vocab_size must be 1 or more");
    check(model.order >= 0, "order must be 0 (all tokens) or more");
    check(model.shared_parts >= 0 && model.shared_parts <= 16, "shared_parts must be in [0, 16]");
  }

  int vocab_size() const override { return model_.vocab_size; }
  bool is_recurrent() const override { return model_.is_recurrent; }

  void logits(const Seen& seen, Row& row) const override {
    const std::uint64_t own = key(seen, model_.seed);
    const std::uint64_t shared = model_.shared_parts > 0 ? key(seen, model_.shared_seed) : 0;
    row.resize(static_cast<std::size_t>(model_.vocab_size));
    for (int token = 0; token < model_.vocab_size; ++token) {
      const int weight = (weight_of(own, token) * (16 - model_.shared_parts) +
                          weight_of(shared, token) * model_.shared_parts) /
                         16;
      row[static_cast<std::size_t>(token)] = logarithms()[static_cast<std::size_t>(weight)];
    }
  }

 private:
  std::uint64_t key(const Seen& seen, std::uint64_t seed) const {
    std::size_t first = 0;
    const auto order = static_cast<std::size_t>(model_.order);
    if (order > 0 && seen.tokens.size() > order) first = seen.tokens.size() - order;
    std::uint64_t hash = history_behind(seed, seen.adapter, 0);
    for (std::size_t i = first; i < seen.tokens.size(); ++i)
      hash = history_behind(hash, seen.tokens[i], 1);
    // Where a model of all tokens starts to see is part of what it sees.
    if (order == 0) hash = history_behind(hash, seen.first_position, 2);
    if (model_.is_recurrent) hash = history_behind(hash ^ seen.state, 0, 3);
    return hash;
  }

  /// 1 .. 256, small ones likelier, so that rows are peaked.
  static int weight_of(std::uint64_t key, int token) {
    const auto byte = static_cast<int>(history_behind(key, token, 4) & 255);
    return 1 + byte * byte / 255;
  }

  HashedModel model_;
};

class ToyRows final : public LanguageModel {
 public:
  ToyRows(model::ToyModelPtr toy, std::size_t kept_max) : toy_(std::move(toy)), max_(kept_max) {
    if (toy_ == nullptr || kept_max == 0)
      throw Error(ErrorKind::kInput, "needs a toy, and room for one row at least", "toy model");
  }

  int vocab_size() const override { return toy_->vocab_size(); }

  void logits(const Seen& seen, Row& row) const override {
    const std::vector<Token> context(seen.tokens.begin(), seen.tokens.end());
    if (const auto known = known_.find(context); known != known_.end()) {
      row = known->second;
      return;
    }
    if (known_.size() >= max_) {
      known_.clear();
      toy_->forget();
    }
    const LawRow& law = toy_->row(context);
    row.clear();
    for (const Exact& probability : law)
      row.push_back(probability == 0
                        ? -std::numeric_limits<float>::infinity()
                        : static_cast<float>(std::log(probability.convert_to<double>())));
    known_.emplace(context, row);
  }

 private:
  model::ToyModelPtr toy_;
  std::size_t max_;
  mutable std::map<std::vector<Token>, Row> known_;
};

}  // namespace

Row LanguageModel::row(const Seen& seen) const {
  Row row;
  logits(seen, row);
  return row;
}

LanguageModelPtr hashed_model(const HashedModel& model) { return std::make_shared<Hashed>(model); }

LanguageModelPtr toy_language_model(model::ToyModelPtr toy, std::size_t kept_max) {
  return std::make_shared<ToyRows>(std::move(toy), kept_max);
}

void Sight::add(const kv::Cell& cell, std::int32_t position) {
  if (tokens_.empty() && !is_cut_) {
    first_position_ = position;
    is_cut_ = position > 0;
  }
  if (!cell.is_written()) has_poison_ = true;
  const bool is_first_behind_window = tokens_.empty() && is_cut_;
  const kv::Cell due{cell.token, position, history_behind(history_, cell.token, position)};
  const bool is_whole =
      is_first_behind_window ? cell.position == position : cell == cache_->as_read(due);
  Token token = cell.token;
  if (!is_whole && vocab_size_ > 1) {
    const auto others = static_cast<std::uint64_t>(vocab_size_ - 1);
    const std::uint64_t held = history_behind(cell.history, cell.token, cell.position);
    token =
        static_cast<Token>((static_cast<std::uint64_t>(token < 0 ? 0 : token) + 1 + held % others) %
                           static_cast<std::uint64_t>(vocab_size_));
  }
  if (token < 0 || token >= vocab_size_) token = 0;
  tokens_.push_back(token);
  history_ = cell.history;
}

void Sight::slide(int window) {
  const auto surplus = static_cast<std::ptrdiff_t>(tokens_.size()) - window;
  if (window <= 0 || surplus <= 0) return;
  tokens_.erase(tokens_.begin(), tokens_.begin() + surplus);
  first_position_ += static_cast<std::int32_t>(surplus);
  is_cut_ = true;
}

Sight sight_of(const kv::PagedCache& cache, kv::SequenceId sequence, int length, int vocab_size) {
  Sight sight(cache, vocab_size);
  const int window = cache.config().window;
  for (int slot = window > 0 ? std::max(0, length - window) : 0; slot < length; ++slot)
    sight.add(cache.read(sequence, slot), slot);
  return sight;
}

}  // namespace draftproof::reference::decode
