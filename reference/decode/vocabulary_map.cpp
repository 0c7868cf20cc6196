// Vocabulary maps: token ids on the way in, whole rows on the way out.
#include "reference/decode/vocabulary_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "reference/error.h"

namespace draftproof::reference::decode {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// fp32(ln(e^first + e^second)); NaN if one is, +inf if one is.
float added(float first, float second) {
  if (std::isnan(first) || std::isnan(second)) return std::numeric_limits<float>::quiet_NaN();
  const double low = std::min(first, second);
  const double high = std::max(first, second);
  if (std::isinf(low) || std::isinf(high)) return static_cast<float>(high);
  return static_cast<float>(high + std::log1p(std::exp(low - high)));
}

class Mapped final : public LanguageModel {
 public:
  Mapped(LanguageModelPtr draft, VocabularyMap map)
      : draft_(std::move(draft)), map_(std::move(map)) {
    DRAFTPROOF_CHECK(draft_ != nullptr, "a model is needed");
    check();
    draft_ids_.assign(static_cast<std::size_t>(map_.vocab_size), map_.unknown_id);
    for (std::size_t id = map_.target_ids.size(); id-- > 0;)
      if (const Token token = map_.target_ids[id]; means(token))
        draft_ids_[static_cast<std::size_t>(token)] = static_cast<Token>(id);
  }

  int vocab_size() const override { return map_.vocab_size; }
  bool is_recurrent() const override { return draft_->is_recurrent(); }

  void logits(const Seen& seen, Row& row) const override {
    std::vector<Token> fed;
    for (const Token token : seen.tokens)
      fed.push_back(draft_ids_[static_cast<std::size_t>(token)]);
    Seen own = seen;
    own.tokens = fed;
    const Row drafted = draft_->row(own);
    row.assign(static_cast<std::size_t>(map_.vocab_size), kNothing);
    std::vector<bool> is_met(row.size(), false);
    for (std::size_t id = 0; id < drafted.size(); ++id) {
      if (!means(map_.target_ids[id])) continue;
      const auto token = static_cast<std::size_t>(map_.target_ids[id]);
      row[token] = is_met[token] ? added(row[token], drafted[id]) : drafted[id];
      is_met[token] = true;
    }
  }

 private:
  bool means(Token token) const { return token >= 0 && token < map_.vocab_size; }

  void check() const {
    const auto refuse = [](const std::string& message) {
      throw Error(ErrorKind::kInput, message, "vocabulary map");
    };
    const int draft_size = draft_->vocab_size();
    if (map_.vocab_size < 1) refuse("vocab_size must be 1 or more");
    if (map_.target_ids.size() != static_cast<std::size_t>(draft_size))
      refuse(std::to_string(map_.target_ids.size()) + " entries for a draft vocabulary of " +
             std::to_string(draft_size) + "; give one to every draft id");
    bool is_useful = false;
    for (std::size_t id = 0; id < map_.target_ids.size(); ++id) {
      const Token token = map_.target_ids[id];
      if (token < 0 && token != kPlaceholder)
        refuse("draft id " + std::to_string(id) + " means " + std::to_string(token) +
               "; give a token, or -1 where it means none");
      is_useful = is_useful || means(token);
    }
    if (!is_useful) refuse("no draft id means a token of the target");
    if (map_.unknown_id < 0 || map_.unknown_id >= draft_size)
      refuse("unknown_id " + std::to_string(map_.unknown_id) + " is outside the draft's " +
             std::to_string(draft_size) + " ids");
  }

  LanguageModelPtr draft_;
  VocabularyMap map_;
  std::vector<Token> draft_ids_;  ///< of each token
};

}  // namespace

VocabularyMap padded_map(int draft_vocab_size, int vocab_size) {
  VocabularyMap map;
  map.target_ids.resize(static_cast<std::size_t>(std::max(draft_vocab_size, 0)));
  std::iota(map.target_ids.begin(), map.target_ids.end(), 0);
  map.vocab_size = vocab_size;
  return map;
}

VocabularyMap offset_map(std::span<const Token> offsets, int vocab_size) {
  VocabularyMap map;
  map.vocab_size = vocab_size;
  for (std::size_t id = 0; id < offsets.size(); ++id) {
    const std::int64_t token = static_cast<std::int64_t>(id) + offsets[id];
    if (token < 0)
      throw Error(ErrorKind::kInput,
                  "draft id " + std::to_string(id) + " and offset " + std::to_string(offsets[id]) +
                      " give a negative token",
                  "vocabulary map");
    map.target_ids.push_back(token < vocab_size ? static_cast<Token>(token) : kPlaceholder);
  }
  return map;
}

LanguageModelPtr mapped_model(LanguageModelPtr draft, VocabularyMap map) {
  return std::make_shared<Mapped>(std::move(draft), std::move(map));
}

DraftSourcePtr mapped_source(LanguageModelPtr draft, VocabularyMap map) {
  return model_source(mapped_model(std::move(draft), std::move(map)));
}

}  // namespace draftproof::reference::decode
