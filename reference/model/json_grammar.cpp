// JSON put together of patterns, from characters to documents and schemas.
#include "reference/model/json_grammar.h"

#include <algorithm>
#include <set>
#include <utility>

#include "reference/error.h"
#include "reference/model/pattern.h"

namespace draftproof::reference::model {
namespace {

Pattern any_of(std::string_view bytes) {
  ByteSet set;
  for (const char byte : bytes) set.set(static_cast<unsigned char>(byte));
  return Pattern::byte_of(set);
}

Pattern digits() { return Pattern::repeated(any_of("0123456789"), 1, std::nullopt); }

Pattern integer() {
  return Pattern::sequence(
      {Pattern::optional(any_of("-")),
       Pattern::either(
           {any_of("0"), Pattern::sequence({any_of("123456789"), Pattern::optional(digits())})})});
}

Pattern number() {
  return Pattern::sequence(
      {integer(), Pattern::optional(Pattern::sequence({any_of("."), digits()})),
       Pattern::optional(
           Pattern::sequence({any_of("eE"), Pattern::optional(any_of("+-")), digits()}))});
}

/// \uXXXX, two of them where they are a pair of surrogates.
Pattern unicode_escape() {
  const Pattern hex = any_of("0123456789abcdefABCDEF");
  const Pattern rest = Pattern::repeated(hex, 2, 2);
  return Pattern::either(
      {Pattern::sequence({any_of("0123456789abcefABCEF"), hex, rest}),
       Pattern::sequence({any_of("dD"), any_of("01234567"), rest}),
       Pattern::sequence({any_of("dD"), any_of("89abAB"), rest, Pattern::text("\\u"), any_of("dD"),
                          any_of("cdefCDEF"), rest})});
}

Pattern string() {
  const ByteSet plain = byte_range(' ', 0x7f) & ~byte_range('"', '"') & ~byte_range('\\', '\\');
  const Pattern escape = Pattern::sequence(
      {any_of("\\"), Pattern::either({any_of("\"\\/bfnrt"),
                                      Pattern::sequence({any_of("u"), unicode_escape()})})});
  const Pattern character = Pattern::either({Pattern::byte_of(plain), utf8_beyond_ascii(), escape});
  return Pattern::sequence(
      {any_of("\""), Pattern::repeated(character, 0, std::nullopt), any_of("\"")});
}

Pattern boolean() { return Pattern::either({Pattern::text("true"), Pattern::text("false")}); }

/// A value that is no container.
Pattern scalar() { return Pattern::either({string(), number(), boolean(), Pattern::text("null")}); }

class Builder {
 public:
  explicit Builder(JsonWhitespace whitespace)
      : space_(whitespace == JsonWhitespace::kNone
                   ? Pattern::sequence({})
                   : Pattern::repeated(any_of(" \t\n\r"), 0, std::nullopt)) {}

  Pattern document(const Pattern& value) const {
    return Pattern::sequence({space_, value, space_});
  }

  Pattern value(int depth) const {
    if (depth == 0) return scalar();
    const Pattern inner = value(depth - 1);
    return Pattern::either(
        {scalar(), enclosed("[", Pattern::optional(separated(spaced(inner))), "]"),
         enclosed("{", Pattern::optional(separated(member(string(), inner))), "}")});
  }

  Pattern value(const JsonSchema& schema, const std::string& path, int depth) const {
    using Type = JsonSchema::Type;
    if (depth == kSchemaDepthMax)
      refuse(path, "more than " + std::to_string(kSchemaDepthMax) +
                       " schemas within each other; write fewer");
    switch (schema.type) {
      case Type::kString:
        return string();
      case Type::kInteger:
        return integer();
      case Type::kNumber:
        return number();
      case Type::kBoolean:
        return boolean();
      case Type::kNull:
        return Pattern::text("null");
      case Type::kEnum:
        return enumeration(schema, path);
      case Type::kArray:
        return array(schema, path, depth);
      case Type::kObject:
        return object(schema, path, depth);
    }
    refuse(path,
           "of no type that is known; known are string, integer, number, boolean, null, "
           "enum, array and object");
  }

 private:
  [[noreturn]] static void refuse(const std::string& path, const std::string& message) {
    throw Error(ErrorKind::kInput, message, "json schema" + path);
  }

