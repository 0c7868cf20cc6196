#include "tools/engines/toy_client.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "reference/error.h"
#include "tools/engines/http.h"

namespace draftproof::tools {
namespace {

using Json = nlohmann::json;
using properties::Arm;
using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;

constexpr std::size_t kPromptsMax = 64;  ///< in one body

Completion failed(std::string failure) {
  Completion completion;
  completion.end = CompletionEnd::kFailed;
  completion.failure = std::move(failure);
  return completion;
}

/// Everything but the prompt.
Json settings_of(const SamplingRequest& request) {
  const auto& adjustments = request.adjustments;
  const auto& penalties = adjustments.penalties;
  reference::Adjustments carried;
  carried.penalties = penalties;
  if (adjustments != carried)
    throw Error(ErrorKind::kInput, "only penalties are carried to this engine", "request");
  Json body = {{"n_predict", request.max_tokens},
               {"temperature", request.sampling.temperature},
               {"top_k", request.sampling.top_k},
               {"top_p", request.sampling.top_p},
               {"min_p", request.sampling.min_p},
               {"repeat_penalty", penalties.repetition},
               {"frequency_penalty", penalties.frequency},
               {"presence_penalty", penalties.presence},
               {"return_tokens", true}};
  if (penalties.last_n) body["repeat_last_n"] = *penalties.last_n;
  if (request.seed) body["seed"] = *request.seed;
  if (request.logprob_count >= 0) body["n_probs"] = std::max(1, request.logprob_count);
  return body;
}

Completion completion_of(const Json& answer) {
  Completion completion;
  completion.token_ids = answer.at("tokens").get<std::vector<reference::Token>>();
  const auto type = answer.at("stop_type").get<std::string>();
  if (type == "none") return failed("the engine ended it without a reason");
  completion.end = type == "limit" ? CompletionEnd::kLength : CompletionEnd::kStop;
  // Servers that drafted nothing leave the counters of drafts out.
  const Json& timings = answer.at("timings");
  completion.counters = {timings.value("draft_n", std::int64_t{0}),
                         timings.value("draft_n_accepted", std::int64_t{0}),
                         answer.at("tokens_predicted").get<std::int64_t>()};
  if (answer.contains("completion_probabilities"))
    for (const Json& each : answer["completion_probabilities"])
      completion.logprobs.push_back(each.at("logprob").get<double>());
  return completion;
}

class ToyClient final : public properties::Engine {
 public:
  explicit ToyClient(const ToyClientOptions& options)
      : options_(options),
        baseline_(options.host, options.baseline_port,
                  {.read_seconds_max = static_cast<double>(options.read_seconds_max)}),
        speculative_(options.host, options.speculative_port,
                     {.read_seconds_max = static_cast<double>(options.read_seconds_max)}) {}

  properties::Capabilities capabilities() const override { return options_.capabilities; }

  std::vector<Completion> generate(Arm arm, const std::vector<SamplingRequest>& requests) override {
    std::vector<Completion> completions;
    for (std::size_t begin = 0; begin < requests.size();) {
      Json body = settings_of(requests[begin]);
      std::size_t end = begin + 1;
      while (end < requests.size() && end - begin < kPromptsMax &&
             settings_of(requests[end]) == body)
        ++end;
      body["prompt"] = Json::array();
      for (std::size_t i = begin; i < end; ++i) body["prompt"].push_back(requests[i].prompt);
      for (Completion& completion : posted(arm, std::move(body), end - begin))
        completions.push_back(std::move(completion));
      begin = end;
    }
    return completions;
  }

 private:
  std::vector<Completion> posted(Arm arm, Json body, std::size_t count) {
    http::Client& client = arm == Arm::kBaseline ? baseline_ : speculative_;
    if (arm == Arm::kBaseline && options_.baseline_port == options_.speculative_port)
      body["speculative.n_max"] = 0;
    http::Reply reply;
    try {
      reply = client.post("/completion", body.dump());
    } catch (const Error& error) {
      client.get("/health");  // throws when the engine is gone
      return {count, failed("the connection ended before the answer: " + error.message())};
    }
    if (reply.status == 400 || reply.status == 404)
      throw Error(ErrorKind::kInput, "the engine refuses it: " + reply.body, "request");
    if (reply.status != 200)
      return {count, failed("HTTP " + std::to_string(reply.status) + ": " + reply.body)};
    try {
      Json answer = Json::parse(reply.body);
      if (!answer.is_array()) answer = Json::array({std::move(answer)});
      std::vector<Completion> completions;
      for (const Json& each : answer) completions.push_back(completion_of(each));
      if (completions.size() == count) return completions;
      return {count, failed(std::to_string(completions.size()) + " answers to " +
                            std::to_string(count) + " prompts")};
    } catch (const Json::exception& error) {
      return {count, failed(std::string("no answer of this protocol: ") + error.what())};
    }
  }

  ToyClientOptions options_;
  http::Client baseline_, speculative_;
};

}  // namespace

std::unique_ptr<properties::Engine> toy_client(const ToyClientOptions& options) {
  return std::make_unique<ToyClient>(options);
}

}  // namespace draftproof::tools
