// Matrix: what an audit asks, as data: settings (one point of temperature x filters x ...), and in
// each of them cases (one prompt). A trial of a case is a pure function of (run seed, case, trial),
// so runs resume by filling gaps and split over shards by setting, without coordination.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "properties/engine.h"

namespace draftproof::properties::audits {

/// kShared: both arms get one seed for a trial, so that engines whose coins are keyed by position
/// must answer alike. kIndependent: each arm has its own, as two samples of a law need.
enum class Seeding : std::uint8_t { kIndependent, kShared };

/// One cell of the matrix; audits x settings are the checks of a run.
struct Setting {
  std::string id;                ///< "t0.7-k8": letters, digits, '.', '-', '_'
  SamplingRequest request = {};  ///< everything but prompt and seed
  int concurrency = 1;           ///< requests in flight in an arm

  bool is_greedy() const { return request.sampling.temperature == 0; }
};

/// One prompt in one setting.
struct AuditCase {
  std::string id;           ///< "SETTING/PROMPT" or "SETTING/PROMPT/shared"
  std::size_t setting = 0;  ///< index in Matrix::settings
  std::string prompt_name;
  SamplingRequest request = {};  ///< the setting's with the prompt; no seed
  Seeding seeding = Seeding::kIndependent;
  std::string cohort;
  std::uint64_t trial_max = 0;  ///< trials that a plan wants at most; the first look is less
};

struct Matrix {
  std::uint64_t seed = 1;
  std::vector<Setting> settings;
  std::vector<AuditCase> cases;
  std::uint64_t first_look = 32;  ///< trials of a case; looks double from here on
};

/// The seed of a trial: 63 bits, so that every engine takes it as a signed number; below 2^31 where
/// `is_narrow`. Shared cases give both arms the same, repeats always give the trial's.
std::uint64_t seed_of(const Matrix& matrix, const AuditCase& audit_case, Arm arm,
                      std::uint64_t trial, bool is_narrow);

/// The request of a trial, seed included.
SamplingRequest request_of(const Matrix& matrix, const AuditCase& audit_case, Arm arm,
                           std::uint64_t trial, bool is_narrow);

/// Which of `count` shards a setting belongs to: by hash of its id, the same everywhere.
std::size_t shard_of(const Setting& setting, std::size_t count);

}  // namespace draftproof::properties::audits
