// Draft paths: what the draft cache shows of the committed tokens and of drafted ones behind them.
// A drafted token counts as fed once its cell has been written to a temporary slot and read back,
// so that rows come from what the cache holds, never from what the source remembers.
#pragma once

#include <vector>

#include "reference/decode/draft_source.h"

namespace draftproof::reference::decode {

/// Copies are paths of their own over the same cache. Lives no longer than its task.
class DraftPath {
 public:
  /// The path of no drafted token. Preconditions: the task has cache, sight and a sequence whose
  /// reservation has draft_count_max slots.
  DraftPath(const DraftTask& task, const LanguageModel& model);

  /// The model's row behind the path; NaN where a cell is seen that nobody wrote.
  Row row() const;
  /// Feeds `token` behind the path: its cell goes to temporary slot `offset`, is told cell_position
  /// + depth(), and has the history that the path has as read. Then the window slides.
  void feed(Token token, int offset);
  /// Drafted tokens on the path.
  int depth() const { return depth_; }

 private:
  const DraftTask* task_;
  const LanguageModel* model_;
  Sight sight_;
  int depth_ = 0;
};

/// The coin of a drafted token at `depth` >= 1 that is number `slot` of that depth.
std::uint64_t draft_coin(const DraftTask& task, int depth, std::uint32_t slot);

/// Feeds the nodes of a finished draft that something continues: parents first, each to the next
/// temporary slot. Placeholders, tokens outside the vocabulary and what hangs from them are left
/// out. Fills `fed_nodes`.
void feed_inner_nodes(const DraftTask& task, const LanguageModel& model, Draft& draft);

}  // namespace draftproof::reference::decode
