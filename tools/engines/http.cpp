#include "tools/engines/http.h"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "reference/error.h"
#include "tools/engines/http/time_limit.h"

namespace draftproof::tools::http {
namespace {

/// The library lets two servers share a port by default, and queues five connections.
void options_of_listener(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

class Listener : public httplib::Server {
 public:
  void widen_queue() { ::listen(svr_sock_, SOMAXCONN); }
};

void stream(const std::shared_ptr<Source>& source, const std::string& type,
            httplib::Response& out) {
  out.set_chunked_content_provider(type, [source](std::size_t, httplib::DataSink& sink) {
    Source::Piece piece;
    try {
      piece = source->next();
    } catch (...) {
      return false;  // nobody above would catch it, and the process would end
    }
    if (piece.is_broken) return false;
    if (!piece.bytes.empty()) {
      if (!sink.write(piece.bytes.data(), piece.bytes.size())) return false;
    } else if (!sink.is_writable()) {
      return false;
    }
    if (piece.is_last) sink.done();
    return true;
  });
}

void fill(Response&& answer, httplib::Response& out) {
  out.status = answer.status;
  for (const auto& [name, value] : answer.headers) out.set_header(name, value);
  if (answer.source) {
    stream(answer.source, answer.type, out);
  } else {
    out.set_content(std::move(answer.body), answer.type);
  }
}

std::string message_of(int status) {
  switch (status) {
    case 404:
      return "no such endpoint";
    case 413:
      return "the body is too large";
    case 414:
      return "the path is too long";
    case 416:  // the library looks at it before any handler
      return "the Range is none; leave it out: answers come whole";
    case 500:
      return "internal error";
    default:
      return "not understood: send GET, or POST with a JSON body";
  }
}

}  // namespace

class Server::Parts {
 public:
  Parts(const ServerOptions& options, std::vector<Route> routes, ErrorBody error_body) {
    server_.set_tcp_nodelay(true);
    server_.set_socket_options([](int socket) { options_of_listener(socket); });
    server_.set_payload_max_length(options.payload_bytes_max);
    server_.set_read_timeout(options.read_seconds_max);
    server_.set_write_timeout(options.write_seconds_max);
    server_.set_keep_alive_timeout(options.keep_alive_seconds);
    server_.set_keep_alive_max_count(std::size_t{1} << 30);
    const auto threads = static_cast<std::size_t>(options.thread_count);
    server_.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
    for (Route& route : routes) add(std::move(route));
    server_.set_error_handler([error_body](const httplib::Request&, httplib::Response& out) {
      if (out.body.empty())
        out.set_content(error_body(out.status, message_of(out.status)), "application/json");
    });
    server_.set_exception_handler([error_body](const httplib::Request&, httplib::Response& out,
                                               const std::exception_ptr& error) {
      std::string message = message_of(500);
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& what) {
        message += std::string(": ") + what.what();
      } catch (...) {
      }
      out.status = 500;
      out.set_content(error_body(500, message), "application/json");
    });
    bind(options);
  }

  int port() const { return port_; }

  void stop() {
    if (!thread_.joinable()) return;
    is_stopping_ = true;
    server_.stop();
    thread_.join();
  }

 private:
  void add(Route route) {
    const auto serve = [this, handler = std::move(route.handler)](const httplib::Request& in,
                                                                  httplib::Response& out) {
      // The library would compress, which costs more than it saves and delays events.
      const_cast<httplib::Request&>(in).headers.erase("Accept-Encoding");
      // And it would cut answers of any status by a Range, which is for GET of files only.
      const_cast<httplib::Request&>(in).ranges.clear();
      if (is_stopping_) out.set_header("Connection", "close");
      fill(handler({in.method, in.path, in.body}), out);
    };
    if (route.method == "GET") {
      server_.Get(route.path, serve);
    } else {
      server_.Post(route.path, serve);
    }
  }

