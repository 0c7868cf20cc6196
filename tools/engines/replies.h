// Replies: what an HTTP answer that is no completion says, in the shapes of all engines, and which
// kind of error it is to us.
#pragma once

#include <string>

#include "tools/engines/dialects/dialect.h"
#include "tools/engines/http.h"

namespace draftproof::tools::engines {

/// One line of valid UTF-8: bytes that are none and control characters are replaced.
std::string printable(const std::string& text);
/// The beginning of a body, one line.
std::string excerpt(const std::string& body);
/// What an error body says: {"error": {"message": ...}}, {"error": TEXT}, {"detail": ...}, or its
/// beginning.
std::string message_in(const std::string& body);
/// Whether it is a web page.
bool is_page(const http::Reply& reply);
/// On one line, whatever bytes its texts hold.
std::string dumped(const Json& body);
/// Throws BadAnswer.
Json parsed(const std::string& body);
/// Whose failure a status is: a gateway's word says nothing of the engine behind it.
properties::FailureCause cause_of(int status);
/// A completion that failed, why, and whose fault it may be.
properties::Completion failed(const std::string& failure, properties::FailureCause cause);

/// Throws for what no completion can come of: credentials, address, endpoint, model or request are
/// refused (Error(kInput) at "api-key-env", the address, "engine", "model", "request"), or the
/// server still has no room (kEnvironment). Statuses of success and of the server's own failures
/// pass.
void require_answer(const http::Reply& reply, const std::string& place, int attempt_count);

}  // namespace draftproof::tools::engines
