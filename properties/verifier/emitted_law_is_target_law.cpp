// The law: what is emitted has the target's law, jointly over positions (Leviathan et al. 2023,
// appendix A.1; Chen et al. 2023, theorem 1). For the chain rule the realised law is read off a
// breakpoint certificate (oracle/certificate.h): no sampling, no false alarms. Rules whose
// decisions the certificate cannot predict are sampled (sampled_law.h).
#include <algorithm>

#include "oracle/hidden_share.h"
#include "oracle/parity.h"
#include "properties/describe.h"
#include "properties/laws.h"
#include "properties/verifier/coin_use.h"
#include "properties/verifier/probe_coins.h"
#include "properties/verifier/properties.h"
#include "properties/verifier/sampled_law.h"
#include "properties/verifier/tree_fixture.h"
#include "properties/verifier/variants.h"
#include "reference/error.h"
#include "reference/scalar.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Outcome;
using reference::Purpose;
using reference::Request;
using reference::RequestOutcome;
using reference::RowKind;

/// Requests per run of the subject: enough to fill a device, few enough to stop in good time.
constexpr std::size_t kChunk = 512;

/// Probes as a case of their own, for the witness; request id = index.
Case case_of(const TreeFixture& fixture, const oracle::Probe* probes, std::size_t count) {
  Case value;
  value.property = "emitted_law_is_target_law";
  value.batch = fixture.batch();
  for (std::size_t r = 0; r < count; ++r) {
    const oracle::Probe& probe = probes[r];
    value.batch.requests.push_back(fixture.request(probe.draft));
    const auto id = static_cast<std::uint32_t>(r);
    value.batch.requests.back().id = id;
    for (std::uint32_t i = 0; i < probe.draft.size(); ++i) {
      value.coins[{id, i, Purpose::kAccept, 0, 0}] = probe.accept_coins[i];
      value.coins[{id, i, Purpose::kRecovered, 0, 0}] = probe.recovered_coins[i];
    }
    const auto last = static_cast<std::uint32_t>(probe.draft.size());
    value.coins[{id, last, Purpose::kBonus, 0, 0}] = probe.bonus_coin;
  }
  return value;
}

/// A single case against the formula: the witness of a failed probe, shrunk or recorded.
std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  const std::uint64_t margin = margin_for(subject.verifier->traits());
  const auto coins = coins_of(value);
  const Outcome outcome = run(*subject.verifier, value);
  for (std::size_t r = 0; r < value.batch.requests.size(); ++r) {
    const auto due = outcome_by_formula(value.batch, value.batch.requests[r], *coins, margin);
    if (!due) continue;
    Outcome expected, observed;
    expected.requests = {*due};
    if (r < outcome.requests.size()) observed.requests = {outcome.requests[r]};
    auto found = difference(expected, observed,
                            "the formula decides otherwise: accept below 2^64 min(1, T D-sum / (D "
                            "T-sum)), recover from max(0, target - draft)");
    if (found) return found;
  }
  return std::nullopt;
}

/// What the certificates of a course add up to.
struct Sum {
  std::uint64_t decisions = 0, probes = 0, interior = 0, laws = 0;
  std::optional<reference::Exact> bound;
};

/// Keeps the witness of a failed probe: alone when it fails alone, else with its chunk.
void convict(Course& course, const TreeFixture& fixture, const oracle::Plan& plan,
             std::size_t failed, std::size_t first, std::size_t count) {
  course.verdict().evidence = "probe " + std::to_string(failed) + " of " +
                              std::to_string(plan.probes.size()) + " of " +
                              name_of(fixture.outline) + " fails";
  const Case alone = case_of(fixture, &plan.probes[failed], 1);
  if (const auto complaint = judge(course.subject(), alone))
    return course.convict(alone, *complaint);
  const Case company = case_of(fixture, &plan.probes[first], count);
  if (const auto complaint = judge(course.subject(), company))
    return course.convict(company, *complaint);
  course.convict(company, {oracle::describe(plan.probes[failed].expected),
                           "another outcome, which a second run did not repeat",
                           "the subject keeps something between runs",
                           {}});
}

/// For a subject whose decisions are no thresholds of the coins that a certificate gives them: its
/// law is sampled, like that of a black box, and may be refuted so; it is never certified.
void sample_instead(Course& course, const oracle::Plan& plan, std::size_t failed) {
  sample_laws(course, derived_seed(failed, plan.probes.size()));
  course.verdict().smallest_visible_effect.clear();
  course.leave_open(
      "its decisions are no thresholds of the coins that belong to them, so that no certificate "
      "can be given; no evidence against its law in a sample");
}

