// Collect progress: what somebody who waits for an audit sees on stderr: the setting that is asked,
// how far it is, how many are done. A rewritten line on a terminal, a plain one every ten seconds
// elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "properties/audits/matrix.h"
#include "tools/report/progress.h"

namespace draftproof::tools {

class CollectProgress {
 public:
  CollectProgress(report::ProgressKind kind, const properties::audits::Matrix& matrix,
                  std::size_t setting_count, std::function<void(const std::string&)> write,
                  std::function<double()> clock);
  ~CollectProgress() { clear(); }
  CollectProgress(const CollectProgress&) = delete;

  /// Answers of both arms to this setting, of so many at most.
  void tell(std::size_t setting, std::uint64_t done, std::uint64_t of);
  /// Takes the line away, so that something else can be written.
  void clear();

 private:
  report::ProgressKind kind_;
  const properties::audits::Matrix& matrix_;
  std::size_t setting_count_;
  std::function<void(const std::string&)> write_;
  std::function<double()> clock_;
  double begun_at_, shown_at_;
  bool has_line_ = false;
  std::map<std::size_t, std::uint64_t> done_;  ///< by setting
};

}  // namespace draftproof::tools
