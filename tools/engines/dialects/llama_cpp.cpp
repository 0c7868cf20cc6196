// llama.cpp's server: POST /completion. Fields as read in tools/server (server-task.cpp,
// server-schema.cpp, README, 2026) and seen in builds 11434 and 11549:
//   * the answer repeats its settings (generation_settings), as floats of 32 bits; -inf is null
//   * seeds have 32 bits, and the largest one means "draw one"; a larger number is cut silently
//   * probabilities are a plain softmax of the raw row; tokens that came from a verified draft have
//     logprob 0 and no candidates in an answer, and none of both in a stream
//   * /props does not say whether drafts are made, /slots does; `speculative.n_max` of a request is
//     ignored by builds of 2026, so its echo decides
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "reference/error.h"
#include "tools/engines/dialects/answer_fields.h"
#include "tools/engines/dialects/llama_cpp_settings.h"
#include "tools/engines/dialects/prompt_batch.h"
#include "tools/engines/dialects/told_capabilities.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;

constexpr std::size_t kScoredTogether = 1 << 16;  ///< candidates in one answer, about

const char* const kProbabilities = "completion_probabilities";

void add_llama_logprobs(const Json& entries, const SamplingRequest& request, const Session& session,
                        Completion& completion) {
  // Tokens that end within a character have no entry, so places would not fit.
  if (!entries.is_array() || entries.size() != completion.token_ids.size()) return;
  bool has_all = true;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", kProbabilities, i);
    const Json& entry = entries[i];
    completion.top_logprobs.emplace_back();
    if (entry.is_null()) {
      has_all = false;
      continue;
    }
    completion.logprobs.push_back(
        logprob_of(field_of(entry, "logprob", place), kZeroAtFloat, joined(place, "logprob")));
    const Json& top = field_of(entry, "top_logprobs", place);
    for (std::size_t j = 0; j < top.size(); ++j) {
      const std::string inner = fmt::format("{}.top_logprobs[{}]", place, j);
      completion.top_logprobs.back().push_back(
          {token_of(field_of(top[j], "id", inner), session.vocab_size, joined(inner, "id")),
           logprob_of(field_of(top[j], "logprob", inner), kZeroAtFloat, joined(inner, "logprob"))});
    }
  }
  if (!has_all) completion.logprobs.clear();
  if (request.logprob_count == 0) completion.top_logprobs.clear();
}

/// Drafted tokens a verification, at most, where that is certain. n_max binds drafts of a model
/// alone: kinds that look n-grams up have lengths of their own (--spec-ngram-simple-size-m), which
/// no page tells; and /props of build 11549 says "none" of a server that looks n-grams up.
std::optional<int> draft_count_in(const Json& props) {
  const std::string kinds =
      text_at(props, {"default_generation_settings", "params", "speculative.types"});
  std::istringstream names(kinds);
  for (std::string name; std::getline(names, name, ',');)
    if (!name.starts_with("draft-")) return std::nullopt;
  if (kinds.empty()) return std::nullopt;
  return int_at(props, {"default_generation_settings", "params", "speculative.n_max"});
}

class LlamaCpp final : public Dialect {
 public:
  DialectInfo info() const override { return {"llama.cpp", "POST /completion", "run here"}; }
  std::uint64_t seed_max() const override { return kLlamaSeedMax; }
  std::vector<std::string> pages() const override {
    return {"/props", "/slots", "/v1/models", "/metrics", "/lora-adapters"};
  }

  bool recognises(const Pages& pages) const override {
    const auto found = pages.find("/props");
    return found != pages.end() && found->second.status == 200 &&
           found->second.json().contains("default_generation_settings");
  }

