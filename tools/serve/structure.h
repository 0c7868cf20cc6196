// Structure: what clients say of a text that is to come, as a grammar of the served vocabulary.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "reference/model/grammar.h"
#include "tools/serve/dialect.h"

namespace draftproof::tools::serve {

using GrammarPtr = std::shared_ptr<const reference::model::Grammar>;

/// All throw Error(kInput) at `place` when the grammar cannot be built, when no tokens of this
/// vocabulary can spell it, or when the model has no end token.
GrammarPtr grammar_of_regex(const std::string& expression, const std::string& place,
                            const Served& served);
GrammarPtr grammar_of_choices(const std::vector<std::string>& texts, const std::string& place,
                              const Served& served);
/// A JSON Schema: type (string, integer, number, boolean, null, array, object), enum, const, items,
/// maxItems, properties, required, additionalProperties: objects have all their properties, sorted
/// by name. What else changes its meaning is refused by name.
GrammarPtr grammar_of_schema(const Json& schema, const std::string& place, const Served& served);
/// Any JSON value with a few containers within each other.
GrammarPtr grammar_of_json(const std::string& place, const Served& served);
/// "response_format" of OpenAI's API: text, json_object, json_schema; none for text.
GrammarPtr grammar_of_response_format(const Json& format, const std::string& place,
                                      const Served& served);

}  // namespace draftproof::tools::serve