  static bool is_scalar(std::string_view text) {
    static const ByteAutomaton scalars = automaton(scalar(), "json");
    return scalars.matches(text);
  }

  Pattern spaced(const Pattern& part) const { return Pattern::sequence({part, space_}); }
  Pattern separator() const { return spaced(any_of(",")); }
  Pattern separated(const Pattern& item) const { return Pattern::separated(item, separator()); }
  Pattern member(const Pattern& name, const Pattern& value) const {
    return Pattern::sequence({spaced(name), spaced(any_of(":")), spaced(value)});
  }
  Pattern enclosed(std::string_view open, const Pattern& inner, std::string_view close) const {
    return Pattern::sequence({spaced(any_of(open)), inner, any_of(close)});
  }

  static Pattern enumeration(const JsonSchema& schema, const std::string& path) {
    if (schema.values.empty()) refuse(path, "an enum without values; list at least one");
    std::vector<Pattern> values;
    for (const std::string& value : schema.values) {
      if (!is_scalar(value))
        refuse(path, "the enum's value '" + value +
                         "' is no JSON string, number, true, false or null; a string has its "
                         "quotes");
      values.push_back(Pattern::text(value));
    }
    return Pattern::either(std::move(values));
  }

  Pattern array(const JsonSchema& schema, const std::string& path, int depth) const {
    if (schema.items.size() != 1)
      refuse(path, "an array has " + std::to_string(schema.items.size()) +
                       " schemas of its items; give it one");
    const Pattern item = spaced(value(schema.items[0], path + ".items", depth + 1));
    if (!schema.items_max) return enclosed("[", Pattern::optional(separated(item)), "]");
    if (*schema.items_max == 0) return enclosed("[", Pattern::sequence({}), "]");
    const Pattern more = Pattern::sequence({separator(), item});
    return enclosed("[",
                    Pattern::optional(Pattern::sequence(
                        {item, Pattern::repeated(more, 0, *schema.items_max - 1)})),
                    "]");
  }

  Pattern object(const JsonSchema& schema, const std::string& path, int depth) const {
    std::set<std::string> names;
    std::vector<Pattern> parts;
    for (const auto& [name, property] : schema.properties) {
      if (!names.insert(name).second)
        refuse(path, "two properties are called '" + name + "'; give each its own name");
      if (!parts.empty()) parts.push_back(separator());
      parts.push_back(
          member(Pattern::text(quoted(name, path)), value(property, path + "." + name, depth + 1)));
    }
    return enclosed("{", Pattern::sequence(std::move(parts)), "}");
  }

  /// The shortest JSON string of `name`.
  static std::string quoted(const std::string& name, const std::string& path) {
    static constexpr std::string_view kLetters = "bfnrt\"\\";
    static constexpr std::string_view kMeant = "\b\f\n\r\t\"\\";
    static constexpr std::string_view kHex = "0123456789abcdef";
    std::string text = "\"";
    for (const char byte : name) {
      const auto code = static_cast<unsigned char>(byte);
      if (const auto letter = kMeant.find(byte); letter != std::string_view::npos)
        (text += '\\') += kLetters[letter];
      else if (code < 0x20)
        ((text += "\\u00") += kHex[code >> 4]) += kHex[code & 15];
      else
        text += byte;
    }
    text += '"';
    if (!is_scalar(text))
      refuse(path, "a property's name is not well-formed UTF-8; write it in UTF-8");
    return text;
  }

  Pattern space_;
};

}  // namespace

ByteAutomaton json_automaton(int depth, JsonWhitespace whitespace) {
  if (depth < 0 || depth > kJsonDepthMax)
    throw Error(ErrorKind::kInput,
                "a depth of " + std::to_string(depth) + " is outside 0 to " +
                    std::to_string(kJsonDepthMax) + "; each one more doubles the automaton",
                "json");
  const Builder builder(whitespace);
  return automaton(builder.document(builder.value(depth)), "json");
}

ByteAutomaton schema_automaton(const JsonSchema& schema, JsonWhitespace whitespace) {
  const Builder builder(whitespace);
  return automaton(builder.document(builder.value(schema, "", 0)), "json schema");
}

}  // namespace draftproof::reference::model
