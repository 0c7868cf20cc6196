#include "tools/engines/http.h"

#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "reference/error.h"

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
  Parts(const std::string& host, int port, const ClientOptions& options)
      : client_(host, port), place_("http://" + host + ":" + std::to_string(port)) {
    std::signal(SIGPIPE, SIG_IGN);  // as the server does: a peer that goes away is no signal
    client_.set_tcp_nodelay(true);
    client_.set_keep_alive(true);
    client_.set_connection_timeout(options.connect_seconds_max);
    client_.set_read_timeout(options.read_seconds_max);
  }

  /// `receive` may be empty.
  Reply send(const char* method, const std::string& path, const std::string& body,
             const std::function<bool(std::string_view)>& receive) {
    httplib::Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.set_header("Accept-Encoding", "identity");
    if (request.method == "POST") request.set_header("Content-Type", "application/json");
    int status = 0;
    bool has_hung_up = false;
    std::string refusal;
    if (receive) {
      request.response_handler = [&](const httplib::Response& head) {
        status = head.status;
        return true;
      };
      request.content_receiver = [&](const char* bytes, std::size_t count, std::uint64_t,
                                     std::uint64_t) {
        if (status != 200) {
          refusal.append(bytes, count);
          return true;
        }
        has_hung_up = !receive(std::string_view(bytes, count));
        return !has_hung_up;
      };
    }
    const httplib::Result result = client_.send(request);
    if (has_hung_up) {
      client_.stop();
      return {status, "", "", ""};
    }
    if (!result) {
      throw Error(ErrorKind::kEnvironment,
                  "no answer (" + httplib::to_string(result.error()) + "); is the server running?",
                  place_ + path);
    }
    return {result->status, result->get_header_value("Content-Type"),
            result->get_header_value("Retry-After"), receive ? refusal : result->body};
  }

 private:
  httplib::Client client_;
  std::string place_;
};

Client::Client(const std::string& host, int port, const ClientOptions& options)
    : parts_(std::make_unique<Parts>(host, port, options)) {}
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
  rest_ += bytes;
  std::vector<std::string> payloads;
  for (std::size_t end = 0; (end = rest_.find("\n\n")) != std::string::npos;) {
    const std::string block = rest_.substr(0, end);
    rest_.erase(0, end + 2);
    if (block.starts_with("data: ")) payloads.push_back(block.substr(6));
  }
  return payloads;
}

std::string event(const std::string& payload) { return "data: " + payload + "\n\n"; }

}  // namespace draftproof::tools::http
