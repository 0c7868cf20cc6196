// Field: a JSON value that knows where it came from, so that every complaint about a file names the
// place, the path of the field and what it should hold. Lives as long as the JSON it looks at.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "properties/names.h"
#include "properties/number_text.h"
#include "reference/error.h"

namespace draftproof::properties {

/// A JSON value that knows where it came from.
class Field {
 public:
  /// `whole` is what a complaint calls the value that has no path: "the case".
  Field(const Json& value, std::string path, std::string_view place, std::string_view whole)
      : value_(value), path_(std::move(path)), place_(place), whole_(whole) {}

  [[noreturn]] void refuse(const std::string& message) const {
    const std::string at = path_.empty() ? std::string(whole_) : path_;
    throw Error(ErrorKind::kInput, at + " " + message, std::string(place_));
  }

  const Json& json() const { return value_; }
  std::size_t size() const { return value_.size(); }

  std::optional<Field> find(const std::string& name) const {
    if (!value_.is_object()) refuse("should be an object");
    const auto at = value_.find(name);
    if (at == value_.end()) return std::nullopt;
    return Field(*at, path_.empty() ? name : path_ + "." + name, place_, whole_);
  }

  Field at(const std::string& name) const {
    if (auto found = find(name)) return *found;
    refuse("lacks the field '" + name + "'");
  }

  /// Refuses fields that no one reads: a misspelt name would otherwise mean its default.
  void allow_only(std::initializer_list<std::string_view> names) const {
    if (!value_.is_object()) refuse("should be an object");
    std::string known;
    for (std::string_view name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    for (auto it = value_.begin(); it != value_.end(); ++it) {
      bool found = false;
      for (std::string_view name : names) found = found || it.key() == name;
      if (!found) refuse("has the unknown field '" + it.key() + "'; known: " + known);
    }
  }

  template <class Each>
  void for_each(Each each) const {
    if (!value_.is_array()) refuse("should be an array");
    for (std::size_t i = 0; i < value_.size(); ++i)
      each(Field(value_[i], path_ + "[" + std::to_string(i) + "]", place_, whole_));
  }

  std::string text() const {
    if (!value_.is_string()) refuse("should be a string");
    return value_.get<std::string>();
  }

  template <class Integer>
  Integer integer() const {
    if (value_.is_number_unsigned()) {
      if (value_.get<std::uint64_t>() <=
          static_cast<std::uint64_t>(std::numeric_limits<Integer>::max()))
        return value_.get<Integer>();
    } else if (value_.is_number_integer() && std::numeric_limits<Integer>::is_signed) {
      if (value_.get<std::int64_t>() >=
          static_cast<std::int64_t>(std::numeric_limits<Integer>::min()))
        return value_.get<Integer>();
    }
    refuse("should be an integer that fits " + std::to_string(8 * sizeof(Integer)) + " bits" +
           (std::numeric_limits<Integer>::is_signed ? "" : ", not negative"));
  }

  double number() const {
    const auto result = double_of(value_);
    if (!result) refuse("should be a number, \"inf\", \"-inf\" or \"nan\"");
    return *result;
  }

  float single() const {
    const auto result = float_of(value_);
    if (!result) refuse("should be a number within fp32, \"inf\", \"-inf\" or \"nan\"");
    return *result;
  }

  std::uint64_t coin() const {
    const auto result = coin_of(value_);
    if (!result) refuse("should be 64 bits such as \"0x8000000000000000\"");
    return *result;
  }

  template <class Value>
  Value named(const Names<Value>& names) const {
    const std::string name = text();
    std::string known;
    for (const auto& [value, each] : names) {
      if (each == name) return value;
      known += (known.empty() ? "" : ", ") + std::string(each);
    }
    refuse("is '" + name + "'; known: " + known);
  }

 private:
  const Json& value_;
  std::string path_;
  std::string_view place_, whole_;
};

}  // namespace draftproof::properties
