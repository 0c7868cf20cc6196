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

#include "reference/error.h"
#include "tools/engines/dialects/answer_fields.h"
#include "tools/engines/dialects/regex_grammar.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;

constexpr std::uint64_t kLlamaSeedMax = std::numeric_limits<std::uint32_t>::max() - 1ull;
constexpr int kLlamaWindow = 64;  ///< of penalties, where a request names none
constexpr int kBannedIdsMax = 1 << 16;
constexpr std::size_t kTogetherMax = 64;  ///< prompts in one body

const char* const kProbabilities = "completion_probabilities";

Words llama_words() {
  Words words{.engine = "llama.cpp"};
  words.has_window = true;
  words.has_allowed_ids = true;
  words.has_min_tokens = false;
  words.has_stop_ids = false;
  return words;
}

/// Pairs; false bans. What is not allowed is banned id by id.
Json bias_pairs(const reference::Adjustments& adjustments, const Session& session) {
  Json pairs = Json::array();
  for (const auto& [token, bias] : adjustments.logit_bias)
    pairs.push_back({token, std::isfinite(bias) ? Json(bias) : Json(false)});
  if (!adjustments.allowed_ids) return pairs;
  if (session.vocab_size == 0 || session.vocab_size > kBannedIdsMax)
    no_word("adjustments.allowed_ids", "llama.cpp",
            fmt::format("others are banned one by one, which is done up to {} ids; take a grammar",
                        kBannedIdsMax));
  std::vector<bool> is_allowed(static_cast<std::size_t>(session.vocab_size), false);
  for (const auto id : *adjustments.allowed_ids) is_allowed[static_cast<std::size_t>(id)] = true;
  for (int id = 0; id < session.vocab_size; ++id)
    if (!is_allowed[static_cast<std::size_t>(id)]) pairs.push_back({id, false});
  return pairs;
}

Json adapters_of(const std::string& name, const Session& session) {
  if (name.empty()) return Json::array();
  for (std::size_t i = 0; i < session.adapters.size(); ++i) {
    const std::string& path = session.adapters[i];
    if (name == path || name == std::to_string(i) || path.ends_with("/" + name))
      return Json::array({{{"id", i}, {"scale", 1.0}}});
  }
  throw Error(ErrorKind::kInput,
              fmt::format("\"{}\" is no adapter of this server, which was started with {}; name it "
                          "by its file or its place in /lora-adapters",
                          name, session.adapters.size()),
              "adapter");
}

Json llama_settings(const SamplingRequest& request, const Session& session) {
  const auto& sampling = request.sampling;
  const auto& penalties = request.adjustments.penalties;
  Json body = {{"n_predict", request.max_tokens},
               {"samplers", {"penalties", "top_k", "top_p", "min_p", "temperature"}},
               {"temperature", sampling.temperature},
               {"top_k", sampling.top_k},
               {"top_p", sampling.top_p},
               {"min_p", sampling.min_p},
               {"typical_p", 1.0},
               {"top_n_sigma", -1.0},
               {"dynatemp_range", 0.0},
               {"xtc_probability", 0.0},
               {"dry_multiplier", 0.0},
               {"mirostat", 0},
               {"repeat_penalty", penalties.repetition},
               {"repeat_last_n", penalties.last_n.value_or(kLlamaWindow)},
               {"frequency_penalty", penalties.frequency},
               {"presence_penalty", penalties.presence},
               {"logit_bias", bias_pairs(request.adjustments, session)},
               {"ignore_eos", request.ignores_end},
               {"stop", Json::array()},
               {"grammar", request.grammar.empty() ? "" : gbnf_of_regex(request.grammar)},
               {"lora", adapters_of(request.adapter, session)},
               {"n_probs", request.logprob_count < 0 ? 0 : std::max(1, request.logprob_count)},
               {"post_sampling_probs", false},
               {"return_tokens", true},
               {"cache_prompt", request.uses_prefix_cache},
               {"stream", request.is_streamed}};
  body["seed"] = request.seed ? Json(*request.seed) : Json(-1);
  if (session.is_draftless) body["speculative.n_max"] = 0;
  return body;
}

bool is_same(const Json& sent, const Json& echoed) {
  if (sent.is_number() && echoed.is_number())
    return static_cast<float>(sent.get<double>()) == static_cast<float>(echoed.get<double>());
  return sent == echoed;
}

