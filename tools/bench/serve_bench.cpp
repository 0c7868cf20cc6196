// What a served toy takes: clients over loopback, as many requests as they get answered. A
// benchmark by hand: `ninja serve_bench`, then
//   taskset -c 0 ./serve_bench [SECONDS [CLIENTS [TOKENS [TOY]]]]
// prints requests and tokens a second, and the processor's time with clients included.
#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tools/engines/http.h"
#include "tools/serve/served_toy.h"

namespace {

using namespace draftproof::tools;
using Clock = std::chrono::steady_clock;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void measure(const serve::ToySettings& settings, double seconds, int clients, int tokens) {
  auto options = serve::served_toy(settings);
  serve::Service service(std::move(options));
  const int port = service.port();
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const double cpu_before = cpu_seconds();
  std::atomic<std::int64_t> answered{0}, failed{0};
  std::vector<std::thread> threads;
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&, client] {
      http::Client connection("127.0.0.1", port);
      for (int i = 0; Clock::now() < end; ++i) {
        const std::string body = fmt::format(
            R"({{"prompt":[0,1],"n_predict":{},"samplers":["temperature"],"return_tokens":true,)"
            R"("temperature":1,"seed":{}}})",
            tokens, client * 1000003 + i);
        (connection.post("/completion", body).status == 200 ? answered : failed) += 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double cpu = cpu_seconds() - cpu_before;
  const serve::Totals totals = service.totals();
  fmt::print(
      "{:<12} speculation {:<3} {:>3} clients {:>4} tokens: {:>7.0f} requests/s, {:>8.0f} "
      "tokens/s, {:.2f} CPU s in {:.1f} s, {:.2f} drafted tokens accepted a draft, {} "
      "failed\n",
      settings.toy, settings.is_speculative ? "on" : "off", clients, tokens,
      static_cast<double>(answered) / seconds,
      static_cast<double>(totals.completion_tokens) / seconds, cpu, seconds,
      totals.drafts > 0 ? static_cast<double>(totals.accepted) / static_cast<double>(totals.drafts)
                        : 0.0,
      failed.load());
}

}  // namespace

int main(int argument_count, char** arguments) {
  const auto argument = [&](int index, const char* usual) -> std::string {
    return index < argument_count ? arguments[index] : usual;
  };
  const double seconds = std::stod(argument(1, "3"));
  const int clients = std::stoi(argument(2, "8"));
  const int tokens = std::stoi(argument(3, "8"));
  std::vector<std::string> toys = {"hashed", "markov", "full-memory"};
  if (argument_count > 4) toys = {arguments[4]};
  for (const std::string& toy : toys) {
    for (const bool is_speculative : {true, false}) {
      serve::ToySettings settings;
      settings.toy = toy;
      settings.is_speculative = is_speculative;
      measure(settings, seconds, clients, tokens);
    }
  }
  return 0;
}
