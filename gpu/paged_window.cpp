#include "gpu/paged_window.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "reference/error.h"

namespace draftproof::gpu {

PagedWindow::PagedWindow(int page_size, std::vector<std::vector<std::int32_t>> pages)
    : page_size_(page_size), pages_(std::move(pages)) {
  if (page_size < 1)
    throw Error(ErrorKind::kInput, "is " + std::to_string(page_size) + "; take 1 or more",
                "page_size");
  std::set<std::int32_t> seen;
  for (const auto& table : pages_) {
    page_max_ = std::max(page_max_, table.size());
    for (const std::int32_t page : table)
      if (page < 0 || !seen.insert(page).second)
        throw Error(ErrorKind::kInput,
                    "page " + std::to_string(page) + " is negative or twice in the tables",
                    "pages");
  }
  lengths_.assign(pages_.size(), 0);
  fed_.assign(pages_.size(), 0);
}

std::int64_t PagedWindow::slot(int sequence, int place) const {
  const auto& table = pages_.at(static_cast<std::size_t>(sequence));
  DRAFTPROOF_CHECK(place >= 0 && static_cast<std::size_t>(place / page_size_) < table.size(),
                   "place " + std::to_string(place));
  return std::int64_t{table[static_cast<std::size_t>(place / page_size_)]} * page_size_ +
         place % page_size_;
}

ForwardStep PagedWindow::step() const {
  ForwardStep step;
  for (const auto& table : pages_) {
    std::vector<std::int32_t> padded = table;
    padded.resize(page_max_, -1);
    step.tables.insert(step.tables.end(), padded.begin(), padded.end());
  }
  step.lengths = lengths_;
  return step;
}

void PagedWindow::feed(ForwardStep& step, int sequence, std::span<const reference::Token> tokens,
                       std::span<const int> parents) {
  DRAFTPROOF_CHECK(tokens.size() == parents.size());
  const std::size_t first = step.rows.size(), words = (tokens.size() + 63) / 64;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    DRAFTPROOF_CHECK(parents[i] >= -1 && parents[i] < static_cast<int>(i),
                     std::to_string(parents[i]));
    ForwardRow row{tokens[i], length(sequence), slot(sequence, length(sequence) + int(i)), sequence,
                   std::vector<std::uint64_t>(words)};
    if (parents[i] >= 0) {
      const ForwardRow& parent = step.rows[first + static_cast<std::size_t>(parents[i])];
      row.position = parent.position + 1;
      row.mask = parent.mask;
    }
    row.mask[i / 64] |= std::uint64_t{1} << i % 64;
    step.rows.push_back(std::move(row));
  }
  fed_[static_cast<std::size_t>(sequence)] = static_cast<int>(tokens.size());
}

void PagedWindow::feed(ForwardStep& step, int sequence, std::span<const reference::Token> tokens) {
  std::vector<int> parents(tokens.size());
  std::iota(parents.begin(), parents.end(), -1);
  feed(step, sequence, tokens, parents);
}

void PagedWindow::commit(int sequence, int kept_count) {
  const auto own = static_cast<std::size_t>(sequence);
  DRAFTPROOF_CHECK(kept_count >= 0 && kept_count <= fed_[own], std::to_string(kept_count));
  lengths_[own] += kept_count;
  fed_[own] = 0;
}

}  // namespace draftproof::gpu
