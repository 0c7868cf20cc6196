#include "tools/serve/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/json_nesting.h"
#include "reference/error.h"

namespace draftproof::tools::serve {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& message) {
  throw Error(ErrorKind::kInput, message, place);
}

std::string shown(const Json& value) {
  constexpr std::size_t kShownMax = 40;
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  const std::string text = dumped(value);
  return text.size() <= kShownMax ? text : text.substr(0, kShownMax) + "...";
}

std::int64_t integer_of(const Json& value, const std::string& place, std::int64_t low,
                        std::int64_t high) {
  const bool is_huge = value.is_number_unsigned() &&
                       value.get<std::uint64_t>() >
                           static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer())
    refuse(place, fmt::format("is {}; it must be an integer", shown(value)));
  if (is_huge || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high)
    refuse(place, fmt::format("is {}; it must be in [{}, {}]", shown(value), low, high));
  return value.get<std::int64_t>();
}

std::vector<std::string> texts_of(const Json& value, const std::string& place,
                                  std::size_t count_max, std::size_t bytes_max) {
  if (!value.is_array() && !value.is_string()) refuse(place, "must be a text or an array of texts");
  std::vector<Json> items;
  if (value.is_string()) {
    items.push_back(value);
  } else if (value.size() > count_max) {
    refuse(place, fmt::format("has {} texts; at most {} are taken", value.size(), count_max));
  } else {
    items.assign(value.begin(), value.end());
  }
  std::vector<std::string> texts;
  for (const Json& item : items) {
    const std::string at = fmt::format("{}[{}]", place, texts.size());
    if (!item.is_string()) refuse(at, "is " + shown(item) + "; it must be a text");
    texts.push_back(item.get<std::string>());
    if (texts.back().empty() || texts.back().size() > bytes_max)
      refuse(at, fmt::format("must have 1 to {} bytes", bytes_max));
  }
  return texts;
}

}  // namespace

Json parse_body(std::string_view body) {
  // Also counted before parsing, since memory of a parsed body is many times its bytes.
  if (properties::nests_too_deep(body))
    refuse("body",
           fmt::format("more than {} containers within each other", properties::kNestingMax));
  // The parser takes a zero byte for the end.
  if (const auto zero = body.find('\0'); zero != std::string_view::npos)
    refuse("body", fmt::format("is no JSON: byte {} is zero", zero));
  try {
    return Json::parse(body);
  } catch (const Json::exception& error) {
    const std::string what = error.what();
    refuse("body", "is no JSON: " + what.substr(what.find("] ") + 2));
  }
}

std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Fields::Fields(const Json& object, std::string place) : object_(&object), place_(std::move(place)) {
  if (!object.is_object()) refuse(place_.empty() ? "body" : place_, "must be a JSON object");
}

std::string Fields::path(const std::string& name) const {
  return place_.empty() ? name : place_ + "." + name;
}

const Json* Fields::value(const std::string& name) {
  known_.insert(name);
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> Fields::flag(const std::string& name) {
  const Json* found = value(name);
  if (found == nullptr) return {};
  if (!found->is_boolean())
    refuse(path(name), "is " + shown(*found) + "; it must be true or false");
  return found->get<bool>();
}

std::optional<double> Fields::number(const std::string& name, double low, double high) {
  const Json* found = value(name);
  if (found == nullptr) return {};
  if (!found->is_number()) refuse(path(name), "is " + shown(*found) + "; it must be a number");
  const double number = found->get<double>();
  if (!std::isfinite(number)) refuse(path(name), "must be finite");
  if (number < low) refuse(path(name), fmt::format("is {}; it must be {} or more", number, low));
  if (number > high) refuse(path(name), fmt::format("is {}; it must be {} or less", number, high));
  return number;
}

std::optional<std::int64_t> Fields::integer(const std::string& name, std::int64_t low,
                                            std::int64_t high) {
  const Json* found = value(name);
  if (found == nullptr) return {};
  return integer_of(*found, path(name), low, high);
}

std::optional<std::string> Fields::text(const std::string& name) {
  const Json* found = value(name);
  if (found == nullptr) return {};
  if (!found->is_string()) refuse(path(name), "is " + shown(*found) + "; it must be a text");
  return found->get<std::string>();
}

std::optional<std::vector<std::string>> Fields::texts(const std::string& name,
                                                      std::size_t count_max,
                                                      std::size_t bytes_max) {
  const Json* found = value(name);
  if (found == nullptr) return {};
  return texts_of(*found, path(name), count_max, bytes_max);
}

void Fields::accept_only(const std::string& name, const std::vector<Json>& values) {
  const Json* found = value(name);
  if (found == nullptr || std::find(values.begin(), values.end(), *found) != values.end()) return;
  std::string neutral = "null";
  for (const Json& each : values) neutral += " or " + dumped(each);
  refuse(path(name), "is not modelled by the toy engine; leave it out, or send " + neutral);
}

void Fields::end() const {
  for (const auto& [name, value] : object_->items()) {
    if (known_.contains(name)) continue;
    refuse(path(name.substr(0, 80)),
           fmt::format("is no field that is known here; known: {}", fmt::join(known_, ", ")));
  }
}

std::vector<Token> ids_of(const Json& value, const std::string& place, std::size_t count_max) {
  if (!value.is_array()) refuse(place, "must be an array of token ids");
  if (value.size() > count_max)
    refuse(place, fmt::format("has {} ids; at most {} are taken", value.size(), count_max));
  std::vector<Token> ids;
  ids.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i)
    ids.push_back(static_cast<Token>(integer_of(value[i], fmt::format("{}[{}]", place, i), 0,
                                                std::numeric_limits<Token>::max())));
  return ids;
}

}  // namespace draftproof::tools::serve
