// Writing transcripts. Field names are those that engines use where they agree, so that a line can
// be written by hand from an answer.
#include "properties/number_text.h"
#include "properties/transcript.h"
#include "properties/transcript_names.h"

namespace draftproof::properties {
namespace {

using reference::Token;

template <class Value>
void add_unless(Json& object, const char* name, const Value& value, const Value& off) {
  if (!(value == off)) object[name] = value;
}

void add_number(Json& object, const char* name, double value, double off) {
  if (value != off) object[name] = json_of(value);
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_of(value));
  return list;
}

std::string bits(const std::vector<bool>& mask) {
  std::string text;
  for (const bool bit : mask) text += bit ? '1' : '0';
  return text;
}

void add_adjustments(Json& object, const reference::Adjustments& adjustments) {
  const reference::Penalties& penalties = adjustments.penalties;
  add_number(object, "repetition_penalty", penalties.repetition, 1);
  add_number(object, "frequency_penalty", penalties.frequency, 0);
  add_number(object, "presence_penalty", penalties.presence, 0);
  if (penalties.last_n) object["penalty_last_n"] = *penalties.last_n;
  if (!adjustments.logit_bias.empty()) {
    Json list = Json::array();
    for (const reference::TokenBias& each : adjustments.logit_bias)
      list.push_back({{"id", each.token}, {"bias", json_of(each.bias)}});
    object["logit_bias"] = std::move(list);
  }
  if (adjustments.allowed_ids) object["allowed_ids"] = *adjustments.allowed_ids;
  add_unless(object, "bad_words", adjustments.bad_words, {});
  add_unless(object, "min_tokens", adjustments.min_tokens, std::int64_t{0});
  add_unless(object, "end_tokens", adjustments.end_tokens, {});
  if (adjustments.grammar_mask) object["grammar_mask"] = bits(*adjustments.grammar_mask);
}

Json sampling_of(const SamplingRequest& request) {
  const SamplingRequest off;
  Json object = {{"temperature", json_of(request.sampling.temperature)},
                 {"top_k", request.sampling.top_k},
                 {"top_p", json_of(request.sampling.top_p)},
                 {"min_p", json_of(request.sampling.min_p)},
                 {"max_tokens", request.max_tokens}};
  add_adjustments(object, request.adjustments);
  add_unless(object, "logprob_count", request.logprob_count, off.logprob_count);
  add_unless(object, "ignores_end", request.ignores_end, off.ignores_end);
  add_unless(object, "stop_token_ids", request.stop_token_ids, off.stop_token_ids);
  add_unless(object, "grammar", request.grammar, off.grammar);
  add_unless(object, "adapter", request.adapter, off.adapter);
  add_unless(object, "is_streamed", request.is_streamed, off.is_streamed);
  add_unless(object, "uses_prefix_cache", request.uses_prefix_cache, off.uses_prefix_cache);
  return object;
}

/// One entry a position: what is reported of it, and the id that it is reported of.
Json logprobs_of(const Transcript& transcript) {
  const Completion& completion = transcript.completion;
  Json list = Json::array();
  const std::size_t count = std::max(completion.logprobs.size(), completion.top_logprobs.size());
  for (std::size_t i = 0; i < count; ++i) {
    Json entry = Json::object();
    if (i < completion.token_ids.size()) entry["id"] = completion.token_ids[i];
    if (i < completion.logprobs.size()) entry["logprob"] = json_of(completion.logprobs[i]);
    if (transcript.logprob_kind != LogprobKind::kNone)
      entry["kind"] = name_of(logprob_kind_names(), transcript.logprob_kind);
    if (i < completion.top_logprobs.size()) {
      Json candidates = Json::array();
      for (const TokenLogprob& each : completion.top_logprobs[i])
        candidates.push_back({{"id", each.token}, {"logprob", json_of(each.logprob)}});
      entry["top"] = std::move(candidates);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json steps_of(const std::vector<VerifyStep>& steps) {
  Json list = Json::array();
  for (const VerifyStep& step : steps) {
    Json entry = {{"draft_ids", step.draft_ids}, {"accepted", step.accepted}};
    if (!step.target_logprobs.empty()) entry["target_logprobs"] = numbers(step.target_logprobs);
    if (!step.draft_logprobs.empty()) entry["draft_logprobs"] = numbers(step.draft_logprobs);
    list.push_back(std::move(entry));
  }
  return list;
}

Json timing_of(const Timing& timing) {
  Json object = {{"due", json_of(timing.due)},
                 {"sent", json_of(timing.sent)},
                 {"ended", json_of(timing.ended)}};
  if (!timing.token_times.empty()) object["token_times"] = numbers(timing.token_times);
  if (!timing.token_counts.empty()) object["token_counts"] = timing.token_counts;
  return object;
}

}  // namespace

std::string line_of(const Transcript& transcript) {
  const auto& [key, request, completion, logprob_kind] = transcript;
  Json line = {{"schema", kTranscriptSchema},
               {"arm", to_string(key.arm)},
               {"case", key.case_id},
               {"trial", key.trial}};
  if (key.repeat == kScoreRepeat) {
    line["repeat"] = "score";
  } else if (key.repeat != 0) {
    line["repeat"] = key.repeat;
  }
  line["prompt_token_ids"] = request.prompt;
  add_unless(line, "prompt_text", request.prompt_text, {});
  line["token_ids"] = completion.token_ids;
  line["end"] = name_of(completion_end_names(), completion.end);
  add_unless(line, "finish_reason", completion.finish_reason, {});
  add_unless(line, "failure", completion.failure, {});
  if (completion.failure_cause != FailureCause::kEngine)
    line["failure_cause"] = name_of(failure_cause_names(), completion.failure_cause);
  line["sampling"] = sampling_of(request);
  if (request.seed) line["seed"] = *request.seed;
  if (!completion.steps.empty()) line["steps"] = steps_of(completion.steps);
  if (!completion.logprobs.empty() || !completion.top_logprobs.empty()) {
    line["logprobs"] = logprobs_of(transcript);
  } else if (logprob_kind != LogprobKind::kNone) {
    line["logprob_kind"] = name_of(logprob_kind_names(), logprob_kind);
  }
  if (completion.counters)
    line["counters"] = {{"drafted", completion.counters->drafted},
                        {"accepted", completion.counters->accepted},
                        {"emitted", completion.counters->emitted}};
  if (completion.timing) line["timing"] = timing_of(*completion.timing);
  add_unless(line, "text", completion.text, {});
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace draftproof::properties