/// Runs one chunk of probes; false when one fails, which is then the witness.
bool run_chunk(Course& course, const TreeFixture& fixture, const oracle::Plan& plan,
               std::size_t first, std::vector<RequestOutcome>& outcomes) {
  const std::size_t count = std::min(kChunk, plan.probes.size() - first);
  reference::Batch batch = fixture.batch();
  for (std::size_t i = 0; i < count; ++i) {
    batch.requests.push_back(fixture.request(plan.probes[first + i].draft));
    batch.requests.back().id = static_cast<std::uint32_t>(i);
  }
  const ProbeCoins coins(&plan.probes[first], count);
  Outcome outcome = course.subject().verifier->verify(batch, coins, {});
  outcome.requests.resize(count);
  course.count(count, name_of(fixture.outline));
  for (std::size_t i = 0; i < count; ++i) {
    const oracle::Probe& probe = plan.probes[first + i];
    if (oracle::first_difference(probe.expected, outcome.requests[i])) {
      // Only a subject that promises the masses promises which coin decides what, and how.
      if (course.traits().declares_masses ||
          decides_by_thresholds(*course.subject().verifier, fixture, probe, outcome.requests[i]))
        convict(course, fixture, plan, first + i, first, count);
      else
        sample_instead(course, plan, first + i);
      return false;
    }
    outcomes.push_back(std::move(outcome.requests[i]));
  }
  return true;
}

/// False when the course is over.
bool certify(Course& course, const TreeOutline& outline, int interior_coins, Sum& sum) {
  const TreeFixture fixture = tree_fixture(outline);
  oracle::PlanOptions options;
  options.seed = derived_seed(outline.seed, 1);
  options.margin = margin_for(course.traits());
  options.interior_per_decision = interior_coins;
  const oracle::Plan plan = oracle::plan(fixture.law, options);
  std::vector<RequestOutcome> outcomes;
  outcomes.reserve(plan.probes.size());
  for (std::size_t first = 0; first < plan.probes.size(); first += kChunk)
    if (course.stopped() || !run_chunk(course, fixture, plan, first, outcomes)) return false;
  const oracle::Certificate certificate = oracle::judge(plan, outcomes);
  DRAFTPROOF_CHECK(certificate.kind == oracle::VerdictKind::kUpheld, name_of(outline));
  sum.decisions += certificate.decisions;
  sum.probes += certificate.probes;
  sum.interior += certificate.interior_probes;
  ++sum.laws;
  if (outline.vocab_size >= 16)
    course.note(name_of(outline) + ": " + std::to_string(certificate.decisions) + " decisions by " +
                std::to_string(certificate.probes) + " probes in " +
                std::to_string((plan.probes.size() + kChunk - 1) / kChunk) +
                " runs, total variation <= " + certificate.bound);
  const reference::Exact bound = reference::exact_from_text(certificate.bound);
  if (!sum.bound || bound > *sum.bound) sum.bound = bound;
  return true;
}

/// Samplings under which laws are certified: plain, and truncated in half of the cases, since
/// filters that reach only some rows are a common fault.
std::vector<reference::Sampling> samplings() {
  return {{},
          {.temperature = 0.7, .top_k = 3},
          {.temperature = 1.5, .top_p = 0.8},
          {.temperature = 0.5, .top_k = 5, .top_p = 0.9, .min_p = 0.05}};
}

/// Small laws: every draft kind and format the subject takes, all presets in turn.
std::vector<TreeOutline> small_outlines(const Course& course, std::uint64_t seed) {
  const reference::VerifierTraits& traits = course.traits();
  const std::uint64_t rounds = course.by_battery(5, 12, 300);
  std::vector<TreeOutline> outlines;
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (int draft_count = 0; draft_count <= 2; ++draft_count)
      for (RowKind kind : traits.draft_kinds)
        for (const reference::Sampling& sampling : samplings()) {
          TreeOutline outline;
          outline.seed = derived_seed(seed, outlines.size());
          Random random(outline.seed);
          outline.vocab_size = random.between(2, 4);
          outline.draft_count = draft_count;
          outline.draft_kind = kind;
          outline.format = random.pick(traits.formats);
          outline.preset = random.pick(reference::presets()).name;
          outline.sampling = sampling;
          outlines.push_back(outline);
        }
  return outlines;
}

