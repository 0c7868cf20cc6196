// Traces for the tests of oracle/speed: consistent ones, to be broken in one place.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "oracle/speed/trace.h"

namespace draftproof::tests {

/// What a made trace is drawn from. Times in seconds.
struct TraceRecipe {
  int requests = 8;
  int calls = 20;
  std::vector<std::int64_t> lengths = {4};  ///< by request, in turn
  std::vector<double> rates = {0.8, 0.8, 0.8, 0.8};
  double decode = 0.020;
  double draft_token = 0.001;
  double verify = 0.020;  ///< of no draft
  double verify_token = 0.0005;
  double accept = 0.0002;
  double rollback = 0.0001;
  double other = 0;
  /// Spread of a request's own rates and times, as a factor: requests differ, calls of one do not.
  double spread = 0;
  unsigned seed = 1;
};

inline oracle::speed::Iteration made_draft(const TraceRecipe& recipe, std::int64_t length,
                                           double factor, std::mt19937_64& random) {
  std::uniform_real_distribution<double> coin(0, 1);
  oracle::speed::Iteration iteration;
  iteration.drafted = length;
  while (iteration.accepted < length &&
         coin(random) < recipe.rates[static_cast<std::size_t>(iteration.accepted)] * factor)
    ++iteration.accepted;
  iteration.emitted = iteration.accepted + 1;
  iteration.draft = recipe.draft_token * static_cast<double>(length);
  iteration.verify = recipe.verify + recipe.verify_token * static_cast<double>(length);
  iteration.accept = recipe.accept;
  iteration.rollback = recipe.rollback;
  iteration.step =
      *iteration.draft + *iteration.verify + recipe.accept + recipe.rollback + recipe.other;
  iteration.batch = 1;
  return iteration;
}

inline oracle::speed::Trace made_trace(const TraceRecipe& recipe) {
  oracle::speed::Trace trace;
  std::mt19937_64 random(recipe.seed);
  std::uniform_real_distribution<double> tilt(-1, 1);
  for (int r = 0; r < recipe.requests; ++r) {
    const std::string name = "r" + std::to_string(r);
    const double factor = 1 + recipe.spread * tilt(random);
    const auto length = recipe.lengths[static_cast<std::size_t>(r) % recipe.lengths.size()];
    for (int i = 0; i < recipe.calls; ++i) {
      oracle::speed::Iteration draft = made_draft(recipe, length, factor, random);
      oracle::speed::Iteration plain;
      plain.arm = oracle::speed::Arm::kBaseline;
      plain.emitted = 1;
      plain.step = recipe.decode;
      plain.batch = 1;
      for (auto* each : {&draft, &plain}) {
        each->request = name;
        each->index = i;
        each->cohort = "all";
        each->line = static_cast<std::int64_t>(trace.iterations.size()) + 2;
        trace.iterations.push_back(*each);
      }
    }
  }
  return trace;
}

}  // namespace draftproof::tests
