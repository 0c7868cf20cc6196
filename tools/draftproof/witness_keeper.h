// Witness keeper: stores the case of every violation as it is found and gives its witness the
// command that replays it, before any rendering sees it.
#pragma once

#include <filesystem>
#include <string>

#include "tools/report/report.h"

namespace draftproof::tools {

class WitnessKeeper final : public report::Reporter {
 public:
  /// `arguments`: what a replay needs besides the case, for instance "--subject mutant:NAME".
  WitnessKeeper(std::filesystem::path report_dir, std::string arguments, report::Reporter& next)
      : report_dir_(std::move(report_dir)), arguments_(std::move(arguments)), next_(next) {}

  /// A case that cannot be written is a warning; the violation stands.
  void on(const report::Event& event) override;

 private:
  std::filesystem::path report_dir_;
  std::string arguments_;
  report::Reporter& next_;
};

}  // namespace draftproof::tools
