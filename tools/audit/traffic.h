// Traffic: when the requests of a run are due, and what their answers have to keep.
#pragma once

#include <optional>
#include <string>

namespace draftproof::tools::audit {

/// What an answer has to keep so that its tokens are goodput; seconds, absent: anything will do.
struct ServiceLevel {
  std::optional<double> ttft;  ///< due to first piece
  std::optional<double> itl;   ///< mean between tokens behind it

  bool is_stated() const { return ttft || itl; }
};

struct Traffic {
  std::string arrivals;  ///< of an open loop: "poisson:RATE" or a file; empty: closed
  ServiceLevel level;
};

}  // namespace draftproof::tools::audit
