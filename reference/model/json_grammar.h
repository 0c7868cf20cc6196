// JSON as automata: documents of bounded depth (RFC 8259), and a subset of JSON Schema as engines
// that decode to a schema read it. JSON is not regular, but with at most N containers within each
// other it is: the stack of open ones, of 2^(N+1) - 1 kinds, becomes part of the state. What no
// automaton of this size can hold is not asked: that the names of an object differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/model/byte_automaton.h"

namespace draftproof::reference::model {

/// Between the parts of a document, in front of it and behind it.
enum class JsonWhitespace : std::uint8_t { kNone, kAny };

/// Containers within each other that a document may have; deeper automata exceed
/// Pattern::kStatesMax.
inline constexpr int kJsonDepthMax = 6;

/// Texts that are one JSON value with at most `depth` containers within each other (0: a string,
/// number, true, false or null). Strings are well-formed UTF-8, and a surrogate is escaped with its
/// partner only: RFC 8259 (section 8.2) leaves open what a lone one does, and readers refuse it.
/// Throws Error(kInput) when `depth` is outside [0, kJsonDepthMax].
ByteAutomaton json_automaton(int depth, JsonWhitespace whitespace = JsonWhitespace::kNone);

struct JsonProperty;

/// What a value looks like. Objects have exactly their properties in exactly their order, as
/// schema-guided decoders write them. An integer has neither fraction nor exponent.
struct JsonSchema {
  enum class Type : std::uint8_t {
    kString,
    kInteger,
    kNumber,
    kBoolean,
    kNull,
    kEnum,
    kArray,
    kObject
  };
  Type type = Type::kNull;
  /// kEnum, at least one: JSON texts of values that are no containers, written as they stand here.
  std::vector<std::string> values = {};
  std::vector<JsonSchema> items = {};         ///< kArray: one, the schema of every item
  std::optional<std::size_t> items_max = {};  ///< kArray; absent: any number of items
  std::vector<JsonProperty> properties = {};  ///< kObject; names differ
};

struct JsonProperty {
  std::string name;  ///< UTF-8, without quotes or escapes: these are added
  JsonSchema schema;
};

/// Schemas within each other; more are refused.
inline constexpr int kSchemaDepthMax = 64;

/// Texts that are one value of `schema`. Throws Error(kInput) at "json schema" with the path to
/// what is wrong (".items", ".NAME") and the remedy, and when it exceeds a limit of Pattern.
ByteAutomaton schema_automaton(const JsonSchema& schema,
                               JsonWhitespace whitespace = JsonWhitespace::kNone);

}  // namespace draftproof::reference::model