  void bind(const ServerOptions& options) {
    const std::string place = options.host + ":" + std::to_string(options.port);
    const auto refuse = [&] {
      throw Error(ErrorKind::kEnvironment,
                  "cannot listen there: the port is taken, or the address is none of this machine; "
                  "take --port 0 for one that is free",
                  place);
    };
    if (options.port == 0) {
      port_ = server_.bind_to_any_port(options.host);
      if (port_ <= 0) refuse();
    } else {
      port_ = options.port;
      if (!server_.bind_to_port(options.host, port_)) refuse();
    }
    server_.widen_queue();
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      has_ended_ = true;
    });
    // stop() before the thread listens would be lost.
    while (!server_.is_running() && !has_ended_) std::this_thread::yield();
    if (!has_ended_) return;
    thread_.join();
    refuse();
  }

  Listener server_;
  std::thread thread_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_ended_{false};
  int port_ = 0;
};

Server::Server(const ServerOptions& options, std::vector<Route> routes, ErrorBody error_body)
    : parts_(std::make_unique<Parts>(options, std::move(routes), std::move(error_body))) {}
Server::~Server() { stop(); }
int Server::port() const { return parts_->port(); }
void Server::stop() { parts_->stop(); }

class Client::Parts {
 public:
  Parts(const Url& url, const ClientOptions& options)
      : place_(url.text()), prefix_(url.prefix), options_(options) {
    std::signal(SIGPIPE, SIG_IGN);  // as the server does: a peer that goes away is no signal
    if (url.is_tls) {
      client_ = std::make_unique<httplib::SSLClient>(url.host, url.port);
      client_->enable_server_certificate_verification(true);
    } else {
      client_ = std::make_unique<httplib::ClientImpl>(url.host, url.port);
    }
    client_->set_tcp_nodelay(true);
    client_->set_keep_alive(true);
    client_->set_connection_timeout(std::chrono::duration<double>(options.connect_seconds_max));
    client_->set_read_timeout(std::chrono::duration<double>(options.read_seconds_max));
  }

  /// `receive` may be empty.
  Reply send(const char* method, const std::string& path, const std::string& body,
             const std::function<bool(std::string_view)>& receive) {
    httplib::Request request;
    request.method = method;
    request.path = prefix_ + path;
    request.body = body;
    request.set_header("Accept-Encoding", "identity");
    if (request.method == "POST") request.set_header("Content-Type", "application/json");
    for (const auto& [name, value] : options_.headers) request.set_header(name, value);
    Course course;
    request.response_handler = [&](const httplib::Response& head) {
      course.status = head.status;
      course.heard = Clock::now();
      return true;
    };
    request.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t,
                                   std::uint64_t) {
      course.heard = Clock::now();
      course.byte_count += count;
      if (course.byte_count > options_.body_bytes_max) return false;
      if (receive && course.status == 200) {
        course.has_hung_up = !receive(std::string_view(bytes, count));
        return !course.has_hung_up;
      }
      course.body.append(bytes, count);
      return true;
    };
    const TimeLimit limit(total_seconds(), [this] { client_->stop(); });
    const httplib::Result result = client_->send(request);
    course.is_over_limit = limit.is_over();
    if (course.has_hung_up) {
      client_->stop();
      return {course.status, "", "", "", ""};
    }
    // A body without a length ends with its connection, also where we ended it.
    if (!result || course.is_over_limit) {
      client_->stop();
      fail(result.error(), course, path);
    }
    return {result->status, result->get_header_value("Content-Type"),
            result->get_header_value("Retry-After"), result->get_header_value("Location"),
            std::move(course.body)};
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// How far a call came.
  struct Course {
    int status = 0;  ///< 0: no answer began
    Clock::time_point heard = Clock::now();
    bool has_hung_up = false;
    bool is_over_limit = false;
    std::size_t byte_count = 0;
    std::string body;
  };

  double total_seconds() const { return options_.reads_max * options_.read_seconds_max; }

