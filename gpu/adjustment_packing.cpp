// Packing, request by request: a sorted map from id to entry, then the arrays.
#include "gpu/adjustment_packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using reference::AdjustmentRule;
using reference::Adjustments;
using reference::AdjustmentStep;
using reference::Counted;
using reference::PenaltyOrder;
using reference::Token;

constexpr std::uint64_t kWordMax = 0xffffffffu;

std::uint32_t word_of(std::uint64_t value) {
  if (value > kWordMax)
    throw Error(ErrorKind::kInput,
                std::to_string(value) + " elements do not fit in 32 bits; split the batch",
                "adjustments");
  return static_cast<std::uint32_t>(value);
}

std::uint32_t code_of(AdjustmentStep step) {
  switch (step) {
    case AdjustmentStep::kPenalties:
      return DRAFTPROOF_ADJUST_PENALTIES;
    case AdjustmentStep::kLogitBias:
      return DRAFTPROOF_ADJUST_LOGIT_BIAS;
    case AdjustmentStep::kAllowedIds:
      return DRAFTPROOF_ADJUST_ALLOWED_IDS;
    case AdjustmentStep::kBadWords:
      return DRAFTPROOF_ADJUST_BAD_WORDS;
    case AdjustmentStep::kMinTokens:
      return DRAFTPROOF_ADJUST_MIN_TOKENS;
    case AdjustmentStep::kGrammarMask:
      return DRAFTPROOF_ADJUST_GRAMMAR_MASK;
  }
  DRAFTPROOF_CHECK(false, "unknown step");
  return DRAFTPROOF_ADJUST_END;
}

std::uint32_t flags_of(const AdjustmentRule& rule) {
  const reference::PenaltyRule& penalties = rule.penalties;
  std::uint32_t flags = 0;
  if (penalties.repetition == reference::RepetitionForm::kReciprocal)
    flags |= DRAFTPROOF_REPETITION_RECIPROCAL;
  if (penalties.frequency == reference::FrequencyForm::kSummed)
    flags |= DRAFTPROOF_FREQUENCY_SUMMED;
  if (penalties.drafts == reference::DraftCount::kFrozen) flags |= DRAFTPROOF_PENALTIES_FROZEN;
  if (rule.min_tokens_drafts == reference::DraftCount::kFrozen)
    flags |= DRAFTPROOF_MIN_TOKENS_FROZEN;
  if (penalties.order != PenaltyOrder::kRepetitionFrequencyPresence)
    flags |= DRAFTPROOF_FREQUENCY_PLUS_PRESENCE;
  if (penalties.order == PenaltyOrder::kSumThenRepetition) flags |= DRAFTPROOF_REPETITION_LAST;
  return flags;
}

/// One request on its way into the arrays.
class RequestPacking {
 public:
  RequestPacking(const AdjustedRequest& request, const AdjustmentRule& rule,
                 PackedAdjustments& packed)
      : adjustments_(request.adjustments), rule_(rule), packed_(packed) {
    prompt_ = request.history.prompt;
    const auto& committed = request.history.committed;
    const std::size_t appended = std::min(request.appended_count, committed.size());
    const auto cut = committed.end() - static_cast<std::ptrdiff_t>(appended);
    counted_.assign(committed.begin(), cut);
    appended_.assign(cut, committed.end());
    own_.flags = flags_of(rule);
    own_.window = DRAFTPROOF_NO_WINDOW;
    own_.repetition = 1;
    has_masks_ = !request.row_masks.empty() || adjustments_.grammar_mask.has_value();
  }

  /// Appends the request to the arrays, all but its masks.
  void pack() {
    for (std::size_t i = 0; i < rule_.steps.size(); ++i)
      if (is_on(rule_.steps[i])) {
        own_.steps |= code_of(rule_.steps[i]) << shift_;
        shift_ += 4;
      }
    own_.min_tokens_left = static_cast<std::uint32_t>(min_tokens_left());
    if (is_on(AdjustmentStep::kPenalties)) count_penalties();
    pack_words();
    pack_tail();
    mark_ids();
    own_.entry_begin = word_of(packed_.entries.size());
    own_.entry_count = word_of(entries_.size());
    for (const auto& [id, entry] : entries_) packed_.entries.push_back(entry);
    word_of(packed_.entries.size());
    word_of(packed_.tokens.size());
    packed_.requests.push_back(own_);
  }

