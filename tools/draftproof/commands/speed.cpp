// speed: from a measured trace to "use, shorten or switch off"; also the worked examples and the
// benchmark matrix, which need no trace.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <ostream>
#include <utility>

#include "oracle/speed/gain_map.h"
#include "reference/error.h"
#include "tools/draftproof/speed_matrix.h"
#include "tools/draftproof/speed_report.h"
#include "tools/draftproof/speed_trace.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

namespace speed = oracle::speed;

std::string text_of(const std::string& file) {
  if (file != "-") return store::read_file(file);
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

std::string map_csv(const speed::Trace& trace, const SpeedSettings& settings) {
  const auto map =
      speed::gain_map(trace, {settings.length_limit, settings.batches, speed::usual_acceptances()});
  if (!map.why_not.empty()) throw Error(ErrorKind::kInput, map.why_not, "--map");
  std::string out = "draft_length,batch,conditional_acceptance,committed,speed,cost\n";
  for (const auto& point : map.points) {
    out += fmt::format("{},{},{},{},{},{}\n", point.draft_length, point.batch,
                       point.conditional_acceptance, point.committed, point.speed,
                       speed::to_string(point.kind));
  }
  return out;
}

ExitCode examples(const SpeedSettings& settings, const Streams& streams) {
  const auto list = speed::worked_examples();
  const bool is_markdown = settings.format == "md";
  streams.out << (settings.format == "json"  ? examples_json(list)
                  : settings.format == "csv" ? examples_csv(list)
                                             : examples_page(list, is_markdown));
  const bool all_agree =
      std::all_of(list.begin(), list.end(), [](const auto& each) { return each.agrees(); });
  return all_agree ? ExitCode::kUpheld : ExitCode::kViolated;
}

ExitCode matrix(const SpeedSettings& settings, const Streams& streams) {
  const auto parsed = matrix_from_toml(text_of(settings.matrix), settings.matrix);
  streams.out << matrix_page(parsed, plan_of(parsed, settings.matrix), settings.format);
  return ExitCode::kUpheld;
}

void check_names(const SpeedSettings& settings) {
  const int asked = (settings.trace.empty() ? 0 : 1) + (settings.matrix.empty() ? 0 : 1) +
                    (settings.shows_examples ? 1 : 0);
  if (asked != 1) {
    throw Error(ErrorKind::kInput,
                "name one of: a TRACE (JSON lines, tools/docs/speed.md), --matrix FILE, --examples",
                "speed");
  }
  if (!settings.map.empty() && settings.trace.empty())
    throw Error(ErrorKind::kInput, "needs a trace to take costs from; name one", "--map");
  if (!settings.batches.empty() && settings.map.empty())
    throw Error(ErrorKind::kInput, "are those of a map; add --map FILE", "--batches");
  // NaN lies outside of no range.
  if (std::isnan(settings.confidence))
    throw Error(ErrorKind::kInput, "is NaN; give a probability from 0.5 on", "--confidence");
}

void check_trace_alone(const SpeedSettings& settings) {
  if (!settings.trace.empty()) return;
  const SpeedSettings usual;
  const std::pair<const char*, bool> options[] = {
      {"--allow-damaged", settings.allows_damaged},
      {"--confidence", settings.confidence != usual.confidence},
      {"--length-limit", settings.length_limit != usual.length_limit},
      {"--query-group", settings.query_group.has_value()},
      {"--tile", settings.tile.has_value()},
      {"--experts", settings.experts.has_value()},
      {"--experts-per-token", settings.experts_per_token.has_value()},
      {"--placement", settings.placement.has_value()}};
  for (const auto& [option, is_given] : options)
    if (is_given)
      throw Error(ErrorKind::kInput, "judges a trace; name one, or leave it out", option);
}

void write_map(const std::string& file, const std::string& map) {
  try {
    store::write_atomically(file, map);
  } catch (const Error& error) {
    throw Error(error.kind(), "cannot write " + file + "; name a file in a folder of yours",
                "--map");
  }
}

}  // namespace

ExitCode speed_command(const SpeedSettings& settings, const Streams& streams) {
  check_names(settings);
  check_trace_alone(settings);
  if (settings.shows_examples) return examples(settings, streams);
  if (!settings.matrix.empty()) return matrix(settings, streams);
  const std::string file = settings.trace == "-" ? "stdin" : settings.trace;
  auto trace = trace_from_json_lines(text_of(settings.trace), file, settings.allows_damaged);
  apply(settings, trace.setup);
  const SpeedReport report = speed_report(trace, settings);
  const std::string map = settings.map.empty() ? "" : map_csv(trace, settings);
  // A map on stdout is meant for a plot: nothing else may stand beside it.
  if (settings.map == "-") {
    streams.out << map;
  } else {
    if (!settings.map.empty()) write_map(settings.map, map);
    streams.out << (settings.format == "json"  ? speed_json(report)
                    : settings.format == "csv" ? speed_csv(report)
                                               : speed_page(report, settings.format == "md"));
  }
  return report.any_broken() ? ExitCode::kViolated : ExitCode::kUpheld;
}

}  // namespace draftproof::tools
