// Coverage: which corners of an engine's state a run has turned. Rollback faults sit at page edges
// and at certain accept counts (vllm-project/vllm#53505, sgl-project/sglang#31616), stale drafts
// where the draft length changes to 0 and back (vllm-project/vllm#52762); so what is counted is
//   operation x committed length at k pages -2 .. +2 slots (k >= 1) x draft length before
//             x draft length x accepted
// and every operation uses the axes that mean something to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::properties::state {

enum class Operation : std::uint8_t {
  kDraft,    ///< drafted for: edge, length before, length
  kVerify,   ///< judged behind its prompt: edge, length before, length, accepted
  kCommit,   ///< edge, length, accepted
  kFinish,   ///< ended by itself: edge, length, accepted
  kPreempt,  ///< by whomever: edge, length of the draft that waited
  kCancel,   ///< edge, length of the draft that waited
  kDrop,     ///< a draft that waited was given up: edge, its length (never 0)
  kResume,   ///< taken up again behind a preemption: edge
  kHit,      ///< found a prefix: edge of the tokens there are
};
inline constexpr std::size_t kOperationCount = 9;
/// "draft", "verify", ...
std::string_view to_string(Operation operation);

struct CoverageCell {
  Operation operation = Operation::kDraft;
  int edge = 0;           ///< -2 .. 2
  int length_before = 0;  ///< of the draft verified before; 0 where the operation has no such axis
  int length = 0;
  int accepted = 0;

  friend bool operator==(const CoverageCell&, const CoverageCell&) = default;
};
/// "verify at a page edge -1, draft length 2 behind 0, 1 accepted"
std::string to_string(const CoverageCell& cell);

/// Counts. Draft lengths above kDraftCountMax are not counted.
class Coverage {
 public:
  static constexpr int kDraftCountMax = 3;

  struct Event {
    Operation operation = Operation::kDraft;
    int committed = 0;  ///< cells that are committed
    int page_size = 1;
    int length_before = 0, length = 0, accepted = 0;
  };
  /// Counts an event at every edge that it is at; none: nothing is counted.
  void add(const Event& event);
  void add(const Coverage& other);

  std::int64_t count(const CoverageCell& cell) const { return counts_[index_of(cell)]; }
  /// Every cell that some right engine can be in, in a fixed order.
  static std::vector<CoverageCell> reachable();
  /// Of them, those that were not reached.
  std::vector<CoverageCell> missing() const;

  struct Share {
    std::size_t reached = 0, reachable = 0;
    std::int64_t events = 0;  ///< at edges
  };
  Share share(Operation operation) const;

 private:
  static constexpr std::size_t kEdges = 5, kLengths = kDraftCountMax + 1;
  static std::size_t index_of(const CoverageCell& cell);
  std::array<std::int64_t, kOperationCount* kEdges* kLengths* kLengths* kLengths> counts_ = {};
};

}  // namespace draftproof::properties::state
