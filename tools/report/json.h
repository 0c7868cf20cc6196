// JSON: the complete report as one document (schema "draftproof/report/1", tools/schema) and the
// event stream as one JSON object a line. `null` means "not reported", nothing else.
#pragma once

#include <functional>
#include <string>

#include "tools/report/report.h"

namespace draftproof::tools::report {

/// The whole document, indented, with a final newline.
std::string json_of(const Run& run);

/// One event as one line, without the newline; empty for events that a log does not carry.
std::string json_line_of(const Event& event);

/// Writes every event as it happens, so that a log of an interrupted run is complete so far.
class JsonLinesReporter final : public Reporter {
 public:
  explicit JsonLinesReporter(std::function<void(const std::string&)> write)
      : write_(std::move(write)) {}
  void on(const Event& event) override;

 private:
  std::function<void(const std::string&)> write_;
};

}  // namespace draftproof::tools::report
