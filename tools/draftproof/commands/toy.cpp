// toy: writes toys for real engines, prints their laws, lists the built-in ones.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "reference/error.h"
#include "tools/draftproof/toy_settings.h"
#include "tools/report/table.h"
#include "tools/toys/toy_acceptance.h"
#include "tools/toys/toy_files.h"
#include "tools/toys/toy_vocabulary.h"

namespace draftproof::tools {
namespace {

using reference::Token;
using toys::ToyKind;
using toys::ToySpec;

/// Options over a built-in toy, or over a kind.
ToySpec spec_from(const ToySettings& settings) {
  if (settings.toy.empty() == settings.kind.empty())
    throw Error(ErrorKind::kInput,
                "name a built-in toy (draftproof toy list) or a --kind, one of the two",
                "toy write");
  ToySpec spec;
  if (!settings.toy.empty()) {
    spec = toys::named_toy(settings.toy);
  } else {
    spec.kind = settings.kind == "bigram"      ? ToyKind::kBigram
                : settings.kind == "attention" ? ToyKind::kAttention
                                               : ToyKind::kInteger;
  }
  if (!settings.seed.empty()) spec.seed = seed_from(settings.seed, "--seed");
  spec.vocab_size = settings.vocab_size.value_or(spec.vocab_size);
  spec.layers = settings.layers.value_or(spec.layers);
  spec.head_dim = settings.head_dim.value_or(spec.head_dim);
  spec.sharpness = settings.sharpness.value_or(spec.sharpness);
  spec.unreachable_count = settings.unreachable_count.value_or(spec.unreachable_count);
  spec.tie_count = settings.tie_count.value_or(spec.tie_count);
  spec.near_tie = settings.near_tie.value_or(spec.near_tie);
  spec.has_end_trap = spec.has_end_trap || settings.has_end_trap;
  spec.spelling = settings.spelling.value_or(spec.spelling);
  const auto refuse_idle = [&](bool is_given, const char* option) {
    if (is_given)
      throw Error(
          ErrorKind::kInput,
          fmt::format("changes nothing in a toy of kind {}; leave it out", to_string(spec.kind)),
          option);
  };
  refuse_idle(settings.layers.has_value() && spec.kind != ToyKind::kAttention, "--layers");
  refuse_idle(settings.head_dim.has_value() && spec.kind == ToyKind::kInteger, "--head-dim");
  return spec;
}

ExitCode write(const ToySettings& settings, const Streams& streams) {
  const ToySpec target = spec_from(settings);
  const std::string name = !settings.name.empty()  ? settings.name
                           : !settings.toy.empty() ? settings.toy
                                                   : settings.kind;
  toys::ToyFileOptions options{.folder = settings.folder,
                               .name = name,
                               .format = settings.format,
                               .dtype = toys::tensor_format(settings.dtype),
                               .tokenizer = settings.tokenizer};
  std::vector<std::pair<std::string, ToySpec>> models = {{name, target}};
  for (const std::string& draft : settings.drafts)
    models.emplace_back(name + "-" + draft, toys::draft_of(target, draft));
  for (const auto& [model_name, spec] : models) {
    options.name = model_name;
    const toys::Manifest written = toys::write_toy(spec, options);
    std::uint64_t bytes = 0;
    for (const toys::StoredFile& file : written.files) bytes += file.bytes;
    fmt::print(streams.out, "{}  {} bytes  {}\n", (options.folder / written.model).string(), bytes,
               (options.folder / (model_name + ".toy.json")).string());
  }
  return ExitCode::kUpheld;
}

std::vector<Token> ids_from(const std::string& text) {
  std::vector<Token> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    Token id = 0;
    const auto [behind, failure] = std::from_chars(at, end, id);
    if (failure != std::errc() || (behind != end && *behind != ','))
      throw Error(
          ErrorKind::kInput,
          fmt::format("has '{}' where an id must be; write ids as 1,5,7", std::string(at, end)),
          "--prompt");
    ids.push_back(id);
    if (behind == end) return ids;
    at = behind + 1;
  }
}

/// Every id once: the likeliest first.
std::vector<std::size_t> by_probability(const std::vector<double>& law) {
  std::vector<std::size_t> order(law.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return law[a] > law[b]; });
  return order;
}

