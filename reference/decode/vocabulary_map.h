// Vocabulary maps in an engine: a draft model whose ids mean other tokens of the target (permuted,
// reduced, doubled, padded to a round size) as a model of the target's vocabulary. The rule is that
// of reference/draft/vocabulary_map.h: the whole row goes through the same map as the ids, before
// anything is shaped or drawn, and what means nothing is dropped unread; so the row reported is the
// row drawn from, whatever the map is, and a wrong map only costs acceptance. Everything outside
// the model, the cells of the draft cache included, is in target ids: the map is part of the
// model's embedding and of its head.
#pragma once

#include <span>
#include <vector>

#include "reference/decode/draft_source.h"
#include "reference/decode/language_model.h"

namespace draftproof::reference::decode {

struct VocabularyMap {
  /// Of each draft id, the token it means: d2t. kPlaceholder and ids at or above vocab_size mean
  /// nothing (padding). Several ids may mean one token.
  std::vector<Token> target_ids;
  int vocab_size = 0;  ///< of the target
  /// The draft id that is fed for a token that no draft id means. Of several ids that mean a token
  /// the lowest is fed.
  Token unknown_id = 0;
};

/// Ids mean themselves; draft ids behind the target's last one are padding.
VocabularyMap padded_map(int draft_vocab_size, int vocab_size);
/// The token of draft id d is d + offsets[d]: the tables of EAGLE-3 heads (SafeAILab/EAGLE
/// 2026-02).
VocabularyMap offset_map(std::span<const Token> offsets, int vocab_size);

/// The draft model with the target's vocabulary. A token's logit is that of the id that means it,
/// bit for bit; of several ids the logarithm of their summed weights, rounded to fp32 one by one
/// from the lowest id on; -inf where there is none. A row whose meaningful logits are all -inf
/// stays so, and ends a draft. State and adapter are handed on.
/// Throws Error(kInput): a map of another size than the draft's vocabulary, a negative id other
/// than kPlaceholder, no id that means anything, an unknown_id outside the draft's vocabulary.
LanguageModelPtr mapped_model(LanguageModelPtr draft, VocabularyMap map);

/// model_source() of the mapped model.
DraftSourcePtr mapped_source(LanguageModelPtr draft, VocabularyMap map);

}  // namespace draftproof::reference::decode
