#include "tools/draftproof/speed_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "properties/json_nesting.h"

namespace draftproof::tools {
namespace {

using Json = nlohmann::json;

/// A value as the message shows it: short, printable, whatever the bytes were.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

}  // namespace

Json object_from(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.empty()) {
      const auto key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) twice = key;
    }
    return true;
  };
  Json object;
  if (properties::nests_too_deep(text)) throw Damage{"has too many brackets within each other"};
  try {
    object = Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    const bool is_cut = error.byte > text.size();
    throw Damage{is_cut
                     ? "the line ends inside its JSON; it was cut off, write it again"
                     : fmt::format("is no JSON at column {}; one JSON object a line", error.byte)};
  } catch (const Json::exception&) {
    throw Damage{"holds a number that no double can carry; write a finite one"};
  }
  if (!twice.empty()) throw Damage{fmt::format("{} is given twice; keep one", shown(twice))};
  if (!object.is_object()) throw Damage{"is no JSON object; one JSON object a line"};
  return object;
}

const Json* Fields::find(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  if (found == object_.end() || found->is_null()) return nullptr;
  return &*found;
}

std::optional<std::string> Fields::text_if(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    throw Damage{fmt::format("'{}' is {}; write a text in quotes", name, shown(*value))};
  }
  return value->get<std::string>();
}

std::string Fields::text(const std::string& name) {
  const auto value = text_if(name);
  if (!value || value->empty()) throw Damage{fmt::format("lacks '{}'; add it", name)};
  return *value;
}

std::optional<std::int64_t> Fields::count_if(const std::string& name, std::int64_t most,
                                             std::int64_t least) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_integer()) {
    throw Damage{fmt::format("'{}' is {}; write a whole number", name, shown(*value))};
  }
  const bool is_below = !value->is_number_unsigned() && value->get<std::int64_t>() < least;
  const bool is_small = value->is_number_unsigned() &&
                        value->get<std::uint64_t>() < static_cast<std::uint64_t>(least);
  const bool is_above =
      value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (is_below || is_small || is_above) {
    throw Damage{fmt::format("'{}' is {}; it must be {} to {}", name, shown(*value), least, most)};
  }
  return value->get<std::int64_t>();
}

std::int64_t Fields::count(const std::string& name, std::int64_t most) {
  const auto value = count_if(name, most);
  if (!value) throw Damage{fmt::format("lacks '{}'; add it", name)};
  return *value;
}

std::optional<bool> Fields::flag_if(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    throw Damage{fmt::format("'{}' is {}; write true or false", name, shown(*value))};
  }
  return value->get<bool>();
}

std::optional<double> Fields::number_if(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  const bool is_number = value->is_number() && std::isfinite(value->get<double>());
  if (!is_number || value->get<double>() < 0) {
    throw Damage{fmt::format("'{}' is {}; write a number from 0", name, shown(*value))};
  }
  return value->get<double>();
}

std::optional<double> Fields::time_if(const std::string& name, bool must_be_positive) {
  std::optional<double> seconds;
  std::string given;
  const std::vector<std::pair<std::string, double>> units = {
      {"_s", 1}, {"_ms", 1e-3}, {"_us", 1e-6}, {"_ns", 1e-9}};
  for (const auto& [unit, scale] : units) {
    const auto value = number_if(name + unit);
    if (!value) continue;
    if (seconds) {
      throw Damage{
          fmt::format("'{}' and '{}' are one time in two units; keep one", given, name + unit)};
    }
    given = name + unit;
    seconds = *value * scale;
  }
  if (!seconds) return std::nullopt;
  if (*seconds > kMostSeconds) {
    throw Damage{fmt::format("'{}' is {:g} s; look at its unit", given, *seconds)};
  }
  if (must_be_positive && *seconds == 0) {
    throw Damage{fmt::format("'{}' is 0; leave it out where it was not measured", given)};
  }
  return seconds;
}

const Json* Fields::object_if(const std::string& name) {
  const Json* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) {
    throw Damage{fmt::format("'{}' is {}; write a JSON object", name, shown(*value))};
  }
  return value;
}

void Fields::allow_only_what_was_read() const {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    bool lacks_unit = known_.contains(name + "_ms");
    throw Damage{lacks_unit ? fmt::format("'{}' has no unit; write {}_s, {}_ms, {}_us or {}_ns",
                                          shown(name), name, name, name, name)
                            : fmt::format("unknown field {}; known: {}", shown(name),
                                          fmt::join(known_, ", "))};
  }
}

}  // namespace draftproof::tools
