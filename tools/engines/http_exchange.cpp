// What one call of an HTTP arm comes to: a completion, a completion that failed, or an Error.
#include <fmt/format.h>

#include "reference/error.h"
#include "tools/engines/http_arm.h"
#include "tools/engines/replies.h"

namespace draftproof::tools::engines {
namespace {

using properties::Completion;
using properties::FailureCause;
using properties::SamplingRequest;

constexpr std::size_t kBytesShown = 512;  ///< of a stream that is none

}  // namespace

void HttpArm::require_identity(const Dialect& dialect, const Json& answer) const {
  for (const auto& [name, value] : dialect.identity(answer)) {
    if (value.empty()) continue;
    const std::lock_guard lock(mutex_);
    const auto [first, is_first] = identity_.emplace(name, value);
    if (!is_first && first->second != value)
      throw AnotherEngine(
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
  return failed(error.message(), FailureCause::kTransport);
}

Completion HttpArm::read(const Dialect& dialect, const Json& answer, const Call& call,
                         const SamplingRequest& request, const Session& session) const {
  if (answer.is_object() && answer.contains("error") && !answer["error"].is_null())
    return failed("the engine says: " + redacted(message_in(dumped(answer))),
                  FailureCause::kEngine);
  try {
    require_identity(dialect, answer);
    return dialect.completion(answer, request, call.body, session);
  } catch (const BadAnswer& bad) {
    return failed(std::string("no answer of this protocol: ") + bad.what(), bad.cause());
  } catch (const Json::exception& bad) {
    return failed(std::string("no answer of this protocol: ") + bad.what(), FailureCause::kEngine);
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
      completions = all(failed(
          fmt::format("HTTP {}: {}", answer.reply.status, redacted(message_in(answer.reply.body))),
          cause_of(answer.reply.status)));
    } else if (is_page(answer.reply)) {
      throw Error(ErrorKind::kInput,
                  "answers with a web page, which no engine does; is it the engine's address, or "
                  "a proxy before it? It begins: " +
                      redacted(excerpt(answer.reply.body)).substr(0, 80),
                  pool_.url().text() + call.path);
    } else if (requests.size() == 1) {
      completions.push_back(read(dialect, parsed(answer.reply.body), call, requests[0], session));
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
    completions = all(failed(redacted(bad.what()), bad.cause()));
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
  FailureCause cause = FailureCause::kEngine;
  bool has_event = false;
  const auto take = [&](const std::string& payload, double now) {
    has_event = true;
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
      cause = bad.cause();
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
      cause = cause_of(answer.reply.status);
      if (answer.reply.status != 200) {
        failure = fmt::format("HTTP {}: {}", answer.reply.status, message_in(answer.reply.body));
      } else if (whole.is_null()) {
        failure = "no event of a stream came: " + excerpt(first_bytes);
        if (!has_event) cause = FailureCause::kTransport;  // a body of something else
      } else if (!dialect.is_whole(whole)) {
        failure = fmt::format("the stream ended before its last event, after {} pieces",
                              timing.token_times.size());
        cause = FailureCause::kTransport;
      }
    }
    completion = failure.empty() ? read(dialect, whole, call, request, session)
                                 : failed(redacted(failure), cause);
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

}  // namespace draftproof::tools::engines
