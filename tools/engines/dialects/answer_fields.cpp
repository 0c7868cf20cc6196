#include "tools/engines/dialects/answer_fields.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "reference/error.h"

namespace draftproof::tools::engines {
namespace {

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "..." : text;
}

[[noreturn]] void bad(const std::string& place, const Json& value, const std::string& wanted) {
  throw BadAnswer(fmt::format("{} is {}, {}", place, shown(value), wanted));
}

void require_ids(const std::vector<reference::Token>& ids, const char* field,
                 const Session& session) {
  for (const reference::Token id : ids)
    if (id < 0 || (session.vocab_size > 0 && id >= session.vocab_size))
      throw Error(ErrorKind::kInput,
                  session.vocab_size > 0
                      ? fmt::format("{} is outside of the engine's {} ids", id, session.vocab_size)
                      : fmt::format("{} is no token id", id),
                  field);
}

void require_penalties(const reference::Penalties& penalties, const Words& words) {
  if (!words.has_repetition && penalties.repetition != 1)
    no_word("adjustments.penalties.repetition", words.engine, "leave it at 1");
  if (!words.has_counted_penalties && (penalties.frequency != 0 || penalties.presence != 0))
    no_word("adjustments.penalties", words.engine, "leave frequency and presence at 0");
  if (!words.has_window && penalties.last_n)
    no_word("adjustments.penalties.last_n", words.engine, "leave it out");
}

void require_adjustments(const reference::Adjustments& adjustments, const Words& words,
                         const Session& session) {
  require_penalties(adjustments.penalties, words);
  if (!adjustments.bad_words.empty())
    no_word("adjustments.bad_words", words.engine, "ban single tokens by a logit bias of -inf");
  if (adjustments.grammar_mask) no_word("adjustments.grammar_mask", words.engine, "give a grammar");
  if (adjustments.min_tokens > 0 && !words.has_min_tokens)
    no_word("adjustments.min_tokens", words.engine, "leave it at 0");
  if (adjustments.allowed_ids) {
    if (!words.has_allowed_ids)
      no_word("adjustments.allowed_ids", words.engine, "leave it out, or take top_k");
    require_ids(*adjustments.allowed_ids, "adjustments.allowed_ids", session);
  }
  if (!adjustments.logit_bias.empty() && !words.has_logit_bias)
    no_word("adjustments.logit_bias", words.engine, "leave it out");
  for (const auto& [token, bias] : adjustments.logit_bias) {
    require_ids({token}, "adjustments.logit_bias", session);
    if (bias == -std::numeric_limits<double>::infinity() && words.bias_max >= 1e6) continue;
    if (!(std::abs(bias) <= words.bias_max))
      throw Error(ErrorKind::kInput,
                  fmt::format("{} is outside of -{} to {}, which is what {} takes", bias,
                              words.bias_max, words.bias_max, words.engine),
                  "adjustments.logit_bias");
  }
}

void require_room(const properties::SamplingRequest& request, const Session& session) {
  if (request.max_tokens < 1) throw Error(ErrorKind::kInput, "must be at least 1", "max_tokens");
  const auto wanted = static_cast<std::int64_t>(request.prompt.size()) + request.max_tokens;
  if (session.context_max > 0 && wanted > session.context_max)
    throw Error(ErrorKind::kInput,
                fmt::format("{} and a prompt of {} do not fit into the {} tokens that the server "
                            "holds for a request; ask for fewer, or raise its context",
                            request.max_tokens, request.prompt.size(), session.context_max),
                "max_tokens");
}

/// Of any engine's: one of these is in every answer that comes from one.
bool speaks_of_completions(const Json& object) {
  if (!object.is_object()) return false;
  for (const char* name : {"choices", "content", "stop_type", "timings", "tokens", "text",
                           "output_ids", "meta_info", "generated_text", "details"})
    if (object.contains(name)) return true;
  return false;
}

}  // namespace

