// Tile: which draft lengths fill whole tiles of a kernel. Two rules that are often taken for one.
//   attention  rows per sequence and KV head = G (1 + D), G = query heads per KV head: the batch
//              does not enter, because two sequences share no KV
//   GEMM       rows = B (1 + D): the batch enters, the heads do not, because all rows share weights
// A row that pads a tile costs as much as a row that verifies a token, so a draft that ends on a
// tile's edge is verified at the price of a shorter one.
#pragma once

#include <cstdint>

namespace draftproof::oracle::speed {

/// Rows of attention per sequence and KV head. Preconditions: query_group >= 1, draft_length >= 0.
std::int64_t attention_rows(std::int64_t query_group, std::int64_t draft_length);
/// Rows of every weight product in a step. Preconditions: batch >= 1, draft_length >= 0.
std::int64_t gemm_rows(std::int64_t batch, std::int64_t draft_length);

/// Least D >= 0 such that `tile` divides rows_per_position (1 + D): tile / gcd(tile, rows) - 1,
/// which is tile / rows - 1 where rows divides tile. Preconditions: both at least 1.
std::int64_t filling_draft_length(std::int64_t rows_per_position, std::int64_t tile);

/// Largest D >= 0 that takes no more tiles than D = 0 does. Preconditions as above.
std::int64_t free_draft_length(std::int64_t rows_per_position, std::int64_t tile);

struct TileUse {
  std::int64_t rows = 0;
  std::int64_t tiles = 0;
  /// rows / (tiles x tile).
  double fill = 0;
};
/// Preconditions: rows >= 1, tile >= 1.
TileUse tile_use(std::int64_t rows, std::int64_t tile);

}  // namespace draftproof::oracle::speed
