// Prompt files: JSON lines. Ours: {"id", "prompt_token_ids" | "text" | "messages", "cohort"?}.
// Spec-Bench's question.jsonl: {"question_id", "category", "turns": [...], "reference"?}
// (Xia et al., 2024). SPEED-Bench: the same, or "messages", or "prompt". Names of benchmarks'
// fields are read, their files are the user's.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "properties/json_nesting.h"
#include "tools/audit/config_values.h"
#include "tools/audit/prompt_set.h"

namespace draftproof::tools::audit {
namespace {

using nlohmann::json;

/// One line, and where it stands.
struct Line {
  const json& fields;
  std::string place;

  const json* find(const char* name) const {
    const auto found = fields.find(name);
    return found == fields.end() || found->is_null() ? nullptr : &*found;
  }
  /// The first of `names` that is there.
  const json* first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (const json* found = find(name)) return found;
    return nullptr;
  }
  std::string text(const json& value, const char* name) const {
    if (!value.is_string()) refuse(place, fmt::format("'{}' must be a text", name));
    return value.get<std::string>();
  }
};

struct Message {
  std::string role, content;
};

std::string rendered(const std::vector<Message>& messages, const std::string& form) {
  std::string text;
  if (form == "messages") {
    json list = json::array();
    for (const Message& each : messages)
      list.push_back({{"role", each.role}, {"content", each.content}});
    return list.dump();
  }
  if (form == "chatml") {
    for (const Message& each : messages)
      text += "<|im_start|>" + each.role + "\n" + each.content + "<|im_end|>\n";
    return text + "<|im_start|>assistant\n";
  }
  if (form == "llama-3") {
    for (const Message& each : messages)
      text +=
          "<|start_header_id|>" + each.role + "<|end_header_id|>\n\n" + each.content + "<|eot_id|>";
    return text + "<|start_header_id|>assistant<|end_header_id|>\n\n";
  }
  if (messages.size() == 1) return messages.front().content;
  for (const Message& each : messages) text += each.role + ": " + each.content + "\n";
  return text + "assistant:";
}

std::vector<Message> messages_of(const Line& line, const json& list) {
  if (!list.is_array() || list.empty()) refuse(line.place, "'messages' must be a list of messages");
  std::vector<Message> messages;
  for (const json& each : list) {
    if (!each.is_object() || !each.contains("role") || !each.contains("content"))
      refuse(line.place, "a message needs 'role' and 'content'");
    messages.push_back({line.text(each["role"], "role"), line.text(each["content"], "content")});
  }
  // A conversation is asked up to its last user's turn.
  while (messages.size() > 1 && messages.back().role == "assistant") messages.pop_back();
  return messages;
}

properties::Prompt ids_of(const Line& line, const json& list) {
  properties::Prompt ids;
  if (!list.is_array() || list.empty())
    refuse(line.place, "'prompt_token_ids' must be a list of token ids that is not empty");
  for (const json& each : list) {
    if (!each.is_number_integer() || each < 0 || each >= std::int64_t{1} << 31)
      refuse(line.place, "'prompt_token_ids' has " + each.dump() + ", which is no token id");
    ids.push_back(each.get<reference::Token>());
  }
  return ids;
}

std::string name_of(const Line& line, std::size_t index) {
  const json* id = line.first_of({"id", "question_id", "prompt_id"});
  if (id == nullptr) return "prompt-" + std::to_string(index + 1);
  if (id->is_number_integer()) return std::to_string(id->get<std::int64_t>());
  std::string name = line.text(*id, "id");
  if (name.empty()) refuse(line.place, "'id' is empty");
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_')
      c = '_';
  return name;
}

NamedPrompt prompt_of(const Line& line, std::size_t index, const std::string& form) {
  if (!line.fields.is_object()) refuse(line.place, "is no JSON object");
  NamedPrompt prompt{name_of(line, index)};
  if (const json* cohort = line.first_of({"cohort", "category", "sub_category"}))
    prompt.cohort = line.text(*cohort, "cohort");
  if (const json* ids = line.find("prompt_token_ids")) {
    prompt.ids = ids_of(line, *ids);
    return prompt;
  }
  if (const json* text = line.first_of({"text", "prompt"})) {
    prompt.text = line.text(*text, "text");
  } else if (const json* messages = line.find("messages")) {
    prompt.text = rendered(messages_of(line, *messages), form);
  } else if (const json* turns = line.find("turns")) {
    if (!turns->is_array() || turns->empty()) refuse(line.place, "'turns' must be a list of texts");
    prompt.text = rendered({{"user", line.text(turns->front(), "turns")}}, form);
  } else {
    refuse(line.place, "has no prompt: give prompt_token_ids, text, messages or turns");
  }
  if (prompt.text.empty()) refuse(line.place, "its prompt is empty");
  return prompt;
}

}  // namespace

std::vector<NamedPrompt> read_prompts(const std::filesystem::path& file,
                                      const std::string& message_template,
                                      std::optional<std::size_t> count_max) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file))
    refuse(file.string(), "cannot be read; prompts.file names a file of JSON lines");
  std::vector<NamedPrompt> prompts;
  std::map<std::string, int> seen;
  std::string text;
  for (std::size_t number = 1; std::getline(stream, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string place = fmt::format("{}:{}", file.string(), number);
    const auto fields = properties::json_or_discarded<json>(text);
    if (fields.is_discarded()) refuse(place, "is no line of JSON");
    NamedPrompt prompt = prompt_of({fields, place}, prompts.size(), message_template);
    const int times = ++seen[prompt.name];
    if (times > 1) prompt.name += "-" + std::to_string(times);
    prompts.push_back(std::move(prompt));
    if (count_max && prompts.size() == *count_max) break;
  }
  if (prompts.empty()) refuse(file.string(), "has no prompt in it");
  return prompts;
}

}  // namespace draftproof::tools::audit
