#include "oracle/family.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/error.h"

namespace draftproof::oracle {

double log_alarm(double budget, std::size_t check_count) {
  DRAFTPROOF_CHECK(budget > 0 && budget < 1, std::to_string(budget));
  DRAFTPROOF_CHECK(check_count > 0);
  return std::log(static_cast<double>(check_count)) - std::log(budget);
}

double share_of_look(double miss, std::size_t look) {
  DRAFTPROOF_CHECK(miss > 0 && miss < 1, std::to_string(miss));
  const double place = static_cast<double>(look) + 1;
  return miss * 6 / (M_PI * M_PI * place * place);
}

std::vector<std::uint64_t> looks(std::uint64_t first, std::uint64_t last) {
  DRAFTPROOF_CHECK(first > 0);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = first; size < last; size *= 2) {
    sizes.push_back(size);
    if (size > last / 2) break;
  }
  if (last > 0) sizes.push_back(last);
  return sizes;
}

std::vector<std::size_t> triage(std::span<const double> log_e_values, double rate) {
  DRAFTPROOF_CHECK(rate > 0 && rate < 1, std::to_string(rate));
  std::vector<std::size_t> order(log_e_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return log_e_values[one] > log_e_values[other];
  });
  // The largest K whose K-th e-value is at least m / (K rate).
  std::size_t named = 0;
  for (std::size_t count = 1; count <= order.size(); ++count) {
    const double needed = log_alarm(rate, order.size()) - std::log(static_cast<double>(count));
    if (log_e_values[order[count - 1]] >= needed) named = count;
  }
  order.resize(named);
  return order;
}

}  // namespace draftproof::oracle
