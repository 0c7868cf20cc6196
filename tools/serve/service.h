// Service: an engine host behind HTTP in one dialect. It decides what is an answer, what is a
// stream, what is an error, and lets go of a request whose client went away.
#pragma once

#include <chrono>
#include <memory>

#include "tools/engines/http.h"
#include "tools/serve/dialect.h"
#include "tools/serve/engine_host.h"

namespace draftproof::tools::serve {

struct ServiceOptions {
  http::ServerOptions http;
  Dialect dialect;
  HostOptions host;
  std::string model;  ///< its name
  std::optional<Token> eos = {};
  std::string draft_method = {};  ///< empty: speculation is off
};

class Service {
 public:
  /// Serves from here on. Throws Error as EngineHost and http::Server.
  explicit Service(ServiceOptions options);
  Service(const Service&) = delete;
  ~Service();  ///< stop(0)

  int port() const;
  Totals totals() const;
  PagesInUse pages_in_use() const;
  /// Takes nothing any longer, lets requests finish for so long, cancels the rest, returns when all
  /// have been answered.
  void stop(std::chrono::milliseconds grace);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace draftproof::tools::serve
