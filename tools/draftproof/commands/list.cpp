// list: the catalogs, one line an entry. As JSON lines every entry has an "id".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fixtures/faults/fault.h"
#include "fixtures/mutants/catalog.h"
#include "fixtures/state_faults/state_fault.h"
#include "gpu/emulator/isa/form.h"
#include "gpu/emulator/text/parsed_module.h"
#include "gpu/kernels/embedded.h"
#include "oracle/claim.h"
#include "properties/audits/judge.h"
#include "properties/property.h"
#include "properties/state/worlds.h"
#include "reference/draft/method.h"
#include "reference/error.h"
#include "reference/law/rule.h"
#include "tools/audit/prompt_set.h"
#include "tools/draftproof/commands/commands.h"
#include "tools/draftproof/contract_list.h"
#include "tools/draftproof/fault_table.h"
#include "tools/draftproof/kernel_mutants.h"
#include "tools/report/checklist.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

/// One entry: its id, then named texts.
struct Entry {
  std::string id;
  std::vector<std::pair<std::string, std::string>> fields;
};
using Entries = std::vector<Entry>;

Entries properties_list() {
  Entries entries;
  for (const auto& property : properties::catalog()) {
    entries.push_back({property.id,
                       {{"claim", std::string(oracle::to_string(property.claim))},
                        {"statement", property.statement},
                        {"citation", property.citation}}});
  }
  return entries;
}

Entries claims_list() {
  Entries entries;
  for (const auto claim : oracle::all_claims()) {
    std::vector<std::string_view> fallen;
    for (const auto stronger : oracle::also_refuted(claim)) {
      fallen.push_back(oracle::to_string(stronger));
    }
    entries.push_back({std::string(oracle::to_string(claim)),
                       {{"statement", std::string(oracle::statement(claim))},
                        {"falls_with_it", fmt::format("{}", fmt::join(fallen, ", "))}}});
  }
  return entries;
}

std::string_view kind_of(reference::law::RuleKind kind) {
  return kind == reference::law::RuleKind::kLossy ? "LOSSY" : "lossless";
}

Entries rules_list() {
  Entries entries;
  for (const auto& rule : reference::law::law_rules()) {
    std::vector<std::string> options;
    for (const auto& option : rule.options) {
      options.push_back(fmt::format("{} = {}", option.name, reference::to_string(option.value)));
    }
    entries.push_back({rule.name,
                       {{"kind", std::string(kind_of(rule.kind))},
                        {"conditions", rule.conditions},
                        {"keeps", rule.acceptance},
                        {"recovered", rule.recovered},
                        {"bonus", rule.bonus},
                        {"options", fmt::format("{}", fmt::join(options, ", "))},
                        {"citation", rule.citation}}});
  }
  return entries;
}

Entries methods_list() {
  Entries entries;
  for (const auto& method : reference::draft::methods()) {
    entries.push_back({method.name,
                       {{"kind", std::string(kind_of(method.kind))},
                        {"conditions", method.conditions},
                        {"rule", method.rule},
                        {"statement", method.statement},
                        {"reads", method.reads},
                        {"reports", method.reported},
                        {"toys", fmt::format("{}", fmt::join(method.toys, ", "))},
                        {"citation", method.citation}}});
  }
  return entries;
}

Entries toys_list() {
  Entries entries;
  for (const auto& toy : reference::model::toys()) {
    entries.push_back(
        {toy.name,
         {{"vocabulary", std::to_string(toy.target->vocab_size())}, {"statement", toy.statement}}});
  }
  return entries;
}

Entries coins_list() {
  Entries entries;
  for (const auto& scheme : reference::law::coin_schemes()) {
    entries.push_back({scheme.name, {{"statement", scheme.statement}}});
  }
  return entries;
}

Entries faults_list() {
  Entries entries;
  for (const auto& fault : fixtures::faults()) {
    entries.push_back({fault.name,
                       {{"area", fault.area},
                        {"effect", std::string(effect_name(fault.effect))},
                        {"least_setting", fault.least_setting},
                        {"statement", fault.statement},
                        {"report", fault.report}}});
  }
  return entries;
}

std::string_view kind_of(fixtures::MutantKind kind) {
  switch (kind) {
    case fixtures::MutantKind::kMutant:
      return "mutant";
    case fixtures::MutantKind::kControl:
      return "control";
    case fixtures::MutantKind::kCommonMode:
      return "common-mode";
  }
  return "unknown";
}

