#include "tools/engines/http_arm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "reference/error.h"
#include "tools/engines/replies.h"

namespace draftproof::tools::engines {
namespace {

using properties::SamplingRequest;

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
    // A gateway's word is not the engine's, and no other engine's either.
    if (cause_of(reply.status) == properties::FailureCause::kTransport)
      throw Error(ErrorKind::kEnvironment,
                  fmt::format("is not reached (HTTP {}: {}); look at what stands before it",
                              reply.status, redacted(message_in(reply.body))),
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
  try {
    found.facts = found.dialect->facts(pages);
    found.session = found.dialect->session(pages);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kEnvironment,
                fmt::format("says of itself what no {} says ({})", found.dialect->info().name,
                            error.what()),
                place);
  }
  for (const std::string& path : found.dialect->pages())
    if (pages[path].status == 200)
      found.facts.raw.emplace_back(path, printable(redacted(pages[path].body)));
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
      throw AnotherEngine(
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
  if (reply.status == 200) return;
  http::Reply told = reply;
  told.body = redacted(reply.body);
  told.location = redacted(reply.location);
  require_answer(told, pool_.url().text() + path, options_.retry.attempt_max);
}

std::optional<Json> HttpArm::asked(const Call& call) const {
  const http::Reply reply = pool_.post(call.path, dumped(call.body)).reply;
  if (reply.status == 404 || reply.status == 405) return std::nullopt;  // this build has it not
  require_status(reply, call.path);
  if (reply.status != 200 || is_page(reply))
    throw Error(ErrorKind::kEnvironment,
                fmt::format("HTTP {}: {}", reply.status, redacted(message_in(reply.body))),
                pool_.url().text() + call.path);
  try {
    return parsed(reply.body);
  } catch (const BadAnswer& bad) {
    throw Error(ErrorKind::kEnvironment, bad.what(), pool_.url().text() + call.path);
  }
}

std::vector<std::vector<properties::TokenLogprob>> HttpArm::score(
    const std::vector<reference::Token>& tokens, int candidate_count) {
  const Session own = session();
  const std::vector<Call> calls = known().dialect->score_calls(tokens, candidate_count, own);
  if (calls.empty()) return {};
  std::vector<Json> answers;
  for (const Call& call : calls) {
    auto answer = asked(call);
    if (!answer) return {};
    answers.push_back(std::move(*answer));
  }
  try {
    return known().dialect->scores(answers, tokens, candidate_count, own);
  } catch (const BadAnswer& bad) {
    throw Error(ErrorKind::kEnvironment, std::string("no answer of this protocol: ") + bad.what(),
                pool_.url().text() + calls.front().path);
  } catch (const Json::exception& bad) {
    throw Error(ErrorKind::kEnvironment, std::string("no answer of this protocol: ") + bad.what(),
                pool_.url().text() + calls.front().path);
  }
}

std::optional<std::vector<reference::Token>> HttpArm::tokenize(const std::string& text) {
  const Session own = session();
  const auto call = known().dialect->tokenize_call(text, own);
  if (!call) return std::nullopt;
  const auto answer = asked(*call);
  if (!answer) return std::nullopt;
  const auto tokens = answer->find("tokens");
  if (tokens == answer->end() || !tokens->is_array() ||
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
  const auto answer = asked(*call);
  if (!answer) return std::nullopt;
  const auto text = answer->find(known().dialect->text_field());
  if (text == answer->end() || !text->is_string())
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
