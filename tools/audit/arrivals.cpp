#include "tools/audit/arrivals.h"

#include <chrono>
#include <cmath>
#include <exception>
#include <mutex>
#include <sstream>
#include <thread>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;
using properties::Completion;
using properties::SamplingRequest;

constexpr std::string_view kPoisson = "poisson:";
constexpr double kGapMax = 86400;

/// Murmur3's finaliser (Appleby): every bit of the address in every bit of the number.
std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class OpenLoop final : public properties::Engine {
 public:
  OpenLoop(std::shared_ptr<engines::ArmClient> baseline,
           std::shared_ptr<engines::ArmClient> speculative, Arrivals arrivals)
      : clients_{std::move(baseline), std::move(speculative)}, arrivals_(std::move(arrivals)) {}

  properties::Capabilities capabilities() const override { return clients_[1]->capabilities(); }

  std::vector<Completion> generate(Arm arm, const std::vector<SamplingRequest>& requests) override {
    const auto index = static_cast<std::size_t>(arm);
    engines::ArmClient& client = *clients_[index];
    std::vector<Completion> completions(requests.size());
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::thread> flights;
    double due = seconds_now();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (i > 0) due += arrivals_.gap(next_[index] + i);
      std::this_thread::sleep_for(std::chrono::duration<double>(due - seconds_now()));
      flights.emplace_back([&, i, due] {
        try {
          const double sent = seconds_now();
          Completion completion = client.complete(requests[i]);
          if (!completion.timing)
            completion.timing = {.due = due, .sent = sent, .ended = seconds_now()};
          completion.timing->due = due;
          completions[i] = std::move(completion);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
        }
      });
    }
    for (std::thread& flight : flights) flight.join();
    next_[index] += requests.size();
    if (failure) std::rethrow_exception(failure);
    return completions;
  }

 private:
  std::shared_ptr<engines::ArmClient> clients_[2];
  Arrivals arrivals_;
  std::size_t next_[2] = {0, 0};
};

}  // namespace

Arrivals::Arrivals(const std::string& text, std::uint64_t seed) : seed_(seed) {
  if (text.starts_with(kPoisson)) {
    std::istringstream number(text.substr(kPoisson.size()));
    if (!(number >> rate_) || !number.eof() || !std::isfinite(rate_) || rate_ <= 0)
      throw Error(ErrorKind::kInput,
                  "\"" + text +
                      "\" has no rate; write poisson:2.5 for 2.5 "
                      "requests a second",
                  "speed.arrivals");
    return;
  }
  std::istringstream lines(store::read_file(text));
  double before = 0;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string place = text + ":" + std::to_string(number);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    double at = 0;
    std::string rest;
    if (!(words >> at) || (words >> rest) || !std::isfinite(at) || at < 0)
      throw Error(ErrorKind::kInput, "\"" + line + "\" is no time in seconds", place);
    if (at < before)
      throw Error(ErrorKind::kInput, "an arrival lies before the one above it", place);
    if (at - before > kGapMax)
      throw Error(ErrorKind::kInput, "a day or more lies between two arrivals", place);
    gaps_.push_back(at - before);
    before = at;
  }
  if (gaps_.empty()) throw Error(ErrorKind::kInput, "holds no arrival", text);
}

double Arrivals::gap(std::size_t i) const {
  if (i == 0) return 0;
  if (!gaps_.empty()) return gaps_[i % gaps_.size()];
  // Exponential, by inversion; the number is in (0, 1].
  const double number = (static_cast<double>(mixed(seed_ ^ mixed(i + 1)) >> 11) + 1) * 0x1p-53;
  return -std::log(number) / rate_;
}

std::unique_ptr<properties::Engine> open_loop(std::shared_ptr<engines::ArmClient> baseline,
                                              std::shared_ptr<engines::ArmClient> speculative,
                                              Arrivals arrivals) {
  return std::make_unique<OpenLoop>(std::move(baseline), std::move(speculative),
                                    std::move(arrivals));
}

}  // namespace draftproof::tools::audit