Entries mutants_list() {
  Entries entries;
  for (const auto& mutant : fixtures::mutants()) {
    entries.push_back({mutant.name,
                       {{"kind", std::string(kind_of(mutant.kind))},
                        {"killed_by", mutant.killed_by},
                        {"report", mutant.report},
                        {"statement", mutant.statement},
                        {"least_setting", mutant.least_setting}}});
  }
  for (const gpu::PtxPatch& patch : kernel_mutants()) {
    const bool is_listed = std::any_of(entries.begin(), entries.end(),
                                       [&](const Entry& entry) { return entry.id == patch.name; });
    if (is_listed) continue;  // a common-mode fault: kernel and twin have one name
    entries.push_back({patch.name,
                       {{"kind", "kernel"},
                        {"killed_by", patch.kills},
                        {"report", patch.report},
                        {"statement", patch.statement},
                        {"least_setting", "module " + patch.module}}});
  }
  return entries;
}

Entries kernels_list() {
  Entries entries;
  for (const auto& embedded : gpu::kernels::embedded_modules()) {
    const auto module = gpu::emulator::parse_module(embedded.ptx, embedded.name);
    for (const auto& function : module.functions) {
      if (!function.is_entry) continue;
      entries.push_back(
          {std::string(function.name),
           {{"module", std::string(embedded.name)},
            {"ptx", fmt::format("version {}, target {}", module.version, module.target)}}});
    }
  }
  return entries;
}

std::string_view tie_name(reference::TieRule rule) {
  return rule == reference::TieRule::kKeepAll ? "keep all" : "lowest ids first";
}

std::string_view step_name(reference::ShapingStep step) {
  switch (step) {
    case reference::ShapingStep::kTemperature:
      return "temperature";
    case reference::ShapingStep::kTopK:
      return "top-k";
    case reference::ShapingStep::kTopP:
      return "top-p";
    case reference::ShapingStep::kMinP:
      return "min-p";
    case reference::ShapingStep::kJointTopKTopP:
      return "top-k and top-p together";
  }
  return "unknown";
}

Entries presets_list() {
  Entries entries;
  for (const auto& preset : reference::presets()) {
    std::vector<std::string_view> steps;
    for (const auto step : preset.steps) steps.push_back(step_name(step));
    entries.push_back({preset.name,
                       {{"steps", fmt::format("{}", fmt::join(steps, ", "))},
                        {"top_k_ties", std::string(tie_name(preset.top_k_ties))},
                        {"top_p_ties", std::string(tie_name(preset.top_p_ties))},
                        {"greedy_below", fmt::format("{}", preset.greedy_below)},
                        {"engine", preset.engine}}});
  }
  return entries;
}

Entries engines_list() {
  Entries entries;
  for (auto& [name, texts] : contract_texts()) entries.push_back({name, std::move(texts)});
  return entries;
}

Entries audits_list() {
  Entries entries;
  for (const auto& info : properties::audits::audit_infos())
    entries.push_back(
        {info.id,
         {{"claim", std::string(oracle::to_string(info.claim))}, {"statement", info.statement}}});
  return entries;
}

Entries prompts_list() {
  Entries entries;
  for (const auto& prompt : audit::builtin_prompts())
    entries.push_back(
        {prompt.name, {{"for", prompt.is_of_toys ? "toys" : "text"}, {"summary", prompt.summary}}});
  return entries;
}

Entries worlds_list() {
  Entries entries;
  for (const auto& world : properties::state::worlds())
    entries.push_back({world.name, {{"statement", world.statement}}});
  return entries;
}

Entries state_faults_list() {
  Entries entries;
  for (const auto& fault : fixtures::state_faults())
    entries.push_back({fault.name,
                       {{"section", std::string(1, fault.section)},
                        {"entry", fault.entry},
                        {"effect", std::string(to_string(fault.effect))},
                        {"killed_by", fmt::format("{}", fmt::join(fault.killed_by, ", "))},
                        {"statement", fault.statement},
                        {"report", fault.report}}});
  return entries;
}