/// The laws of 16 tokens and drafts of 1, 2 and 3.
std::vector<TreeOutline> large_outlines(const Course& course, std::uint64_t seed) {
  const reference::VerifierTraits& traits = course.traits();
  std::vector<TreeOutline> outlines;
  const std::uint64_t rounds = course.by_battery(0, 1, 24);
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (int draft_count = 1; draft_count <= 3; ++draft_count) {
      TreeOutline outline;
      outline.vocab_size = 16;
      outline.draft_count = draft_count;
      outline.draft_kind = traits.draft_kinds[round % traits.draft_kinds.size()];
      outline.format = traits.formats[round % traits.formats.size()];
      outline.sampling = samplings()[round / 2 % samplings().size()];
      outline.seed = derived_seed(seed, 1000000 + outlines.size());
      outlines.push_back(outline);
    }
  return outlines;
}

/// Small laws whose intervals get many random coins each, so that no single decision rests on its
/// edges alone.
std::vector<TreeOutline> dense_outlines(const Course& course, std::uint64_t seed) {
  const reference::VerifierTraits& traits = course.traits();
  std::vector<TreeOutline> outlines;
  for (std::uint64_t i = 0; i < course.by_battery(1, 3, 6); ++i) {
    TreeOutline outline;
    outline.vocab_size = 3;
    outline.draft_count = 1;
    outline.draft_kind = traits.draft_kinds[i % traits.draft_kinds.size()];
    outline.format = traits.formats[i % traits.formats.size()];
    outline.seed = derived_seed(seed, 2000000 + i);
    outlines.push_back(outline);
  }
  return outlines;
}

bool certify_densely(Course& course, std::uint64_t seed, Sum& sum) {
  const int coins = static_cast<int>(course.by_battery(64, 256, 4096));
  for (const TreeOutline& outline : dense_outlines(course, seed)) {
    if (!certify(course, outline, coins, sum)) return false;
    course.note(name_of(outline) + ": " + std::to_string(coins) +
                " random coins in each interval; wrong decisions on a share of " +
                short_number(oracle::hidden_share(static_cast<std::uint64_t>(coins),
                                                  course.false_alarms())) +
                " of any one of them are met");
  }
  return true;
}

void certify_all(Course& course, std::uint64_t seed) {
  Sum sum;
  std::vector<TreeOutline> outlines = small_outlines(course, seed);
  const std::vector<TreeOutline> large = large_outlines(course, seed);
  outlines.insert(outlines.end(), large.begin(), large.end());
  // Dense laws of 16 tokens and drafts of 1, 2, 3 take about 300, 5 000 and 100 000 to 250 000
  // probes; the small ones together some ten thousand.
  course.expect(outlines.size() * 300 + large.size() * 60000);
  for (const TreeOutline& outline : outlines)
    if (!certify(course, outline, 1, sum)) return;
  if (!certify_densely(course, seed, sum)) return;
  oracle::Verdict& verdict = course.verdict();
  verdict.evidence = std::to_string(sum.decisions) + " decisions of " + std::to_string(sum.laws) +
                     " laws certified by " + std::to_string(sum.probes) + " probes";
  verdict.assumption = oracle::threshold_assumption(sum.interior, course.false_alarms());
  verdict.bound = reference::to_string(*sum.bound);
  verdict.smallest_visible_effect =
      course.traits().declares_masses
          ? "a threshold off by one coin in 2^64"
          : "a threshold off by 2^45 coins in 2^64, or by any at an end of the axis";
}

void course(Course& course, std::uint64_t seed) {
  if (course.traits().rule == "chain" && course.traits().takes_coins)
    certify_all(course, seed);
  else
    sample_laws(course, seed);
}

}  // namespace

Property emitted_law_is_target_law() {
  return built({
      .id = "emitted_law_is_target_law",
      .statement = "The joint law of the emitted tokens is the target's.",
      .citation = "Leviathan et al. 2023, appendix A.1; Chen et al. 2023, theorem 1",
      .claim = oracle::Claim::kSequenceLossless,
      .smallest_visible_effect = "",
      .exemption =
          [](const reference::VerifierTraits& traits) {
            const bool is_greedy = traits.rule == "greedy" || traits.rule == "tree-greedy";
            return std::string(is_greedy ? "the greedy rules sample no law" : "");
          },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
