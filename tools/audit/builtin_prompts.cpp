// Built-in prompts. Texts are ours, neutral, and say what they are for by their cohort; what drafts
// find hard or easy in them differs on purpose: copies are easy, rare names are not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/audit/config_values.h"
#include "tools/audit/prompt_set.h"

namespace draftproof::tools::audit {
namespace {

using reference::Token;

/// splitmix64's finaliser: the n-th word of a stream.
std::uint64_t word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::string records(int count) {
  std::string text = "Log of the pumping station.\n";
  for (int i = 1; i <= count; ++i)
    text += fmt::format("Entry {}: gauge {} read {} litres at {:02}:{:02}.\n", i, 11 + i * 7 % 90,
                        200 + i * 37 % 613, i * 5 % 24, i * 13 % 60);
  return text;
}

std::string text_of(const std::string& name) {
  if (name == "sentence") return "The bridge over the river was built in";
  if (name == "list") return "Seven things to pack for a week of walking:\n1.";
  if (name == "code")
    return "def count_words(text):\n    \"\"\"Return a dict of word counts.\"\"\"\n";
  if (name == "dialogue") return "A: Did the train leave on time?\nB:";
  if (name == "numbers") return "2, 3, 5, 7, 11, 13,";
  if (name == "long_prompt_short_answer")
    return records(40) +
           "Question: which gauge is named in entry 23? Answer with one number.\n"
           "Answer:";
  if (name == "tool_call")
    return "Tools: get_weather(city: string, unit: \"C\"|\"F\"), get_time(zone: string)\n"
           "User: How warm is it in Turin, in Celsius?\nCall as JSON:";
  if (name == "copy_edit")
    return "Repeat the text, with every \"grey\" spelled \"gray\".\nText: The grey heron stood on "
           "the grey stone by the grey water until the grey morning broke.\nResult:";
  if (name == "rare_entity")
    return "Context: Xylvara Ortmundez of Quillhaven-on-Sprate catalogued the moth Zygothrenia "
           "pallucida in 1887.\nQuestion: who catalogued the moth, and where did she "
           "live?\nAnswer:";
  if (name == "free_text") return "Write a short letter to a friend about an autumn day.\n";
  return "";
}

/// Of all prompts of two tokens, the one whose two likeliest tokens are closest.
properties::Prompt closest_call(const ToyVocabulary& toy) {
  properties::Prompt best;
  double least = std::numeric_limits<double>::infinity();
  // Toys are small; of a large one, its first tokens do.
  const std::size_t count = std::min<std::size_t>(toy.live.size(), 32);
  for (std::size_t i = 0; i < count * count; ++i) {
    properties::SamplingRequest request;
    request.prompt = {toy.live[i / count], toy.live[i % count]};
    std::vector<double> law = toy.target->next(request, {});
    std::nth_element(law.begin(), law.begin() + 1, law.end(), std::greater<>());
    const double margin = std::log(std::max(law[0], law[1]) / std::min(law[0], law[1]));
    if (!(margin < least)) continue;
    least = margin;
    best = request.prompt;
  }
  return best;
}

properties::Prompt ids_of(const std::string& name, const ToyVocabulary& toy, std::uint64_t seed,
                          const std::string& place) {
  const std::vector<Token>& live = toy.live;
  const auto at = [&](std::size_t i) { return live[i % live.size()]; };
  if (name == "single") return {at(0)};
  if (name == "two_token") return {at(0), at(1)};
  if (name == "ramp")
    return live.size() <= 64 ? live : properties::Prompt(live.begin(), live.begin() + 64);
  if (name == "repeat") {
    // Every suffix was there before: whoever looks drafts up in the prompt finds one.
    properties::Prompt ids;
    for (std::size_t i = 0; i < 24; ++i) ids.push_back(at(i % 4));
    return ids;
  }
  if (name == "mixed") return prompt_of_length(12, live, seed).ids;
  if (toy.target == nullptr)
    refuse(place, "'near_tie' needs a known law to look for the closest call; name a toy");
  return closest_call(toy);
}

}  // namespace

const std::vector<BuiltinPrompt>& builtin_prompts() {
  static const std::vector<BuiltinPrompt> all = {
      {"single", "one token", true},
      {"two_token", "two tokens", true},
      {"ramp", "every live token, or the first 64", true},
      {"repeat", "four tokens six times: prompt lookup fires", true},
      {"mixed", "twelve tokens by the run's seed", true},
      {"near_tie", "of all pairs the one whose likeliest two tokens are closest", true},
      {"sentence", "the start of a sentence"},
      {"list", "the start of a list"},
      {"code", "the head of a function"},
      {"dialogue", "two speakers"},
      {"numbers", "a sequence of numbers"},
      {"long_prompt_short_answer", "forty records and a question", false,
       "long prompt, short answer"},
      {"tool_call", "an answer that is one JSON call", false, "tool call"},
      {"copy_edit", "an answer that is nearly the prompt", false, "copy and edit"},
      {"rare_entity", "names that no draft model knows", false, "rare entity"},
      {"free_text", "an open answer", false, "free text"},
  };
  return all;
}

NamedPrompt builtin_prompt(const std::string& name, const std::optional<ToyVocabulary>& toy,
                           std::uint64_t seed, const std::string& place) {
  std::string known;
  for (const BuiltinPrompt& each : builtin_prompts()) {
    known += (known.empty() ? "" : ", ") + each.name;
    if (each.name != name) continue;
    if (!each.is_of_toys) return {name, {}, text_of(name), each.cohort};
    if (!toy)
      refuse(place, "'" + name +
                        "' is made of a toy's token ids; name the toy (--toy, target.toy), "
                        "or how many ids there are (target.vocab)");
    return {name, ids_of(name, *toy, seed, place), {}, each.cohort};
  }
  refuse(place, "there is no built-in prompt '" + name + "'; known: " + known);
}

NamedPrompt prompt_of_length(int length, const std::vector<Token>& live, std::uint64_t seed) {
  NamedPrompt prompt{"length-" + std::to_string(length)};
  for (int i = 0; i < length; ++i) {
    const std::uint64_t coin = word(seed, static_cast<std::uint64_t>(i));
    prompt.ids.push_back(live[coin % live.size()]);
  }
  return prompt;
}

}  // namespace draftproof::tools::audit
