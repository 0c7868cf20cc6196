#include "tools/engines/http_arm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "reference/error.h"
#include "tools/engines/replies.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::CompletionEnd;
using properties::SamplingRequest;

constexpr std::size_t kBytesShown = 512;  ///< of a stream that is none

std::string key_from(const std::string& name) {
  if (name.empty()) return "";
  const char* key = std::getenv(name.c_str());
  if (key == nullptr || *key == '\0')
    throw Error(ErrorKind::kInput,
                fmt::format("the variable {} is not set; export the key in it", name),
                "api-key-env");
  const std::string text = key;
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }))
    throw Error(
        ErrorKind::kInput,
        fmt::format("the variable {} holds a line break or another byte that no key has", name),
        "api-key-env");
  return text;
}

void require_sense(const ClientOptions& options) {
  const auto refuse = [](const char* place, const char* message) {
    throw Error(ErrorKind::kInput, message, place);
  };
  if (!(options.connect_timeout_s > 0)) refuse("connect-timeout", "must be above 0 seconds");
  if (!(options.read_timeout_s > 0)) refuse("read-timeout", "must be above 0 seconds");
  if (options.retry.attempt_max < 1) refuse("retry", "must allow at least one attempt");
  if (!(options.retry.first_delay_s >= 0)) refuse("retry", "must not wait less than 0 seconds");
  if (!(options.requests_per_second_max >= 0))
    refuse("requests-per-second", "must not be negative");
  if (options.connection_max < 1) refuse("connections", "must be at least 1");
}

/// Clients of the OpenAI API are used to an address that ends in /v1; ours has it in its paths.
http::Url address_of(const std::string& url) {
  http::Url address = http::parse_url(url);
  if (address.prefix.ends_with("/v1")) address.prefix.resize(address.prefix.size() - 3);
  return address;
}

PoolOptions pool_options(const ClientOptions& options, const std::string& key) {
  PoolOptions pool;
  pool.client.connect_seconds_max = options.connect_timeout_s;
  pool.client.read_seconds_max = options.read_timeout_s;
  if (!key.empty()) pool.client.headers.emplace_back("Authorization", "Bearer " + key);
  pool.attempt_max = options.retry.attempt_max;
  pool.first_delay_s = options.retry.first_delay_s;
  pool.requests_per_second_max = options.requests_per_second_max;
  pool.connection_max = options.connection_max;
  return pool;
}

}  // namespace

