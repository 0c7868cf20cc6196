// Progress: what a person waiting sees on stderr. A rewritten line on a terminal, one plain line
// every ten seconds elsewhere.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "tools/report/report.h"

namespace draftproof::tools::report {

enum class ProgressKind { kBar, kPlain, kNone };

/// "1:05", "12:00:03".
std::string clock_of(double seconds);

class ProgressReporter final : public Reporter {
 public:
  using Clock = std::function<double()>;  ///< seconds, monotonic

  /// `write` receives text as it is to appear, escape codes included.
  ProgressReporter(ProgressKind kind, std::function<void(const std::string&)> write, Clock clock)
      : kind_(kind), write_(std::move(write)), clock_(std::move(clock)), begun_at_(clock_()) {}
  void on(const Event& event) override;

 private:
  struct Running {
    std::string id;
    std::uint64_t done = 0;
    std::uint64_t of = 0;
    double begun_at = 0;
  };
  std::string line() const;
  void show(bool at_once);
  void clear();

  ProgressKind kind_;
  std::function<void(const std::string&)> write_;
  Clock clock_;
  double begun_at_;
  double shown_at_ = 0;
  bool has_line_ = false;
  std::size_t finished_ = 0;
  std::size_t check_count_ = 0;
  std::map<std::size_t, Running> running_;
};

}  // namespace draftproof::tools::report
