// A pool of cells on the device and what every byte of it must be. The bytes of a cell are a
// function of its key (what its token, position and history hash to), of the plane, the layer, the
// head and the byte, so that a wrong byte is a wrong history; a slot without a key is poison, and
// so is everything between the entries.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/kv_device.h"

namespace draftproof::tests {

/// Keys of slots and pages; 0: poison.
using CellKey = std::uint64_t;

struct KvLayout {
  int page_size = 4;
  int page_count = 8;
  int layer_count = 1;
  int head_count = 2;
  int key_bytes = 16;            ///< of one head
  int value_bytes = 16;          ///< of one head; 0: no values (latent attention)
  bool is_interleaved = false;   ///< keys and values page by page beside each other
  bool is_head_major = false;    ///< [page][head][slot] instead of [page][slot][head]
  bool has_bases = false;        ///< one address a layer instead of a stride
  bool has_slot_scales = false;  ///< a float a slot and head, of keys and values
  bool has_page_scales = false;  ///< a float a page and head
  int gap_bytes = 0;             ///< between pages
  int shift_bytes = 0;           ///< of all bases
};

inline KvLayout random_layout(Dice& dice, int page_size, int page_count) {
  KvLayout layout;
  layout.page_size = page_size;
  layout.page_count = page_count;
  layout.layer_count = dice.of({1, 2, 3});
  layout.head_count = dice.of({1, 2, 3});
  layout.key_bytes = dice.of({16, 32, 8, 4, 2, 6, 5});
  layout.value_bytes = dice.is_one_in(6) ? 0 : dice.is_one_in(3) ? 24 : layout.key_bytes;
  layout.is_interleaved = dice.is_one_in(2) && layout.value_bytes == layout.key_bytes;
  layout.is_head_major = dice.is_one_in(2);
  layout.has_bases = dice.is_one_in(2);
  layout.has_slot_scales = dice.is_one_in(3);
  layout.has_page_scales = dice.is_one_in(4);
  layout.gap_bytes = dice.of({0, 0, 16, 3});
  layout.shift_bytes = dice.of({0, 0, 16, 8, 2, 1});
  return layout;
}

class KvPool {
 public:
  static constexpr std::byte kPoison{0xA5};

  KvPool(KvDevice& device, const KvLayout& layout) : device_(device), layout_(layout) {
    lay_out();
    bytes_.assign(static_cast<std::size_t>(size_), kPoison);
    buffer_.emplace(device.device(), bytes_.size(), "pool");
    buffer_->write(std::span<const std::byte>(bytes_));
    place();
    keys_.assign(static_cast<std::size_t>(layout.page_size * layout.page_count), 0);
    page_keys_.assign(static_cast<std::size_t>(layout.page_count), 0);
  }
  KvPool(const KvPool&) = delete;

  /// The bytes and keys of a pool of the same layout.
  void assign(const KvPool& other) {
    other.buffer_->read(std::span<std::byte>(bytes_));
    buffer_->write(std::span<const std::byte>(bytes_));
    keys_ = other.keys_;
    page_keys_ = other.page_keys_;
  }

  const KvLayout& layout() const { return layout_; }
  const draftproof_kv_pool& arguments() const { return pool_; }
  CellKey& key(int page, int slot) {
    return keys_[static_cast<std::size_t>(page * layout_.page_size + slot)];
  }
  CellKey& page_key(int page) { return page_keys_[static_cast<std::size_t>(page)]; }
  std::int64_t cell_bytes() const {
    std::int64_t bytes = 0;
    for (const Plane& plane : planes_)
      if (!plane.is_of_pages) bytes += std::int64_t{plane.bytes} * layout_.head_count;
    return bytes * layout_.layer_count;
  }

