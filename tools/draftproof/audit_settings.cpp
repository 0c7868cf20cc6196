#include "tools/draftproof/audit_settings.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "reference/error.h"
#include "tools/audit/config_keys.h"

namespace draftproof::tools {
namespace {

using audit::ConfigKey;
using audit::KeyType;

/// A JSON text is a TOML basic string.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::string list_of(const std::string& text, bool is_text) {
  std::string list = "[";
  for (const std::string& part : split(text))
    list += (list.size() > 1 ? ", " : "") + (is_text ? quoted(part) : part);
  return list + "]";
}

std::string toml_of(const ConfigKey& key, const std::string& text) {
  switch (key.type) {
    case KeyType::kText:
    case KeyType::kDuration:
      return quoted(text);
    case KeyType::kTexts:
      return text == "[]" ? text : list_of(text, true);
    case KeyType::kIntegers:
    case KeyType::kNumbers:
      return list_of(text, false);
    default:
      // A line break would end the value and begin another one.
      if (text.find_first_of("\n#=") != std::string::npos)
        throw Error(ErrorKind::kInput, "\"" + text + "\" is no value", key.flag);
      return text;
  }
}

/// Every key of one flag: --engine is of both arms.
std::vector<const ConfigKey*> keys_of(const std::string& flag) {
  std::vector<const ConfigKey*> keys;
  for (const ConfigKey& key : audit::config_keys())
    if (key.flag == flag) keys.push_back(&key);
  return keys;
}

void add_key(CLI::App& command, AuditSettings& settings, const ConfigKey& first) {
  const std::vector<const ConfigKey*> keys = keys_of(first.flag);
  if (first.type == KeyType::kFlag || first.name == "gate.inconclusive") {
    const std::string value = first.type == KeyType::kFlag ? "true" : "\"pass\"";
    command.add_flag_callback(
        first.flag, [&settings, name = first.name, value] { settings.flags[name] = value; },
        first.type == KeyType::kFlag ? first.summary
                                     : "Exit 0 instead of 2 when nothing is violated");
    return;
  }
  command.add_option_function<std::string>(
      first.flag,
      [&settings, keys](const std::string& text) {
        for (const ConfigKey* key : keys) settings.flags[key->name] = toml_of(*key, text);
      },
      first.summary);
}

}  // namespace

void add_audit_options(CLI::App& command, AuditSettings& settings) {
  command.add_option("file", settings.config, "As --config");
  add_audit_flags(command, settings);
}

void add_audit_flags(CLI::App& command, AuditSettings& settings) {
  command.add_option("-c,--config", settings.config,
                     "Default: draftproof.toml of this folder, when there is one");
  command.add_flag("--print-config", settings.prints_config,
                   "Show every value and where it came from, and stop");
  std::set<std::string> added;
  for (const ConfigKey& key : audit::config_keys())
    if (!key.flag.empty() && added.insert(key.flag).second) add_key(command, settings, key);
}

audit::LoadedConfig settings_of_flags(const AuditSettings& settings) {
  return audit::load_config(settings.config, settings.flags);
}

}  // namespace draftproof::tools
