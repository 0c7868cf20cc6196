#include "tools/report/progress.h"

#include <fmt/format.h>

#include "tools/report/table.h"

namespace draftproof::tools::report {
namespace {

constexpr double kBarSeconds = 0.1;
constexpr double kPlainSeconds = 10;
/// An estimate from less of the work than this says more about start-up than about the work.
constexpr double kLeastFraction = 0.02;

}  // namespace

std::string clock_of(double seconds) {
  const auto whole = static_cast<long>(seconds);
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string ProgressReporter::line() const {
  const double now = clock_();
  std::string text =
      fmt::format("{} of {} checks  {}", finished_, check_count_, clock_of(now - begun_at_));
  for (const auto& [index, check] : running_) {
    text += "  | " + check.id;
    if (check.of == 0) continue;
    text += fmt::format(" {} / {}", grouped(check.done), grouped(check.of));
    const double fraction = static_cast<double>(check.done) / static_cast<double>(check.of);
    if (fraction < kLeastFraction || fraction >= 1) continue;
    const double left = (now - check.begun_at) * (1 - fraction) / fraction;
    text += ", about " + clock_of(left) + " left";
  }
  return text;
}

void ProgressReporter::clear() {
  if (has_line_) write_("\r\x1b[K");
  has_line_ = false;
}

void ProgressReporter::show(bool at_once) {
  if (kind_ == ProgressKind::kNone) return;
  const double now = clock_();
  const double pause = kind_ == ProgressKind::kBar ? kBarSeconds : kPlainSeconds;
  if (!at_once && now - shown_at_ < pause) return;
  shown_at_ = now;
  if (kind_ == ProgressKind::kPlain) {
    write_(line() + "\n");
    return;
  }
  clear();
  // A line that wraps could not be rewritten.
  std::string text = line();
  if (width_of(text) > 119) text = text.substr(0, 116) + "...";
  write_(text);
  has_line_ = true;
}

void ProgressReporter::on(const Event& event) {
  if (const auto* started = std::get_if<RunStarted>(&event)) {
    check_count_ = started->check_count;
    shown_at_ = clock_();
  } else if (const auto* check = std::get_if<CheckStarted>(&event)) {
    running_[check->index] = {check->id, 0, 0, clock_()};
    show(kind_ == ProgressKind::kBar);
  } else if (const auto* progress = std::get_if<CheckProgress>(&event)) {
    const auto found = running_.find(progress->index);
    if (found == running_.end()) return;
    found->second.done = progress->done;
    found->second.of = progress->of;
    show(false);
  } else if (const auto* finished = std::get_if<CheckFinished>(&event)) {
    running_.erase(finished->index);
    ++finished_;
    show(false);
  } else if (const auto* warning = std::get_if<Warning>(&event)) {
    clear();
    if (kind_ != ProgressKind::kNone) write_("warning: " + warning->message + "\n");
  } else if (std::holds_alternative<RunFinished>(event)) {
    clear();
  }
}

}  // namespace draftproof::tools::report
