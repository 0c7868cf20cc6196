#include "tools/engines/replies.h"

#include <fmt/format.h>

#include "properties/json_nesting.h"
#include "reference/error.h"

namespace draftproof::tools::engines {
namespace {

constexpr std::size_t kExcerptBytes = 300;

}  // namespace

std::string printable(const std::string& text) {
  std::string line = text;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  const Json quoted = line;
  return Json::parse(quoted.dump(-1, ' ', false, Json::error_handler_t::replace))
      .get<std::string>();
}

std::string excerpt(const std::string& body) {
  const std::string text = printable(body.substr(0, kExcerptBytes));
  return body.size() > kExcerptBytes ? text + "..." : text;
}

std::string message_in(const std::string& body) {
  const auto json = properties::json_or_discarded<Json>(body);
  if (!json.is_object()) return excerpt(body);
  for (const char* name : {"error", "message", "detail"}) {
    const auto found = json.find(name);
    if (found == json.end() || found->is_null()) continue;
    if (found->is_string()) return excerpt(found->get<std::string>());
    if (found->is_object() && found->contains("message") && (*found)["message"].is_string())
      return excerpt((*found)["message"].get<std::string>());
    return excerpt(dumped(*found));
  }
  return excerpt(body);
}

bool is_page(const http::Reply& reply) {
  const std::size_t first = reply.body.find_first_not_of(" \t\r\n");
  return reply.type.find("text/html") != std::string::npos ||
         (first != std::string::npos && reply.body[first] == '<');
}

std::string dumped(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parsed(const std::string& body) {
  if (properties::nests_too_deep(body))
    throw BadAnswer(
        "the answer is no JSON of an engine, with so many brackets within each other: " +
            excerpt(body),
        properties::FailureCause::kTransport);
  try {
    return Json::parse(body);
  } catch (const Json::exception& error) {
    throw BadAnswer(fmt::format("the answer is no JSON ({}): {}", error.what(), excerpt(body)),
                    properties::FailureCause::kTransport);
  }
}

properties::FailureCause cause_of(int status) {
  // Of gateways; what the engine itself answers is 500.
  const bool is_of_gateway = status == 502 || status == 503 || status == 504 || status >= 520;
  return is_of_gateway ? properties::FailureCause::kTransport : properties::FailureCause::kEngine;
}

properties::Completion failed(const std::string& failure, properties::FailureCause cause) {
  properties::Completion completion;
  completion.end = properties::CompletionEnd::kFailed;
  completion.failure = printable(failure);
  completion.failure_cause = cause;
  return completion;
}

void require_answer(const http::Reply& reply, const std::string& place, int attempt_count) {
  const int status = reply.status;
  if (status < 300 || (status >= 500 && status != 503)) return;
  const std::string said = message_in(reply.body);
  const auto refuse = [](const std::string& message, const std::string& at) {
    throw Error(ErrorKind::kInput, message, at);
  };
  if (status >= 300 && status < 400)
    refuse(fmt::format("sends elsewhere (HTTP {}, {}); give that address", status,
                       reply.location.empty() ? "without an address" : reply.location),
           place);
  if (status == 401 || status == 403)
    refuse(fmt::format("the engine refuses the credentials at {} (HTTP {}: {}); name the variable "
                       "that holds its key",
                       place, status, said),
           "api-key-env");
  if (status == 404 || status == 405) {
    const bool is_of_model = said.find("odel") != std::string::npos;
    refuse(fmt::format(
               "{} (HTTP {}: {}); {}", place, status, said,
               is_of_model ? "name a model that is served" : "is it the engine that was named?"),
           is_of_model ? "model" : "engine");
  }
  if (status == 429 || status == 503)
    throw Error(ErrorKind::kEnvironment,
                fmt::format("still has no room after {} attempts (HTTP {}: {}); lower the "
                            "concurrency or the requests a second",
                            attempt_count, status, said),
                place);
  if (status >= 400 && status < 500)
    refuse(fmt::format("the engine refuses it (HTTP {}): {}", status, said), "request");
}

}  // namespace draftproof::tools::engines