  [[noreturn]] void fail(httplib::Error error, const Course& course, const std::string& path) {
    using Stage = ConnectionError::Stage;
    const std::string place = place_ + path;
    const std::string cause = " (" + httplib::to_string(error) + ")";
    const std::chrono::duration<double> silence = Clock::now() - course.heard;
    const auto seconds = [](double count) {
      std::string text = std::to_string(count);
      return text.substr(0, text.find('.') + 2) + " s";
    };
    // The library reports what it waited for in vain as any other end.
    const bool is_late = silence.count() >= 0.95 * options_.read_seconds_max;
    if (course.byte_count > options_.body_bytes_max)
      throw ConnectionError(Stage::kBroken, "the answer is too large", place);
    if (course.is_over_limit)
      throw ConnectionError(course.status == 0 ? Stage::kTimeout : Stage::kBroken,
                            "the answer had not ended after " + seconds(total_seconds()) +
                                ", though some of it kept coming; if the server is that slow, "
                                "raise the read timeout",
                            place);
    if (error == httplib::Error::SSLServerVerification || error == httplib::Error::SSLLoadingCerts)
      throw ConnectionError(
          Stage::kNotConnected,
          "the server's certificate is not trusted for this host; if the authority is your own, "
          "name its file in the variable SSL_CERT_FILE",
          place);
    if (error == httplib::Error::Connection || error == httplib::Error::ConnectionTimeout ||
        error == httplib::Error::SSLConnection || error == httplib::Error::BindIPAddress)
      throw ConnectionError(Stage::kNotConnected,
                            "no answer" + cause +
                                "; is the server running, and is this its "
                                "address?",
                            place);
    if (course.status != 0)
      throw ConnectionError(Stage::kBroken,
                            is_late ? "the answer began, and nothing more came within " +
                                          seconds(options_.read_seconds_max)
                                    : "the connection ended in the middle of the answer" + cause,
                            place);
    if (is_late)
      throw ConnectionError(Stage::kTimeout,
                            "no answer within " + seconds(options_.read_seconds_max) +
                                "; if the server is that slow, raise the read timeout",
                            place);
    throw ConnectionError(Stage::kNoAnswer, "the connection ended before an answer" + cause, place);
  }

  std::unique_ptr<httplib::ClientImpl> client_;
  std::string place_, prefix_;
  ClientOptions options_;
};

Client::Client(const Url& url, const ClientOptions& options)
    : parts_(std::make_unique<Parts>(url, options)) {}
Client::Client(const std::string& host, int port, const ClientOptions& options)
    : Client(Url{.is_tls = false, .host = host, .port = port, .prefix = ""}, options) {}
Client::~Client() = default;

Reply Client::get(const std::string& path) { return parts_->send("GET", path, "", {}); }

Reply Client::post(const std::string& path, const std::string& body) {
  return parts_->send("POST", path, body, {});
}

Reply Client::post_streaming(const std::string& path, const std::string& body,
                             const std::function<bool(std::string_view)>& receive) {
  return parts_->send("POST", path, body, receive);
}

std::vector<std::string> EventReader::add(std::string_view bytes) {
  // Lines may end in "\r\n", a block may have lines of other kinds ("event:", ": ping"), and the
  // space behind "data:" may be missing.
  for (const char byte : bytes)
    if (byte != '\r') rest_ += byte;
  std::vector<std::string> payloads;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rest_.find("\n\n", begin)) != std::string::npos;) {
    const std::string_view block = std::string_view(rest_).substr(begin, end - begin);
    begin = end + 2;
    std::string payload;
    for (std::size_t at = 0; at < block.size();) {
      const std::size_t stop = std::min(block.find('\n', at), block.size());
      std::string_view line = block.substr(at, stop - at);
      at = stop + 1;
      if (!line.starts_with("data:")) continue;
      line.remove_prefix(5);
      if (line.starts_with(' ')) line.remove_prefix(1);
      payload += line;
    }
    if (!payload.empty()) payloads.push_back(std::move(payload));
  }
  rest_.erase(0, begin);
  return payloads;
}

std::string event(const std::string& payload) { return "data: " + payload + "\n\n"; }

}  // namespace draftproof::tools::http
