// Drafts whose ids mean other tokens.
#include "reference/draft/vocabulary_map.h"

namespace draftproof::reference::draft {
namespace {

std::vector<Token> identity(int vocab_size) {
  std::vector<Token> ids;
  for (Token id = 0; id < vocab_size; ++id) ids.push_back(id);
  return ids;
}

}  // namespace

MappedVocabulary permuted_vocabulary(const model::Toy& toy) {
  const int count = toy.target->vocab_size();
  MappedVocabulary vocabulary;
  for (Token id = 0; id < count; ++id) vocabulary.target_ids.push_back((id + 1) % count);
  vocabulary.row = [draft = toy.draft, count](const Context& context) {
    const LawRow& row = draft->row(context);
    LawRow own(row.size());
    for (int token = 0; token < count; ++token) own[(token + count - 1) % count] = row[token];
    return own;
  };
  return vocabulary;
}

MappedVocabulary doubled_vocabulary(const model::Toy& toy) {
  MappedVocabulary vocabulary;
  vocabulary.target_ids = identity(toy.target->vocab_size());
  vocabulary.target_ids.push_back(0);
  vocabulary.row = [draft = toy.draft](const Context& context) {
    LawRow own = draft->row(context);
    own.push_back(own[0] * Exact(2, 3));
    own[0] /= 3;
    return own;
  };
  return vocabulary;
}

MappedVocabulary padded_vocabulary(const model::Toy& toy) {
  MappedVocabulary vocabulary;
  vocabulary.target_ids = identity(toy.target->vocab_size());
  vocabulary.target_ids.insert(vocabulary.target_ids.end(), 2, kPlaceholder);
  vocabulary.row = [draft = toy.draft](const Context& context) {
    LawRow own = draft->row(context);
    for (Exact& probability : own) probability *= Exact(7, 8);
    own.insert(own.end(), 2, Exact(1, 16));
    return own;
  };
  return vocabulary;
}

std::vector<Token> reduced_offsets(int vocab_size) {
  std::vector<Token> offsets(static_cast<std::size_t>(vocab_size - 1), 1);
  if (vocab_size > 2) offsets[0] = 0;
  return offsets;
}

MappedVocabulary reduced_vocabulary(const model::Toy& toy) {
  MappedVocabulary vocabulary;
  for (const Token offset : reduced_offsets(toy.target->vocab_size()))
    vocabulary.target_ids.push_back(static_cast<Token>(vocabulary.target_ids.size()) + offset);
  // A head of its own over what is kept: a quarter spread evenly, so that it is never without one.
  vocabulary.row = [draft = toy.draft, ids = vocabulary.target_ids](const Context& context) {
    const LawRow& row = draft->row(context);
    LawRow own;
    for (const Token id : ids) own.push_back(row[static_cast<std::size_t>(id)] + Exact(1, 4));
    return over_sum(std::move(own));
  };
  return vocabulary;
}

LawRow pushed(const MappedVocabulary& vocabulary, const LawRow& draft_row, int vocab_size) {
  LawRow row(static_cast<std::size_t>(vocab_size));
  for (std::size_t id = 0; id < draft_row.size(); ++id) {
    const Token token = vocabulary.target_ids[id];
    if (token != kPlaceholder) row[static_cast<std::size_t>(token)] += draft_row[id];
  }
  return over_sum(std::move(row));
}

PointLaw mapped_law(const MappedVocabulary& vocabulary, int vocab_size) {
  return [=](const ChainPoint& point) {
    return pushed(vocabulary, vocabulary.row(joined(point.context, point.drafted)), vocab_size);
  };
}

}  // namespace draftproof::reference::draft