/// Families whose words are matched one by one, each with a member that shows its shape.
const std::vector<std::pair<std::string, std::string>>& matched_families() {
  static const std::vector<std::pair<std::string, std::string>> list = {
      {"ld", "ld.global.v4.f32"},
      {"st", "st.shared.u32"},
      {"atom", "atom.global.add.u32"},
      {"red", "red.global.add.u32"},
      {"cp.async", "cp.async.ca.shared.global"},
      {"bra", "bra.uni"},
      {"brx", "brx.idx"},
      {"call", "call.uni"},
      {"ret", "ret"},
      {"exit", "exit"},
      {"bar", "bar.sync"},
      {"barrier", "barrier.sync.aligned"},
      {"membar", "membar.gl"},
      {"fence", "fence.acq_rel.gpu"},
      {"shfl", "shfl.sync.down.b32"},
      {"vote", "vote.sync.ballot.b32"},
      {"match", "match.any.sync.b32"},
      {"redux", "redux.sync.add.s32"},
      {"activemask", "activemask.b32"},
      {"elect", "elect.sync"},
      {"nanosleep", "nanosleep.u32"},
      {"trap", "trap"}};
  return list;
}

Entries instructions_list() {
  Entries entries;
  for (const auto& [family, example] : matched_families()) {
    if (!gpu::emulator::find_form(example)) continue;
    entries.push_back({family, {{"kind", "matched word by word"}, {"example", example}}});
  }
  for (const auto& [form, unused] : gpu::emulator::compute_forms().all()) {
    entries.push_back({form, {{"kind", "form"}, {"example", form}}});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.id < b.id; });
  return entries;
}

Entries checklist_list() {
  Entries entries;
  for (const auto& point : report::checklist()) {
    entries.push_back({point.id,
                       {{"question", point.question},
                        {"properties", fmt::format("{}", fmt::join(point.properties, ", "))}}});
  }
  return entries;
}

const std::vector<std::pair<std::string, std::function<Entries()>>>& catalogs() {
  static const std::vector<std::pair<std::string, std::function<Entries()>>> list = {
      {"properties", properties_list},
      {"claims", claims_list},
      {"rules", rules_list},
      {"methods", methods_list},
      {"toy-models", toys_list},
      {"coins", coins_list},
      {"faults", faults_list},
      {"mutants", mutants_list},
      {"kernels", kernels_list},
      {"instructions", instructions_list},
      {"checklist", checklist_list},
      {"presets", presets_list},
      {"engines", engines_list},
      {"worlds", worlds_list},
      {"state-faults", state_faults_list},
      {"audits", audits_list},
      {"prompts", prompts_list},
  };
  return list;
}

Entries entries_of(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [catalog, entries] : catalogs()) {
    if (catalog == name) return entries();
    known.push_back(catalog);
  }
  throw Error(ErrorKind::kInput,
              fmt::format("unknown catalog \"{}\"; known: {}", name, fmt::join(known, ", ")),
              "list");
}

/// Columns under each other, the last one as long as it likes: one line an entry.
std::string text_of(const Entries& entries) {
  if (entries.empty()) return "";
  std::vector<std::size_t> widths(entries.front().fields.size() + 1, 0);
  const auto texts_of = [](const Entry& entry) {
    std::vector<std::string> texts = {entry.id};
    for (const auto& [name, text] : entry.fields) texts.push_back(text.empty() ? "-" : text);
    return texts;
  };
  for (const Entry& entry : entries) {
    const auto texts = texts_of(entry);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      widths[i] = std::max(widths[i], report::width_of(texts[i]));
    }
  }
  std::string out;
  for (const Entry& entry : entries) {
    const auto texts = texts_of(entry);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      out += texts[i];
      if (i + 1 < texts.size()) {
        out += std::string(widths[i] - report::width_of(texts[i]) + 2, ' ');
      }
    }
    out += "\n";
  }
  return out;
}

}  // namespace

ExitCode list(const ListSettings& settings, const Streams& streams) {
  const Entries entries = entries_of(settings.catalog);
  if (settings.output.format == OutputFormat::kText) {
    streams.out << text_of(entries);
    return ExitCode::kUpheld;
  }
  for (const Entry& entry : entries) {
    nlohmann::ordered_json line = {{"id", entry.id}};
    for (const auto& [name, text] : entry.fields) line[name] = text;
    streams.out << line.dump() << "\n";
  }
  return ExitCode::kUpheld;
}

}  // namespace draftproof::tools