 private:
  /// False when the step changes no logit of any row of this request.
  bool is_on(AdjustmentStep step) const {
    switch (step) {
      case AdjustmentStep::kPenalties:
        return adjustments_.penalties.repetition != 1 || adjustments_.penalties.frequency != 0 ||
               adjustments_.penalties.presence != 0;
      case AdjustmentStep::kLogitBias:
        return !adjustments_.logit_bias.empty();
      case AdjustmentStep::kAllowedIds:
        return adjustments_.allowed_ids.has_value();
      case AdjustmentStep::kBadWords:
        return !adjustments_.bad_words.empty();
      case AdjustmentStep::kMinTokens:
        return min_tokens_left() > 0;
      case AdjustmentStep::kGrammarMask:
        return has_masks_;
    }
    return false;
  }

  std::uint64_t min_tokens_left() const {
    const auto least = static_cast<std::uint64_t>(adjustments_.min_tokens);
    return least <= counted_.size() ? 0 : std::min(least - counted_.size(), kWordMax);
  }

  draftproof_adjusted_token& entry(Token id) {
    auto [found, is_added] = entries_.try_emplace(id, draftproof_adjusted_token{});
    found->second.id = static_cast<std::uint32_t>(id);
    return found->second;
  }

  /// What a penalty counts of the packed history, its window applied; with a window also written
  /// down, because tokens to come push the oldest out.
  std::vector<Token> held(Counted which, std::uint32_t& begin, std::uint32_t& count) {
    std::vector<Token> tokens = which == Counted::kPromptAndOutput ? prompt_ : std::vector<Token>{};
    tokens.insert(tokens.end(), counted_.begin(), counted_.end());
    if (own_.window == DRAFTPROOF_NO_WINDOW) return tokens;
    if (tokens.size() > own_.window)
      tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(own_.window));
    begin = word_of(packed_.tokens.size());
    count = word_of(tokens.size());
    packed_.tokens.insert(packed_.tokens.end(), tokens.begin(), tokens.end());
    return tokens;
  }

  void count_penalties() {
    const reference::Penalties& penalties = adjustments_.penalties;
    own_.repetition = static_cast<float>(penalties.repetition);
    own_.frequency = static_cast<float>(penalties.frequency);
    own_.presence = static_cast<float>(penalties.presence);
    const std::int64_t last_n = rule_.penalties.has_window
                                    ? penalties.last_n.value_or(rule_.penalties.last_n)
                                    : rule_.penalties.last_n;
    if (last_n >= 0 && static_cast<std::uint64_t>(last_n) < kWordMax)
      own_.window = static_cast<std::uint32_t>(last_n);
    for (const Token id : held(rule_.penalties.repetition_counts, own_.repetition_held_begin,
                               own_.repetition_held_count))
      ++entry(id).repetition_count;
    for (const Token id : held(rule_.penalties.frequency_counts, own_.frequency_held_begin,
                               own_.frequency_held_count))
      ++entry(id).frequency_count;
  }

  void pack_words() {
    if (!is_on(AdjustmentStep::kBadWords)) return;
    std::vector<std::vector<Token>> words = adjustments_.bad_words;
    std::stable_sort(words.begin(), words.end(),
                     [](const auto& a, const auto& b) { return a.back() < b.back(); });
    own_.word_begin = word_of(packed_.words.size());
    own_.word_count = word_of(words.size());
    for (const auto& word : words) {
      draftproof_adjusted_token& last = entry(word.back());
      if ((last.flags & DRAFTPROOF_ENTRY_ENDS_WORD) == 0)
        last.first_word = word_of(packed_.words.size());
      last.flags |= DRAFTPROOF_ENTRY_ENDS_WORD;
      packed_.words.push_back({word_of(packed_.tokens.size()), word_of(word.size())});
      packed_.tokens.insert(packed_.tokens.end(), word.begin(), word.end());
    }
  }

  /// The last tokens that bad words see, and everything appended.
  void pack_tail() {
    std::vector<Token> seen =
        rule_.bad_words_see == Counted::kPromptAndOutput ? prompt_ : std::vector<Token>{};
    seen.insert(seen.end(), counted_.begin(), counted_.end());
    std::size_t looked_at = 0;
    for (const auto& word : adjustments_.bad_words)
      looked_at = std::max(looked_at, word.size() - 1);
    looked_at = std::min(looked_at, seen.size());
    own_.tail_begin = word_of(packed_.tokens.size());
    own_.tail_counted = word_of(looked_at);
    own_.tail_count = word_of(looked_at + appended_.size());
    packed_.tokens.insert(packed_.tokens.end(), seen.end() - static_cast<std::ptrdiff_t>(looked_at),
                          seen.end());
    packed_.tokens.insert(packed_.tokens.end(), appended_.begin(), appended_.end());
  }

  void mark_ids() {
    for (const auto& [id, bias] : adjustments_.logit_bias) {
      draftproof_adjusted_token& own = entry(id);
      own.flags |= DRAFTPROOF_ENTRY_BIAS;
      if (std::isinf(bias))
        own.flags |= DRAFTPROOF_ENTRY_BIAS_BANS;
      else
        own.bias = static_cast<float>(bias);
    }
    if (adjustments_.allowed_ids)
      for (const Token id : *adjustments_.allowed_ids) entry(id).flags |= DRAFTPROOF_ENTRY_ALLOWED;
    if (is_on(AdjustmentStep::kMinTokens))
      for (const Token id : adjustments_.end_tokens) entry(id).flags |= DRAFTPROOF_ENTRY_ENDS;
  }

  const Adjustments& adjustments_;
  const AdjustmentRule& rule_;
  PackedAdjustments& packed_;
  std::vector<Token> prompt_, counted_, appended_;
  bool has_masks_ = false;
  unsigned shift_ = 0;
  draftproof_adjusted_request own_{};
  std::map<Token, draftproof_adjusted_token> entries_;
};

