#include "properties/course.h"

#include <algorithm>
#include <chrono>

#include "oracle/parity.h"
#include "properties/describe.h"
#include "properties/random.h"
#include "properties/shrink.h"
#include "reference/error.h"

namespace draftproof::properties {
namespace {

/// Runs of the subject that shrinking may cost; large vocabularies get fewer, since each is slow.
std::uint64_t tries_for(const Case& value) { return value.batch.vocab_size > 4096 ? 300 : 4000; }

oracle::Witness witness_of(const Case& value, const Complaint& complaint) {
  oracle::Witness witness;
  witness.let = describe(value);
  witness.expected = complaint.expected;
  witness.observed = complaint.observed;
  witness.because = complaint.because;
  witness.case_json = to_json(value);
  return witness;
}

/// The recorded answer of a case, where there is one and the subject promises the masses.
std::optional<Complaint> against_record(const Subject& subject, const Case& value) {
  if (value.expected.empty() || !subject.verifier->traits().declares_masses) return std::nullopt;
  reference::Outcome expected;
  expected.requests = value.expected;
  const auto difference = oracle::first_difference(expected, run(*subject.verifier, value));
  if (!difference) return std::nullopt;
  return Complaint{difference->expected,
                   difference->observed,
                   difference->what + " differs from the answer recorded in the case",
                   {}};
}

oracle::Verdict replayed(const Recipe& recipe, const Subject& subject, const Case& value) {
  oracle::Verdict verdict;
  const reference::VerifierTraits& traits = subject.verifier->traits();
  const std::string exemption = recipe.exemption(traits);
  if (!exemption.empty()) {
    verdict.evidence = "does not apply: " + exemption;
    return verdict;
  }
  if (value.rule != traits.rule) {
    verdict.evidence =
        "the case is for the rule '" + value.rule + "', the subject follows '" + traits.rule + "'";
    return verdict;
  }
  auto complaint = recipe.judge(subject, value);
  if (!complaint) complaint = against_record(subject, value);
  verdict.trials = value.batch.requests.size();
  verdict.kind = complaint ? oracle::VerdictKind::kViolated : oracle::VerdictKind::kUpheld;
  verdict.evidence = complaint ? "the case fails" : "the case holds";
  if (complaint) {
    verdict.witness = witness_of(value, *complaint);
    verdict.observations = complaint->observations;
  } else {
    verdict.smallest_visible_effect = "this one case";
  }
  return verdict;
}

/// Runs `make`, with the time it took and Error as an inconclusive verdict.
template <class Make>
oracle::Verdict guarded(const Recipe& recipe, const Subject& subject, Make make) {
  DRAFTPROOF_CHECK(subject.verifier != nullptr && subject.twin != nullptr);
  const auto start = std::chrono::steady_clock::now();
  oracle::Verdict verdict;
  try {
    verdict = make();
  } catch (const Error& error) {
    verdict = {};
    verdict.evidence = "the subject could not be run";
    verdict.notes.push_back(error.what());
  }
  verdict.property = recipe.id;
  verdict.claim = recipe.claim;
  verdict.subject = subject.verifier->traits().name;
  verdict.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return verdict;
}

}  // namespace

reference::Outcome run(reference::Verifier& verifier, const Case& value, reference::Batch* after) {
  reference::Batch batch = value.batch;
  const auto coins = coins_of(value);
  reference::Outcome outcome = verifier.verify(batch, *coins, value.execution);
  if (after != nullptr) *after = std::move(batch);
  return outcome;
}

std::uint64_t Course::by_battery(std::uint64_t smoke, std::uint64_t standard,
                                 std::uint64_t deep) const {
  if (settings_.battery == Battery::kSmoke) return smoke;
  return settings_.battery == Battery::kStandard ? standard : deep;
}

bool Course::stopped() {
  is_stopped_ = is_stopped_ || settings_.stopped();
  return is_violated_ || is_stopped_;
}

void Course::count(std::uint64_t requests, const std::string& cell) {
  verdict_.trials += requests;
  ++batches_;
  if (!cell.empty()) cells_[cell] += requests;
  settings_.progress(verdict_.trials, std::max(expected_, verdict_.trials));
}

bool Course::attempt(const Case& value, const std::string& cell) {
  if (stopped()) return false;
  const auto complaint = judge_(subject_, value);
  count(value.batch.requests.size(), cell);
  if (!complaint) return true;
  convict(value, *complaint);
  return false;
}

void Course::convict(const Case& value, const Complaint& complaint) {
  is_violated_ = true;
  const auto fails = [&](const Case& candidate) {
    if (settings_.stopped()) return false;
    try {
      return judge_(subject_, candidate).has_value();
    } catch (const Error&) {
      return false;
    }
  };
  const Shrunk least = shrink(value, fails, tries_for(value));
  Complaint final_complaint = complaint;
  try {
    final_complaint = judge_(subject_, least.value).value_or(complaint);
  } catch (const Error&) {
    // The subject failed in another way this time; what was seen before stands.
  }
  verdict_.witness = witness_of(least.value, final_complaint);
  verdict_.observations = final_complaint.observations;
  verdict_.notes.push_back("shrunk in " + std::to_string(least.tries) + " runs" +
                           (least.is_least ? "" : ", not to the end"));
}

void Course::convict_by_sample(oracle::Witness witness) {
  is_violated_ = true;
  verdict_.witness = std::move(witness);
}

void Course::leave_open(std::string reason) { open_reason_ = std::move(reason); }

oracle::Verdict Course::finish() {
  if (is_violated_)
    verdict_.kind = oracle::VerdictKind::kViolated;
  else if (is_stopped_ || !open_reason_.empty() || verdict_.trials == 0)
    verdict_.kind = oracle::VerdictKind::kInconclusive;
  else
    verdict_.kind = oracle::VerdictKind::kUpheld;
  const std::string amount =
      std::to_string(verdict_.trials) + " requests in " + std::to_string(batches_) + " batches";
  std::string what = verdict_.evidence;
  if (what.empty()) what = is_violated_ ? "a case fails" : "no case fails";
  if (verdict_.kind == oracle::VerdictKind::kInconclusive)
    what = verdict_.trials == 0    ? "nothing was tried"
           : !open_reason_.empty() ? open_reason_
                                   : "stopped early; " + what + " so far";
  verdict_.evidence = what + "; " + amount;
  for (const auto& [name, cases] : cells_) verdict_.cells.push_back({name, cases});
  return std::move(verdict_);
}

Property built(Recipe recipe) {
  Property property;
  property.id = recipe.id;
  property.statement = recipe.statement;
  property.citation = recipe.citation;
  property.claim = recipe.claim;
  property.exemption = recipe.exemption;
  property.check = [recipe](const Subject& subject, const Settings& settings) {
    return guarded(recipe, subject, [&] {
      Course course(subject, settings, recipe.judge);
      recipe.course(course, derived_seed(settings.seed, recipe.id.c_str()));
      oracle::Verdict verdict = course.finish();
      if (verdict.kind == oracle::VerdictKind::kUpheld && verdict.smallest_visible_effect.empty())
        verdict.smallest_visible_effect = recipe.smallest_visible_effect;
      return verdict;
    });
  };
  property.replay = [recipe](const Subject& subject, const Case& value) {
    return guarded(recipe, subject, [&] { return replayed(recipe, subject, value); });
  };
  return property;
}

std::string unless_rule(const reference::VerifierTraits& traits,
                        const std::vector<std::string>& rules) {
  if (std::find(rules.begin(), rules.end(), traits.rule) != rules.end()) return "";
  std::string known;
  for (const std::string& rule : rules) known += (known.empty() ? "" : ", ") + rule;
  return "the rule '" + traits.rule + "' is not " + (rules.size() > 1 ? "one of " : "") + known;
}

reference::RequestOutcome answer(const reference::Outcome& outcome, std::size_t index) {
  return index < outcome.requests.size() ? outcome.requests[index] : reference::RequestOutcome{};
}

std::string told(const reference::Outcome& outcome, std::size_t index) {
  return index < outcome.requests.size() ? oracle::describe(outcome.requests[index]) : "no outcome";
}

}  // namespace draftproof::properties
