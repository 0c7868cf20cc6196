// HTTP: a server for one machine and a client for any, the only place that knows which library
// speaks it (cpp-httplib; http.cpp alone includes it). What every user needs is set here once: no
// delay of small packets (with it a loopback answers tens of requests a second, not ten thousand),
// limits on sizes and times, no second server on a taken port, no compression, certificates that
// are checked, answers that can be streamed and whose reader may go away.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/error.h"

namespace draftproof::tools::http {

struct Request {
  std::string method;
  std::string path;
  std::string body;
};

/// The body of an answer, piece by piece. Destroyed when the answer is over, however it ended: a
/// reader that went away is told by that alone.
class Source {
 public:
  struct Piece {
    std::string bytes;  ///< empty: nothing yet, and whether the reader is still there is looked at
    bool is_last = false;
    bool is_broken = false;  ///< the answer cannot be finished: the connection is closed
  };
  virtual ~Source() = default;
  /// Waits for a fraction of a second at most. What it throws closes the connection.
  virtual Piece next() = 0;
};

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::shared_ptr<Source> source = nullptr;  ///< set: the body comes from here
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Called by several threads at a time. What it throws becomes status 500.
using Handler = std::function<Response(const Request&)>;
struct Route {
  std::string method;  ///< "GET" or "POST"
  std::string path;    ///< letters, digits, '/', '_', '-'
  Handler handler;
};
/// The body of an answer that no handler gave: an unknown path, a body that is too large, what is
/// no HTTP.
using ErrorBody = std::function<std::string(int status, const std::string& message)>;

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;           ///< 0: one that is free
  int thread_count = 64;  ///< connections that are served at a time; others wait
  std::size_t payload_bytes_max = std::size_t{4} << 20;
  int read_seconds_max = 5;
  int write_seconds_max = 5;
  int keep_alive_seconds = 1;  ///< an idle connection is closed; stop() waits for as long
};

class Server {
 public:
  /// Serves from here on. Throws Error(kEnvironment) at "HOST:PORT" when it cannot have the port.
  Server(const ServerOptions& options, std::vector<Route> routes, ErrorBody error_body);
  Server(const Server&) = delete;
  ~Server();  ///< stop()

  int port() const;
  /// Takes no connection any longer, and returns when every answer has been given.
  void stop();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

/// http(s)://HOST[:PORT][/PREFIX]
struct Url {
  bool is_tls = false;
  std::string host;  ///< without the brackets of an IPv6 address
  int port = 80;
  std::string prefix;  ///< empty, or begins with '/' and does not end with it

  std::string text() const;
};
/// Throws Error(kInput) at "url" that says what it must be: another scheme, no host, a port that is
/// none, names or passwords before an '@', a query, characters that an address does not have.
Url parse_url(std::string_view text);

/// Why a call had no answer, or not all of it. Its kind is kEnvironment.
class ConnectionError : public Error {
 public:
  enum class Stage {
    kNotConnected,  ///< nobody listens there, or the certificate is not trusted
    kNoAnswer,      ///< connected; the other side hung up without a word
    kTimeout,       ///< connected; no answer began for as long as the caller waits
    kBroken,        ///< the answer began and did not end, or would not
  };
  ConnectionError(Stage stage, std::string message, std::string place)
      : Error(ErrorKind::kEnvironment, std::move(message), std::move(place)), stage_(stage) {}
  Stage stage() const { return stage_; }

 private:
  Stage stage_;
};

struct ClientOptions {
  double connect_seconds_max = 5;
  double read_seconds_max = 60;  ///< without one byte
  double reads_max = 10;  ///< so many times read_seconds_max for a call in all, whatever comes
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< of every request
  std::size_t body_bytes_max = std::size_t{1} << 30;              ///< of an answer
};

struct Reply {
  int status = 0;
  std::string type;
  std::string retry_after;
  std::string location;
  std::string body;  ///< empty behind a streaming call that was told everything
};

/// One connection, kept between calls. For use by one thread at a time. All calls throw
/// ConnectionError at "http://HOST:PORT/PATH" when there is no answer, or not all of it.
/// Certificates are checked against the authorities of the system, or the file that the variable
/// SSL_CERT_FILE names.
class Client {
 public:
  Client(const std::string& host, int port, const ClientOptions& options = {});
  explicit Client(const Url& url, const ClientOptions& options = {});
  Client(const Client&) = delete;
  ~Client();

  Reply get(const std::string& path);
  Reply post(const std::string& path, const std::string& body);
  /// Hands the body on as it comes; `receive` answers false to hang up, which is no error. The body
  /// of an answer that is not 200 is in the reply.
  Reply post_streaming(const std::string& path, const std::string& body,
                       const std::function<bool(std::string_view)>& receive);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

/// Server-sent events (the "data:" lines that engines stream): bytes in, payloads out.
class EventReader {
 public:
  /// The payloads that `bytes` completes.
  std::vector<std::string> add(std::string_view bytes);

 private:
  std::string rest_;
};

/// One event with this payload, which has no line break.
std::string event(const std::string& payload);

}  // namespace draftproof::tools::http