struct LawOfToy {
  ToySpec spec;
  std::vector<Token> prompt;
  std::vector<double> target, draft;  ///< by the target's ids; no draft: empty
};

LawOfToy law_from(const ToySettings& settings) {
  LawOfToy law;
  law.spec = toys::read_manifest(settings.manifest);
  law.prompt = ids_from(settings.prompt);
  properties::SamplingRequest request;
  request.prompt = law.prompt;
  request.sampling.temperature = settings.temperature;
  request.sampling.top_k = settings.top_k.value_or(0);
  request.sampling.top_p = settings.top_p.value_or(1);
  request.sampling.min_p = settings.min_p.value_or(0);
  law.target = toys::known_target(law.spec, settings.contract)->next(request, {});
  if (settings.draft.empty()) return law;
  const ToySpec draft = toys::read_manifest(settings.draft);
  if (toys::target_of(draft) != toys::target_of(law.spec))
    throw Error(ErrorKind::kInput, "is no draft of this toy: their specs differ in more than that",
                settings.draft);
  law.draft = toys::known_draft(draft, settings.contract)->next(request, {});
  return law;
}

std::string json_of(const LawOfToy& law) {
  nlohmann::ordered_json json = {{"schema_version", "draftproof/toy-law/1"},
                                 {"prompt", law.prompt},
                                 {"probabilities", law.target}};
  if (!law.draft.empty()) {
    json["draft_probabilities"] = law.draft;
    json["acceptance"] = toys::acceptance(law.target, law.draft);
  }
  return json.dump(1) + "\n";
}

std::string text_of(const LawOfToy& law) {
  using report::Align;
  std::vector<report::Column> columns = {
      {"id", Align::kRight}, {"text"}, {"probability", Align::kRight}};
  if (!law.draft.empty()) columns.push_back({"draft", Align::kRight});
  report::Table table(columns);
  const toys::ToyVocabulary vocabulary = toys::vocabulary_of(law.spec);
  std::vector<std::size_t> never;
  for (const std::size_t id : by_probability(law.target)) {
    if (law.target[id] == 0) {
      never.push_back(id);
      continue;
    }
    std::vector<std::string> cells = {std::to_string(id), vocabulary.texts[id],
                                      fmt::format("{:.12g}", law.target[id])};
    if (!law.draft.empty()) cells.push_back(fmt::format("{:.12g}", law.draft[id]));
    table.add(cells);
  }
  std::string text = table.markdown();
  if (!never.empty())
    text += fmt::format("\nnever: {} ids, {} the first\n", never.size(), never[0]);
  if (!law.draft.empty())
    text += fmt::format("\na drafted token is kept with probability {:.12g}\n",
                        toys::acceptance(law.target, law.draft));
  return text;
}

std::string list_of(bool is_json) {
  std::string text;
  for (const toys::NamedToy& toy : toys::named_toys()) {
    text += is_json ? nlohmann::ordered_json{{"id", toy.name},
                                             {"kind", to_string(toy.target.kind)},
                                             {"vocab_size", toy.target.vocab_size},
                                             {"summary", toy.summary}}
                              .dump() +
                          "\n"
                    : fmt::format("{:<16} {}\n", toy.name, toy.summary);
  }
  return text;
}

}  // namespace

ExitCode toy_command(const ToySettings& settings, const Streams& streams) {
  if (settings.action == "write") return write(settings, streams);
  if (settings.action == "law") {
    const LawOfToy law = law_from(settings);
    streams.out << (settings.output == "json" ? json_of(law) : text_of(law));
  } else {
    streams.out << list_of(settings.output == "jsonl");
  }
  return ExitCode::kUpheld;
}

}  // namespace draftproof::tools