[[noreturn]] void other_echo(const std::string& field, const Json& sent, const std::string& echo) {
  throw Error(ErrorKind::kInput,
              fmt::format("was sent as {}, and the engine says that it used {}; this build takes "
                          "the field otherwise, so nothing can be judged under it",
                          sent.dump(), echo),
              field);
}

void require_bias_echo(const Json& sent, const Json& echo) {
  for (const Json& pair : sent) {
    const bool is_there = std::any_of(echo.begin(), echo.end(), [&](const Json& each) {
      if (!each.is_object() || each.value("token", Json()) != pair[0]) return false;
      const Json bias = each.value("bias", Json());
      return pair[1] == false ? bias.is_null() || bias == false : is_same(pair[1], bias);
    });
    if (!is_there) other_echo("logit_bias", pair, echo.dump());
  }
}

/// What the engine says it used is what was sent. Fields that a build does not repeat are taken on
/// trust, but for the switch of drafts.
void require_echo(const Json& sent, const Json& settings) {
  for (const char* field : {"n_predict",
                            "temperature",
                            "top_k",
                            "top_p",
                            "min_p",
                            "typical_p",
                            "top_n_sigma",
                            "dynatemp_range",
                            "xtc_probability",
                            "dry_multiplier",
                            "mirostat",
                            "repeat_penalty",
                            "frequency_penalty",
                            "presence_penalty",
                            "n_probs",
                            "samplers",
                            "grammar",
                            "ignore_eos",
                            "stop",
                            "post_sampling_probs"}) {
    const auto echoed = settings.find(field);
    if (echoed != settings.end() && !is_same(sent.at(field), *echoed))
      other_echo(field, sent.at(field), echoed->dump());
  }
  // Negative ones are replaced by what they mean.
  for (const char* field : {"seed", "repeat_last_n"}) {
    const auto echoed = settings.find(field);
    if (echoed != settings.end() && sent.at(field).get<double>() >= 0 && sent.at(field) != *echoed)
      other_echo(field, sent.at(field), echoed->dump());
  }
  if (const auto bias = settings.find("logit_bias"); bias != settings.end() && bias->is_array())
    require_bias_echo(sent.at("logit_bias"), *bias);
  if (!sent.contains("speculative.n_max")) return;
  const auto switched = settings.find("speculative.n_max");
  if (switched == settings.end() || *switched != 0)
    throw Error(ErrorKind::kInput,
                "this build does not take the request's switch of drafts (its answer does not "
                "repeat it, llama.cpp#23052); start a second server without a draft for the "
                "baseline",
                "speculative.n_max");
}

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
    facts.draft_count =
        int_at(props, {"default_generation_settings", "params", "speculative.n_max"});
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
    return {.name = "llama.cpp " + facts.version + " " + facts.model,
            .vocab_size = facts.vocab_size.value_or(0),
            .draft_count = facts.draft_count.value_or(0),
            .can_draw = true,
            .reports_counters = true,
            .logprobs = properties::LogprobKind::kRaw};
  }

  Call call(const SamplingRequest& request, const Session& session) const override {
    require_words(request, llama_words(), kLlamaSeedMax, session);
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
    if (requests.empty() || requests.size() > kTogetherMax || requests[0].is_streamed)
      return std::nullopt;
    Json body;
    Json prompts = Json::array();
    for (const SamplingRequest& request : requests) {
      require_words(request, llama_words(), kLlamaSeedMax, session);
      if (request.prompt.empty()) return std::nullopt;
      Json settings = llama_settings(request, session);
      if (body.is_null()) body = settings;
      if (settings != body) return std::nullopt;
      prompts.push_back(request.prompt);
    }
    body["prompt"] = std::move(prompts);
    return Call{"/completion", std::move(body)};
  }

  std::vector<Json> apart(const Json& answer) const override {
    if (answer.is_array()) return answer.get<std::vector<Json>>();
    return {answer};
  }

  std::optional<Call> tokenize_call(const std::string& text, const Session&) const override {
    return Call{"/tokenize", {{"content", text}, {"add_special", false}}};
  }
  std::optional<Call> detokenize_call(const std::vector<reference::Token>& tokens,
                                      const Session&) const override {
    return Call{"/detokenize", {{"tokens", tokens}}};
  }

 private:
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
