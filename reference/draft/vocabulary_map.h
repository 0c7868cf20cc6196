// Drafts whose ids mean other tokens: permuted ids, several ids for one token, tables padded to a
// round size, and the reduced vocabulary of EAGLE-3 heads with its table of offsets (d2t: target id
// = draft id + offset; SafeAILab/EAGLE 2026-02). One way to be right serves all of them: push the
// whole row through the same map as the ids, adding where ids meet, and drop what maps to nothing
// before the row is put over its sum and drawn from. Reports: alibaba/rtp-llm#1311 (ids mapped, row
// not), NVIDIA-NeMo/Automodel#2447 (map missing), ggml-org/llama.cpp#3812 (padded tails).
#pragma once

#include <vector>

#include "reference/draft/functions.h"
#include "reference/model/toys.h"

namespace draftproof::reference::draft {

/// A draft vocabulary of its own over a toy: the rows it has, and what its ids mean.
struct MappedVocabulary {
  std::vector<Token> target_ids;  ///< of each draft id; kPlaceholder: stands for nothing
  /// The draft's row over its own ids behind a context in target ids.
  std::function<LawRow(const Context&)> row;
};

/// Draft id d is target token (d + 1) mod V.
MappedVocabulary permuted_vocabulary(const model::Toy& toy);
/// One id more than the target has: the last is token 0 again, with two thirds of its probability.
MappedVocabulary doubled_vocabulary(const model::Toy& toy);
/// Two ids more than the target has, that stand for nothing and have a sixteenth each.
MappedVocabulary padded_vocabulary(const model::Toy& toy);
/// All tokens but one: {0, 2, 3, ...}, for two tokens {1}; a row of its own over those.
MappedVocabulary reduced_vocabulary(const model::Toy& toy);
/// Of the reduced vocabulary: target id - draft id.
std::vector<Token> reduced_offsets(int vocab_size);

/// The row over target ids, over its sum; empty when nothing has a meaning.
LawRow pushed(const MappedVocabulary& vocabulary, const LawRow& draft_row, int vocab_size);
/// The law of the next token in target ids.
PointLaw mapped_law(const MappedVocabulary& vocabulary, int vocab_size);

}  // namespace draftproof::reference::draft
