#include "tools/serve/service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "reference/error.h"

namespace draftproof::tools::serve {
namespace {

using namespace std::chrono_literals;
using Tickets = std::vector<EngineHost::Ticket>;

/// How long a client waits that went away unseen.
constexpr auto kLook = 50ms;

std::vector<Completion> completions_of(const Tickets& tickets) {
  std::vector<Completion> done;
  for (const auto& ticket : tickets) done.push_back(ticket.so_far());
  return done;
}

/// True when all are done; waits at most so long.
bool wait_for_all(const Tickets& tickets, std::chrono::milliseconds time_max) {
  const auto deadline = std::chrono::steady_clock::now() + time_max;
  return std::all_of(tickets.begin(), tickets.end(), [&](const auto& ticket) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    return ticket.wait(std::max(left, 0ms));
  });
}

/// An answer that takes its time: the connection is looked at while it does.
class WholeSource : public http::Source {
 public:
  WholeSource(std::shared_ptr<Exchange> exchange, Tickets tickets)
      : exchange_(std::move(exchange)), tickets_(std::move(tickets)) {}

  Piece next() override {
    try {
      if (!wait_for_all(tickets_, kLook)) return {};
      return {dumped(exchange_->answer(completions_of(tickets_))), true, false};
    } catch (const std::exception&) {
      return {"", false, true};  // the status line is gone: closing is all that is left to say
    }
  }

 private:
  std::shared_ptr<Exchange> exchange_;
  Tickets tickets_;
};

class EventSource : public http::Source {
 public:
  EventSource(std::shared_ptr<Exchange> exchange, Tickets tickets, const Dialect& dialect)
      : exchange_(std::move(exchange)),
        tickets_(std::move(tickets)),
        dialect_(dialect),
        progress_(tickets_.size()) {}

  Piece next() override {
    Piece piece;
    try {
      wait();
      bool is_over = true;
      for (std::size_t i = 0; i < tickets_.size(); ++i) {
        Progress& progress = progress_[i];
        if (progress.is_done) continue;
        const Completion so_far = tickets_[i].so_far();
        if (so_far.tokens.size() > progress.shown || so_far.is_done())
          piece.bytes += exchange_->piece(i, so_far, progress.shown);
        progress = {so_far.tokens.size(), so_far.is_done()};
        is_over = is_over && progress.is_done;
      }
      if (is_over) piece.bytes += exchange_->last_piece(completions_of(tickets_));
      piece.is_last = is_over;
    } catch (const std::exception& failure) {
      piece.bytes += http::event(dialect_.error(500, failure.what()));
      piece.is_last = true;
    }
    return piece;
  }

 private:
  struct Progress {
    std::size_t shown = 0;
    bool is_done = false;
  };

  /// For news of the first order that is not done; others' news then waits a moment.
  void wait() const {
    const auto time_max = tickets_.size() == 1 ? kLook : 5ms;
    for (std::size_t i = 0; i < tickets_.size(); ++i) {
      if (progress_[i].is_done) continue;
      tickets_[i].wait_for_more(progress_[i].shown, time_max);
      return;
    }
  }

  std::shared_ptr<Exchange> exchange_;
  Tickets tickets_;
  const Dialect& dialect_;
  std::vector<Progress> progress_;
};

std::uint64_t unix_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

}  // namespace

class Service::Parts {
 public:
  explicit Parts(ServiceOptions options) : dialect_(std::move(options.dialect)) {
    options.host.config.contract = dialect_.contract;
    host_ = std::make_unique<EngineHost>(std::move(options.host));
    served_ = {options.model, &host_->options().config, &host_->options().spelling,
               options.eos,   options.draft_method,     unix_time()};
    server_ = std::make_unique<http::Server>(options.http, routes(), dialect_.error);
  }

  void stop(std::chrono::milliseconds grace) {
    host_->stop(grace);
    server_->stop();
  }

  const http::Server& server() const { return *server_; }
  const EngineHost& host() const { return *host_; }

 private:
  std::vector<http::Route> routes() {
    std::vector<http::Route> list;
    for (const Endpoint& each : dialect_.endpoints)
      list.push_back({"POST", each.path, [this, each](const http::Request& request) {
                        return guarded([&] { return decoded(each, request); });
                      }});
    for (const Form& each : dialect_.forms)
      list.push_back({"POST", each.path, [this, each](const http::Request& request) {
                        return guarded([&]() -> http::Response {
                          return {.body = dumped(each.answer(parse_body(request.body), served_))};
                        });
                      }});
    for (const Page& each : dialect_.pages)
      list.push_back({"GET", each.path, [this, each](const http::Request&) -> http::Response {
                        return {.type = each.type, .body = each.body(served_, host_->totals())};
                      }});
    return list;
  }

  template <typename Answer>
  http::Response guarded(const Answer& answer) const {
    const auto refusal = [&](int status, const char* message) -> http::Response {
      return {.status = status, .body = dialect_.error(status, message)};
    };
    try {
      return answer();
    } catch (const UnknownModel& error) {
      return refusal(404, error.what());
    } catch (const Error& error) {
      return refusal(error.kind() == ErrorKind::kInput ? 400 : 500, error.what());
    } catch (const Busy& error) {
      http::Response response = refusal(dialect_.busy_status, error.what());
      response.headers.emplace_back("Retry-After", "1");
      return response;
    } catch (const EngineFailure& error) {
      return refusal(500, error.what());
    }
  }

  http::Response decoded(const Endpoint& endpoint, const http::Request& request) {
    std::shared_ptr<Exchange> exchange = endpoint.read(parse_body(request.body), served_);
    Tickets tickets = host_->submit(exchange->orders);
    if (exchange->is_streaming)
      return {.type = "text/event-stream",
              .source =
                  std::make_shared<EventSource>(std::move(exchange), std::move(tickets), dialect_)};
    if (wait_for_all(tickets, kLook))
      return {.body = dumped(exchange->answer(completions_of(tickets)))};
    return {.source = std::make_shared<WholeSource>(std::move(exchange), std::move(tickets))};
  }

  Dialect dialect_;
  std::unique_ptr<EngineHost> host_;
  Served served_;
  std::unique_ptr<http::Server> server_;
};

Service::Service(ServiceOptions options) : parts_(std::make_unique<Parts>(std::move(options))) {}
Service::~Service() { stop(std::chrono::milliseconds(0)); }
int Service::port() const { return parts_->server().port(); }
Totals Service::totals() const { return parts_->host().totals(); }
PagesInUse Service::pages_in_use() const { return parts_->host().pages_in_use(); }
void Service::stop(std::chrono::milliseconds grace) { parts_->stop(grace); }

}  // namespace draftproof::tools::serve
