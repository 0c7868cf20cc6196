#include "tools/draftproof/speed_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "oracle/speed/metric_sums.h"
#include "reference/error.h"

namespace draftproof::tools {
namespace {

namespace speed = oracle::speed;

constexpr std::int64_t kUsualTile = 128;

std::optional<CommittedThreeWays> committed_of(const speed::Cohort& cohort,
                                               const speed::CohortModel& model) {
  const double drafted = speed::sum(cohort.speculative, &speed::Iteration::drafted);
  const double accepted = speed::sum(cohort.speculative, &speed::Iteration::accepted);
  if (!model.is_chain || drafted == 0 || accepted > drafted) return std::nullopt;
  CommittedThreeWays ways;
  ways.draft_length = model.longest;
  ways.draft_acceptance = accepted / drafted;
  const auto length = std::max<std::int64_t>(1, std::llround(model.draft_length));
  ways.constant_rate = speed::conditional_acceptance_of(ways.draft_acceptance, length);
  ways.closed_form = speed::expected_committed(ways.constant_rate, length);
  ways.products = speed::expected_committed(model.rates, model.longest);
  double committed = 0;
  for (const auto* each : cohort.speculative)
    if (each->drafted > 0) committed += static_cast<double>(each->emitted + each->cut);
  ways.counted = committed / model.drafting_calls;
  return ways;
}

FlatSpeeds flat_of(const speed::Cohort& cohort, const speed::CohortModel& model) {
  FlatSpeeds flat;
  const auto length = std::max<std::int64_t>(1, std::llround(model.draft_length));
  const speed::Setup& setup = *cohort.setup;
  if (!(model.committed > 0)) return flat;
  if (const auto rho = speed::rho_of(cohort.speculative)) {
    flat.rho_measured = rho;
    // The measured rho is a drafted token's share, however many passes it took.
    flat.by_measured = speed::flat_speed(model.committed, {*rho}, length);
  }
  if (setup.draft_layers && setup.target_layers) {
    const auto rho = speed::layer_rho(*setup.draft_layers, *setup.target_layers);
    flat.rho_layers = rho.value;
    flat.by_layers = speed::flat_speed_estimate(model.committed, rho, length, setup.passes);
  }
  return flat;
}

TileLine tile_line(std::string rule, std::int64_t rows, std::int64_t tile, std::int64_t length) {
  return {std::move(rule),
          rows,
          tile,
          length,
          speed::tile_use(rows * (1 + length), tile),
          speed::filling_draft_length(rows, tile),
          speed::free_draft_length(rows, tile)};
}

/// Batches that a cohort ran with, smallest first.
std::set<std::int64_t> batches_of(const speed::Cohort& cohort) {
  std::set<std::int64_t> batches;
  for (const auto* each : cohort.speculative)
    if (each->batch) batches.insert(*each->batch);
  return batches;
}

void add_tiles(const speed::Cohort& cohort, std::int64_t length, CohortReport& report) {
  const speed::Setup& setup = *cohort.setup;
  const std::int64_t tile = setup.tile.value_or(kUsualTile);
  if (setup.query_group) {
    report.tiles.push_back(tile_line("attention, G (1 + D)", *setup.query_group, tile, length));
  }
  const auto batches = batches_of(cohort);
  if (!batches.empty()) {
    report.tiles.push_back(tile_line("GEMM, B (1 + D)", *batches.rbegin(), tile, length));
  }
}

void add_roofline(const speed::Cohort& cohort, std::int64_t length, CohortReport& report) {
  const speed::Setup& setup = *cohort.setup;
  if (!setup.shape || !setup.device) return;
  double context = 0, count = 0;
  for (const auto* each : cohort.speculative) {
    if (!each->context) continue;
    context += static_cast<double>(*each->context);
    count += 1;
  }
  const auto batches = batches_of(cohort);
  if (batches.empty() || count == 0) {
    report.remarks.push_back("no verify slope: iterations report no batch or no context");
    return;
  }
  const speed::Workload workload{*batches.rbegin(), length, context / count};
  report.verify = speed::verify_terms(*setup.shape, *setup.device, workload);
  report.slope = speed::verify_slope(*setup.shape, *setup.device, workload);
}

CohortReport cohort_report(const speed::Cohort& cohort, const SpeedSettings& settings) {
  CohortReport report;
  report.name = cohort.name;
  report.requests = speed::numbered_requests(cohort).size();
  report.speculative_calls = cohort.speculative.size();
  report.baseline_calls = cohort.baseline.size();
  report.headline = speed::headline_of(cohort);
  report.metrics = speed::metrics_of(cohort);
  report.identities = speed::identities_of(cohort);
  report.decision =
      speed::decide(cohort, report.identities, {1 - settings.confidence, settings.length_limit});
  const auto batches = batches_of(cohort);
  if (batches.size() > 1) {
    report.remarks.push_back(
        fmt::format("the batch varies from {} to {} within the cohort: name cohorts by batch, or "
                    "costs of several batches are averaged",
                    *batches.begin(), *batches.rbegin()));
  }
  double drafted = 0, calls = 0;
  for (const auto* each : cohort.speculative) {
    drafted += static_cast<double>(each->drafted);
    calls += each->drafted > 0 ? 1 : 0;
  }
  const std::int64_t length = calls == 0 ? 0 : std::llround(drafted / calls);
  add_tiles(cohort, length, report);
  add_roofline(cohort, length, report);
  if (const auto& model = report.decision.model) {
    report.committed = committed_of(cohort, *model);
    report.flat = flat_of(cohort, *model);
    if (!model->is_chain) {
      report.remarks.push_back("drafts are trees: lengths that did not run are not predicted");
    }
  }
  return report;
}

/// Mean over cohorts of what one more verified slot costs a step, and of the step itself.
std::optional<BatchAdmission> admission_of(const std::vector<speed::Cohort>& cohorts,
                                           const std::vector<CohortReport>& reports) {
  BatchAdmission batch;
  speed::AdmissionProblem problem;
  double decode = 0, slot = 0;
  for (std::size_t c = 0; c < cohorts.size(); ++c) {
    const auto& model = reports[c].decision.model;
    const auto batches = batches_of(cohorts[c]);
    if (!model || !model->is_chain || batches.size() != 1) continue;
    if (speed::any_broken(reports[c].identities)) continue;
    std::vector<double> rates;
    for (const auto& position : model->rates) rates.push_back(position.rate().value_or(0));
    problem.survivals.push_back(speed::survivals(rates));
    problem.budget += rates.size();
    batch.cohorts.push_back(cohorts[c].name);
    decode += model->decode;
    const double step = speed::step_time(model->terms, model->placement);
    slot += std::max(0.0, step - model->decode) /
            (model->draft_length * static_cast<double>(*batches.begin()));
  }
  if (batch.cohorts.empty()) return std::nullopt;
  const auto count = static_cast<double>(batch.cohorts.size());
  problem.base_time = decode / count;
  problem.slot_time = batch.slot_seconds = slot / count;
  batch.admission = speed::admit(problem);
  return batch;
}

}  // namespace

bool SpeedReport::any_broken() const {
  return std::any_of(cohorts.begin(), cohorts.end(), [](const CohortReport& cohort) {
    return speed::any_broken(cohort.identities);
  });
}

void apply(const SpeedSettings& settings, speed::Setup& setup) {
  if (settings.query_group) setup.query_group = settings.query_group;
  if (settings.tile) setup.tile = settings.tile;
  if (settings.placement) setup.placement = *speed::placement_from(*settings.placement);
  if (settings.experts || settings.experts_per_token) {
    if (!setup.shape) {
      throw Error(ErrorKind::kInput,
                  "the trace's setup has no shape that experts could belong to; add \"shape\" and "
                  "\"device\" to it",
                  "--experts");
    }
    if (settings.experts) setup.shape->experts = *settings.experts;
    if (settings.experts_per_token) setup.shape->experts_per_token = *settings.experts_per_token;
    if (setup.shape->experts_per_token > setup.shape->experts) {
      throw Error(ErrorKind::kInput,
                  fmt::format("{} of {} experts per token; a token uses at most all of them",
                              setup.shape->experts_per_token, setup.shape->experts),
                  "--experts-per-token");
    }
  }
  if (setup.shape) {
    setup.shape->query_group = setup.query_group.value_or(1);
    setup.shape->tile = setup.tile.value_or(kUsualTile);
  }
}

SpeedReport speed_report(const speed::Trace& trace, const SpeedSettings& settings) {
  SpeedReport report;
  report.file = settings.trace;
  report.setup = trace.setup;
  report.confidence = settings.confidence;
  report.damaged = trace.damaged;
  const auto cohorts = speed::cohorts_of(trace);
  for (const auto& cohort : cohorts) report.cohorts.push_back(cohort_report(cohort, settings));
  report.admission = admission_of(cohorts, report.cohorts);
  return report;
}

}  // namespace draftproof::tools
