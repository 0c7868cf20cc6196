// inspect: what is in a PTX file, and what the emulator would refuse to run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "gpu/emulator/isa/form.h"
#include "gpu/emulator/text/parsed_module.h"
#include "tools/draftproof/commands/commands.h"
#include "tools/report/table.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

namespace emulator = gpu::emulator;
using Json = nlohmann::ordered_json;

/// A form the emulator lacks: where it stands first, and how often.
struct MissingForm {
  int first_line = 0;
  std::size_t count = 0;
};

struct FunctionSummary {
  std::string name;
  bool is_entry = false;
  int line = 0;
  std::vector<std::pair<std::string, std::uint64_t>> parameters;  // name, bytes
  std::uint64_t parameter_bytes = 0;
  std::uint64_t static_shared_bytes = 0;
  bool uses_dynamic_shared = false;
  std::vector<std::uint32_t> required_block;
  std::vector<std::uint32_t> max_block;
  std::size_t instructions = 0;
  std::map<std::string, std::size_t> forms;
  std::map<std::string, MissingForm> missing;
};

struct FileSummary {
  std::string file;
  emulator::ParsedModule module;
  std::vector<FunctionSummary> functions;
};

void count_shared(const emulator::ParsedVariable& variable, FunctionSummary& summary) {
  if (variable.space != emulator::ParsedSpace::kShared) return;
  if (variable.is_unsized) {
    summary.uses_dynamic_shared = true;
  } else {
    summary.static_shared_bytes += variable.bytes();
  }
}

FunctionSummary summary_of(const emulator::ParsedModule& module,
                           const emulator::ParsedFunction& function) {
  FunctionSummary summary;
  summary.name = function.name;
  summary.is_entry = function.is_entry;
  summary.line = function.line;
  summary.required_block = function.required_block;
  summary.max_block = function.max_block;
  for (const auto& parameter : function.parameters) {
    const std::uint64_t alignment = parameter.effective_alignment();
    const std::uint64_t padding = (alignment - summary.parameter_bytes % alignment) % alignment;
    summary.parameter_bytes += padding + parameter.bytes();
    summary.parameters.emplace_back(parameter.name, parameter.bytes());
  }
  if (!function.has_body) return summary;
  const emulator::ParsedBody body = emulator::parse_body(module, function);
  for (const auto& variable : body.variables) count_shared(variable, summary);
  for (const auto& statement : body.statements) {
    if (statement.kind != emulator::StatementKind::kInstruction) continue;
    const std::string form(statement.name);
    ++summary.instructions;
    ++summary.forms[form];
    if (emulator::find_form(form)) continue;
    MissingForm& missing = summary.missing[form];
    if (missing.count++ == 0) missing.first_line = statement.line;
  }
  return summary;
}

std::string dimensions(const std::vector<std::uint32_t>& block) {
  return fmt::format("{}", fmt::join(block, " x "));
}

/// nvcc names parameter N of an entry ENTRY_param_N, and mangled entries are long.
std::string short_name(const std::string& parameter, const std::string& function) {
  return parameter.starts_with(function + "_") ? parameter.substr(function.size() + 1) : parameter;
}

std::string text_of(const FunctionSummary& function) {
  std::string out = fmt::format("{} {}   line {}\n", function.is_entry ? "entry" : "function",
                                function.name, function.line);
  std::vector<std::string> parameters;
  for (const auto& [name, bytes] : function.parameters) {
    parameters.push_back(fmt::format("{} ({})", short_name(name, function.name), bytes));
  }
  out += fmt::format("  parameters    {} ({} bytes){}{}\n", function.parameters.size(),
                     function.parameter_bytes, parameters.empty() ? "" : ": ",
                     fmt::join(parameters, ", "));
  if (function.is_entry) {
    std::string bounds = "any";
    if (!function.max_block.empty()) bounds = "at most " + dimensions(function.max_block);
    if (!function.required_block.empty()) bounds = "exactly " + dimensions(function.required_block);
    out += "  block         " + bounds + " threads\n";
  }
  out += fmt::format("  shared        {} bytes{}\n", function.static_shared_bytes,
                     function.uses_dynamic_shared ? ", and dynamic shared memory" : "");
  out +=
      fmt::format("  instructions  {} of {} forms\n", function.instructions, function.forms.size());
  if (function.missing.empty()) {
    return out + "  emulator      has every form\n";
  }
  out += fmt::format("  emulator      lacks {} form{}:\n", function.missing.size(),
                     function.missing.size() == 1 ? "" : "s");
  for (const auto& [form, missing] : function.missing) {
    out += fmt::format("    {}   {} time{}, first in line {}\n", form, missing.count,
                       missing.count == 1 ? "" : "s", missing.first_line);
  }
  return out;
}

std::string text_of(const FileSummary& summary) {
  std::string out = fmt::format("{}   PTX {}, target {}, {} functions, {} module variables\n\n",
                                summary.file, summary.module.version, summary.module.target,
                                summary.functions.size(), summary.module.variables.size());
  for (const FunctionSummary& function : summary.functions) out += text_of(function) + "\n";
  return out;
}

Json json_of(const FunctionSummary& function) {
  Json parameters = Json::array();
  for (const auto& [name, bytes] : function.parameters) {
    parameters.push_back({{"name", name}, {"bytes", bytes}});
  }
  Json missing = Json::array();
  for (const auto& [form, where] : function.missing) {
    missing.push_back({{"form", form}, {"count", where.count}, {"first_line", where.first_line}});
  }
  return {{"name", function.name},
          {"is_entry", function.is_entry},
          {"line", function.line},
          {"parameters", parameters},
          {"parameter_bytes", function.parameter_bytes},
          {"required_block", function.required_block},
          {"max_block", function.max_block},
          {"static_shared_bytes", function.static_shared_bytes},
          {"uses_dynamic_shared", function.uses_dynamic_shared},
          {"instructions", function.instructions},
          {"forms", function.forms},
          {"missing", missing}};
}

}  // namespace

ExitCode inspect(const InspectSettings& settings, const Streams& streams) {
  std::string text;
  Json files = Json::array();
  for (const std::string& file : settings.files) {
    const std::string ptx = store::read_file(file);
    FileSummary summary{file, emulator::parse_module(ptx, file), {}};
    for (const auto& function : summary.module.functions) {
      summary.functions.push_back(summary_of(summary.module, function));
    }
    text += text_of(summary);
    Json functions = Json::array();
    for (const auto& function : summary.functions) functions.push_back(json_of(function));
    files.push_back({{"file", file},
                     {"version", summary.module.version},
                     {"target", summary.module.target},
                     {"functions", functions}});
  }
  // Nothing is printed before every file was read: a result is whole or absent.
  if (settings.output.format == OutputFormat::kJson) {
    streams.out << Json{{"schema_version", "draftproof/inspect/1"}, {"files", files}}.dump(2)
                << "\n";
  } else {
    streams.out << text;
  }
  return ExitCode::kUpheld;
}

}  // namespace draftproof::tools