HttpArm::HttpArm(const ClientOptions& options)
    : options_((require_sense(options), options)),
      key_(key_from(options.api_key_env)),
      pool_(address_of(options.url), pool_options(options, key_)) {
  if (options.engine != "auto") dialect_named(options.engine);
  // Of no law that is judged: it keeps caches apart, and must be another in every run.
  std::random_device device;
  salt_of_arm_ = fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

std::string HttpArm::redacted(std::string text) const {
  if (key_.empty()) return text;
  const std::string name = "$" + options_.api_key_env;
  for (std::size_t at = 0; (at = text.find(key_, at)) != std::string::npos; at += name.size())
    text.replace(at, key_.size(), name);
  return text;
}

Pages HttpArm::ask(const std::vector<std::string>& paths) const {
  Pages pages;
  for (const std::string& path : paths) {
    if (pages.count(path) != 0) continue;
    const http::Reply reply = pool_.get(path).reply;
    if (reply.status == 401 || reply.status == 403) require_status(reply, path);
    if (reply.status == 503)
      throw Error(ErrorKind::kEnvironment,
                  "is not ready yet (HTTP 503: " + redacted(message_in(reply.body)) +
                      "); wait until its model is loaded",
                  pool_.url().text() + path);
    pages[path] = {reply.status, reply.body};
  }
  return pages;
}

HttpArm::Known HttpArm::find_out() const {
  std::vector<std::string> paths;
  for (const Dialect* each : all_dialects()) {
    const std::string own = each->pages().front();
    if (std::find(paths.begin(), paths.end(), own) == paths.end()) paths.push_back(own);
  }
  Known found;
  Pages pages = ask(paths);
  const Dialect* recognised = nullptr;
  for (const Dialect* each : all_dialects())
    if (recognised == nullptr && each->recognises(pages)) recognised = each;
  const std::string place = pool_.url().text();
  if (options_.engine == "auto") {
    if (recognised == nullptr)
      throw Error(ErrorKind::kInput,
                  fmt::format("nothing there answers as an engine that is known (asked for {}); "
                              "name the engine, or look at the address",
                              fmt::join(paths, ", ")),
                  place);
    found.dialect = recognised;
  } else {
    found.dialect = &dialect_named(options_.engine);
    if (found.dialect->is_recognisable() && !found.dialect->recognises(pages))
      throw Error(ErrorKind::kInput,
                  fmt::format("is no {} ({}); take engine = \"{}\"", options_.engine,
                              recognised == nullptr ? "it answers as none that is known"
                                                    : "it answers as " + recognised->info().name,
                              recognised == nullptr ? "openai" : recognised->info().name),
                  place);
  }
  for (auto& [path, page] : ask(found.dialect->pages())) pages[path] = page;
  found.facts = found.dialect->facts(pages);
  for (const std::string& path : found.dialect->pages())
    if (pages[path].status == 200)
      found.facts.raw.emplace_back(path, printable(redacted(pages[path].body)));
  found.session = found.dialect->session(pages);
  if (!options_.model.empty()) found.session.model = options_.model;
  found.session.is_draftless = options_.asks_for_no_drafts;
  found.session.vocab_size = found.facts.vocab_size.value_or(0);
  found.session.context_max = found.facts.context_max.value_or(0);
  return found;
}

const HttpArm::Known& HttpArm::known() const {
  const std::lock_guard lock(mutex_);
  if (!known_) known_ = find_out();
  return *known_;
}

Session HttpArm::session() const {
  Session session = known().session;
  session.salt = fmt::format("{}-{}", salt_of_arm_, ++salt_);
  return session;
}

properties::Capabilities HttpArm::capabilities() const {
  const Known& found = known();
  properties::Capabilities capabilities = found.dialect->capabilities(found.facts);
  if (options_.asks_for_no_drafts) capabilities.draft_count = 0;
  return capabilities;
}

std::uint64_t HttpArm::seed_max() const { return known().dialect->seed_max(); }

ArmFacts HttpArm::facts() {
  {
    const std::lock_guard lock(mutex_);
    if (!known_) {
      known_ = find_out();
      return known_->facts;
    }
  }
  const Known& first = known();
  Known now = find_out();
  const auto require_same = [&](const char* what, const std::string& was, const std::string& is) {
    if (was != is)
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("the {} is \"{}\" now and was \"{}\" before; what was asked of the "
                              "one does not count for the other: start another run",
                              what, is, was),
                  pool_.url().text());
  };
  require_same("engine", first.facts.engine, now.facts.engine);
  require_same("version", first.facts.version, now.facts.version);
  require_same("model", first.facts.model, now.facts.model);
  // llama.cpp tells in its answers only.
  const std::lock_guard lock(mutex_);
  if (const auto told = identity_.find("method");
      told != identity_.end() && now.facts.method.empty())
    now.facts.method = told->second;
  return std::move(now.facts);
}

void HttpArm::require_status(const http::Reply& reply, const std::string& path) const {
  http::Reply told = reply;
  told.body = redacted(reply.body);
  told.location = redacted(reply.location);
  require_answer(told, pool_.url().text() + path, options_.retry.attempt_max);
}

void HttpArm::require_identity(const Dialect& dialect, const Json& answer) const {
  for (const auto& [name, value] : dialect.identity(answer)) {
    if (value.empty()) continue;
    const std::lock_guard lock(mutex_);
    const auto [first, is_first] = identity_.emplace(name, value);
    if (!is_first && first->second != value)
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("the {} of the answers is \"{}\" now and was \"{}\" before; the "
                              "server serves another: start another run",
                              name, value, first->second),
                  pool_.url().text());
  }
}

Completion HttpArm::lost(const http::ConnectionError& error) const {
  using Stage = http::ConnectionError::Stage;
  if (error.stage() == Stage::kNotConnected) throw error;
  // It took the request. Whoever hung up without a word may be no more, and no engine at all.
  if (error.stage() == Stage::kNoAnswer) {
    try {
      pool_.get("/health");
    } catch (const http::ConnectionError& gone) {
      if (gone.stage() == Stage::kNotConnected)
        throw Error(ErrorKind::kEnvironment,
                    error.message() + "; the server is gone, look at its log", error.place());
    }
  }
  return failed(error.message());
}

