#include "tools/serve/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reference/error.h"
#include "reference/model/json_grammar.h"
#include "reference/model/regular_expression.h"
#include "reference/model/token_grammar.h"

namespace draftproof::tools::serve {
namespace {

namespace model = reference::model;
using model::JsonSchema;

constexpr int kJsonDepth = 2;

[[noreturn]] void refuse(const std::string& place, const std::string& message) {
  throw Error(ErrorKind::kInput, message, place);
}

/// `make` with the field's place in front of what it complains of.
template <typename Make>
GrammarPtr grammar(const Make& make, const std::string& place, const Served& served) {
  if (!served.eos)
    refuse(place, "needs a model with an end token, which ends the text; serve one with --eos ID");
  try {
    return std::make_shared<model::Grammar>(
        model::token_grammar(make(), *served.spelling, *served.eos));
  } catch (const Error& error) {
    refuse(place, error.what());
  }
}

JsonSchema schema_of(const Json& value, const std::string& place, int depth);

JsonSchema values_of(const Json& values, const std::string& place) {
  JsonSchema schema;
  schema.type = JsonSchema::Type::kEnum;
  if (!values.is_array() || values.empty()) refuse(place, "must be an array of values");
  for (const Json& each : values) {
    if (each.is_structured()) refuse(place, "lists a container; only plain values are modelled");
    schema.values.push_back(dumped(each));
  }
  return schema;
}

JsonSchema object_of(Fields& fields, int depth) {
  JsonSchema schema;
  schema.type = JsonSchema::Type::kObject;
  const Json* properties = fields.value("properties");
  const auto required = fields.texts("required", 1024, 1024);
  fields.accept_only("additionalProperties", {false});
  if (properties == nullptr) return schema;
  if (!properties->is_object()) refuse(fields.path("properties"), "must be an object");
  for (const auto& [name, property] : properties->items()) {
    const std::string at = fields.path("properties." + name.substr(0, 80));
    if (!required || std::find(required->begin(), required->end(), name) == required->end())
      refuse(at,
             "may be left out; only objects with all their properties are modelled: add it to "
             "required");
    schema.properties.push_back({name, schema_of(property, at, depth + 1)});
  }
  return schema;
}

JsonSchema array_of(Fields& fields, int depth) {
  JsonSchema schema;
  schema.type = JsonSchema::Type::kArray;
  const Json* items = fields.value("items");
  if (items == nullptr) refuse(fields.path("items"), "is missing; say what an item is");
  schema.items.push_back(schema_of(*items, fields.path("items"), depth + 1));
  const auto count = fields.integer("maxItems", 0, 1 << 16);
  if (count) schema.items_max = static_cast<std::size_t>(*count);
  return schema;
}

JsonSchema schema_of(const Json& value, const std::string& place, int depth) {
  if (depth > model::kSchemaDepthMax) refuse(place, "has too many schemas within each other");
  Fields fields(value, place);
  for (const char* described : {"title", "description", "$schema", "default", "examples"})
    fields.accept(described);
  JsonSchema schema;
  if (const Json* values = fields.value("enum")) {
    fields.accept("type");
    schema = values_of(*values, fields.path("enum"));
  } else if (const Json* constant = fields.value("const")) {
    fields.accept("type");
    schema = values_of(Json::array({*constant}), fields.path("const"));
  } else {
    const std::string type = fields.text("type").value_or("");
    static const std::array<std::pair<const char*, JsonSchema::Type>, 5> plain = {
        {{"string", JsonSchema::Type::kString},
         {"integer", JsonSchema::Type::kInteger},
         {"number", JsonSchema::Type::kNumber},
         {"boolean", JsonSchema::Type::kBoolean},
         {"null", JsonSchema::Type::kNull}}};
    const auto found = std::find_if(plain.begin(), plain.end(),
                                    [&](const auto& each) { return type == each.first; });
    if (found != plain.end()) {
      schema.type = found->second;
    } else if (type == "object") {
      schema = object_of(fields, depth);
    } else if (type == "array") {
      schema = array_of(fields, depth);
    } else {
      refuse(fields.path("type"),
             "must be one of string, integer, number, boolean, null, array, object");
    }
  }
  fields.end();
  return schema;
}

}  // namespace

GrammarPtr grammar_of_regex(const std::string& expression, const std::string& place,
                            const Served& served) {
  return grammar([&] { return model::regular_expression(expression); }, place, served);
}

GrammarPtr grammar_of_choices(const std::vector<std::string>& texts, const std::string& place,
                              const Served& served) {
  return grammar(
      [&] {
        std::vector<model::Pattern> choices;
        for (const std::string& text : texts) choices.push_back(model::Pattern::text(text));
        if (choices.empty()) refuse(place, "lists no choice");
        return model::automaton(model::Pattern::either(choices), place);
      },
      place, served);
}

GrammarPtr grammar_of_schema(const Json& schema, const std::string& place, const Served& served) {
  if (schema.is_string()) {
    const std::string text = schema.get<std::string>();
    if (text.size() > kSchemaBytesMax)
      refuse(place, fmt::format("has more than {} bytes", kSchemaBytesMax));
    return grammar_of_schema(parse_body(text), place, served);
  }
  // A pattern of it takes a hundred times its bytes.
  if (dumped(schema).size() > kSchemaBytesMax)
    refuse(place, fmt::format("has more than {} bytes", kSchemaBytesMax));
  const JsonSchema read = schema_of(schema, place, 0);
  return grammar([&] { return model::schema_automaton(read); }, place, served);
}

GrammarPtr grammar_of_json(const std::string& place, const Served& served) {
  return grammar([&] { return model::json_automaton(kJsonDepth); }, place, served);
}

GrammarPtr grammar_of_response_format(const Json& format, const std::string& place,
                                      const Served& served) {
  Fields fields(format, place);
  const std::string type = fields.text("type").value_or("");
  const Json* holder = fields.value("json_schema");
  fields.end();
  if (type == "text") return nullptr;
  if (type == "json_object") return grammar_of_json(place, served);
  if (type != "json_schema")
    refuse(fields.path("type"), "must be text, json_object or json_schema");
  if (holder == nullptr) refuse(fields.path("json_schema"), "is missing");
  Fields inner(*holder, fields.path("json_schema"));
  inner.accept("name");
  inner.accept("strict");
  inner.accept("description");
  const Json* schema = inner.value("schema");
  inner.end();
  if (schema == nullptr) refuse(inner.path("schema"), "is missing");
  return grammar_of_schema(*schema, inner.path("schema"), served);
}

}  // namespace draftproof::tools::serve
