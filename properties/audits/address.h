// Address: a hash of the parts that name an observation, so that seeds and coins are functions of
// where they are used and of nothing else: any order, any shard, any resumption finds the same.
#pragma once

#include <cstdint>
#include <string_view>

#include "properties/random.h"

namespace draftproof::properties::audits {

class Address {
 public:
  explicit Address(std::uint64_t seed) : state_(mixed(seed)) {}

  void add(std::uint64_t part) { state_ = mixed(state_ ^ mixed(part + kStep)); }
  /// Its bytes in eights and its length: "ab" and "a", "b" are other addresses.
  void add(std::string_view text) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      word = word << 8 | static_cast<unsigned char>(text[i]);
      if (i % 8 == 7) {
        add(word);
        word = 0;
      }
    }
    add(word);
    add(static_cast<std::uint64_t>(text.size()));
  }

  std::uint64_t hash() const { return state_; }
  /// In [0, 1).
  double coin() const { return static_cast<double>(state_ >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  /// The finaliser of SplitMix64, which every bit goes through.
  static std::uint64_t mixed(std::uint64_t bits) { return Random(bits).bits(); }

  std::uint64_t state_;
};

}  // namespace draftproof::properties::audits
