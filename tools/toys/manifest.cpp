#include "tools/toys/manifest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reference/error.h"
#include "tools/store/atomic_file.h"
#include "tools/toys/lm_head.h"
#include "tools/toys/toy_acceptance.h"
#include "tools/toys/toy_vocabulary.h"

namespace draftproof::tools::toys {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "draftproof/toy/1";

Json json_of(const ToySpec& spec) {
  return {{"kind", to_string(spec.kind)},
          {"seed", spec.seed},
          {"vocab_size", spec.vocab_size},
          {"layers", spec.layers},
          {"sharpness", spec.sharpness},
          {"head_dim", spec.head_dim},
          {"unreachable_count", spec.unreachable_count},
          {"tie_count", spec.tie_count},
          {"near_tie", spec.near_tie},
          {"has_end_trap", spec.has_end_trap},
          {"spelling", spec.spelling},
          {"distance", spec.distance},
          {"is_adversarial", spec.is_adversarial},
          {"permutes_vocabulary", spec.permutes_vocabulary}};
}

/// Reads fields of an object, which it does not keep, and says where one is wrong. Nothing is
/// copied or written out: of brackets within brackets by the thousand that would take the whole
/// stack. Objects that keep an order are copied while they grow, so this is the other kind.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string place)
      : object_(object), place_(std::move(place)) {
    if (!object_.is_object()) throw Error(ErrorKind::kInput, "is no object", place_);
  }

  const nlohmann::json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end())
      throw Error(ErrorKind::kInput, "is missing; write the toy again", place_ + ": " + name);
    return *found;
  }
  template <typename T>
  T get(const char* name) const {
    const std::string place = place_ + ": " + name;
    const nlohmann::json& found = at(name);
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (!found.is_number_unsigned())
        throw Error(ErrorKind::kInput, "must be an integer of at least 0", place);
    } else if constexpr (std::is_same_v<T, int>) {
      if (!found.is_number_integer() || found < INT32_MIN || found > INT32_MAX)
        throw Error(ErrorKind::kInput, "must be an integer", place);
    }
    try {
      return found.get<T>();
    } catch (const nlohmann::json::exception&) {
      throw Error(ErrorKind::kInput, fmt::format("is of another type: {}", found.type_name()),
                  place);
    }
  }
  Fields object(const char* name) const { return {at(name), place_ + ": " + name}; }
  Error wrong(const char* name, const std::string& message) const {
    return {ErrorKind::kInput, message, place_ + ": " + name};
  }

 private:
  const nlohmann::json& object_;
  std::string place_;
};

ToySpec spec_from(const Fields& fields) {
  ToySpec spec;
  const auto kind = fields.get<std::string>("kind");
  bool is_known = false;
  for (const ToyKind each : {ToyKind::kBigram, ToyKind::kAttention, ToyKind::kInteger}) {
    if (to_string(each) != kind) continue;
    spec.kind = each;
    is_known = true;
  }
  if (!is_known) throw fields.wrong("kind", "is " + kind + "; known: bigram, attention, integer");
  spec.seed = fields.get<std::uint64_t>("seed");
  spec.vocab_size = fields.get<int>("vocab_size");
  spec.layers = fields.get<int>("layers");
  spec.sharpness = fields.get<double>("sharpness");
  spec.head_dim = fields.get<int>("head_dim");
  spec.unreachable_count = fields.get<int>("unreachable_count");
  spec.tie_count = fields.get<int>("tie_count");
  spec.near_tie = fields.get<double>("near_tie");
  spec.has_end_trap = fields.get<bool>("has_end_trap");
  spec.spelling = fields.get<std::string>("spelling");
  spec.distance = fields.get<double>("distance");
  spec.is_adversarial = fields.get<bool>("is_adversarial");
  spec.permutes_vocabulary = fields.get<bool>("permutes_vocabulary");
  return spec;
}

Json vocabulary_json(const ToySpec& spec) {
  Json never = Json::array();
  for (int token = 0; token < spec.vocab_size; ++token)
    if (!is_live(spec, token)) never.push_back(token);
  Json json = {{"unknown", kUnknownToken},
               {"begin", kBeginToken},
               {"end", kEndToken},
               {"never", never},
               {"texts", vocabulary_of(spec).texts}};
  if (spec.permutes_vocabulary) json["of_target_ids"] = vocabulary_map(spec);
  return json;
}

}  // namespace

std::string manifest_text(const Manifest& manifest) {
  Json files = Json::array();
  for (const StoredFile& file : manifest.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  Json json = {{"schema_version", kSchema},
               {"name", manifest.name},
               {"role", is_draft(manifest.spec) ? "draft" : "target"},
               {"spec", json_of(manifest.spec)},
               {"weights_sha256", manifest.weights_sha256},
               {"format", manifest.format},
               {"dtype", manifest.dtype},
               {"tokenizer", manifest.tokenizer},
               {"model", manifest.model},
               {"files", files},
               {"vocabulary", vocabulary_json(manifest.spec)}};
  const bool is_short = manifest.spec.vocab_size <= kOneHotVocabMax;
  if (is_draft(manifest.spec) && manifest.spec.kind == ToyKind::kBigram && is_short)
    json["acceptance_by_last_token"] = acceptance_by_last_token(manifest.spec);
  return json.dump(1) + "\n";
}

Manifest load_manifest(const std::filesystem::path& file) {
  const std::string text = store::read_file(file);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw Error(ErrorKind::kInput, "is no JSON; give the .toy.json that toy write made",
                file.string());
  const Fields fields(json, file.string());
  if (fields.get<std::string>("schema_version") != kSchema)
    throw fields.wrong("schema_version", fmt::format("is not {}; write the toy again", kSchema));
  Manifest manifest;
  manifest.name = fields.get<std::string>("name");
  manifest.spec = spec_from(fields.object("spec"));
  manifest.weights_sha256 = fields.get<std::string>("weights_sha256");
  manifest.format = fields.get<std::string>("format");
  manifest.dtype = fields.get<std::string>("dtype");
  manifest.tokenizer = fields.get<std::string>("tokenizer");
  manifest.model = fields.get<std::string>("model");
  for (const auto& entry : fields.at("files")) {
    const Fields each(entry, file.string() + ": files");
    manifest.files.push_back({each.get<std::string>("name"), each.get<std::uint64_t>("bytes"),
                              each.get<std::string>("sha256")});
  }
  try {
    validate(manifest.spec);
  } catch (const Error& error) {
    throw Error(ErrorKind::kInput, error.what(), file.string() + ": spec");
  }
  return manifest;
}

ToySpec read_manifest(const std::filesystem::path& file) {
  const Manifest manifest = load_manifest(file);
  const std::string hash = weights_hash(weights_of(manifest.spec));
  if (hash != manifest.weights_sha256)
    throw Error(ErrorKind::kInput,
                fmt::format("is {}, but this spec has weights with {}: another version of "
                            "draftproof wrote it, or it was edited; write the toy again",
                            manifest.weights_sha256, hash),
                file.string() + ": weights_sha256");
  return manifest.spec;
}

}  // namespace draftproof::tools::toys
