// Coverage (coverage.h).
#include "properties/state/coverage.h"

namespace draftproof::properties::state {
namespace {

struct Axes {
  bool length_before = false, length = false, accepted = false;
};

Axes axes_of(Operation operation) {
  switch (operation) {
    case Operation::kDraft:
      return {true, true, false};
    case Operation::kVerify:
      return {true, true, true};
    case Operation::kCommit:
    case Operation::kFinish:
      return {false, true, true};
    case Operation::kPreempt:
    case Operation::kCancel:
    case Operation::kDrop:
      return {false, true, false};
    case Operation::kResume:
    case Operation::kHit:
      break;
  }
  return {};
}

}  // namespace

std::string_view to_string(Operation operation) {
  static constexpr std::array<std::string_view, kOperationCount> kNames = {
      "draft", "verify", "commit", "finish", "preempt", "cancel", "drop", "resume", "hit"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::string to_string(const CoverageCell& cell) {
  const Axes axes = axes_of(cell.operation);
  std::string text(to_string(cell.operation));
  text += cell.edge == 0  ? " at a page edge"
          : cell.edge < 0 ? " " + std::to_string(-cell.edge) + " before a page edge"
                          : " " + std::to_string(cell.edge) + " behind a page edge";
  if (axes.length) text += ", draft length " + std::to_string(cell.length);
  if (axes.length_before) text += " behind " + std::to_string(cell.length_before);
  if (axes.accepted) text += ", " + std::to_string(cell.accepted) + " accepted";
  return text;
}

std::size_t Coverage::index_of(const CoverageCell& cell) {
  std::size_t index = static_cast<std::size_t>(cell.operation);
  index = index * kEdges + static_cast<std::size_t>(cell.edge + 2);
  index = index * kLengths + static_cast<std::size_t>(cell.length_before);
  index = index * kLengths + static_cast<std::size_t>(cell.length);
  return index * kLengths + static_cast<std::size_t>(cell.accepted);
}

void Coverage::add(const Event& event) {
  const Axes axes = axes_of(event.operation);
  CoverageCell cell{event.operation, 0, axes.length_before ? event.length_before : 0,
                    axes.length ? event.length : 0, axes.accepted ? event.accepted : 0};
  for (const int length : {cell.length_before, cell.length, cell.accepted})
    if (length < 0 || length > kDraftCountMax) return;
  for (cell.edge = -2; cell.edge <= 2; ++cell.edge) {
    const int edge = event.committed - cell.edge;
    if (edge >= event.page_size && edge % event.page_size == 0) ++counts_[index_of(cell)];
  }
}

void Coverage::add(const Coverage& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

std::vector<CoverageCell> Coverage::reachable() {
  std::vector<CoverageCell> cells;
  const auto last = [](bool has_axis, int max) { return has_axis ? max : 0; };
  for (std::size_t number = 0; number < kOperationCount; ++number) {
    const auto operation = static_cast<Operation>(number);
    const Axes axes = axes_of(operation);
    const int first_length = operation == Operation::kDrop ? 1 : 0;
    for (int edge = -2; edge <= 2; ++edge)
      for (int before = 0; before <= last(axes.length_before, kDraftCountMax); ++before)
        for (int length = first_length; length <= last(axes.length, kDraftCountMax); ++length)
          for (int accepted = 0; accepted <= last(axes.accepted, length); ++accepted)
            cells.push_back({operation, edge, before, length, accepted});
  }
  return cells;
}

std::vector<CoverageCell> Coverage::missing() const {
  std::vector<CoverageCell> cells;
  for (const CoverageCell& cell : reachable())
    if (count(cell) == 0) cells.push_back(cell);
  return cells;
}

Coverage::Share Coverage::share(Operation operation) const {
  Share share;
  for (const CoverageCell& cell : reachable()) {
    if (cell.operation != operation) continue;
    ++share.reachable;
    share.reached += count(cell) > 0 ? 1 : 0;
    share.events += count(cell);
  }
  return share;
}

}  // namespace draftproof::properties::state
