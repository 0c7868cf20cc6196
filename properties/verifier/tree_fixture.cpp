#include "properties/verifier/tree_fixture.h"

#include <limits>

#include "reference/error.h"
#include "reference/shaping.h"

namespace draftproof::properties::verifier {
namespace {

using reference::MassRow;
using reference::Row;
using reference::RowKind;
using reference::Status;

/// Most contexts get a smooth row: in a tree of masks alone few tokens would be reached.
Row target_row(Random& random, const TreeOutline& outline) {
  const auto size = static_cast<std::size_t>(outline.vocab_size);
  if (random.once_in(4)) return nasty_logits(random, size, outline.format);
  Row row(size);
  for (float& value : row)
    value = reference::rounded_to(outline.format, static_cast<float>(4 * random.unit() - 2));
  return row;
}

/// An over-proposed token that the target excludes; needs a second token to recover.
void plant_excluded_token(Row& target, Row* draft, RowKind kind, Random& random) {
  const std::size_t token = random.below(target.size());
  target[token] = -std::numeric_limits<float>::infinity();
  target[(token + 1) % target.size()] = 1.0f;
  if (draft != nullptr) (*draft)[token] = kind == RowKind::kLogits ? 1.0f : 0.5f;
}

MassRow shaped(const Row& row, RowKind kind, const TreeOutline& outline) {
  return kind == RowKind::kProbabilities
             ? reference::from_probabilities(row)
             : reference::shape(row, outline.sampling, reference::preset(outline.preset));
}

void add_context(TreeFixture& fixture, int length, Random& random) {
  const TreeOutline& outline = fixture.outline;
  const bool is_last = length == outline.draft_count;
  Row target = target_row(random, outline);
  std::optional<Row> draft;
  if (!is_last && outline.draft_kind == RowKind::kLogits)
    draft = related_logits(random, target, outline.format);
  if (!is_last && outline.draft_kind == RowKind::kProbabilities)
    draft = nasty_probabilities(random, target.size());
  if (!is_last && outline.vocab_size > 1 && (length == 0 || random.once_in(4)))
    plant_excluded_token(target, draft ? &*draft : nullptr, outline.draft_kind, random);
  fixture.law.target[length].push_back(shaped(target, RowKind::kLogits, outline));
  fixture.target_rows[length].push_back(target);
  if (is_last) return;
  if (draft) {
    fixture.law.draft[length].push_back(shaped(*draft, outline.draft_kind, outline));
    fixture.draft_rows[length].push_back(*draft);
    return;
  }
  const std::size_t token = random.below(target.size());
  fixture.certain[length].push_back(static_cast<reference::Token>(token));
  fixture.law.draft[length].push_back(reference::one_hot(target.size(), token));
}

}  // namespace

std::string name_of(const TreeOutline& outline) {
  return "V=" + std::to_string(outline.vocab_size) + ", draft " +
         std::to_string(outline.draft_count) + ", " + std::string(to_string(outline.draft_kind)) +
         ", " + std::string(to_string(outline.format)) + ", " + outline.preset;
}

TreeFixture tree_fixture(const TreeOutline& outline) {
  TreeFixture fixture;
  fixture.outline = outline;
  fixture.law.vocab_size = outline.vocab_size;
  fixture.law.draft_count = outline.draft_count;
  const auto lengths = static_cast<std::size_t>(outline.draft_count);
  fixture.target_rows.resize(lengths + 1);
  fixture.law.target.resize(lengths + 1);
  fixture.law.draft.resize(lengths);
  fixture.draft_rows.resize(lengths);
  fixture.certain.resize(lengths);
  Random random(outline.seed);
  std::size_t contexts = 1;
  for (int length = 0; length <= outline.draft_count; ++length) {
    for (std::size_t context = 0; context < contexts; ++context)
      add_context(fixture, length, random);
    contexts *= static_cast<std::size_t>(outline.vocab_size);
  }
  for (const auto& rows : fixture.law.target)
    for (const MassRow& row : rows) DRAFTPROOF_CHECK(row.status == Status::kOk, name_of(outline));
  return fixture;
}

reference::Batch TreeFixture::batch() const {
  reference::Batch batch;
  batch.vocab_size = static_cast<std::size_t>(outline.vocab_size);
  batch.preset = reference::preset(outline.preset);
  batch.draft_kind = outline.draft_kind;
  batch.format = outline.format;
  return batch;
}

std::size_t TreeFixture::context(const std::vector<reference::Token>& tokens,
                                 std::size_t length) const {
  std::size_t number = 0;
  for (std::size_t i = 0; i < length; ++i)
    number =
        number * static_cast<std::size_t>(outline.vocab_size) + static_cast<std::size_t>(tokens[i]);
  return number;
}

reference::Request TreeFixture::request(const std::vector<reference::Token>& tokens) const {
  reference::Request request;
  request.sampling = outline.sampling;
  request.proposal.tokens = tokens;
  for (std::size_t i = 0; i <= tokens.size(); ++i) {
    const std::size_t number = context(tokens, i);
    request.target_rows.push_back(target_rows[i][number]);
    if (i < tokens.size() && !draft_rows[i].empty())
      request.proposal.rows.push_back(draft_rows[i][number]);
  }
  return request;
}

}  // namespace draftproof::properties::verifier
