// PagedWindow: where the cells of sequences lie in a paged K/V pool, as an engine's scheduler keeps
// it on the host: a table of pages, a committed length, and the cells of the last step behind it.
// It says which rows a step has and how long sequences are; it holds no cell itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/token.h"

namespace draftproof::gpu {

/// One row of a step.
struct ForwardRow {
  reference::Token token = 0;
  std::int32_t position = 0;
  std::int64_t slot = -1;  ///< where its key and value are written; -1: nowhere
  std::int32_t sequence = 0;
  std::vector<std::uint64_t> mask;  ///< of the places behind the committed ones, itself included
};

/// Rows of one or more sequences, and the state of all of them, as kernels read it.
struct ForwardStep {
  std::vector<ForwardRow> rows;
  std::vector<std::int32_t> tables;   ///< page_max entries a sequence, -1: no page
  std::vector<std::int32_t> lengths;  ///< committed places
};

class PagedWindow {
 public:
  /// Pages of each sequence, in order; no page twice. Throws Error(kInput) naming what is wrong.
  PagedWindow(int page_size, std::vector<std::vector<std::int32_t>> pages);

  int page_size() const { return page_size_; }
  int length(int sequence) const { return lengths_[static_cast<std::size_t>(sequence)]; }
  /// The slot of a logical place. Precondition: the place is on a page of the sequence.
  std::int64_t slot(int sequence, int place) const;

  /// A step without rows.
  ForwardStep step() const;
  /// Appends rows that feed `tokens` behind the committed places of a sequence: row i lies at place
  /// length + i, at position length + its depth, and sees what is committed, its ancestors and
  /// itself. `parents[i]` is a row before i, or -1 for what continues the committed places. A
  /// sequence is fed once a step. Precondition: its pages have room for them.
  void feed(ForwardStep& step, int sequence, std::span<const reference::Token> tokens,
            std::span<const int> parents);
  /// feed() of a chain.
  void feed(ForwardStep& step, int sequence, std::span<const reference::Token> tokens);

  /// Ends a step of a sequence, of whose places `kept_count` were kept and moved together behind
  /// the length (TargetForward::commit). Those that were not kept stay where they are, unseen.
  /// Precondition: so many were fed.
  void commit(int sequence, int kept_count);

 private:
  int page_size_;
  std::size_t page_max_ = 0;
  std::vector<std::vector<std::int32_t>> pages_;
  std::vector<std::int32_t> lengths_;
  std::vector<int> fed_;
};

}  // namespace draftproof::gpu
