#include "oracle/speed/tile.h"

#include <numeric>

#include "reference/error.h"

namespace draftproof::oracle::speed {

std::int64_t attention_rows(std::int64_t query_group, std::int64_t draft_length) {
  DRAFTPROOF_CHECK(query_group >= 1 && draft_length >= 0);
  return query_group * (1 + draft_length);
}

std::int64_t gemm_rows(std::int64_t batch, std::int64_t draft_length) {
  DRAFTPROOF_CHECK(batch >= 1 && draft_length >= 0);
  return batch * (1 + draft_length);
}

std::int64_t filling_draft_length(std::int64_t rows_per_position, std::int64_t tile) {
  DRAFTPROOF_CHECK(rows_per_position >= 1 && tile >= 1);
  return tile / std::gcd(tile, rows_per_position) - 1;
}

std::int64_t free_draft_length(std::int64_t rows_per_position, std::int64_t tile) {
  const std::int64_t tiles = tile_use(rows_per_position, tile).tiles;
  return tiles * tile / rows_per_position - 1;
}

TileUse tile_use(std::int64_t rows, std::int64_t tile) {
  DRAFTPROOF_CHECK(rows >= 1 && tile >= 1);
  const std::int64_t tiles = (rows + tile - 1) / tile;
  return {rows, tiles, static_cast<double>(rows) / static_cast<double>(tiles * tile)};
}

}  // namespace draftproof::oracle::speed
