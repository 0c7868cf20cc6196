#include "tools/draftproof/collect_progress.h"

#include <fmt/format.h>

#include <numeric>

#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

constexpr double kBarSeconds = 0.1;
constexpr double kPlainSeconds = 10;
constexpr std::size_t kWidth = 119;

}  // namespace

CollectProgress::CollectProgress(report::ProgressKind kind,
                                 const properties::audits::Matrix& matrix,
                                 std::size_t setting_count,
                                 std::function<void(const std::string&)> write,
                                 std::function<double()> clock)
    : kind_(kind),
      matrix_(matrix),
      setting_count_(setting_count),
      write_(std::move(write)),
      clock_(std::move(clock)),
      begun_at_(clock_()),
      shown_at_(begun_at_) {}

void CollectProgress::tell(std::size_t setting, std::uint64_t done, std::uint64_t of) {
  done_[setting] = done;
  if (kind_ == report::ProgressKind::kNone) return;
  const double now = clock_();
  const bool is_bar = kind_ == report::ProgressKind::kBar;
  if (now - shown_at_ < (is_bar ? kBarSeconds : kPlainSeconds)) return;
  shown_at_ = now;
  const std::uint64_t all =
      std::accumulate(done_.begin(), done_.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const auto& each) { return sum + each.second; });
  std::string line = fmt::format(
      "{}  {} of at most {} trials an arm  | {} of {} settings begun, {} trials  {}",
      matrix_.settings[setting].id, report::grouped(done), report::grouped(of), done_.size(),
      setting_count_, report::grouped(all), report::clock_of(now - begun_at_));
  if (!is_bar) {
    write_(line + "\n");
    return;
  }
  clear();
  if (report::width_of(line) > kWidth) line = line.substr(0, kWidth - 3) + "...";
  write_(line);
  has_line_ = true;
}

void CollectProgress::clear() {
  if (has_line_) write_("\r\x1b[K");
  has_line_ = false;
}

}  // namespace draftproof::tools