Completion HttpArm::read(const Dialect& dialect, const Json& answer, const Call& call,
                         const SamplingRequest& request, const Session& session) const {
  if (answer.is_object() && answer.contains("error") && !answer["error"].is_null())
    return failed("the engine says: " + redacted(message_in(dumped(answer))));
  try {
    require_identity(dialect, answer);
    return dialect.completion(answer, request, call.body, session);
  } catch (const BadAnswer& bad) {
    return failed(std::string("no answer of this protocol: ") + bad.what());
  } catch (const Json::exception& bad) {
    return failed(std::string("no answer of this protocol: ") + bad.what());
  }
}

std::vector<Completion> HttpArm::answered(const Call& call,
                                          const std::vector<SamplingRequest>& requests,
                                          const Session& session) const {
  const Dialect& dialect = *known().dialect;
  const auto all = [&](const Completion& completion) {
    return std::vector<Completion>(requests.size(), completion);
  };
  ConnectionPool::Answer answer;
  const double sent = steady_seconds();
  std::vector<Completion> completions;
  try {
    answer = pool_.post(call.path, dumped(call.body));
    require_status(answer.reply, call.path);
    if (answer.reply.status != 200) {
      completions = all(failed(fmt::format("HTTP {}: {}", answer.reply.status,
                                           redacted(message_in(answer.reply.body)))));
    } else if (is_page(answer.reply)) {
      throw Error(ErrorKind::kInput,
                  "answers with a web page, which no engine does; is it the engine's address, or "
                  "a proxy before it? It begins: " +
                      redacted(excerpt(answer.reply.body)).substr(0, 80),
                  pool_.url().text() + call.path);
    } else if (requests.size() == 1) {
      completions = {read(dialect, parsed(answer.reply.body), call, requests[0], session)};
    } else {
      const std::vector<Json> parts = dialect.apart(parsed(answer.reply.body));
      if (parts.size() != requests.size())
        throw BadAnswer(fmt::format("{} answers to {} prompts", parts.size(), requests.size()));
      for (std::size_t i = 0; i < parts.size(); ++i)
        completions.push_back(read(dialect, parts[i], call, requests[i], session));
    }
  } catch (const http::ConnectionError& error) {
    answer.sent = sent;
    answer.ended = steady_seconds();
    completions = all(lost(error));
  } catch (const BadAnswer& bad) {
    completions = all(failed(redacted(bad.what())));
  }
  for (Completion& each : completions)
    each.timing = {.due = answer.sent, .sent = answer.sent, .ended = answer.ended};
  return completions;
}

Completion HttpArm::streamed(const Call& call, const SamplingRequest& request,
                             const Session& session) const {
  const Dialect& dialect = *known().dialect;
  http::EventReader reader;
  Json whole;
  properties::Timing timing;
  std::string failure, first_bytes;
  const auto take = [&](const std::string& payload, double now) {
    if (payload == "[DONE]") return;
    const Json event = parsed(payload);
    if (event.is_object() && event.contains("error") && !event["error"].is_null())
      throw BadAnswer("the engine says in the middle of its answer: " + message_in(payload));
    const int count = dialect.add_event(whole, event);
    if (count == 0) return;
    timing.token_times.push_back(now);
    timing.token_counts.push_back(count);
  };
  const auto receive = [&](std::string_view bytes) {
    const double now = steady_seconds();
    if (first_bytes.size() < kBytesShown) first_bytes += bytes.substr(0, kBytesShown);
    try {
      for (const std::string& payload : reader.add(bytes)) take(payload, now);
      return true;
    } catch (const BadAnswer& bad) {
      failure = bad.what();
    } catch (const Json::exception& bad) {
      failure = std::string("no event of this protocol: ") + bad.what();
    }
    return false;
  };
  timing.sent = steady_seconds();
  Completion completion;
  try {
    const auto answer = pool_.post_streaming(call.path, dumped(call.body), receive);
    timing.sent = answer.sent;
    if (failure.empty()) {
      require_status(answer.reply, call.path);
      if (answer.reply.status != 200)
        failure = fmt::format("HTTP {}: {}", answer.reply.status, message_in(answer.reply.body));
      else if (whole.is_null())
        failure = "no event of a stream came: " + excerpt(first_bytes);
      else if (!dialect.is_whole(whole))
        failure = fmt::format("the stream ended before its last event, after {} pieces",
                              timing.token_times.size());
    }
    completion =
        failure.empty() ? read(dialect, whole, call, request, session) : failed(redacted(failure));
  } catch (const http::ConnectionError& error) {
    completion = lost(error);
  }
  timing.due = timing.sent;
  timing.ended = steady_seconds();
  completion.timing = timing;
  return completion;
}