  /// Rows of cells with these keys, token by token, as append takes them; the sources of
  /// `arguments`.
  DeviceArray<std::byte> rows(const std::vector<CellKey>& keys,
                              draftproof_kv_append_arguments& arguments) {
    const std::size_t token_bytes = static_cast<std::size_t>(cell_bytes());
    std::vector<std::byte> bytes(token_bytes * keys.size() + 1);
    std::size_t at = 0;
    std::vector<std::size_t> starts;
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const Plane& plane = planes_[p];
      starts.push_back(at);
      if (plane.is_of_pages) continue;
      for (int layer = 0; layer < layout_.layer_count; ++layer)
        for (const CellKey key : keys)
          for (int head = 0; head < layout_.head_count; ++head, at += plane.size())
            fill(&bytes[at], key, p, layer, head);
    }
    DeviceArray<std::byte> rows = device_.array(std::move(bytes), "rows");
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const std::uint64_t heads = planes_[p].size() * static_cast<std::size_t>(layout_.head_count);
      arguments.sources[p] = {rows.pointer() + starts[p], heads * keys.size(), heads,
                              planes_[p].size()};
    }
    return rows;
  }

  /// Page scales are the engine's to write, when a page begins to be used.
  void write_page_scale(int page, CellKey key) {
    page_key(page) = key;
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      if (!planes_[p].is_of_pages) continue;
      for (int layer = 0; layer < layout_.layer_count; ++layer)
        for (int head = 0; head < layout_.head_count; ++head) {
          std::vector<std::byte> scale(planes_[p].size());
          fill(scale.data(), key, p, layer, head);
          device_.device().write(buffer_->pointer() + offset(p, layer, page, 0, head), scale);
        }
    }
  }

  /// Every byte of the pool against the keys.
  void compare(const std::string& when) {
    std::vector<std::byte> expected(bytes_.size(), kPoison);
    for (std::size_t p = 0; p < planes_.size(); ++p)
      for (int page = 0; page < layout_.page_count; ++page)
        for (int slot = 0; slot < (planes_[p].is_of_pages ? 1 : layout_.page_size); ++slot) {
          const CellKey owner = planes_[p].is_of_pages ? page_key(page) : key(page, slot);
          if (owner == 0) continue;
          for (int layer = 0; layer < layout_.layer_count; ++layer)
            for (int head = 0; head < layout_.head_count; ++head)
              fill(&expected[offset(p, layer, page, slot, head)], owner, p, layer, head);
        }
    buffer_->read(std::span<std::byte>(bytes_));
    if (bytes_ == expected) return;
    throw Disparity(when + ": " + first_difference(expected));
  }

 private:
  struct Plane {
    int bytes = 0;
    bool is_of_pages = false;
    std::uint64_t start = 0, layer_stride = 0, page_stride = 0, slot_stride = 0, head_stride = 0;
    std::size_t size() const { return static_cast<std::size_t>(bytes); }
  };

  /// Planes one behind the other; an interleaved pair shares its pages.
  void lay_out() {
    const int scale = 4;
    planes_.push_back({layout_.key_bytes});
    if (layout_.value_bytes > 0) planes_.push_back({layout_.value_bytes});
    const std::size_t elements = planes_.size();
    if (layout_.has_slot_scales) planes_.insert(planes_.end(), elements, {scale});
    if (layout_.has_page_scales) planes_.push_back({scale, true});
    size_ = static_cast<std::uint64_t>(layout_.shift_bytes);
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      Plane& plane = planes_[p];
      const auto bytes = static_cast<std::uint64_t>(plane.bytes);
      const auto heads = static_cast<std::uint64_t>(layout_.head_count);
      const auto slots = static_cast<std::uint64_t>(plane.is_of_pages ? 1 : layout_.page_size);
      plane.slot_stride = layout_.is_head_major ? bytes : bytes * heads;
      plane.head_stride = layout_.is_head_major ? bytes * slots : bytes;
      const std::uint64_t page = bytes * heads * slots;
      const bool is_pair = layout_.is_interleaved && p < 2;
      plane.page_stride =
          (is_pair ? 2 * page : page) + static_cast<std::uint64_t>(layout_.gap_bytes);
      plane.layer_stride = plane.page_stride * static_cast<std::uint64_t>(layout_.page_count) + 16;
      if (is_pair && p == 1) {
        plane.start = planes_[0].start + page;
        continue;
      }
      plane.start = size_;
      size_ += plane.layer_stride * static_cast<std::uint64_t>(layout_.layer_count);
    }
  }

  void place() {
    pool_ = {};
    pool_.plane_count = static_cast<std::uint32_t>(planes_.size());
    pool_.layer_count = static_cast<std::uint32_t>(layout_.layer_count);
    pool_.page_size = static_cast<std::uint32_t>(layout_.page_size);
    pool_.page_count = static_cast<std::uint32_t>(layout_.page_count);
    for (std::size_t p = 0; p < planes_.size(); ++p) {
      const Plane& plane = planes_[p];
      draftproof_kv_plane& to = pool_.planes[p];
      to.page_stride = plane.page_stride;
      to.slot_stride = plane.slot_stride;
      to.head_stride = plane.head_stride;
      to.head_count = static_cast<std::uint32_t>(layout_.head_count);
      to.head_bytes = static_cast<std::uint32_t>(plane.bytes);
      to.unit = plane.is_of_pages ? DRAFTPROOF_KV_PAGE : DRAFTPROOF_KV_SLOT;
      if (!layout_.has_bases) {
        to.base = buffer_->pointer() + plane.start;
        to.layer_stride = plane.layer_stride;
        continue;
      }
      std::vector<std::uint64_t> bases;
      std::uint64_t bits = 16;
      for (int layer = 0; layer < layout_.layer_count; ++layer) {
        bases.push_back(buffer_->pointer() + offset(p, layer, 0, 0, 0));
        bits |= bases.back();
      }
      to.bases_alignment = static_cast<std::uint32_t>(bits & (~bits + 1));
      bases_.push_back(device_.array(std::move(bases), "bases"));
      to.bases = bases_.back().pointer();
    }
  }

  std::uint64_t offset(std::size_t plane, int layer, int page, int slot, int head) const {
    const Plane& of = planes_[plane];
    return of.start + static_cast<std::uint64_t>(layer) * of.layer_stride +
           static_cast<std::uint64_t>(page) * of.page_stride +
           static_cast<std::uint64_t>(slot) * of.slot_stride +
           static_cast<std::uint64_t>(head) * of.head_stride;
  }

  void fill(std::byte* to, CellKey key, std::size_t plane, int layer, int head) const {
    const CellKey own = key ^ (static_cast<std::uint64_t>(plane) << 48) ^
                        (static_cast<std::uint64_t>(layer) << 40) ^
                        (static_cast<std::uint64_t>(head) << 32);
    for (int byte = 0; byte < planes_[plane].bytes; byte += 8) {
      std::uint64_t z = (own ^ static_cast<std::uint64_t>(byte)) * 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9;
      z ^= z >> 32;
      std::memcpy(to + byte, &z,
                  static_cast<std::size_t>(std::min(8, planes_[plane].bytes - byte)));
    }
  }

  std::string first_difference(const std::vector<std::byte>& expected) const {
    std::size_t at = 0;
    while (bytes_[at] == expected[at]) ++at;
    for (std::size_t p = 0; p < planes_.size(); ++p)
      for (int layer = 0; layer < layout_.layer_count; ++layer)
        for (int page = 0; page < layout_.page_count; ++page)
          for (int slot = 0; slot < (planes_[p].is_of_pages ? 1 : layout_.page_size); ++slot)
            for (int head = 0; head < layout_.head_count; ++head) {
              const std::uint64_t begin = offset(p, layer, page, slot, head);
              if (at >= begin && at < begin + planes_[p].size())
                return "plane " + std::to_string(p) + " layer " + std::to_string(layer) + " page " +
                       std::to_string(page) + " slot " + std::to_string(slot) + " head " +
                       std::to_string(head) + " differs";
            }
    return "byte " + std::to_string(at) + " between entries differs";
  }

  KvDevice& device_;
  KvLayout layout_;
  std::vector<Plane> planes_;
  std::uint64_t size_ = 0;
  std::vector<std::byte> bytes_;
  std::optional<gpu::Buffer> buffer_;
  std::vector<DeviceArray<std::uint64_t>> bases_;
  draftproof_kv_pool pool_{};
  std::vector<CellKey> keys_;
  std::vector<CellKey> page_keys_;
};

}  // namespace draftproof::tests
