// Reporter: one event stream in, any rendering out. Whoever runs checks emits events and knows no
// format; whoever renders knows no subject. A report cannot change a verdict.
//
// A run is RunStarted, CheckExempted for what does not apply, then any interleaving of
// CheckStarted, CheckProgress, CheckFinished, Section and Warning, then RunFinished. The command
// emits the first and the last; a function that runs checks (properties, a kernel card) emits those
// in between. Results arrive in the order of their index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "oracle/verdict.h"

namespace draftproof::tools::report {

/// Where a run took place: what is needed to understand it elsewhere.
struct Environment {
  std::string version;   ///< of draftproof
  std::string compiler;  ///< that built it
  std::string system;    ///< kernel and machine
  std::string kernels;   ///< "embedded (N modules)" or why there are none
  std::string device;    ///< "emulator", the GPU's name, "cpu" for subjects without a device
};

/// What a run may spend, and what its seeds derive from.
struct Budget {
  std::uint64_t seed = 1;
  std::string battery;
  double false_alarms = 1e-9;  ///< for the whole run
  std::optional<double> time_limit_seconds;
  unsigned workers = 1;
};

/// One check: property x subject x rule x device, with its verdict.
struct CheckResult {
  std::string id;  ///< "emitted_law_is_target_law/chain"
  std::string rule;
  std::string device;
  std::string statement;  ///< of the property, one sentence
  std::string citation;
  oracle::Verdict verdict;
  /// Set when draftproof itself failed during this check; the verdict is then inconclusive.
  std::string internal_error;
  /// Set when the world failed during this check (device lost, file gone); inconclusive too.
  std::string world_error;
  /// Why known.toml accepts this finding, which stays a violation; empty: it does not.
  std::string accepted = {};
};

/// What was audited, a line each: "baseline" -> "llama.cpp b6012 at http://127.0.0.1:8080".
struct Fact {
  std::string name;
  std::string value;
};

struct RunStarted {
  std::string run_id;
  std::string subject;
  std::vector<std::string> command_line;
  Environment environment;
  Budget budget;
  std::size_t check_count = 0;  ///< 0: not known beforehand
  std::string kind = "check";   ///< "check", or "audit": checks are audits in settings
  std::vector<Fact> facts = {};
};
struct CheckStarted {
  std::size_t index = 0;
  std::string id;
};
struct CheckProgress {
  std::size_t index = 0;
  std::uint64_t done = 0;
  std::uint64_t of = 0;
};
struct CheckFinished {
  std::size_t index = 0;
  CheckResult result;
};
/// A property that says nothing about the subject, and why; never silently left out.
struct CheckExempted {
  std::string id;
  std::string reason;
};
struct Warning {
  std::string message;  ///< one line: cause and remedy
};
/// A part of the report that is no check, rendered by whoever knows it.
struct Section {
  std::string id;  ///< "speed"
  std::string title;
  std::string text, markdown;  ///< end with a line break
  std::string json;            ///< one value
};
struct RunFinished {
  int exit_code = 0;
  bool is_interrupted = false;
  bool inconclusive_is_allowed = false;
  double seconds = 0;
};

using Event = std::variant<RunStarted, CheckExempted, CheckStarted, CheckProgress, CheckFinished,
                           Section, Warning, RunFinished>;

/// Receives events one at a time; never called from two threads at once.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void on(const Event& event) = 0;
};

/// A finished run as one value: what every rendering that needs the whole run is a function of.
struct Run {
  RunStarted started;
  std::vector<CheckResult> checks;
  std::vector<CheckExempted> exempted;
  std::vector<std::string> warnings;
  RunFinished finished;
  std::vector<Section> sections = {};
};

std::vector<oracle::Verdict> verdicts_of(const Run& run);
/// The dominant verdict of the run's checks.
oracle::VerdictKind verdict_of(const Run& run);

/// Collects a run and hands it over once, at RunFinished.
class Collector final : public Reporter {
 public:
  explicit Collector(std::function<void(const Run&)> at_end) : at_end_(std::move(at_end)) {}
  void on(const Event& event) override;

 private:
  std::function<void(const Run&)> at_end_;
  Run run_;
};

/// Hands every event to all of its reporters, in their order.
class Fanout final : public Reporter {
 public:
  void add(std::unique_ptr<Reporter> reporter) { reporters_.push_back(std::move(reporter)); }
  void on(const Event& event) override {
    for (auto& reporter : reporters_) reporter->on(event);
  }

 private:
  std::vector<std::unique_ptr<Reporter>> reporters_;
};

}  // namespace draftproof::tools::report
