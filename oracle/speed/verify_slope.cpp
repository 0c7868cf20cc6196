#include "oracle/speed/verify_slope.h"

#include <algorithm>
#include <cmath>

#include "oracle/speed/tile.h"
#include "reference/error.h"

namespace draftproof::oracle::speed {

double VerifyTerms::total() const { return std::max(memory(), arithmetic) + communication; }

double expected_active_experts(std::int64_t experts, std::int64_t experts_per_token,
                               std::int64_t rows) {
  DRAFTPROOF_CHECK(experts >= 0 && experts_per_token >= 0 && experts_per_token <= experts);
  DRAFTPROOF_CHECK(rows >= 0, std::to_string(rows));
  if (experts == 0 || rows == 0) return 0;
  const auto all = static_cast<double>(experts);
  const double missed = 1 - static_cast<double>(experts_per_token) / all;
  return all * (1 - std::pow(missed, static_cast<double>(rows)));
}

VerifyTerms verify_terms(const TargetShape& target, const DeviceRates& device,
                         const Workload& workload) {
  DRAFTPROOF_CHECK(workload.batch >= 1 && workload.draft_length >= 0 && workload.context >= 0);
  DRAFTPROOF_CHECK(device.memory_bytes_per_second > 0 && device.operations_per_second > 0);
  const std::int64_t rows = gemm_rows(workload.batch, workload.draft_length);
  const auto row_count = static_cast<double>(rows);
  const double active = expected_active_experts(target.experts, target.experts_per_token, rows);
  const auto reads =
      tile_use(attention_rows(target.query_group, workload.draft_length), target.tile);
  const double kv_bytes = static_cast<double>(workload.batch) * workload.context *
                          target.kv_bytes_per_token * static_cast<double>(reads.tiles);
  VerifyTerms terms;
  terms.dense_weights = target.dense_bytes / device.memory_bytes_per_second;
  terms.experts = active * target.expert_bytes / device.memory_bytes_per_second;
  terms.kv = kv_bytes / device.memory_bytes_per_second;
  terms.arithmetic = row_count *
                     (target.operations_per_row + target.attention_operations * workload.context) /
                     device.operations_per_second;
  const double link_bytes = row_count * target.link_bytes_per_row;
  DRAFTPROOF_CHECK(link_bytes == 0 || device.link_bytes_per_second > 0);
  terms.communication = static_cast<double>(target.exchanges) * device.exchange_seconds;
  if (link_bytes > 0) terms.communication += link_bytes / device.link_bytes_per_second;
  return terms;
}

VerifySlope verify_slope(const TargetShape& target, const DeviceRates& device,
                         const Workload& workload) {
  const VerifyTerms here = verify_terms(target, device, workload);
  Workload longer = workload;
  longer.draft_length += 1;
  const VerifyTerms there = verify_terms(target, device, longer);
  return {
      {there.dense_weights - here.dense_weights, there.experts - here.experts, there.kv - here.kv,
       there.arithmetic - here.arithmetic, there.communication - here.communication},
      there.total() - here.total()};
}

}  // namespace draftproof::oracle::speed
