// Tree fixtures: tiny language models in which every context has rows of its own, so that a joint
// law over positions exists and rows that are mixed up show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/certificate.h"
#include "properties/generators.h"
#include "reference/verifier.h"

namespace draftproof::properties::verifier {

/// What a fixture is made of; the rows follow from the seed.
struct TreeOutline {
  int vocab_size = 4;
  int draft_count = 2;
  reference::RowKind draft_kind = reference::RowKind::kLogits;
  reference::LogitFormat format = reference::LogitFormat::kFloat32;
  std::string preset = "default";
  reference::Sampling sampling;
  std::uint64_t seed = 1;
};

/// "V=4, draft 2, logits".
std::string name_of(const TreeOutline& outline);

struct TreeFixture {
  TreeOutline outline;
  std::vector<std::vector<reference::Row>> target_rows;  ///< [length][context], as TreeLaw
  std::vector<std::vector<reference::Row>> draft_rows;   ///< empty for one-hot drafts
  std::vector<std::vector<reference::Token>> certain;    ///< one-hot drafts: the token drafted
  oracle::TreeLaw law;

  /// The batch without requests.
  reference::Batch batch() const;
  /// The request that drafts `tokens`; ids and positions are the caller's.
  reference::Request request(const std::vector<reference::Token>& tokens) const;
  std::size_t context(const std::vector<reference::Token>& tokens, std::size_t length) const;
};

/// The root's target excludes a token that its draft can draw, where the draft has a law.
TreeFixture tree_fixture(const TreeOutline& outline);

}  // namespace draftproof::properties::verifier
