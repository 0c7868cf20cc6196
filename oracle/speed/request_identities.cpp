// Identities over requests and cohorts: sums against sums, and the engine's own rates against the
// counts they claim to be made of.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "oracle/speed/acceptance.h"
#include "oracle/speed/identity_check.h"

namespace draftproof::oracle::speed {
namespace {

using RequestIterations = std::vector<const Iteration*>;

IdentityResult iterations_have_no_gap(const Cohort& cohort) {
  IdentityCheck check("no-gap", "iterations of a request are numbered 0, 1, 2, ...");
  for (const RequestIterations* arm : {&cohort.baseline, &cohort.speculative}) {
    std::map<std::string, RequestIterations> requests;
    for (const Iteration* each : *arm) requests[each->request].push_back(each);
    for (auto& [name, list] : requests) {
      std::sort(list.begin(), list.end(),
                [](const Iteration* a, const Iteration* b) { return a->index < b->index; });
      std::size_t i = 0;
      while (i < list.size() && list[i]->index == static_cast<std::int64_t>(i)) ++i;
      const Breach where = i < list.size() ? at(*list[i]) : Breach{};
      check.expect(i == list.size(), where, [&] {
        return "iteration " + std::to_string(i) + " is missing in the " +
               std::string(to_string(list[i]->arm)) + " arm";
      });
    }
  }
  return check.result();
}

IdentityResult output_is_what_iterations_emitted(const Cohort& cohort) {
  IdentityCheck check("output-tokens", "output = tokens of the prefill + sum of emitted");
  const auto judge = [&](const std::vector<const Request*>& requests,
                         const RequestIterations& arm) {
    std::map<std::string, std::int64_t> emitted;
    for (const Iteration* each : arm) emitted[each->request] += each->emitted;
    for (const Request* each : requests) {
      if (!each->output_tokens || !each->prefill_tokens) continue;
      const auto found = emitted.find(each->request);
      if (found == emitted.end()) continue;
      check.expect(*each->output_tokens == *each->prefill_tokens + found->second, at(*each), [&] {
        return "output " + text_of(*each->output_tokens) + ", prefill " +
               text_of(*each->prefill_tokens) + " + emitted " + text_of(found->second);
      });
    }
  };
  judge(cohort.baseline_requests, cohort.baseline);
  judge(cohort.speculative_requests, cohort.speculative);
  return check.result();
}

struct Sums {
  double calls = 0, drafted = 0, accepted = 0, emitted = 0;
};

std::map<std::string, Sums> sums_by_request(const Cohort& cohort) {
  std::map<std::string, Sums> sums;
  for (const Iteration* each : cohort.speculative) {
    Sums& sum = sums[each->request];
    sum.calls += 1;
    sum.drafted += static_cast<double>(each->drafted);
    sum.accepted += static_cast<double>(each->accepted);
    sum.emitted += static_cast<double>(each->emitted + each->cut);
  }
  return sums;
}

/// What else the reported rate is equal to, so that a confusion is named.
std::string confusion(double reported, const Sums& sums) {
  const auto is = [&](double value) {
    return std::abs(reported - value) <= kReportedRateTolerance;
  };
  if (sums.drafted > 0 && is(sums.emitted / (sums.drafted + sums.calls)))
    return "; it is emitted / (drafted + calls)";
  if (sums.drafted > 0 && is(sums.emitted / sums.drafted)) return "; it is emitted / drafted";
  if (is(sums.accepted / sums.calls)) return "; it is accepted per call";
  if (is(sums.emitted / sums.calls)) return "; it is committed per call";
  return "";
}

IdentityResult reported_acceptance_is_accepted_over_proposed(const Cohort& cohort) {
  IdentityCheck check("reported-acceptance", "the engine's draft acceptance = accepted / proposed");
  const auto sums = sums_by_request(cohort);
  for (const Request* each : cohort.speculative_requests) {
    const auto found = sums.find(each->request);
    if (!each->draft_acceptance || found == sums.end() || found->second.drafted == 0) continue;
    const double rate = found->second.accepted / found->second.drafted;
    check.expect(std::abs(*each->draft_acceptance - rate) <= kReportedRateTolerance, at(*each),
                 [&] {
                   return "reported " + number(*each->draft_acceptance) + ", counted " +
                          number(rate) + confusion(*each->draft_acceptance, found->second);
                 });
  }
  return check.result();
}

IdentityResult reported_length_is_committed_per_call(const Cohort& cohort) {
  IdentityCheck check("reported-length",
                      "the engine's accepted length = committed tokens per target call");
  const auto sums = sums_by_request(cohort);
  for (const Request* each : cohort.speculative_requests) {
    const auto found = sums.find(each->request);
    if (!each->accepted_length || found == sums.end()) continue;
    const double length = found->second.emitted / found->second.calls;
    check.expect(std::abs(*each->accepted_length - length) <= kReportedRateTolerance, at(*each),
                 [&] {
                   return "reported " + number(*each->accepted_length) + ", counted " +
                          number(length) + confusion(*each->accepted_length, found->second);
                 });
  }
  return check.result();
}

IdentityResult arms_are_paired(const Cohort& cohort) {
  IdentityCheck check("arms-paired", "both arms got the same requests at the same arrival times");
  if (cohort.baseline.empty() || cohort.speculative.empty()) return check.result();
  std::set<std::string> baseline, speculative;
  for (const Iteration* each : cohort.baseline) baseline.insert(each->request);
  for (const Iteration* each : cohort.speculative) speculative.insert(each->request);
  for (const std::string& name : baseline) {
    check.expect(speculative.contains(name), {name, -1, 0, ""},
                 [] { return std::string("in the baseline arm only"); });
  }
  for (const std::string& name : speculative) {
    check.expect(baseline.contains(name), {name, -1, 0, ""},
                 [] { return std::string("in the speculative arm only"); });
  }
  std::map<std::string, double> arrivals;
  for (const Request* each : cohort.baseline_requests)
    if (each->arrival) arrivals[each->request] = *each->arrival;
  for (const Request* each : cohort.speculative_requests) {
    const auto found = arrivals.find(each->request);
    if (!each->arrival || found == arrivals.end()) continue;
    // A load generator keeps its schedule to about a millisecond.
    check.expect(std::abs(*each->arrival - found->second) <= 1e-3, at(*each), [&] {
      return "arrived at " + number(*each->arrival) + " s, in the baseline arm at " +
             number(found->second) + " s";
    });
  }
  return check.result();
}

/// Drafts as the per-position rates take them; what breaks accepted-within-draft fits nowhere.
std::vector<VerifiedDraft> countable_drafts(const Cohort& cohort) {
  std::vector<VerifiedDraft> drafts;
  for (const Iteration* each : cohort.speculative) {
    if (each->accepted <= each->draft_depth())
      drafts.push_back({each->draft_depth(), each->accepted});
  }
  return drafts;
}

void sums_of_the_cohort(const Cohort& cohort, std::vector<IdentityResult>& results) {
  if (cohort.speculative.empty()) return;
  const auto drafts = countable_drafts(cohort);
  Sums all;
  for (const auto& [name, sum] : sums_by_request(cohort)) {
    all.calls += sum.calls;
    all.drafted += sum.drafted;
    all.accepted += sum.accepted;
    all.emitted += sum.emitted;
  }
  std::map<std::int64_t, std::int64_t> histogram;
  for (const VerifiedDraft& draft : drafts) histogram[draft.accepted] += 1;
  double calls = 0, accepted = 0;
  for (const auto& [length, count] : histogram) {
    calls += static_cast<double>(count);
    accepted += static_cast<double>(count * length);
  }
  IdentityCheck counted("histogram", "sum of the accepted-prefix histogram = calls");
  counted.expect(calls == all.calls, {},
                 [&] { return number(calls) + " of " + number(all.calls); });
  results.push_back(counted.result());

  IdentityCheck per_call("accepted-per-call",
                         "mean of the histogram = draft acceptance x mean draft length");
  const double product =
      all.drafted == 0 ? 0 : all.accepted / all.drafted * (all.drafted / all.calls);
  // Two quotients and a product, each rounded once.
  per_call.expect(std::abs(accepted / all.calls - product) <= 1e-12 * std::max(1.0, product), {},
                  [&] { return number(accepted / all.calls) + ", " + number(product); });
  results.push_back(per_call.result());

  IdentityCheck total("emitted-total", "sum of emitted + cut = sum of accepted + calls");
  double without = 0;
  for (const Iteration* each : cohort.speculative)
    without += due(*each, *cohort.setup) == each->accepted ? 1 : 0;
  total.expect(all.emitted == all.accepted + all.calls - without, {}, [&] {
    return number(all.emitted) + ", " + number(all.accepted) + " + " + number(all.calls - without);
  });
  results.push_back(total.result());
}

IdentityResult committed_is_the_sum_of_products(const Cohort& cohort) {
  IdentityCheck check("committed-products",
                      "committed per call = 1 + sum of the products of conditional acceptances");
  const auto drafts = countable_drafts(cohort);
  const bool has_one_length =
      !drafts.empty() && drafts.front().draft_length > 0 &&
      std::all_of(drafts.begin(), drafts.end(), [&](const VerifiedDraft& draft) {
        return draft.draft_length == drafts.front().draft_length;
      });
  // With several lengths the product-limit estimate is no mean over calls, and need not agree.
  if (!has_one_length || !cohort.setup->emits_bonus) return check.result();
  double committed = 0;
  for (const Iteration* each : cohort.speculative)
    committed += static_cast<double>(each->emitted + each->cut);
  committed /= static_cast<double>(cohort.speculative.size());
  const auto expected = expected_committed(position_rates(drafts), drafts.front().draft_length);
  // D products of D quotients; a draft of 10 000 still leaves 1e-11.
  check.expect(expected && std::abs(*expected - committed) <= 1e-9 * committed, {}, [&] {
    return number(committed) + " counted, " + number(expected.value_or(0)) + " by the products";
  });
  return check.result();
}

}  // namespace

std::vector<IdentityResult> request_identities(const Cohort& cohort) {
  std::vector<IdentityResult> results;
  sums_of_the_cohort(cohort, results);
  for (const auto& identity :
       {committed_is_the_sum_of_products, iterations_have_no_gap, output_is_what_iterations_emitted,
        reported_acceptance_is_accepted_over_proposed, reported_length_is_committed_per_call,
        arms_are_paired}) {
    results.push_back(identity(cohort));
  }
  return results;
}

}  // namespace draftproof::oracle::speed