/// Writes the masks of one request into its slots.
void pack_masks(const AdjustedRequest& request, std::size_t first_slot, std::size_t slots,
                std::size_t vocab_size, PackedAdjustments& packed) {
  const auto& common = request.adjustments.grammar_mask;
  if (request.row_masks.empty() && !common) return;
  for (std::size_t row = 0; row < slots; ++row) {
    if (!request.row_masks.empty() && row >= request.row_masks.size()) return;
    const std::vector<bool>& mask = request.row_masks.empty() ? *common : request.row_masks[row];
    if (mask.size() != vocab_size)
      throw Error(ErrorKind::kInput,
                  std::to_string(mask.size()) + " bits for a vocabulary of " +
                      std::to_string(vocab_size) + "; give one a token",
                  "grammar_mask");
    std::uint32_t* words = packed.masks.data() + (first_slot + row) * packed.mask_stride;
    for (std::size_t id = 0; id < vocab_size; ++id)
      if (mask[id]) words[id / 32] |= 1u << (id % 32);
  }
}

}  // namespace

PackedAdjustments pack_adjustments(std::span<const AdjustedRequest> requests,
                                   const AdjustmentRule& rule, std::size_t vocab_size,
                                   std::size_t padded_draft_count) {
  DRAFTPROOF_CHECK(rule.steps.size() <= 8, "a rule has at most 8 steps");
  PackedAdjustments packed;
  const std::size_t slots = padded_draft_count + 1;
  bool has_masks = false;
  for (const AdjustedRequest& request : requests) {
    validate(request.adjustments, vocab_size);
    validate(request.history, vocab_size);
    RequestPacking(request, rule, packed).pack();
    has_masks |= !request.row_masks.empty() || request.adjustments.grammar_mask.has_value();
  }
  if (!has_masks) return packed;
  packed.mask_stride = (vocab_size + 31) / 32;
  packed.masks.resize(requests.size() * slots * packed.mask_stride);
  for (std::size_t r = 0; r < requests.size(); ++r)
    pack_masks(requests[r], r * slots, slots, vocab_size, packed);
  return packed;
}

}  // namespace draftproof::gpu
