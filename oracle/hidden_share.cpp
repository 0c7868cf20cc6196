#include "oracle/hidden_share.h"

#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <cstdio>

#include "reference/error.h"

namespace draftproof::oracle {
namespace {

/// Two significant digits, never below `value`.
std::string rounded_up(double value) {
  if (value <= 0) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1);
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", std::fmin(1.0, std::ceil(value / unit) * unit));
  return text;
}

std::string plain(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

}  // namespace

double hidden_share(std::uint64_t probes, double miss_probability) {
  DRAFTPROOF_CHECK(miss_probability > 0 && miss_probability < 1, std::to_string(miss_probability));
  if (probes == 0) return 1;
  using Binomial = boost::math::binomial_distribution<double>;
  return Binomial::find_upper_bound_on_p(static_cast<double>(probes), 0, miss_probability);
}

std::string threshold_assumption(std::uint64_t interior_probes, double miss_probability) {
  const std::string start = "one threshold per decision, supported by " +
                            std::to_string(interior_probes) + " random coins inside the intervals";
  if (interior_probes == 0) return start;
  return start + ": wrong decisions on a mean share >= " +
         rounded_up(hidden_share(interior_probes, miss_probability)) +
         " of them would have been met with probability >= 1 - " + plain(miss_probability);
}

}  // namespace draftproof::oracle
