// serve: a toy engine over HTTP, until it is told to stop.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <ostream>

#include "reference/error.h"
#include "tools/draftproof/commands/commands.h"
#include "tools/serve/service.h"

namespace draftproof::tools {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);

/// SIGINT and SIGTERM of all threads that start behind it, taken one by one; a second one while the
/// server stops has its usual effect.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  StopSignals(const StopSignals&) = delete;
  ~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  int wait() {
    int signal = 0;
    sigwait(&set_, &signal);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    return signal;
  }

 private:
  sigset_t set_;
  sigset_t before_;
};

}  // namespace

ExitCode serve_command(const ServeSettings& settings, const Streams& streams) {
  serve::ToySettings toy = settings.toy;
  toy.is_speculative = settings.speculation == "on";
  if (!settings.seed.empty()) toy.seed = seed_from(settings.seed, "--seed");
  serve::ServiceOptions options = serve::served_toy(toy);
  if (settings.host.empty())
    throw Error(ErrorKind::kInput, "is empty; name an address of this machine, or leave it out",
                "--host");
  options.http.host = settings.host;
  options.http.port = settings.port;
  const std::string bug = toy.bug.empty() ? "" : " bug " + toy.bug;
  StopSignals signals;
  serve::Service service(std::move(options));
  // Whoever waits for this line may send requests as soon as it has it.
  fmt::print(streams.out, "listening on http://{}:{} dialect {} toy {} speculation {}{}\n",
             settings.host, service.port(), toy.dialect, toy.toy, settings.speculation, bug);
  streams.out.flush();
  const int signal = signals.wait();
  service.stop(kGrace);
  const serve::Totals totals = service.totals();
  fmt::print(streams.err, "stopped: {} tokens, {} drafted, {} accepted\n", totals.completion_tokens,
             totals.drafted, totals.accepted);
  return signal == SIGINT ? ExitCode::kInterrupted : ExitCode::kUpheld;
}

}  // namespace draftproof::tools
