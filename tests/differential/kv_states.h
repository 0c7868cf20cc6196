// Recurrent states and hidden rows on the device, with what they must be: the state behind a path
// of tokens is a function of all of them, so that one rejected token too many shows for ever.
#pragma once

#include <algorithm>
#include <numeric>

#include "reference/kv/recurrent_slots.h"
#include "tests/differential/kv_cache_steps.h"

namespace draftproof::tests {

class KvStates {
 public:
  KvStates(KvDevice& device, Dice& dice, int row_count, int fed_max)
      : device_(device),
        dice_(dice),
        pool_(device, layout(dice, row_count * (fed_max + 1) + 3)),
        is_exchange_(dice.is_one_in(2)),
        fed_max_(fed_max) {
    std::vector<std::int32_t> slots(static_cast<std::size_t>(row_count * (fed_max + 1)));
    std::iota(slots.begin(), slots.end(), 2);
    for (std::size_t i = slots.size(); i > 1; --i)
      std::swap(slots[i - 1], slots[static_cast<std::size_t>(dice.below(static_cast<int>(i)))]);
    for (int row = 0; row < row_count; ++row) {
      committed_.push_back(slots.back());
      slots.pop_back();
      candidates_.emplace_back(slots.end() - fed_max, slots.end());
      slots.resize(slots.size() - static_cast<std::size_t>(fed_max));
    }
  }

  void open(int row) { write({committed_[at(row)]}, {reference::kv::kEmptyState}); }
  void close(int) {}
  void fork(int from, int to) { write({committed_[at(to)]}, {pool_.key(committed_[at(from)], 0)}); }

  /// What a forward leaves behind every fed token, then the choice of the kernel.
  void step(const std::vector<KvFeed>& feeds, const std::vector<std::vector<Token>>& committed,
            const KvKept& kept) {
    std::vector<std::int32_t> slots, counts, held;
    std::vector<std::vector<std::int32_t>> rows;
    std::vector<CellKey> keys;
    for (std::size_t f = 0; f < feeds.size(); ++f) {
      const KvFeed& feed = feeds[f];
      counts.push_back(feed.row < 0 ? 0 : static_cast<std::int32_t>(feed.tokens.size()));
      held.push_back(feed.row < 0 ? -1 : committed_[at(feed.row)]);
      rows.push_back(feed.row < 0 ? std::vector<std::int32_t>(static_cast<std::size_t>(fed_max_), 0)
                                  : candidates_[at(feed.row)]);
      std::vector<CellKey> states;
      for (std::size_t i = 0; i < feed.tokens.size(); ++i) {
        const int parent = feed.parents[i];
        states.push_back(reference::kv::state_behind(parent < 0
                                                         ? reference::kv::state_of(committed[f])
                                                         : states[static_cast<std::size_t>(parent)],
                                                     feed.tokens[i]));
        slots.push_back(candidates_[at(feed.row)][i]);
      }
      keys.insert(keys.end(), states.begin(), states.end());
    }
    write(slots, keys);
    select(feeds, committed, kept, rows, held, counts);
  }

  void compare(const std::string& when) { pool_.compare(when); }

 private:
  static KvLayout layout(Dice& dice, int slot_count) {
    KvLayout layout = random_layout(dice, 1, slot_count);
    layout.has_page_scales = false;
    layout.key_bytes = dice.of({64, 7, 40});
    layout.is_interleaved = layout.is_interleaved && layout.value_bytes == layout.key_bytes;
    return layout;
  }
  static std::size_t at(int row) { return static_cast<std::size_t>(row); }

  void write(const std::vector<std::int32_t>& slots, const std::vector<CellKey>& keys) {
    const auto list = device_.array(std::vector<std::int64_t>(slots.begin(), slots.end()), "slots");
    draftproof_kv_append_arguments arguments{};
    arguments.pool = pool_.arguments();
    const auto rows = pool_.rows(keys, arguments);
    arguments.slots = list.pointer();
    arguments.token_count = static_cast<std::uint32_t>(slots.size());
    device_.run(arguments);
    for (std::size_t i = 0; i < slots.size(); ++i) pool_.key(slots[i], 0) = keys[i];
  }

