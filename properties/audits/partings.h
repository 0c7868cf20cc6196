// Partings: where a greedy output leaves the baseline's, and what that means. The row at the first
// token that differs is known exactly where the target is, else by what the baseline reports of it;
// what the arithmetic may do to it is declared, derived, or seen where the baseline is run against
// itself. oracle/margin.h decides; here are rows and bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oracle/margin.h"
#include "properties/audits/check.h"

namespace draftproof::properties::audits {

/// Two logits of one row may differ between two runs by `near` at most; what parts by more than
/// `fault` is no rounding. Between them nothing is decided.
struct MarginBound {
  double near = 0;
  double fault = 0;
  bool is_known = false;  ///< false: nothing is decided
  std::string source;     ///< "declared", "measured in 320 gaps of the baseline with itself", ...
};

/// How the baseline differs from itself: its trials and repeats of one prompt are one request at
/// temperature 0, and must come out alike.
struct SelfControl {
  std::uint64_t compared = 0;  ///< runs that were held against the first of their prompt
  std::uint64_t parted = 0;
  double margin_max = 0;  ///< of those partings whose row is known
  oracle::NoiseFloor floor;
};
SelfControl self_control(const CheckContext& context);

MarginBound margin_bound(const CheckContext& context, const SelfControl& control);

struct OutputParting {
  oracle::Parting parting;
  std::string because;  ///< why it is of its kind
  bool is_of_ends =
      false;  ///< the tokens are the same; one stopped where the other ended by length
};

/// Where `output` leaves the baseline's; nullopt when they are alike. Precondition: neither failed.
std::optional<OutputParting> parting_of(const CheckContext& context, const Transcript& baseline,
                                        const Completion& output, const MarginBound& bound);

}  // namespace draftproof::properties::audits
