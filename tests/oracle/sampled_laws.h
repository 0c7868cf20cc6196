// Sampled laws: draws with fixed seeds, alike on every machine, and the law that is hardest to see.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace draftproof::oracle::sampled {

using Law = std::vector<double>;

/// In [0, 1).
inline double unit(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

/// By inversion, never an outcome of probability 0.
inline std::size_t drawn(const Law& law, std::mt19937_64& random) {
  double point = unit(random);
  std::size_t last = 0;
  for (std::size_t outcome = 0; outcome < law.size(); ++outcome) {
    if (law[outcome] <= 0) continue;
    last = outcome;
    if (point < law[outcome]) break;
    point -= law[outcome];
  }
  return last;
}

/// An even number of cells, half of them more likely by the same factor, half less.
inline Law hardest(std::size_t cells, double distance) {
  Law law(cells);
  for (std::size_t i = 0; i < cells; ++i)
    law[i] = (1 + (i % 2 == 0 ? 2 : -2) * distance) / static_cast<double>(cells);
  return law;
}

}  // namespace draftproof::oracle::sampled
