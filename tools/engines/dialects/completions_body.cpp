#include "tools/engines/dialects/completions_body.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/error.h"

namespace draftproof::tools::engines {

using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;
using properties::TokenLogprob;

Json completions_body(const SamplingRequest& request, const Session& session) {
  const auto& penalties = request.adjustments.penalties;
  Json body = {{"n", 1},
               {"max_tokens", request.max_tokens},
               {"temperature", request.sampling.temperature},
               {"top_p", request.sampling.top_p},
               {"frequency_penalty", penalties.frequency},
               {"presence_penalty", penalties.presence},
               {"stop", Json::array()},
               {"stream", request.is_streamed}};
  body["seed"] = request.seed ? Json(*request.seed) : Json();
  if (!session.model.empty()) body["model"] = session.model;
  if (!request.adapter.empty()) body["model"] = request.adapter;
  if (request.is_streamed) body["stream_options"] = {{"include_usage", true}};
  return body;
}

const Json& choice_of(const Json& answer) {
  const Json& choices = field_of(answer, "choices", "");
  if (!choices.is_array() || choices.size() != 1)
    throw BadAnswer(fmt::format("choices has {} entries, and one was asked for",
                                choices.is_array() ? choices.size() : 0));
  return choices[0];
}

void end_by(const std::string& finish, std::size_t token_count, const SamplingRequest& request,
            Completion& completion) {
  completion.finish_reason = finish;
  if (finish == "length") {
    completion.end = CompletionEnd::kLength;
    if (token_count >= static_cast<std::size_t>(request.max_tokens)) return;
    completion.end = CompletionEnd::kFailed;
    completion.failure = no_room(token_count, request.max_tokens);
  } else if (finish == "stop") {
    completion.end = CompletionEnd::kStop;
  } else {
    completion.end = CompletionEnd::kFailed;
    completion.failure = "the engine ended it: " + finish;
  }
}

namespace {

/// The text of a choice's part, of a completion or of a chat.
std::string part_text(const Json& choice) {
  const Json* holder = &choice;
  const char* name = "text";
  if (const auto delta = choice.find("delta"); delta != choice.end()) {
    holder = &*delta;
    name = "content";
  }
  const auto text = holder->find(name);
  return text == holder->end() || text->is_null() ? "" : text_of(*text, joined("choices[0]", name));
}

/// Arrays grow, everything else is replaced.
void merge_into(Json& whole, const Json& part) {
  if (!part.is_object()) return;
  for (const auto& [name, value] : part.items()) {
    Json& own = whole[name];
    if (own.is_array() && value.is_array())
      own.insert(own.end(), value.begin(), value.end());
    else if (own.is_object() && value.is_object())
      merge_into(own, value);
    else if (!value.is_null() || own.is_null())
      own = value;
  }
}

}  // namespace

int add_choice_event(Json& whole, const Json& event) {
  if (!event.is_object()) throw BadAnswer("an event of the stream is no object");
  if (whole.is_null()) whole = {{"choices", Json::array({Json::object()})}};
  for (const auto& [name, value] : event.items())
    if (name != "choices" && !value.is_null()) whole[name] = value;
  const auto choices = event.find("choices");
  if (choices == event.end() || choices->empty()) return 0;
  Json part = choice_of(event);
  const std::string text = part_text(part);
  part.erase("text");
  part.erase("delta");
  Json& own = whole["choices"][0];
  own["text"] = own.value("text", std::string()) + text;
  const auto ids = part.find("token_ids");
  const bool has_ids = ids != part.end() && ids->is_array();
  const std::size_t brought = has_ids ? ids->size() : text.size();
  merge_into(own, part);
  return static_cast<int>(brought);
}

bool has_finish(const Json& whole) {
  const auto choices = whole.find("choices");
  if (choices == whole.end() || choices->empty()) return false;
  const auto finish = (*choices)[0].find("finish_reason");
  return finish != (*choices)[0].end() && finish->is_string();
}

void sort_candidates(std::vector<TokenLogprob>& candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.token < b.token;
  });
}

void add_choice_logprobs(const Json& logprobs, const SamplingRequest& request,
                         const Session& session, Completion& completion) {
  if (!logprobs.is_object()) return;
  const std::string place = "choices[0].logprobs";
  const Json& own = field_of(logprobs, "token_logprobs", place);
  const Json& names = field_of(logprobs, "tokens", place);
  const std::size_t count = completion.token_ids.size();
  if (!own.is_array() || !names.is_array() || own.size() != count || names.size() != count)
    throw BadAnswer(
        fmt::format("{}.token_logprobs has not one entry for each of {} tokens", place, count));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string at = fmt::format("{}.token_logprobs[{}]", place, i);
    if (own[i].is_null()) {
      completion.logprobs.clear();
      break;
    }
    completion.logprobs.push_back(logprob_of(own[i], kZeroAtOpenai, at));
  }
  const auto tops = logprobs.find("top_logprobs");
  if (request.logprob_count < 1 || tops == logprobs.end() || tops->size() != count) return;
  for (std::size_t i = 0; i < count; ++i) {
    auto& candidates = completion.top_logprobs.emplace_back();
    if (!(*tops)[i].is_object()) continue;
    for (const auto& [name, value] : (*tops)[i].items()) {
      const auto id = id_in(name);
      if (!id) {
        completion.top_logprobs.clear();
        return;
      }
      const std::string at = fmt::format("{}.top_logprobs[{}].{}", place, i, name);
      candidates.push_back(
          {token_of(Json(*id), session.vocab_size, at), logprob_of(value, kZeroAtOpenai, at)});
    }
    // The emitted one comes on top of those that were asked for.
    sort_candidates(candidates);
    if (candidates.size() > static_cast<std::size_t>(request.logprob_count))
      candidates.resize(static_cast<std::size_t>(request.logprob_count));
  }
}

std::vector<std::pair<std::string, std::string>> completions_identity(const Json& answer) {
  return {{"model", text_at(answer, {"model"})},
          {"system_fingerprint", text_at(answer, {"system_fingerprint"})}};
}

Json page_json(const Pages& pages, const std::string& path) {
  const auto found = pages.find(path);
  if (found == pages.end() || found->second.status != 200) return Json();
  Json json = found->second.json();
  return json.is_discarded() ? Json() : json;
}

std::string page_text(const Pages& pages, const std::string& path) {
  const auto found = pages.find(path);
  return found == pages.end() || found->second.status != 200 ? "" : found->second.body;
}

Json first_model(const Pages& pages) {
  const Json models = page_json(pages, "/v1/models");
  if (!models.is_object()) return Json();
  const auto data = models.find("data");
  return data == models.end() || !data->is_array() || data->empty() ? Json() : (*data)[0];
}

std::string only_model(const Pages& pages) {
  const Json models = page_json(pages, "/v1/models");
  if (!models.is_object() || !models.contains("data")) return "";
  std::vector<std::string> names;
  for (const Json& each : models["data"])
    if (text_at(each, {"parent"}).empty()) names.push_back(text_at(each, {"id"}));
  return names.size() == 1 ? names.front() : "";
}

bool is_owned_by(const Pages& pages, std::string_view owner) {
  return text_at(first_model(pages), {"owned_by"}) == owner;
}

}  // namespace draftproof::tools::engines
