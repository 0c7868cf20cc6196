// Fields: a JSON object of a request, read strictly. Every field that is asked for is known; one
// that nobody asked for is an error that lists the known ones, so that a client whose wish would
// have been ignored learns it. Absent and null are the same, as in the engines' APIs.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reference/token.h"

namespace draftproof::tools::serve {

using reference::Token;
using Json = nlohmann::json;

/// The JSON of a body. Throws Error(kInput): no JSON, numbers beyond double, no UTF-8, deeper than
/// properties::kNestingMax.
Json parse_body(std::string_view body);

/// What JSON may carry of a text of any bytes: what is no UTF-8 becomes U+FFFD.
std::string dumped(const Json& value);

/// All functions throw Error(kInput) at the field's path when it is there and is not as they say.
class Fields {
 public:
  /// Throws when `object` is none. The object must outlive this. `place` is its path, empty for the
  /// body itself.
  explicit Fields(const Json& object, std::string place = "");

  /// The value; none when absent or null.
  const Json* value(const std::string& name);
  std::optional<bool> flag(const std::string& name);
  /// Finite and in [low, high].
  std::optional<double> number(const std::string& name, double low, double high);
  std::optional<double> number(const std::string& name) {
    return number(name, -std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
  }
  /// Written without a fraction, in [low, high].
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t low, std::int64_t high);
  std::optional<std::string> text(const std::string& name);
  /// A text or a list of texts, none of them empty.
  std::optional<std::vector<std::string>> texts(const std::string& name, std::size_t count_max,
                                                std::size_t bytes_max);

  /// A field that changes nothing that this server models.
  void accept(const std::string& name) { value(name); }
  /// A field of the engine that is not modelled: only these values of it, which change nothing.
  void accept_only(const std::string& name, const std::vector<Json>& values);

  /// Throws for a field that nobody asked for, with the names of those that were.
  void end() const;

  std::string path(const std::string& name) const;

 private:
  const Json* object_;
  std::string place_;
  std::set<std::string> known_;
};

/// At most `count_max` integers in [0, 2^31) of a JSON array, which may be empty.
std::vector<Token> ids_of(const Json& value, const std::string& place, std::size_t count_max);

}  // namespace draftproof::tools::serve