  void select(const std::vector<KvFeed>& feeds, const std::vector<std::vector<Token>>& committed,
              const KvKept& kept, const std::vector<std::vector<std::int32_t>>& rows,
              const std::vector<std::int32_t>& held, const std::vector<std::int32_t>& counts) {
    const KvKeptArrays lists = on_device(device_, kept);
    const auto width = static_cast<std::size_t>(fed_max_) + 1;
    const auto candidates = device_.array(rectangle(rows, width), "candidates");
    const auto slots = device_.array(held, "committed");
    const auto fed = device_.array(counts, "fed counts");
    const auto statuses = device_.array(std::vector<std::uint32_t>(feeds.size(), 99), "statuses");
    draftproof_kv_select_states_arguments arguments{};
    arguments.pool = pool_.arguments();
    arguments.kept = lists.arguments;
    arguments.candidates = candidates.pointer();
    arguments.committed = slots.pointer();
    arguments.fed_counts = fed.pointer();
    arguments.statuses = statuses.pointer();
    arguments.candidate_stride = width;
    arguments.candidate_max = static_cast<std::uint32_t>(fed_max_);
    arguments.sequence_count = static_cast<std::uint32_t>(feeds.size());
    arguments.flags = is_exchange_ ? DRAFTPROOF_KV_EXCHANGE : 0;
    device_.run(arguments);
    demand_done(statuses, "select_states");
    const std::vector<std::int32_t> after = slots.read();
    const std::vector<std::int32_t> left = candidates.read();
    for (std::size_t f = 0; f < feeds.size(); ++f) {
      if (feeds[f].row < 0) continue;
      std::vector<Token> tokens = committed[f];
      for (const int offset : kept.expected[f])
        tokens.push_back(feeds[f].tokens[static_cast<std::size_t>(offset)]);
      std::int32_t& own = committed_[at(feeds[f].row)];
      auto& others = candidates_[at(feeds[f].row)];
      if (is_exchange_ && !kept.expected[f].empty())
        std::swap(own, others[static_cast<std::size_t>(kept.expected[f].back())]);
      pool_.key(own, 0) = reference::kv::state_of(tokens);
      demand(after[f] == own, "select_states: committed slot");
      demand(std::equal(others.begin(), others.end(),
                        left.begin() + static_cast<std::ptrdiff_t>(f * width)),
             "select_states: candidate slots");
    }
  }

  KvDevice& device_;
  Dice& dice_;
  KvPool pool_;
  bool is_exchange_ = false;
  int fed_max_ = 0;
  std::vector<std::int32_t> committed_;
  std::vector<std::vector<std::int32_t>> candidates_;
};

/// Hidden rows and positions of the kept tokens, packed or by sequence.
inline void gather_rows(KvDevice& device, Dice& dice, const std::vector<KvFeed>& feeds,
                        const KvKept& kept) {
  const auto row_bytes = static_cast<std::size_t>(dice.of({48, 6, 1, 128}));
  std::vector<std::int32_t> counts, sources, destinations;
  std::size_t source_count = 0, destination_count = 0;
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    counts.push_back(static_cast<std::int32_t>(feeds[f].tokens.size()));
    sources.push_back(static_cast<std::int32_t>(source_count));
    destinations.push_back(static_cast<std::int32_t>(destination_count));
    source_count += feeds[f].tokens.size();
    destination_count += kept.expected[f].size();
  }
  std::vector<std::uint8_t> rows((source_count + 1) * row_bytes);
  std::vector<std::int64_t> positions(source_count + 1);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<std::uint8_t>((i / row_bytes) * 31 + i % row_bytes);
  std::iota(positions.begin(), positions.end(), 100);
  const std::size_t room = destination_count + 2;
  const auto from = device.array(rows, "hidden rows");
  const auto from_positions = device.array(positions, "positions");
  const auto to = device.array(std::vector<std::uint8_t>(room * row_bytes, 0xA5), "gathered");
  const auto to_positions = device.array(std::vector<std::int64_t>(room, -1), "gathered positions");
  const auto fed = device.array(counts, "fed counts");
  const auto first = device.array(sources, "source starts");
  const auto second = device.array(destinations, "destination starts");
  const auto written = device.array(std::vector<std::uint32_t>(feeds.size(), 99), "kept counts");
  const auto statuses = device.array(std::vector<std::uint32_t>(feeds.size(), 99), "statuses");
  const KvKeptArrays lists = on_device(device, kept);
  draftproof_kv_gather_rows_arguments arguments{};
  arguments.buffers[0] = {from.pointer(), to.pointer(), row_bytes, row_bytes, row_bytes};
  arguments.buffers[1] = {from_positions.pointer(), to_positions.pointer(), 8, 8, 8};
  arguments.kept = lists.arguments;
  arguments.fed_counts = fed.pointer();
  arguments.source_starts = first.pointer();
  arguments.destination_starts = second.pointer();
  arguments.kept_counts = written.pointer();
  arguments.statuses = statuses.pointer();
  arguments.source_row_count = source_count + 1;
  arguments.destination_row_count = room;
  arguments.buffer_count = 2;
  arguments.sequence_count = static_cast<std::uint32_t>(feeds.size());
  device.run(arguments);
  demand_done(statuses, "gather_rows");
  std::vector<std::uint8_t> expected(room * row_bytes, 0xA5);
  std::vector<std::int64_t> expected_positions(room, -1);
  std::size_t next = 0;
  for (std::size_t f = 0; f < feeds.size(); ++f) {
    demand(written.read()[f] == kept.expected[f].size(), "gather_rows: kept counts");
    for (const int offset : kept.expected[f]) {
      const auto row = static_cast<std::size_t>(sources[f] + offset);
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * row_bytes), row_bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(next * row_bytes));
      expected_positions[next++] = positions[row];
    }
  }
  demand(to.read() == expected, "gather_rows: rows differ");
  demand(to_positions.read() == expected_positions, "gather_rows: positions differ");
}

}  // namespace draftproof::tests