  ArmFacts facts(const Pages& pages) const override {
    const auto json = [&](const char* path) {
      const auto found = pages.find(path);
      return found == pages.end() || found->second.status != 200 ? Json() : found->second.json();
    };
    const Json props = json("/props");
    ArmFacts facts;
    facts.engine = "llama.cpp";
    facts.version = text_at(props, {"build_info"});
    facts.model = text_at(props, {"model_path"});
    facts.chat_template = text_at(props, {"chat_template"});
    facts.context_max = int_at(props, {"default_generation_settings", "n_ctx"});
    facts.slot_count = int_at(props, {"total_slots"});
    const Json slots = json("/slots");
    if (slots.is_array() && !slots.empty() && slots[0].contains("speculative"))
      facts.is_speculative = std::any_of(slots.begin(), slots.end(), [](const Json& slot) {
        return slot.is_object() && slot.value("speculative", Json()) == true;
      });
    facts.draft_count = draft_count_in(props);
    if (const Json models = json("/v1/models");
        models.contains("data") && models["data"].is_array() && !models["data"].empty())
      facts.vocab_size = int_at(models["data"][0], {"meta", "n_vocab"});
    if (const auto found = pages.find("/metrics");
        found != pages.end() && found->second.status == 200)
      facts.counters = counters_in(found->second.body, "spec_decode");
    return facts;
  }

  Session session(const Pages& pages) const override {
    Session session;
    const auto found = pages.find("/lora-adapters");
    const Json list =
        found == pages.end() || found->second.status != 200 ? Json() : found->second.json();
    if (list.is_array())
      for (const Json& each : list) session.adapters.push_back(text_at(each, {"path"}));
    return session;
  }

  properties::Capabilities capabilities(const ArmFacts& facts) const override {
    properties::Capabilities capabilities = told_capabilities(facts);
    capabilities.reports_counters = true;
    return capabilities;
  }

  Call call(const SamplingRequest& request, const Session& session) const override {
    Json body = llama_settings(request, session);
    body["prompt"] = prompt_of(request);
    return {"/completion", std::move(body)};
  }

  Completion completion(const Json& answer, const SamplingRequest& request, const Json& sent,
                        const Session& session) const override {
    const Json& settings = field_of(answer, "generation_settings", "");
    if (!settings.is_object()) throw BadAnswer("generation_settings is no object");
    require_echo(sent, settings);
    Completion completion;
    completion.token_ids = tokens_of(field_of(answer, "tokens", ""), session.vocab_size, "tokens");
    completion.text = text_of(field_of(answer, "content", ""), "content");
    const std::int64_t predicted =
        count_of(field_of(answer, "tokens_predicted", ""), "tokens_predicted");
    if (completion.token_ids.empty() && predicted > 0)
      throw BadAnswer("tokens is empty, though return_tokens was sent; this build is too old");
    // Servers that drafted nothing leave the counters of drafts out.
    const Json& timings = field_of(answer, "timings", "");
    if (!timings.is_object()) throw BadAnswer("timings is no object");
    completion.counters = {
        count_of(timings.value("draft_n", Json(0)), "timings.draft_n"),
        count_of(timings.value("draft_n_accepted", Json(0)), "timings.draft_n_accepted"),
        predicted};
    if (request.logprob_count >= 0 && answer.contains(kProbabilities))
      add_llama_logprobs(answer[kProbabilities], request, session, completion);
    end(text_of(field_of(answer, "stop_type", ""), "stop_type"), request, completion);
    return completion;
  }