const Json& field_of(const Json& object, const std::string& name, const std::string& place) {
  // Whoever has nothing at all of what answers of the protocols have at their top speaks another
  // one.
  const auto cause = place.empty() && !speaks_of_completions(object)
                         ? properties::FailureCause::kTransport
                         : properties::FailureCause::kEngine;
  if (!object.is_object())
    throw BadAnswer(fmt::format("{} is {}, no object with \"{}\"",
                                place.empty() ? "the answer" : place, shown(object), name),
                    cause);
  const auto found = object.find(name);
  if (found == object.end()) throw BadAnswer(joined(place, name) + " is missing", cause);
  return *found;
}

std::string joined(const std::string& place, const std::string& name) {
  return place.empty() ? name : place + "." + name;
}

reference::Token token_of(const Json& value, int vocab_size, const std::string& place) {
  if (!value.is_number_integer()) bad(place, value, "which is no token id");
  const std::int64_t last =
      vocab_size > 0 ? vocab_size - 1 : std::numeric_limits<reference::Token>::max();
  const bool is_huge = value.is_number_unsigned() &&
                       value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  if (is_huge || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > last)
    bad(place, value, fmt::format("outside of the ids 0 to {}", last));
  return static_cast<reference::Token>(value.get<std::int64_t>());
}

std::vector<reference::Token> tokens_of(const Json& value, int vocab_size,
                                        const std::string& place) {
  if (!value.is_array()) bad(place, value, "no array of token ids");
  std::vector<reference::Token> tokens;
  tokens.reserve(value.size());
  for (const Json& each : value) {
    // The place is only needed where it is told.
    if (each.is_number_unsigned() && each.get<std::uint64_t>() < 1u << 30 &&
        (vocab_size == 0 || each.get<int>() < vocab_size))
      tokens.push_back(each.get<reference::Token>());
    else
      tokens.push_back(token_of(each, vocab_size, fmt::format("{}[{}]", place, tokens.size())));
  }
  return tokens;
}

std::int64_t count_of(const Json& value, const std::string& place) {
  const double number = value.is_number() ? value.get<double>() : -1.0;
  if (!(number >= 0 && number < 9e15) || number != std::floor(number))
    bad(place, value, "which is no count");
  return static_cast<std::int64_t>(number);
}

std::string text_of(const Json& value, const std::string& place) {
  if (!value.is_string()) bad(place, value, "which is no text");
  return value.get<std::string>();
}

double logprob_of(const Json& value, double zero_at, const std::string& place) {
  if (!value.is_number()) bad(place, value, "which is no logprob");
  const double logprob = value.get<double>();
  if (std::isnan(logprob)) bad(place, value, "which is no logprob");
  return logprob <= zero_at ? -std::numeric_limits<double>::infinity() : logprob;
}

std::optional<std::int64_t> id_in(const std::string& text) {
  constexpr std::string_view kPrefix = "token_id:";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  std::int64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + kPrefix.size(), end, id);
  if (error != std::errc() || stop != end) return std::nullopt;
  return id;
}

std::vector<reference::Token> bytes_of(const std::string& text) {
  std::vector<reference::Token> bytes;
  bytes.reserve(text.size());
  for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
  return bytes;
}

double finite(double value, const char* field) {
  if (!std::isfinite(value))
    throw Error(ErrorKind::kInput,
                fmt::format("is {}, for which JSON has no word; give a number", value), field);
  return value;
}

void no_word(const std::string& field, const std::string& engine, const std::string& remedy) {
  throw Error(ErrorKind::kInput,
              fmt::format("has no word in the protocol of {}; {}", engine, remedy), field);
}

