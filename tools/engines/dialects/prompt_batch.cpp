#include "tools/engines/dialects/prompt_batch.h"

#include <utility>

namespace draftproof::tools::engines {

std::optional<Json> prompt_batch(
    const std::vector<properties::SamplingRequest>& requests, const char* field,
    const std::function<Json(const properties::SamplingRequest&)>& settings_of) {
  if (requests.empty() || requests.size() > kPromptsTogetherMax || requests[0].is_streamed)
    return std::nullopt;
  Json body, prompts = Json::array();
  for (const properties::SamplingRequest& request : requests) {
    if (request.prompt.empty()) return std::nullopt;
    Json settings = settings_of(request);
    if (body.is_null()) body = settings;
    if (settings != body) return std::nullopt;
    prompts.push_back(request.prompt);
  }
  body[field] = std::move(prompts);
  return body;
}

}  // namespace draftproof::tools::engines