  int add_event(Json& whole, const Json& event) const override {
    if (whole.is_null())
      whole = {{"content", ""}, {"tokens", Json::array()}, {kProbabilities, Json::array()}};
    const Json& tokens = field_of(event, "tokens", "");
    if (!tokens.is_array()) throw BadAnswer("tokens is no array of token ids");
    const std::string content = text_of(field_of(event, "content", ""), "content");
    whole["content"].get_ref<std::string&>() += content;
    const auto entries = event.find(kProbabilities);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      whole["tokens"].push_back(tokens[i]);
      whole[kProbabilities].push_back(entries != event.end() && entries->is_array() &&
                                              entries->size() == tokens.size()
                                          ? (*entries)[i]
                                          : Json());
    }
    if (event.value("stop", Json(false)) == true) {
      for (const auto& [name, value] : event.items())
        if (!whole.contains(name)) whole[name] = value;
    }
    return static_cast<int>(tokens.size());
  }

  bool is_whole(const Json& whole) const override { return whole.contains("stop_type"); }

  std::vector<std::pair<std::string, std::string>> identity(const Json& answer) const override {
    return {{"model", text_at(answer, {"model"})},
            {"method", text_at(answer, {"generation_settings", "speculative.types"})}};
  }

  std::optional<Call> together(const std::vector<SamplingRequest>& requests,
                               const Session& session) const override {
    auto body = prompt_batch(requests, "prompt", [&](const SamplingRequest& request) {
      return llama_settings(request, session);
    });
    if (!body) return std::nullopt;
    return Call{"/completion", std::move(*body)};
  }

  std::vector<Json> apart(const Json& answer) const override {
    if (answer.is_array()) return answer.get<std::vector<Json>>();
    return {answer};
  }

  /// There are no logprobs of prompts, so each prefix is asked for the whole row behind it. A
  /// request of one token drafts nothing, and that token's row is told truly by servers that draft.
  std::vector<Call> score_calls(const std::vector<reference::Token>& tokens, int candidate_count,
                                const Session& session) const override {
    if (session.vocab_size == 0) return {};
    SamplingRequest request;
    request.prompt = tokens;
    request.max_tokens = 1;
    request.sampling.temperature = 0;
    request.logprob_count = std::max(candidate_count, session.vocab_size);
    request.uses_prefix_cache = false;  // what is judged are caches, too
    const Json settings = llama_settings(request, session);
    const std::size_t together =
        std::clamp(kScoredTogether / static_cast<std::size_t>(session.vocab_size), std::size_t{1},
                   kPromptsTogetherMax);
    std::vector<Call> calls;
    for (std::size_t length = 1; length < tokens.size(); ++length) {
      if ((length - 1) % together == 0) {
        calls.push_back({"/completion", settings});
        calls.back().body["prompt"] = Json::array();
      }
      calls.back().body["prompt"].push_back(std::vector<reference::Token>(
          tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length)));
    }
    return calls;
  }

  std::vector<std::vector<properties::TokenLogprob>> scores(
      const std::vector<Json>& answers, const std::vector<reference::Token>& tokens,
      int candidate_count, const Session& session) const override {
    SamplingRequest request;
    request.logprob_count = session.vocab_size;
    std::vector<std::vector<properties::TokenLogprob>> scores(1);
    for (const Json& answer : answers) {
      for (const Json& each : apart(answer)) {
        Completion completion;
        completion.token_ids =
            tokens_of(field_of(each, "tokens", ""), session.vocab_size, "tokens");
        add_llama_logprobs(field_of(each, kProbabilities, ""), request, session, completion);
        if (completion.top_logprobs.size() != 1 || scores.size() >= tokens.size())
          throw BadAnswer("the answers are not one row for each prefix");
        scores.push_back(
            kept(std::move(completion.top_logprobs[0]), tokens[scores.size()], candidate_count));
      }
    }
    if (scores.size() != tokens.size())
      throw BadAnswer("the answers are not one row for each prefix");
    return scores;
  }

  std::optional<Call> tokenize_call(const std::string& text, const Session&) const override {
    return Call{"/tokenize", {{"content", text}, {"add_special", false}}};
  }
  std::optional<Call> detokenize_call(const std::vector<reference::Token>& tokens,
                                      const Session&) const override {
    return Call{"/detokenize", {{"tokens", tokens}}};
  }

 private:
  /// The likeliest ones, and the token's own.
  static std::vector<properties::TokenLogprob> kept(std::vector<properties::TokenLogprob> row,
                                                    reference::Token own, int candidate_count) {
    const auto count = static_cast<std::size_t>(std::max(candidate_count, 0));
    std::vector<properties::TokenLogprob> list;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (i < count || row[i].token == own) list.push_back(row[i]);
    return list;
  }

  static void end(const std::string& type, const SamplingRequest& request, Completion& completion) {
    completion.finish_reason = type;
    completion.end = type == "limit" ? CompletionEnd::kLength : CompletionEnd::kStop;
    const auto emitted = completion.token_ids.size();
    if (type != "limit" && type != "eos" && type != "word") {
      completion.end = CompletionEnd::kFailed;
      completion.failure = "the engine ended it without a reason (stop_type " + type + ")";
    } else if (type == "limit" && emitted < static_cast<std::size_t>(request.max_tokens)) {
      completion.end = CompletionEnd::kFailed;
      completion.failure = no_room(emitted, request.max_tokens);
    }
  }
};

}  // namespace

const Dialect& llama_cpp_dialect() {
  static const LlamaCpp dialect;
  return dialect;
}

}  // namespace draftproof::tools::engines
