// Reading transcripts, ours and those of whoever wrote the lines: every complaint names the place,
// the field and what it may be.
#include <algorithm>

#include "properties/json_field.h"
#include "properties/json_nesting.h"
#include "properties/transcript.h"
#include "properties/transcript_names.h"

namespace draftproof::properties {

using reference::Token;

const Names<Arm>& arm_names() {
  static const Names<Arm> names = {{Arm::kBaseline, "baseline"},
                                   {Arm::kSpeculative, "speculative"}};
  return names;
}

const Names<CompletionEnd>& completion_end_names() {
  static const Names<CompletionEnd> names = {{CompletionEnd::kLength, "length"},
                                             {CompletionEnd::kStop, "stop"},
                                             {CompletionEnd::kFailed, "failed"}};
  return names;
}

const Names<FailureCause>& failure_cause_names() {
  static const Names<FailureCause> names = {{FailureCause::kEngine, "engine"},
                                            {FailureCause::kTransport, "transport"}};
  return names;
}

const Names<LogprobKind>& logprob_kind_names() {
  static const Names<LogprobKind> names = {{LogprobKind::kRaw, "raw"},
                                           {LogprobKind::kProcessed, "processed"}};
  return names;
}

namespace {

template <class Integer>
std::vector<Integer> integers(const Field& field) {
  std::vector<Integer> list;
  field.for_each([&](const Field& each) { list.push_back(each.integer<Integer>()); });
  return list;
}

/// As integers(), without a Field for each of many: lines are mostly tokens.
std::vector<Token> tokens(const Field& field) {
  if (!field.json().is_array()) field.refuse("should be an array of token ids");
  std::vector<Token> list;
  list.reserve(field.size());
  for (const Json& each : field.json()) {
    const auto* id = each.get_ptr<const Json::number_integer_t*>();
    if (id == nullptr || *id < std::numeric_limits<Token>::min() ||
        *id > std::numeric_limits<Token>::max())
      return integers<Token>(field);  // whose complaint names the element
    list.push_back(static_cast<Token>(*id));
  }
  return list;
}

std::vector<double> numbers(const Field& field) {
  std::vector<double> list;
  field.for_each([&](const Field& each) { list.push_back(each.number()); });
  return list;
}

bool truth(const Field& field) {
  if (!field.json().is_boolean()) field.refuse("should be true or false");
  return field.json().get<bool>();
}

template <class Read, class Value>
void read_if(const Field& object, const char* name, Value& value, Read read) {
  if (const auto field = object.find(name)) value = read(*field);
}

double number(const Field& field) { return field.number(); }
std::string text(const Field& field) { return field.text(); }
std::int64_t wide(const Field& field) { return field.integer<std::int64_t>(); }

std::vector<bool> mask(const Field& field) {
  std::vector<bool> list;
  for (const char bit : field.text()) {
    if (bit != '0' && bit != '1') field.refuse("should be a string of 0 and 1, a token each");
    list.push_back(bit == '1');
  }
  return list;
}

std::vector<reference::TokenBias> biases(const Field& field) {
  std::vector<reference::TokenBias> list;
  field.for_each([&](const Field& each) {
    each.allow_only({"id", "bias"});
    list.push_back({each.at("id").integer<Token>(), each.at("bias").number()});
  });
  return list;
}

std::vector<std::vector<Token>> words(const Field& field) {
  std::vector<std::vector<Token>> list;
  field.for_each([&](const Field& each) { list.push_back(tokens(each)); });
  return list;
}

void read_sampling(const Field& field, SamplingRequest& request) {
  field.allow_only({"temperature",
                    "top_k",
                    "top_p",
                    "min_p",
                    "max_tokens",
                    "repetition_penalty",
                    "frequency_penalty",
                    "presence_penalty",
                    "penalty_last_n",
                    "logit_bias",
                    "allowed_ids",
                    "bad_words",
                    "min_tokens",
                    "end_tokens",
                    "grammar_mask",
                    "logprob_count",
                    "ignores_end",
                    "stop_token_ids",
                    "grammar",
                    "adapter",
                    "is_streamed",
                    "uses_prefix_cache"});
  reference::Sampling& sampling = request.sampling;
  sampling.temperature = field.at("temperature").number();
  read_if(field, "top_k", sampling.top_k, wide);
  read_if(field, "top_p", sampling.top_p, number);
  read_if(field, "min_p", sampling.min_p, number);
  request.max_tokens = field.at("max_tokens").integer<int>();
  if (request.max_tokens < 0) field.at("max_tokens").refuse("should be 0 or more");
  reference::Adjustments& adjustments = request.adjustments;
  read_if(field, "repetition_penalty", adjustments.penalties.repetition, number);
  read_if(field, "frequency_penalty", adjustments.penalties.frequency, number);
  read_if(field, "presence_penalty", adjustments.penalties.presence, number);
  read_if(field, "penalty_last_n", adjustments.penalties.last_n, wide);
  read_if(field, "logit_bias", adjustments.logit_bias, biases);
  read_if(field, "allowed_ids", adjustments.allowed_ids, tokens);
  read_if(field, "bad_words", adjustments.bad_words, words);
  read_if(field, "min_tokens", adjustments.min_tokens, wide);
  read_if(field, "end_tokens", adjustments.end_tokens, tokens);
  read_if(field, "grammar_mask", adjustments.grammar_mask, mask);
  read_if(field, "logprob_count", request.logprob_count,
          [](const Field& each) { return each.integer<int>(); });
  read_if(field, "ignores_end", request.ignores_end, truth);
  read_if(field, "stop_token_ids", request.stop_token_ids, tokens);
  read_if(field, "grammar", request.grammar, text);
  read_if(field, "adapter", request.adapter, text);
  read_if(field, "is_streamed", request.is_streamed, truth);
  read_if(field, "uses_prefix_cache", request.uses_prefix_cache, truth);
}

std::vector<TokenLogprob> candidates(const Field& field) {
  std::vector<TokenLogprob> list;
  field.for_each([&](const Field& each) {
    each.allow_only({"id", "logprob"});
    list.push_back({each.at("id").integer<Token>(), each.at("logprob").number()});
  });
  return list;
}

/// `values` grows with the entries, and may end before them, but has no gaps.
template <class Value, class Read>
void read_next(const Field& entry, const char* name, std::size_t index, std::vector<Value>& values,
               Read read) {
  const auto field = entry.find(name);
  if (!field) return;
  if (values.size() != index)
    entry.refuse("has '" + std::string(name) + "', which an entry before it lacks");
  values.push_back(read(*field));
}

void read_logprobs(const Field& field, Transcript& transcript) {
  Completion& completion = transcript.completion;
  std::size_t index = 0;
  field.for_each([&](const Field& entry) {
    entry.allow_only({"id", "logprob", "kind", "top"});
    if (const auto id = entry.find("id")) {
      if (index >= completion.token_ids.size() ||
          id->integer<Token>() != completion.token_ids[index])
        id->refuse("should be token_ids[" + std::to_string(index) + "]");
    }
    if (const auto kind = entry.find("kind")) {
      const LogprobKind named = kind->named(logprob_kind_names());
      if (index > 0 && named != transcript.logprob_kind)
        kind->refuse("should be that of the entries before it");
      transcript.logprob_kind = named;
    } else if (transcript.logprob_kind != LogprobKind::kNone) {
      entry.refuse("lacks 'kind', which an entry before it has");
    }
    read_next(entry, "logprob", index, completion.logprobs, number);
    read_next(entry, "top", index, completion.top_logprobs, candidates);
    ++index;
  });
}

std::vector<VerifyStep> steps(const Field& field) {
  std::vector<VerifyStep> list;
  field.for_each([&](const Field& each) {
    each.allow_only({"draft_ids", "accepted", "target_logprobs", "draft_logprobs"});
    VerifyStep step;
    step.draft_ids = tokens(each.at("draft_ids"));
    step.accepted = each.at("accepted").integer<std::int64_t>();
    read_if(each, "target_logprobs", step.target_logprobs, numbers);
    read_if(each, "draft_logprobs", step.draft_logprobs, numbers);
    list.push_back(std::move(step));
  });
  return list;
}

DraftCounters counters(const Field& field) {
  field.allow_only({"drafted", "accepted", "emitted"});
  return {wide(field.at("drafted")), wide(field.at("accepted")), wide(field.at("emitted"))};
}

Timing timing(const Field& field) {
  field.allow_only({"due", "sent", "ended", "token_times", "token_counts"});
  Timing result{field.at("due").number(), field.at("sent").number(), field.at("ended").number()};
  read_if(field, "token_times", result.token_times, numbers);
  read_if(field, "token_counts", result.token_counts, integers<int>);
  return result;
}

std::uint32_t repeat(const Field& field) {
  if (field.json().is_string()) {
    if (field.text() != "score") field.refuse("should be a number or \"score\"");
    return kScoreRepeat;
  }
  const auto number = field.integer<std::uint32_t>();
  if (number == kScoreRepeat) field.refuse("should be \"score\" where it is one, or less");
  return number;
}

/// What the engine's own word says where `end` is not told.
CompletionEnd end_of(const Field& line) {
  if (const auto end = line.find("end")) return end->named(completion_end_names());
  const auto word = line.find("finish_reason");
  if (!word) line.refuse("lacks 'end' (length, stop or failed), and 'finish_reason' as well");
  const std::string reason = word->text();
  if (reason == "length") return CompletionEnd::kLength;
  if (reason == "stop") return CompletionEnd::kStop;
  word->refuse(
      "is '" + reason +
      "': where it is neither length nor stop, 'end' says which of length, stop and failed "
      "it was");
}

Transcript read_transcript(const Field& line) {
  line.allow_only({"schema",           "arm",           "case",      "trial",  "repeat",
                   "prompt_token_ids", "prompt_text",   "token_ids", "end",    "finish_reason",
                   "failure",          "failure_cause", "sampling",  "seed",   "steps",
                   "logprobs",         "logprob_kind",  "counters",  "timing", "text"});
  if (line.at("schema").text() != kTranscriptSchema)
    line.at("schema").refuse("should be \"" + std::string(kTranscriptSchema) + "\"");
  Transcript transcript;
  auto& [key, request, completion, logprob_kind] = transcript;
  key.arm = line.at("arm").named(arm_names());
  key.case_id = line.at("case").text();
  if (key.case_id.empty()) line.at("case").refuse("should not be empty");
  key.trial = line.at("trial").integer<std::uint64_t>();
  read_if(line, "repeat", key.repeat, repeat);
  request.prompt = tokens(line.at("prompt_token_ids"));
  read_if(line, "prompt_text", request.prompt_text, text);
  if (request.prompt.empty() && request.prompt_text.empty())
    line.at("prompt_token_ids").refuse("should not be empty where there is no 'prompt_text'");
  completion.token_ids = tokens(line.at("token_ids"));
  completion.end = end_of(line);
  read_if(line, "finish_reason", completion.finish_reason, text);
  read_if(line, "failure", completion.failure, text);
  if (const auto cause = line.find("failure_cause"))
    completion.failure_cause = cause->named(failure_cause_names());
  read_sampling(line.at("sampling"), request);
  if (const auto seed = line.find("seed")) request.seed = seed->integer<std::uint64_t>();
  read_if(line, "steps", completion.steps, steps);
  if (const auto kind = line.find("logprob_kind")) {
    if (line.find("logprobs")) kind->refuse("belongs to the entries of 'logprobs' as 'kind'");
    logprob_kind = kind->named(logprob_kind_names());
  }
  if (const auto field = line.find("logprobs")) read_logprobs(*field, transcript);
  if (const auto field = line.find("counters")) completion.counters = counters(*field);
  if (const auto field = line.find("timing")) completion.timing = timing(*field);
  read_if(line, "text", completion.text, text);
  return transcript;
}

}  // namespace

Transcript transcript_from(std::string_view line, const std::string& place) {
  const auto json = json_or_discarded<Json>(line);
  if (json.is_discarded())
    throw Error(ErrorKind::kInput, "is not a line of JSON: a transcript is one object a line",
                place);
  return read_transcript(Field(json, "", place, "the transcript"));
}

}  // namespace draftproof::properties
