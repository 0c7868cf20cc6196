// Settings: what the command line says, as values. Filled by command_line, read by commands.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "properties/property.h"
#include "tools/report/progress.h"

namespace draftproof::tools {

/// Where a command writes: the result to `out`, progress and warnings to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
};

enum class OutputFormat { kText, kMarkdown, kJson, kJsonLines };

struct OutputSettings {
  OutputFormat format = OutputFormat::kText;
  int verbosity = 0;  ///< -1 quiet, 1 with cell counts
  bool with_color = false;
  report::ProgressKind progress = report::ProgressKind::kNone;
};

struct SubjectSettings {
  std::string subject;               ///< empty: kernels
  std::string rule;                  ///< empty: every rule the subject has
  std::string device;                ///< "emulator" or "cuda"; empty: what the subject runs on
  std::vector<std::string> kernels;  ///< a card, or PTX files that hold our entries
};

struct CheckSettings {
  std::vector<std::string> properties;  ///< empty: all
  SubjectSettings subject;
  properties::Battery battery = properties::Battery::kStandard;
  std::uint64_t seed = 1;
  double false_alarms = 1e-9;
  std::optional<double> time_limit_seconds;
  unsigned workers = 0;  ///< 0: one per core
  bool allows_inconclusive = false;
  bool stops_at_violation = false;
  std::string reports = "json";  ///< comma-separated formats, or "none"
  std::string report_dir = "draftproof-report";
  std::vector<std::string> command_line;
  OutputSettings output;
};

struct DemoSettings {
  std::string bug;  ///< empty: one of a verifier and one of an engine
  std::string report_dir = "draftproof-report";
  OutputSettings output;
};

/// What `law` reads beside the shaping when it holds engines' contracts on one row, as typed.
struct ContractSettings {
  std::vector<std::string> presets;  ///< --preset, each one that was given
  std::optional<double> repetition_penalty;
  std::optional<double> frequency_penalty;
  std::optional<double> presence_penalty;
  std::optional<std::int64_t> last_n;
  std::vector<std::string> logit_bias;  ///< ID:VALUE
  std::string allowed_ids;
  std::string bad_words;  ///< 3;1,2
  std::optional<std::int64_t> min_tokens;
  std::string end_tokens;
  std::string mask;  ///< ids that the grammar allows here
  std::string prompt;
  std::string history;
  std::string drafted;
  bool is_probabilities = false;  ///< --from-probabilities
  bool uses_defaults = false;     ///< --engine-defaults
};

struct LawSettings {
  std::string target;
  std::string draft;
  std::string rule;                       ///< empty: chain, or the rule of the method
  std::vector<std::string> rule_options;  ///< NAME=VALUE
  int length = 1;
  std::string method;
  std::string toy;
  std::string tree;  ///< children per node, level by level: 2,1
  std::string siblings = "independent";
  bool reports_one_hot = false;
  std::string coins;  ///< empty: fresh, or what the method reads
  int iterations = 1;
  std::optional<int> tokens;       ///< the first so many, of as many iterations as it takes
  std::vector<std::string> stops;  ///< ids that end a request when they come in a row: 1,2
  std::optional<int> token_count_max;
  double seconds_max = 10;  ///< of the processor
  bool shows_steps = false;
  bool shows_faults = false;
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::string preset = "default";
  ContractSettings contracts;
  OutputSettings output;
};

struct TableSettings {
  std::string name;  ///< family, rules, methods or faults
  std::string toy;   ///< empty: five toys each
  OutputSettings output;
};

struct ReplaySettings {
  std::string name;
  SubjectSettings subject;
  std::string report_dir = "draftproof-report";
  OutputSettings output;
};

struct InspectSettings {
  std::vector<std::string> files;
  OutputSettings output;
};

struct ListSettings {
  std::string catalog;
  OutputSettings output;
};

/// "90s", "2m", "1h30m" in seconds. Throws Error(kInput) that names `option`.
double seconds_from(const std::string& text, const std::string& option);

/// "7" or "0x7f", at most 64 bits. Throws Error(kInput) that names `option`. (The parser of the
/// command line would wrap -1 around.)
std::uint64_t seed_from(const std::string& text, const std::string& option);

properties::Battery battery_from(const std::string& name);
std::string to_string(properties::Battery battery);

}  // namespace draftproof::tools
