// Identities within one iteration: counts against counts, terms against the step.
#include <algorithm>

#include "oracle/speed/identity_check.h"

namespace draftproof::oracle::speed {
namespace {

IdentityResult accepted_is_within_the_draft(const Cohort& cohort) {
  IdentityCheck check("accepted-within-draft", "0 <= accepted <= depth <= drafted");
  for (const Iteration* each : cohort.speculative) {
    check.expect(each->accepted <= each->draft_depth() && each->draft_depth() <= each->drafted,
                 at(*each), [&] {
                   return "accepted " + text_of(each->accepted) + ", depth " +
                          text_of(each->draft_depth()) + ", drafted " + text_of(each->drafted);
                 });
  }
  return check.result();
}

IdentityResult emitted_is_accepted_and_one(const Cohort& cohort) {
  IdentityCheck check("emitted-per-iteration",
                      cohort.setup->emits_bonus
                          ? "emitted + cut = accepted + 1"
                          : "emitted + cut = accepted + 1, without the 1 when all were accepted");
  for (const Iteration* each : cohort.speculative) {
    check.expect(each->emitted + each->cut == due(*each, *cohort.setup), at(*each), [&] {
      return "emitted " + text_of(each->emitted) + " + cut " + text_of(each->cut) + ", due with " +
             text_of(each->accepted) + " accepted: " + text_of(due(*each, *cohort.setup));
    });
  }
  return check.result();
}

IdentityResult baseline_decodes_plainly(const Cohort& cohort) {
  IdentityCheck check("baseline-plain", "baseline: drafted = accepted = 0, emitted + cut = 1");
  for (const Iteration* each : cohort.baseline) {
    check.expect(each->drafted == 0 && each->accepted == 0 && each->emitted + each->cut == 1,
                 at(*each), [&] {
                   return "drafted " + text_of(each->drafted) + ", accepted " +
                          text_of(each->accepted) + ", emitted " + text_of(each->emitted);
                 });
  }
  return check.result();
}

IdentityResult first_rejection_follows_the_accepted(const Cohort& cohort) {
  IdentityCheck check("first-rejection",
                      "first rejection = accepted + 1, and none when all were accepted");
  const bool reports = std::any_of(cohort.speculative.begin(), cohort.speculative.end(),
                                   [](const Iteration* i) { return i->first_rejection; });
  for (const Iteration* each : cohort.speculative) {
    if (!reports) break;
    const bool rejects = each->accepted < each->draft_depth();
    const bool holds =
        rejects ? each->first_rejection == each->accepted + 1 : !each->first_rejection.has_value();
    check.expect(holds, at(*each), [&] {
      return "first rejection " +
             (each->first_rejection ? text_of(*each->first_rejection) : std::string("none")) +
             " with " + text_of(each->accepted) + " of " + text_of(each->draft_depth()) +
             " accepted";
    });
  }
  return check.result();
}

IdentityResult wasted_is_the_rest(const Cohort& cohort) {
  IdentityCheck check("wasted", "wasted = drafted - accepted");
  for (const Iteration* each : cohort.speculative) {
    if (!each->wasted) continue;
    check.expect(*each->wasted == each->drafted - each->accepted, at(*each), [&] {
      return "wasted " + text_of(*each->wasted) + ", drafted " + text_of(each->drafted) +
             ", accepted " + text_of(each->accepted);
    });
  }
  return check.result();
}

IdentityResult bonus_follows_a_whole_draft(const Cohort& cohort) {
  IdentityCheck check("bonus", "a bonus token only behind a draft that was accepted whole");
  for (const Iteration* each : cohort.speculative) {
    if (!each->bonus) continue;
    const bool is_whole = each->drafted > 0 && each->accepted == each->draft_depth();
    const bool is_cut = each->cut > 0;
    const bool may = is_whole && cohort.setup->emits_bonus;
    check.expect(*each->bonus ? may : !may || is_cut, at(*each), [&] {
      return std::string(*each->bonus ? "a bonus" : "no bonus") + " with " +
             text_of(each->accepted) + " of " + text_of(each->draft_depth()) + " accepted";
    });
  }
  return check.result();
}

IdentityResult switches_have_reasons(const Cohort& cohort) {
  IdentityCheck check("fallback-reason",
                      "an iteration without a draft says why, one with a draft does not");
  const bool reports = std::any_of(cohort.speculative.begin(), cohort.speculative.end(),
                                   [](const Iteration* i) { return !i->fallback.empty(); });
  for (const Iteration* each : cohort.speculative) {
    if (!reports) break;
    check.expect((each->drafted == 0) == !each->fallback.empty(), at(*each), [&] {
      return each->fallback.empty()
                 ? "drafted 0 without a reason"
                 : "drafted " + text_of(each->drafted) + ", fallback \"" + each->fallback + "\"";
    });
  }
  return check.result();
}

IdentityResult terms_fit_the_step(const Cohort& cohort) {
  const Placement placement = cohort.setup->placement;
  IdentityCheck check("terms-within-step",
                      placement == Placement::kOverlapped
                          ? "max(draft + link, verify) + accept + rollback <= step"
                          : "draft + verify + accept + rollback + link <= step");
  for (const Iteration* each : cohort.speculative) {
    if (!each->step || !each->verify) continue;
    StepTerms terms{each->draft.value_or(0),    *each->verify,          each->accept.value_or(0),
                    each->rollback.value_or(0), each->link.value_or(0), 0};
    const double sum = step_time(terms, placement);
    // Clocks are read one after the other: a thousandth of the step, or a microsecond.
    const double slack = std::max(1e-3 * *each->step, 1e-6);
    check.expect(sum <= *each->step + slack, at(*each), [&] {
      return "terms " + number(sum * 1e3) + " ms, step " + number(*each->step * 1e3) + " ms";
    });
  }
  return check.result();
}

}  // namespace

std::vector<IdentityResult> iteration_identities(const Cohort& cohort) {
  return {accepted_is_within_the_draft(cohort), emitted_is_accepted_and_one(cohort),
          baseline_decodes_plainly(cohort),     first_rejection_follows_the_accepted(cohort),
          wasted_is_the_rest(cohort),           bonus_follows_a_whole_draft(cohort),
          switches_have_reasons(cohort),        terms_fit_the_step(cohort)};
}

}  // namespace draftproof::oracle::speed
