// Courses: how a property is run. A property is a judge of single cases and a course that feeds it
// cases; everything else (counting, stopping, shrinking, the witness, the verdict) is the same for
// all of them and lives here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "oracle/verdict.h"
#include "properties/case.h"
#include "properties/property.h"

namespace draftproof::properties {

/// What a judge found wrong.
struct Complaint {
  std::string expected;
  std::string observed;
  std::string because;
  std::vector<reference::Observation> observations;
};

/// Runs the subject on one case and says what is wrong; none when the case is upheld. Deterministic
/// in the case, so that a shrunk or recorded case replays.
using Judge = std::function<std::optional<Complaint>(const Subject&, const Case&)>;

/// Runs the subject's verifier on a copy of the case's batch. `after`, when given, receives the
/// batch as the subject left it.
reference::Outcome run(reference::Verifier& verifier, const Case& value,
                       reference::Batch* after = nullptr);

class Course {
 public:
  Course(const Subject& subject, const Settings& settings, const Judge& judge)
      : subject_(subject), settings_(settings), judge_(judge) {}

  const Subject& subject() const { return subject_; }
  const reference::VerifierTraits& traits() const { return subject_.verifier->traits(); }
  Battery battery() const { return settings_.battery; }
  double false_alarms() const { return settings_.false_alarms; }
  /// One of three numbers, by battery.
  std::uint64_t by_battery(std::uint64_t smoke, std::uint64_t standard, std::uint64_t deep) const;

  /// How many cases (requests) the course will try, for progress.
  void expect(std::uint64_t requests) { expected_ = requests; }
  /// Judges one case and counts its requests, in `cell` when it is named. False when the course
  /// should end: a violation was found, or time is up.
  bool attempt(const Case& value, const std::string& cell = "");
  /// Counts runs that a judge made outside attempt().
  void count(std::uint64_t requests, const std::string& cell = "");
  /// Judges a case that is known to fail, shrinks it and keeps the witness.
  void convict(const Case& value, const Complaint& complaint);
  /// True when the course should end; remembered, so that an early end is never "upheld".
  bool stopped();
  /// Keeps a witness for which there is no single case, such as a law refuted by a sample.
  void convict_by_sample(oracle::Witness witness);
  /// Ends the course without a verdict, and says why; a violation found so far stays one.
  void leave_open(std::string reason);
  void note(std::string text) { verdict_.notes.push_back(std::move(text)); }
  /// What the course has shown; kind is settled by finish().
  oracle::Verdict& verdict() { return verdict_; }
  oracle::Verdict finish();

 private:
  const Subject& subject_;
  const Settings& settings_;
  const Judge& judge_;
  oracle::Verdict verdict_;
  std::map<std::string, std::uint64_t> cells_;
  std::uint64_t expected_ = 0;
  std::uint64_t batches_ = 0;
  bool is_violated_ = false;
  bool is_stopped_ = false;
  std::string open_reason_;  ///< empty unless the course was left open
};

/// A property as data, from which the entry of the catalog is built.
struct Recipe {
  std::string id;
  std::string statement;
  std::string citation;
  oracle::Claim claim = oracle::Claim::kWellFormed;
  /// Told with "upheld": the smallest effect that the course would have seen.
  std::string smallest_visible_effect;
  std::function<std::string(const reference::VerifierTraits&)> exemption;
  Judge judge;
  std::function<void(Course&, std::uint64_t seed)> course;
};

/// Times the course, turns Error into an inconclusive verdict, and fills in who and what.
Property built(Recipe recipe);

/// "the rule 'x' is not one of chain, greedy" unless the subject's rule is listed.
std::string unless_rule(const reference::VerifierTraits& traits,
                        const std::vector<std::string>& rules);

/// The outcome of request `index`; one that holds nothing when the subject gave none, so that a
/// missing answer is judged and never skipped.
reference::RequestOutcome answer(const reference::Outcome& outcome, std::size_t index);
/// The outcome of request `index`, in words; "no outcome" when there is none.
std::string told(const reference::Outcome& outcome, std::size_t index);

}  // namespace draftproof::properties
