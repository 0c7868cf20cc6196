#include "oracle/speed/worked_examples.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "oracle/speed/acceptance.h"
#include "oracle/speed/draft_length.h"
#include "oracle/speed/step_speed.h"
#include "oracle/speed/tile.h"
#include "oracle/speed/verify_slope.h"

namespace draftproof::oracle::speed {
namespace {

const char* const kLeviathan = "Leviathan, Kalman, Matias, ICML 2023 (arXiv:2211.17192), table 1";
const char* const kLeviathanExpected =
    "Leviathan, Kalman, Matias, ICML 2023 (arXiv:2211.17192), appendix, table 4, expected column; "
    "alpha and c were published with two decimals";

std::string shown_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

WorkedExample exact(std::string id, std::string source, std::string given, std::string quantity,
                    double published, int decimals, double computed) {
  return {std::move(id), std::move(source), std::move(given), std::move(quantity),
          published,     decimals,          computed,         computed,
          computed};
}

/// E[N] and the operations it takes, with a draft that costs nothing.
void add_leviathan_table(std::vector<WorkedExample>& examples) {
  struct Row {
    double alpha;
    std::int64_t gamma;
    double operations, speed;
  };
  for (const Row& row :
       {Row{0.6, 2, 1.53, 1.96}, Row{0.7, 3, 1.58, 2.53}, Row{0.8, 2, 1.23, 2.44},
        Row{0.8, 5, 1.63, 3.69}, Row{0.9, 2, 1.11, 2.71}, Row{0.9, 10, 1.60, 6.86}}) {
    const std::string given = "alpha " + shown_number(row.alpha) + ", draft length " +
                              std::to_string(row.gamma) + ", c = 0";
    const std::string id = "leviathan-" + shown_number(row.alpha) + "-" + std::to_string(row.gamma);
    const double committed = expected_committed(row.alpha, row.gamma);
    examples.push_back(exact(id + "-speed", kLeviathan, given,
                             "walltime improvement (1 - a^(D+1)) / ((1 - a) (1 + D c))", row.speed,
                             2, flat_speed(committed, {0}, row.gamma)));
    examples.push_back(exact(id + "-operations", kLeviathan, given,
                             "operations, times the baseline's: (D + 1) / E[N]", row.operations, 2,
                             static_cast<double>(row.gamma + 1) / committed));
  }
}

/// The expected factors beside the paper's measurements, where alpha and c are rounded.
void add_leviathan_expected(std::vector<WorkedExample>& examples) {
  struct Row {
    const char* task;
    std::int64_t gamma;
    double alpha, cost, expected;
  };
  for (const Row& row : {Row{"translation, T5-small, temperature 0", 7, 0.75, 0.02, 3.2},
                         Row{"translation, T5-base, temperature 0", 7, 0.80, 0.04, 3.3},
                         Row{"translation, T5-large, temperature 0", 7, 0.82, 0.11, 2.5},
                         Row{"translation, T5-small, temperature 1", 7, 0.62, 0.02, 2.3},
                         Row{"translation, T5-base, temperature 1", 5, 0.68, 0.04, 2.4},
                         Row{"translation, T5-large, temperature 1", 3, 0.71, 0.11, 2.0},
                         Row{"summaries, T5-small, temperature 0", 5, 0.65, 0.02, 2.4},
                         Row{"summaries, T5-base, temperature 0", 5, 0.73, 0.04, 2.6},
                         Row{"summaries, T5-large, temperature 0", 3, 0.74, 0.11, 2.0},
                         Row{"summaries, T5-small, temperature 1", 5, 0.53, 0.02, 1.9},
                         Row{"summaries, T5-base, temperature 1", 3, 0.55, 0.04, 1.8},
                         Row{"summaries, T5-large, temperature 1", 3, 0.56, 0.11, 1.6}}) {
    const auto speed = [&](double alpha_off, double cost_off) {
      return flat_speed(expected_committed(row.alpha + alpha_off, row.gamma), {row.cost + cost_off},
                        row.gamma);
    };
    examples.push_back({std::string("leviathan-expected-") + shown_number(row.alpha),
                        kLeviathanExpected,
                        std::string(row.task) + ": alpha " + shown_number(row.alpha) + ", c " +
                            shown_number(row.cost) + ", draft length " + std::to_string(row.gamma),
                        "expected improvement", row.expected, 1, speed(-0.005, 0.005),
                        speed(0.005, -0.005), speed(0, 0)});
  }
}

void add_best_lengths(std::vector<WorkedExample>& examples) {
  struct Row {
    double alpha, rho;
    std::int64_t length;
    double speed;
  };
  for (const Row& row : {Row{0.6, 0.05, 4, 1.92}, Row{0.8, 0.05, 8, 3.09}, Row{0.9, 0.05, 13, 4.67},
                         Row{0.6, 0.2, 2, 1.40}, Row{0.8, 0.2, 4, 1.87}, Row{0.9, 0.2, 7, 2.37}}) {
    const std::string given = "alpha " + shown_number(row.alpha) + ", rho " + shown_number(row.rho);
    const std::string id = "best-length-" + shown_number(row.alpha) + "-" + shown_number(row.rho);
    const BestLength best = best_iid_length(row.alpha, row.rho, 0, 100);
    examples.push_back(
        exact(id, "derived", given, "draft length at the maximum of E[N] / (1 + rho D)",
              static_cast<double>(row.length), 0, static_cast<double>(best.draft_length)));
    examples.push_back(
        exact(id + "-speed", "derived", given, "the maximum", row.speed, 2, best.speed));
  }
}

void add_tiles(std::vector<WorkedExample>& examples) {
  struct Row {
    std::int64_t group, length;
  };
  for (const Row& row :
       {Row{4, 31}, Row{5, 127}, Row{6, 63}, Row{8, 15}, Row{12, 31}, Row{16, 7}}) {
    examples.push_back(exact("tile-" + std::to_string(row.group), "derived",
                             std::to_string(row.group) + " query heads per KV head, tile 128",
                             "least D with tile | G (1 + D)", static_cast<double>(row.length), 0,
                             static_cast<double>(filling_draft_length(row.group, 128))));
  }
}

void add_overheads(std::vector<WorkedExample>& examples) {
  // Layers of the drafter that run per draft of 11: a one-layer head eleven times, or a block
  // drafter of five layers once. Beside a target of 44 layers the figures are exact.
  const double head = draft_overhead(layer_rho(1, 44).value, 11, DraftPasses::kOnePerToken);
  const double block = draft_overhead(layer_rho(5, 44).value, 11, DraftPasses::kOne);
  examples.push_back(exact("overhead-head", "derived",
                           "one-layer head, draft length 11, target of 44 layers",
                           "draft passes over the target's layers: 11 / L", 0.25, 2, head));
  examples.push_back(exact("overhead-block", "derived",
                           "five-layer block drafter, draft length 11, target of 44 layers",
                           "one pass over the target's layers: 5 / L", 0.114, 3, block));
}

void add_ahead_of_time(std::vector<WorkedExample>& examples) {
  const double committed = expected_committed(0.8, 4);
  const double serial = ahead_of_time_speed({0, committed, committed, 1, 1});
  examples.push_back(exact(
      "ssd-limit", "arXiv:2603.03251 (SSD), abstract: up to 2x over drafting and verifying in turn",
      "drafting as long as verifying, every outcome foreseen",
      "speed over the same without drafting ahead", 2, 0,
      ahead_of_time_speed({1, committed, committed, 1, 1}) / serial));
  // By hand: (.9 x 3.3616 + .1 x 3.3616) / (.9 x 1 + .1 x 1.1) = 3.3616 / 1.01.
  examples.push_back(exact("ssd-misses", "derived",
                           "alpha .8, draft length 4, hits .9, T_p .8, fallback .1",
                           "(h E + (1-h) E) / (h max(1, T_p) + (1-h)(1 + T_b))", 3.33, 2,
                           ahead_of_time_speed({0.9, committed, committed, 0.8, 0.1})));
}

void add_experts(std::vector<WorkedExample>& examples) {
  // 64 (1 - (7/8)^n): 8, 15 and 64 (1 - 2401/4096) = 26.484375.
  for (const auto& [rows, active] :
       std::vector<std::pair<std::int64_t, double>>{{1, 8}, {2, 15}, {4, 26.484375}}) {
    examples.push_back(exact("experts-" + std::to_string(rows), "derived",
                             "8 of 64 experts a token, rows " + std::to_string(rows),
                             "active experts E (1 - (1 - k/E)^(B (1 + D)))", active, 6,
                             expected_active_experts(64, 8, rows)));
  }
}

void add_two_rates(std::vector<WorkedExample>& examples) {
  examples.push_back(exact("two-rates", "derived",
                           "conditional acceptance .8 at every position, draft length 5",
                           "draft acceptance (E - 1) / D", 0.538, 3, draft_acceptance_of(0.8, 5)));
}

}  // namespace

bool WorkedExample::agrees() const {
  // Half a unit of the last published digit, and what decimals cannot hold in binary.
  const double half = 0.5 * std::pow(10.0, -decimals) + 1e-12;
  return low <= high && low <= published + half && high >= published - half;
}

std::vector<WorkedExample> worked_examples() {
  std::vector<WorkedExample> examples;
  add_leviathan_table(examples);
  add_leviathan_expected(examples);
  add_best_lengths(examples);
  add_tiles(examples);
  add_overheads(examples);
  add_ahead_of_time(examples);
  add_experts(examples);
  add_two_rates(examples);
  return examples;
}

}  // namespace draftproof::oracle::speed
