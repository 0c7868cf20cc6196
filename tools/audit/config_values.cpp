#include "tools/audit/config_values.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "reference/error.h"
#include "tools/draftproof/settings.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::audit {
namespace {

/// As it would be typed: numbers in their shortest form, which toml++ does not write.
std::string toml_text(const toml::node& node) {
  if (node.is_floating_point()) return fmt::format("{}", **node.as_floating_point());
  std::string text;
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& each : *list) text += (text.empty() ? "" : ", ") + toml_text(each);
    return "[" + text + "]";
  }
  if (const toml::table* table = node.as_table()) {
    for (const auto& [name, each] : *table)
      text += (text.empty() ? "" : ", ") + std::string(name.str()) + " = " + toml_text(each);
    return "{ " + text + " }";
  }
  std::ostringstream out;
  node.visit(
      [&](const auto& each) { out << toml::toml_formatter(each, toml::format_flags::none); });
  return out.str();
}

/// One value on its way in, with where it stands.
struct Reading {
  const ConfigKey& key;
  std::string place;

  [[noreturn]] void wrong(const std::string& wanted) const {
    refuse(place, "'" + key.name + "' must be " + wanted);
  }
};

/// "${NAME}" -> the environment's.
std::string replaced(const std::string& text, const Reading& reading) {
  std::string result;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = text.find("${", at);
    if (begin == std::string::npos) return result + text.substr(at);
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos)
      refuse(reading.place, "'" + reading.key.name + "' has a ${ without its }");
    const std::string name = text.substr(begin + 2, end - begin - 2);
    const char* value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (value == nullptr)
      refuse(reading.place, "'" + reading.key.name + "' asks for the variable " + name +
                                ", which is not set; export it");
    result += text.substr(at, begin - at) + value;
    at = end + 1;
  }
}

void check_range(double value, const Reading& reading) {
  const ConfigKey& key = reading.key;
  if (std::isnan(value) || value < key.low || value > key.high)
    refuse(reading.place,
           fmt::format("'{}' is {}; it must be in [{}, {}]", key.name, value, key.low, key.high));
}

std::int64_t integer_of(const toml::node& node, const Reading& reading) {
  if (!node.is_integer()) reading.wrong("an integer");
  const std::int64_t value = **node.as_integer();
  check_range(static_cast<double>(value), reading);
  return value;
}

double number_of(const toml::node& node, const Reading& reading) {
  double value = 0;
  if (node.is_floating_point()) {
    value = **node.as_floating_point();
  } else if (node.is_integer()) {
    value = static_cast<double>(**node.as_integer());
  } else {
    reading.wrong("a number");
  }
  check_range(value, reading);
  return value;
}

std::string text_of(const toml::node& node, const Reading& reading) {
  if (!node.is_string()) reading.wrong("a text in quotes");
  return replaced(**node.as_string(), reading);
}

double seconds_of(const toml::node& node, const Reading& reading) {
  if (node.is_number()) {
    const double value = number_of(node, reading);
    if (!(value >= 0) || !std::isfinite(value)) reading.wrong("a duration: \"90s\", \"20m\"");
    return value;
  }
  const std::string text = text_of(node, reading);
  return text == "0s" ? 0 : seconds_from(text, reading.place);
}

bool flag_of(const toml::node& node, const Reading& reading) {
  if (!node.is_boolean()) reading.wrong("true or false");
  return **node.as_boolean();
}

std::vector<std::int64_t> ids_of(const toml::node& node, const Reading& reading) {
  if (!node.is_array()) reading.wrong("a list of lists of token ids");
  std::vector<std::int64_t> ids;
  for (const toml::node& each : *node.as_array()) {
    if (!each.is_integer()) reading.wrong("a list of lists of token ids");
    const std::int64_t id = **each.as_integer();
    if (id < 0 || id >= std::int64_t{1} << 31)
      refuse(reading.place, fmt::format("'{}' has {}, which is no token id", reading.key.name, id));
    ids.push_back(id);
  }
  return ids;
}

std::string scalar_text(const toml::node& node, const Reading& reading) {
  if (node.is_string()) return text_of(node, reading);
  if (node.is_table() || node.is_array()) reading.wrong("names with texts, numbers or flags");
  return toml_text(node);
}

template <typename Read>
void each_of(const toml::node& node, const Read& read) {
  if (!node.is_array()) return read(node);
  for (const toml::node& each : *node.as_array()) read(each);
}

void read_id_lists(const toml::node& node, const Reading& reading, ConfigValue& value) {
  if (!node.is_array()) reading.wrong("a list of lists of token ids");
  const toml::array& list = *node.as_array();
  if (!list.empty() && list.front().is_integer()) {
    value.id_lists.push_back(ids_of(node, reading));
    return;
  }
  for (const toml::node& each : list) value.id_lists.push_back(ids_of(each, reading));
}

