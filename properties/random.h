// Random: the seeded source of everything a property tries (SplitMix64: Steele, Lea, Flood 2014).
// The same seed gives the same cases on every machine, which std::distributions do not promise.
#pragma once

#include <cstdint>
#include <vector>

namespace draftproof::properties {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) { return bits() % bound; }
  /// In [low, high].
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low + 1)));
  }
  /// True once in `of`.
  bool once_in(std::uint64_t of) { return below(of) == 0; }
  /// In [0, 1).
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  template <class Value>
  const Value& pick(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
};

/// A seed for part `index` of something with a seed: parts do not share their streams.
inline std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t index) {
  Random random(seed ^ (index * 0xd1342543de82ef95 + 0x2545f4914f6cdd1d));
  random.bits();
  return random.bits();
}

/// A seed from a name, so that properties do not share theirs (FNV-1a).
inline std::uint64_t derived_seed(std::uint64_t seed, const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3;
  return derived_seed(seed, hash);
}

}  // namespace draftproof::properties
