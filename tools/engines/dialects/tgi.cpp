// TGI: POST /generate with texts in and ids back. Fields as read in router/src/lib.rs and
// server/text_generation_server/utils/tokens.py, 2025: there are no ids in prompts, drafts are
// switched by the launcher (--speculate) and counted nowhere in an answer, logprobs are of the row
// behind all filters.
#include <fmt/format.h>

#include "reference/error.h"
#include "tools/engines/dialects/completions_body.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::SamplingRequest;

Words tgi_words() {
  Words words{.engine = "TGI"};
  words.has_min_p = words.has_logit_bias = words.has_min_tokens = false;
  words.has_stop_ids = words.has_ignore_end = words.has_cache_switch = false;
  return words;
}

class Tgi final : public Dialect {
 public:
  DialectInfo info() const override { return {"tgi", "POST /generate", "dialect only"}; }
  std::vector<std::string> pages() const override { return {"/info", "/metrics"}; }
  bool recognises(const Pages& pages) const override {
    const Json info = page_json(pages, "/info");
    return info.contains("model_id") && info.contains("max_concurrent_requests");
  }

  ArmFacts facts(const Pages& pages) const override {
    const Json info = page_json(pages, "/info");
    ArmFacts facts;
    facts.engine = "tgi";
    facts.version = text_at(info, {"version"});
    facts.model = text_at(info, {"model_id"});
    facts.context_max = int_at(info, {"max_total_tokens"});
    facts.slot_count = int_at(info, {"max_concurrent_requests"});
    facts.counters = counters_in(page_text(pages, "/metrics"), "skipped_tokens");
    return facts;
  }

  properties::Capabilities capabilities(const ArmFacts& facts) const override {
    return {.name = "tgi " + facts.version + " " + facts.model,
            .can_draw = true,
            .logprobs = properties::LogprobKind::kProcessed,
            .takes_token_ids = false};
  }

  Call call(const SamplingRequest& request, const Session& session) const override {
    require_words(request, tgi_words(), seed_max(), session);
    if (session.is_draftless)
      no_word("speculation", "TGI", "start a second server with --speculate 0");
    if (request.prompt_text.empty())
      throw Error(ErrorKind::kInput, "has ids only, and TGI takes texts; give prompt_text",
                  "prompt");
    if (request.adjustments.penalties.presence != 0)
      no_word("adjustments.penalties.presence", "TGI", "leave it at 0");
    const auto& sampling = request.sampling;
    const bool is_greedy = sampling.temperature == 0;
    Json parameters = {{"do_sample", !is_greedy},
                       {"max_new_tokens", request.max_tokens},
                       {"repetition_penalty", request.adjustments.penalties.repetition},
                       {"frequency_penalty", request.adjustments.penalties.frequency},
                       {"return_full_text", false},
                       {"decoder_input_details", false},
                       {"details", true},
                       {"stop", Json::array()}};
    // Its checks refuse neutral values: top_k 0, top_p 1, temperature 0.
    parameters["temperature"] = is_greedy ? Json() : Json(sampling.temperature);
    parameters["top_k"] = sampling.top_k > 0 ? Json(sampling.top_k) : Json();
    parameters["top_p"] = sampling.top_p < 1 ? Json(sampling.top_p) : Json();
    parameters["typical_p"] = nullptr;
    parameters["seed"] = request.seed ? Json(*request.seed) : Json();
    parameters["top_n_tokens"] = request.logprob_count > 0 ? Json(request.logprob_count) : Json();
    parameters["adapter_id"] = request.adapter.empty() ? Json() : Json(request.adapter);
    if (!request.grammar.empty())
      parameters["grammar"] = {{"type", "regex"}, {"value", request.grammar}};
    return {request.is_streamed ? "/generate_stream" : "/generate",
            {{"inputs", request.prompt_text}, {"parameters", std::move(parameters)}}};
  }

  Completion completion(const Json& answer, const SamplingRequest& request, const Json&,
                        const Session& session) const override {
    const Json& details = field_of(answer, "details", "");
    const Json& tokens = field_of(details, "tokens", "details");
    if (!tokens.is_array()) throw BadAnswer("details.tokens is no array");
    Completion completion;
    completion.text = text_at(answer, {"generated_text"});
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string place = fmt::format("details.tokens[{}]", i);
      completion.token_ids.push_back(
          token_of(field_of(tokens[i], "id", place), session.vocab_size, joined(place, "id")));
      if (request.logprob_count >= 0)
        completion.logprobs.push_back(logprob_of(field_of(tokens[i], "logprob", place),
                                                 kZeroAtFloat, joined(place, "logprob")));
    }
    if (request.logprob_count > 0) add_top(details, session, completion);
    std::string finish =
        text_of(field_of(details, "finish_reason", "details"), "details.finish_reason");
    if (finish == "eos_token" || finish == "stop_sequence") finish = "stop";
    end_by(finish, completion.token_ids.size(), request, completion);
    completion.finish_reason = text_at(details, {"finish_reason"});
    return completion;
  }

  /// {"token": {...}, "top_tokens": [...], "generated_text": TEXT at the last one, "details":
  /// {...}}
  int add_event(Json& whole, const Json& event) const override {
    if (whole.is_null())
      whole = {{"details", {{"tokens", Json::array()}, {"top_tokens", Json::array()}}}};
    Json& details = whole["details"];
    details["tokens"].push_back(field_of(event, "token", ""));
    details["top_tokens"].push_back(event.value("top_tokens", Json::array()));
    if (const auto text = event.find("generated_text"); text != event.end() && text->is_string())
      whole["generated_text"] = *text;
    if (const auto end = event.find("details"); end != event.end() && end->is_object())
      for (const auto& [name, value] : end->items())
        if (!details.contains(name)) details[name] = value;
    return 1;
  }

  bool is_whole(const Json& whole) const override {
    return whole.contains("details") && whole["details"].contains("finish_reason");
  }

  /// An answer names no model.
  std::vector<std::pair<std::string, std::string>> identity(const Json&) const override {
    return {};
  }

 private:
  static void add_top(const Json& details, const Session& session, Completion& completion) {
    const Json tops = details.value("top_tokens", Json());
    if (!tops.is_array() || tops.size() != completion.token_ids.size()) return;
    for (std::size_t i = 0; i < tops.size(); ++i) {
      auto& candidates = completion.top_logprobs.emplace_back();
      for (std::size_t j = 0; j < tops[i].size(); ++j) {
        const std::string place = fmt::format("details.top_tokens[{}][{}]", i, j);
        candidates.push_back(
            {token_of(field_of(tops[i][j], "id", place), session.vocab_size, joined(place, "id")),
             logprob_of(field_of(tops[i][j], "logprob", place), kZeroAtFloat,
                        joined(place, "logprob"))});
      }
      sort_candidates(candidates);
    }
  }
};

}  // namespace

const Dialect& tgi_dialect() {
  static const Tgi dialect;
  return dialect;
}

}  // namespace draftproof::tools::engines