Completion HttpArm::complete(const SamplingRequest& request) {
  const Session own = session();
  const Call call = known().dialect->call(request, own);
  if (request.is_streamed) return streamed(call, request, own);
  return answered(call, {request}, own).front();
}

std::vector<Completion> HttpArm::complete_together(const std::vector<SamplingRequest>& requests) {
  if (requests.size() > 1) {
    const Session own = session();
    if (const auto call = known().dialect->together(requests, own))
      return answered(*call, requests, own);
  }
  return ArmClient::complete_together(requests);
}

Json HttpArm::asked(const Call& call) const {
  const http::Reply reply = pool_.post(call.path, dumped(call.body)).reply;
  require_status(reply, call.path);
  if (reply.status != 200 || is_page(reply))
    throw Error(ErrorKind::kEnvironment,
                fmt::format("HTTP {}: {}", reply.status, redacted(message_in(reply.body))),
                pool_.url().text() + call.path);
  try {
    return Json::parse(reply.body);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kEnvironment, std::string("answers no JSON: ") + error.what(),
                pool_.url().text() + call.path);
  }
}

std::vector<std::vector<properties::TokenLogprob>> HttpArm::score(
    const std::vector<reference::Token>& tokens, int candidate_count) {
  const Session own = session();
  const auto call = known().dialect->score_call(tokens, candidate_count, own);
  if (!call) return {};
  try {
    return known().dialect->scores(asked(*call), tokens, own);
  } catch (const BadAnswer& bad) {
    throw Error(ErrorKind::kEnvironment, std::string("no answer of this protocol: ") + bad.what(),
                pool_.url().text() + call->path);
  }
}

std::optional<std::vector<reference::Token>> HttpArm::tokenize(const std::string& text) {
  const Session own = session();
  const auto call = known().dialect->tokenize_call(text, own);
  if (!call) return std::nullopt;
  const Json answer = asked(*call);
  const auto tokens = answer.find("tokens");
  if (tokens == answer.end() || !tokens->is_array() ||
      !std::all_of(tokens->begin(), tokens->end(),
                   [](const Json& each) { return each.is_number_integer(); }))
    throw Error(ErrorKind::kEnvironment, "answers without \"tokens\", an array of ids",
                pool_.url().text() + call->path);
  return tokens->get<std::vector<reference::Token>>();
}

std::optional<std::string> HttpArm::detokenize(const std::vector<reference::Token>& tokens) {
  const Session own = session();
  const auto call = known().dialect->detokenize_call(tokens, own);
  if (!call) return std::nullopt;
  const Json answer = asked(*call);
  const auto text = answer.find(known().dialect->text_field());
  if (text == answer.end() || !text->is_string())
    throw Error(ErrorKind::kEnvironment, "answers without a text", pool_.url().text() + call->path);
  return text->get<std::string>();
}

std::string HttpArm::curl_of(const SamplingRequest& request) const {
  const Call call = known().dialect->call(request, session());
  std::string body;
  for (const char c : dumped(call.body)) body += c == '\'' ? "'\\''" : std::string(1, c);
  std::string line =
      "curl -sS '" + pool_.url().text() + call.path + "' -H 'Content-Type: application/json'";
  if (!options_.api_key_env.empty())
    line += " -H \"Authorization: Bearer $" + options_.api_key_env + "\"";
  return line + " -d '" + body + "'";
}

}  // namespace draftproof::tools::engines