ConfigValue value_of(const toml::node& node, const Reading& reading) {
  ConfigValue value{.typed = toml_text(node), .origin = reading.place};
  const auto integer = [&](const toml::node& each) {
    value.integers.push_back(integer_of(each, reading));
  };
  const auto number = [&](const toml::node& each) {
    value.numbers.push_back(number_of(each, reading));
  };
  const auto text = [&](const toml::node& each) { value.texts.push_back(text_of(each, reading)); };
  const auto flag = [&](const toml::node& each) { value.flags.push_back(flag_of(each, reading)); };
  switch (reading.key.type) {
    case KeyType::kText:
      text(node);
      break;
    case KeyType::kTexts:
      each_of(node, text);
      break;
    case KeyType::kFlag:
      flag(node);
      break;
    case KeyType::kFlags:
      each_of(node, flag);
      break;
    case KeyType::kInteger:
      integer(node);
      break;
    case KeyType::kIntegers:
      each_of(node, integer);
      break;
    case KeyType::kNumber:
      number(node);
      break;
    case KeyType::kNumbers:
      each_of(node, number);
      break;
    case KeyType::kDuration:
      value.numbers.push_back(seconds_of(node, reading));
      break;
    case KeyType::kIdLists:
      read_id_lists(node, reading, value);
      break;
    case KeyType::kTable:
      if (!node.is_table()) reading.wrong("a table: { name = value }");
      for (const auto& [name, each] : *node.as_table())
        value.table.emplace_back(std::string(name.str()), scalar_text(each, reading));
      break;
  }
  return value;
}

bool is_table_of_keys(const std::string& name) {
  for (const ConfigKey& key : config_keys())
    if (key.name.starts_with(name + ".")) return true;
  return false;
}

[[noreturn]] void refuse_key(const std::string& name, const std::string& place) {
  const std::string nearest = nearest_key(name);
  if (!nearest.empty())
    refuse(place, "unknown key '" + name + "'; did you mean '" + nearest + "'?");
  std::string known;
  const std::string table = name.substr(0, name.find('.'));
  for (const ConfigKey& key : config_keys())
    if (key.name.starts_with(table + ".")) known += (known.empty() ? "" : ", ") + key.name;
  refuse(place, "unknown key '" + name + "'" +
                    (known.empty() ? "; known tables: run, target, arm, speculation, sampling, "
                                     "prompts, audits, gate, report, speed"
                                   : "; known: " + known));
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& file,
             std::map<std::string, ConfigValue>& values) {
  for (const auto& [part, node] : table) {
    const std::string name =
        prefix.empty() ? std::string(part.str()) : prefix + "." + std::string(part.str());
    const std::string place = file + ":" + std::to_string(node.source().begin.line);
    if (const ConfigKey* key = config_key(name)) {
      values[name] = value_of(node, {*key, place});
    } else if (is_table_of_keys(name)) {
      if (!node.is_table()) refuse(place, "[" + name + "] is a table, not a value");
      flatten(*node.as_table(), name, file, values);
    } else {
      refuse_key(name, place);
    }
  }
}

toml::table parsed(const std::string& text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    refuse(file + ":" + std::to_string(error.source().begin.line),
           std::string(error.description()));
  }
}

ConfigValue value_of_text(const ConfigKey& key, const std::string& text,
                          const std::string& origin) {
  toml::table table;
  try {
    table = toml::parse("value = " + text);
  } catch (const toml::parse_error&) {
    refuse(origin, "\"" + text + "\" is no value");
  }
  ConfigValue value = value_of(*table.get("value"), {key, origin});
  value.origin = origin;
  return value;
}

}  // namespace

void refuse(const std::string& place, const std::string& message) {
  throw Error(ErrorKind::kInput, message, place);
}

ConfigValues::ConfigValues(const std::filesystem::path& file,
                           const std::map<std::string, std::string>& flags)
    : file_(file) {
  for (const ConfigKey& key : config_keys())
    if (!key.initial.empty()) values_[key.name] = value_of_text(key, key.initial, "default");
  if (!file.empty()) {
    const std::string name = file.string();
    flatten(parsed(store::read_file(name), name), "", name, values_);
  }
  for (const auto& [name, text] : flags) {
    const ConfigKey* key = config_key(name);
    if (key == nullptr) refuse_key(name, "--" + name);
    values_[name] = value_of_text(*key, text, key->flag.empty() ? "--" + name : key->flag);
  }
}

const ConfigValue* ConfigValues::find(const std::string& name) const {
  DRAFTPROOF_CHECK(config_key(name) != nullptr, name);
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

bool ConfigValues::is_typed(const std::string& name) const {
  const ConfigValue* value = find(name);
  return value != nullptr && value->origin != "default";
}

std::string ConfigValues::place(const std::string& name) const {
  if (is_typed(name)) return find(name)->origin;
  return file_.empty() ? "'" + name + "'" : file_.string();
}

std::string ConfigValues::text(const std::string& name) const {
  const ConfigValue* value = find(name);
  return value == nullptr || value->texts.empty() ? "" : value->texts.front();
}

std::optional<double> ConfigValues::number(const std::string& name) const {
  const ConfigValue* value = find(name);
  if (value == nullptr || value->numbers.empty()) return std::nullopt;
  return value->numbers.front();
}

std::optional<std::int64_t> ConfigValues::integer(const std::string& name) const {
  const ConfigValue* value = find(name);
  if (value == nullptr || value->integers.empty()) return std::nullopt;
  return value->integers.front();
}

bool ConfigValues::flag(const std::string& name) const {
  const ConfigValue* value = find(name);
  return value != nullptr && !value->flags.empty() && value->flags.front();
}

std::vector<std::string> ConfigValues::texts(const std::string& name) const {
  const ConfigValue* value = find(name);
  return value == nullptr ? std::vector<std::string>{} : value->texts;
}

}  // namespace draftproof::tools::audit
