// Family: one budget of false alarms over everything that a run decides, and looks at growing
// samples that cost nothing extra.
//   e-values    each of m checks alarms at m / budget (Bonferroni on e-values; any dependence).
//   bounds      a miss probability over looks j = 0, 1, ... at n_0 2^j samples is spent as
//               6 / (pi^2 (j+1)^2) of it, so that all of them hold together.
//   triage      e-BH (Wang, Ramdas 2022): the list of checks to look at first, with a false
//               discovery rate of at most the budget under any dependence. It convicts nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace draftproof::oracle {

/// Natural logarithm of the e-value at which one of `check_count` checks alarms. Preconditions:
/// 0 < budget < 1, check_count > 0.
double log_alarm(double budget, std::size_t check_count);

/// The share of `miss` for look `look` (0-based); the shares of all looks sum to less than miss.
double share_of_look(double miss, std::size_t look);

/// Sample sizes of the looks: first, 2 first, 4 first, ... and `last` itself.
std::vector<std::uint64_t> looks(std::uint64_t first, std::uint64_t last);

/// Indices of the checks that e-BH names at this false discovery rate, strongest first.
std::vector<std::size_t> triage(std::span<const double> log_e_values, double rate);

}  // namespace draftproof::oracle
