// Speed report: everything `draftproof speed` says of a trace, as values; the renderings are beside
// it. Numbers come from oracle/speed alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oracle/speed/admission.h"
#include "oracle/speed/decision.h"
#include "oracle/speed/identities.h"
#include "oracle/speed/metrics.h"
#include "oracle/speed/tile.h"
#include "oracle/speed/worked_examples.h"
#include "tools/draftproof/speed_settings.h"

namespace draftproof::tools {

/// E[committed] three ways, and the two rates behind it, for one draft length.
struct CommittedThreeWays {
  std::int64_t draft_length = 0;  ///< the longest traced
  double draft_acceptance = 0;
  double constant_rate = 0;        ///< the conditional rate that would give this draft acceptance
  double closed_form = 0;          ///< at that constant rate and the mean draft length
  std::optional<double> products;  ///< of the per-position rates, at the longest length
  double counted = 0;              ///< per call with a draft
};

/// One tile rule at one draft length.
struct TileLine {
  std::string rule;  ///< attention or GEMM
  std::int64_t rows_per_position = 0;
  std::int64_t tile = 0;
  std::int64_t draft_length = 0;
  oracle::speed::TileUse use;
  std::int64_t filling_length = 0;
  std::int64_t free_length = 0;
};

/// AL / (1 + rho D) with the measured and with the layers' rho.
struct FlatSpeeds {
  std::optional<double> rho_measured, by_measured;
  std::optional<double> rho_layers, by_layers;
};

struct CohortReport {
  std::string name;
  std::size_t requests = 0, speculative_calls = 0, baseline_calls = 0;
  oracle::speed::Headline headline;
  std::vector<oracle::speed::Metric> metrics;
  std::vector<oracle::speed::IdentityResult> identities;
  oracle::speed::Decision decision;
  std::optional<CommittedThreeWays> committed;
  FlatSpeeds flat;
  std::vector<TileLine> tiles;
  std::optional<oracle::speed::VerifyTerms> verify;  ///< by the roofline, at the mean draft length
  std::optional<oracle::speed::VerifySlope> slope;   ///< and of one more token
  std::vector<std::string> remarks;
};

/// A step shared by one request of every cohort: which draft lengths it should admit.
struct BatchAdmission {
  std::vector<std::string> cohorts;
  oracle::speed::Admission admission;
  double slot_seconds = 0;
};

struct SpeedReport {
  std::string file;
  oracle::speed::Setup setup;
  double confidence = 0;
  std::vector<oracle::speed::DamagedLine> damaged;
  std::vector<CohortReport> cohorts;
  std::optional<BatchAdmission> admission;

  bool any_broken() const;
};

/// `trace` as read, with what the settings state instead of it already put in.
SpeedReport speed_report(const oracle::speed::Trace& trace, const SpeedSettings& settings);

/// Puts the settings' tile, query group, experts and placement into the trace's setup. Throws
/// Error(kInput) for experts without a shape, or more of them per token than there are.
void apply(const SpeedSettings& settings, oracle::speed::Setup& setup);

/// Tables for people; `is_markdown` writes what can be pasted into an issue.
std::string speed_page(const SpeedReport& report, bool is_markdown);
/// tools/schema/speed.schema.json.
std::string speed_json(const SpeedReport& report);
/// One line a number: cohort, kind, id, label, value, unit.
std::string speed_csv(const SpeedReport& report);

std::string examples_page(const std::vector<oracle::speed::WorkedExample>& examples,
                          bool is_markdown);
std::string examples_json(const std::vector<oracle::speed::WorkedExample>& examples);
std::string examples_csv(const std::vector<oracle::speed::WorkedExample>& examples);

}  // namespace draftproof::tools
