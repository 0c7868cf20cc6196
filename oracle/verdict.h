// Verdicts: three-valued, merged by dominance, always with their evidence and its size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/claim.h"
#include "reference/observation.h"

namespace draftproof::oracle {

/// Ordered by dominance: a violation outweighs everything, "inconclusive" is never "upheld".
enum class VerdictKind : std::uint8_t { kUpheld = 0, kInconclusive = 1, kViolated = 2 };
std::string_view to_string(VerdictKind kind);

/// The least case that shows a violation, told as an argument.
struct Witness {
  std::string let;
  std::string expected;
  std::string observed;
  std::string because;
  std::string replay;     ///< a command line; filled by whoever stores the case
  std::string case_json;  ///< properties::Case as JSON; empty when there is none
};

/// What a reader is to call a finding; each fixes its verdict (README, "How to read a verdict").
enum class Label : std::uint8_t {
  kNone,
  kLossy,            ///< violated
  kLossyByDesign,    ///< violated unless declared and within its budget
  kInefficient,      ///< LOSSLESS BUT INEFFICIENT: upheld, with a note
  kNotReproducible,  ///< violated where reproducibility was claimed
  kUnsafe,           ///< violated
  kNotExercised,     ///< inconclusive, never upheld
  kNearTie,          ///< upheld: decisions that a derived or measured bound cannot tell apart
};
/// "LOSSY", "LOSSY BY DESIGN", ...; "" for kNone.
std::string_view to_string(Label label);

/// [low, high]; high may be +infinity.
struct Interval {
  double low = 0;
  double high = 0;
};

/// How far an observed law is from the expected one: an estimate and bounds that hold together with
/// probability 1 - miss for any sample size.
struct Effect {
  std::string of;                    ///< what the laws are of: "next token", "first token", ...
  double total_variation = 0;        ///< less the bias of small samples, at least 0
  Interval total_variation_bounds;   ///< within [0, 1]
  std::optional<double> divergence;  ///< KL(observed || expected) in nats, plug-in; infinite:
                                     ///< a token outside the support came
  std::optional<Interval> divergence_bounds;
  double miss = 0;  ///< probability that a bound does not hold
};

/// How many cases fell into one cell of a property's matrix.
struct Cell {
  std::string name;
  std::uint64_t cases = 0;
};

/// One check's verdict: property x subject, for one claim.
struct Verdict {
  VerdictKind kind = VerdictKind::kInconclusive;
  Claim claim = Claim::kWellFormed;
  std::string property;
  std::string subject;
  std::uint64_t trials = 0;
  std::string evidence;                 ///< one line for a table
  std::string smallest_visible_effect;  ///< travels with every "upheld": absence has a size
  std::string assumption;               ///< what the verdict rests on; printed when not empty
  std::optional<std::string> bound;     ///< an upper bound on total variation, a rational "a/b"
  std::optional<Witness> witness;       ///< present when violated
  Label label = Label::kNone;
  std::optional<double> log_e_value;  ///< natural, largest at any look; +infinity is a proof
  std::optional<double> log_alarm;    ///< the e-value convicts from here on
  std::optional<Effect> effect;
  std::string setting;  ///< of an audit: the cell of its matrix, "t0.7-k8"
  std::vector<std::string> notes;
  std::vector<reference::Observation> observations;
  std::vector<Cell> cells;
  double seconds = 0;
};

/// The dominant kind; kInconclusive for none, since nothing was shown.
VerdictKind merged(const std::vector<Verdict>& verdicts);

/// The weakest refuted claims of a list of verdicts, and everything that falls with them.
struct Refutation {
  std::vector<Claim> refuted;       ///< weakest first; none of them implied by another one
  std::vector<Claim> also_refuted;  ///< what falls with them
};
Refutation refutation(const std::vector<Verdict>& verdicts);

}  // namespace draftproof::oracle
