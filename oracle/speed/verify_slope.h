// Verify slope: why verifying 1 + D rows costs more than decoding one, term by term. A roofline:
// each term is bytes over bandwidth or operations over rate; memory traffic and arithmetic overlap,
// the link does not.
//   dense weights   read once a step whatever the rows are
//   experts         E (1 - (1 - k/E)^rows) of them are hit by rows that each pick k of E: the term
//                   that makes a draft expensive on a mixture of experts at small batches
//   KV              read once per sequence and tile of G (1 + D) rows
//   arithmetic      grows with the rows; decides once the step is no longer bound by memory
//   communication   bytes per row over the link, and a latency per exchange
// Bytes and seconds throughout; what a model or device has is the caller's to state.
#pragma once

#include <cstdint>

namespace draftproof::oracle::speed {

/// What a verify reads and computes. Everything not negative.
struct TargetShape {
  double dense_bytes = 0;              ///< weights that every row passes through
  double expert_bytes = 0;             ///< weights of one expert, over all layers
  std::int64_t experts = 0;            ///< E a layer; 0: no experts
  std::int64_t experts_per_token = 0;  ///< k
  double kv_bytes_per_token = 0;       ///< over all layers and KV heads
  double operations_per_row = 0;       ///< floating-point operations of one row, attention apart
  double attention_operations = 0;     ///< per row and token of context
  double link_bytes_per_row = 0;       ///< exchanged between devices
  std::int64_t exchanges = 0;          ///< a step
  std::int64_t query_group = 1;        ///< G
  std::int64_t tile = 128;             ///< attention rows that share one read of the KV
};

/// What a device delivers. Rates positive; `link_bytes_per_second` may be 0 when nothing is
/// exchanged.
struct DeviceRates {
  double memory_bytes_per_second = 0;
  double operations_per_second = 0;
  double link_bytes_per_second = 0;
  double exchange_seconds = 0;
};

struct Workload {
  std::int64_t batch = 1;
  std::int64_t draft_length = 0;
  double context = 0;  ///< tokens already in the KV, per sequence
};

/// Seconds of each term of one verify.
struct VerifyTerms {
  double dense_weights = 0;
  double experts = 0;
  double kv = 0;
  double arithmetic = 0;
  double communication = 0;
  double memory() const { return dense_weights + experts + kv; }
  bool is_memory_bound() const { return memory() >= arithmetic; }
  /// max(memory, arithmetic) + communication.
  double total() const;
};

/// E (1 - (1 - k/E)^rows): experts expected to be hit when each row picks k different ones of E at
/// random, independently of the other rows. Real routers are not uniform and rows of one draft are
/// alike, so it is an upper bound in practice. Preconditions: 0 <= k <= E, rows >= 0.
double expected_active_experts(std::int64_t experts, std::int64_t experts_per_token,
                               std::int64_t rows);

/// Preconditions: as above; throws BrokenInvariant otherwise.
VerifyTerms verify_terms(const TargetShape& target, const DeviceRates& device,
                         const Workload& workload);

/// Each term of D + 1 minus the same term of D: what one more drafted token costs. The bound may
/// change between the two, so the totals' difference is in `total`.
struct VerifySlope {
  VerifyTerms terms;
  double total = 0;
};
VerifySlope verify_slope(const TargetShape& target, const DeviceRates& device,
                         const Workload& workload);

}  // namespace draftproof::oracle::speed