void require_words(const properties::SamplingRequest& request, const Words& words,
                   std::uint64_t seed_max, const Session& session) {
  if (request.prompt.empty() && request.prompt_text.empty())
    throw Error(ErrorKind::kInput, "is empty; give ids or a text", "prompt");
  require_ids(request.prompt, "prompt", session);
  require_room(request, session);
  const auto& sampling = request.sampling;
  finite(sampling.temperature, "sampling.temperature");
  finite(sampling.top_p, "sampling.top_p");
  finite(sampling.min_p, "sampling.min_p");
  if (sampling.top_k > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::kInput, "is too large; 0 is no filter", "sampling.top_k");
  if (!words.has_top_k && sampling.top_k > 0)
    no_word("sampling.top_k", words.engine, "leave it at 0");
  if (!words.has_min_p && sampling.min_p > 0)
    no_word("sampling.min_p", words.engine, "leave it at 0");
  if (request.seed && *request.seed > seed_max)
    throw Error(
        ErrorKind::kInput,
        fmt::format("{} is more than {} takes, which is {}", *request.seed, words.engine, seed_max),
        "seed");
  require_adjustments(request.adjustments, words, session);
  if (!request.stop_token_ids.empty()) {
    if (!words.has_stop_ids) no_word("stop_token_ids", words.engine, "leave them out");
    require_ids(request.stop_token_ids, "stop_token_ids", session);
  }
  if (!request.grammar.empty() && !words.has_grammar)
    no_word("grammar", words.engine, "leave it out");
  if (!request.adapter.empty() && !words.has_adapters)
    no_word("adapter", words.engine, "serve the adapted model, and name it");
  if (!request.uses_prefix_cache && !words.has_cache_switch)
    no_word("uses_prefix_cache", words.engine, "start the server without its prefix cache");
}

Json bias_object(const std::vector<reference::TokenBias>& biases) {
  Json object = Json::object();
  for (const auto& [token, bias] : biases) object[std::to_string(token)] = bias;
  return object;
}

Json prompt_of(const properties::SamplingRequest& request) {
  return request.prompt.empty() ? Json(request.prompt_text) : Json(request.prompt);
}

std::string no_room(std::size_t emitted, int wanted) {
  return fmt::format(
      "the server's context was full after {} of {} tokens; raise it, or ask for fewer", emitted,
      wanted);
}

std::map<std::string, double> counters_in(const std::string& page, std::string_view part) {
  std::map<std::string, double> counters;
  for (std::size_t at = 0; at < page.size();) {
    const std::size_t stop = std::min(page.find('\n', at), page.size());
    const std::string line = page.substr(at, stop - at);
    at = stop + 1;
    if (line.empty() || line.front() == '#' || line.find(part) == std::string::npos) continue;
    const std::size_t name_end = line.find_first_of("{ ");
    if (name_end == std::string::npos) continue;
    std::string name = line.substr(0, name_end);
    std::size_t value_at = name_end;
    if (line[name_end] == '{') {
      value_at = line.find('}', name_end);
      if (value_at == std::string::npos) continue;
      const std::size_t position = line.find("position=\"", name_end);
      if (position != std::string::npos && position < value_at)
        name +=
            "[" + line.substr(position + 10, line.find('"', position + 10) - position - 10) + "]";
      ++value_at;
    }
    char* end = nullptr;
    const double value = std::strtod(line.c_str() + value_at, &end);
    if (end != line.c_str() + value_at && std::isfinite(value)) counters[name] += value;
  }
  return counters;
}

std::string text_at(const Json& value, std::initializer_list<const char*> path) {
  const Json* at = &value;
  for (const char* name : path) {
    if (!at->is_object() || !at->contains(name)) return "";
    at = &(*at)[name];
  }
  if (at->is_string()) return at->get<std::string>();
  return at->is_null() || at->is_structured() ? "" : at->dump();
}

std::optional<int> int_at(const Json& value, std::initializer_list<const char*> path) {
  const std::string text = text_at(value, path);
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty())
    return std::nullopt;
  return number;
}

}  // namespace draftproof::tools::engines
