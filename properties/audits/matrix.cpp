#include "properties/audits/matrix.h"

#include "properties/audits/address.h"
#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

constexpr std::uint64_t kNarrowMask = (std::uint64_t{1} << 31) - 1;

/// A permutation of [0, 2^31) chosen by `key`: steps that can be undone, keys between them. Trials
/// of a case therefore never share a seed, which hashes of 31 bits would after 50,000 of them.
std::uint64_t permuted(std::uint64_t value, std::uint64_t key) {
  DRAFTPROOF_CHECK(value <= kNarrowMask, std::to_string(value));
  value = (value + key) & kNarrowMask;
  value ^= value >> 16;
  value = (value * 0x7feb352d + (key >> 31)) & kNarrowMask;
  value ^= value >> 15;
  value = (value * 0x846ca68b + (key >> 13)) & kNarrowMask;
  return value ^ (value >> 16);
}

}  // namespace

std::uint64_t seed_of(const Matrix& matrix, const AuditCase& audit_case, Arm arm,
                      std::uint64_t trial, bool is_narrow) {
  Address address(matrix.seed);
  address.add(audit_case.id);
  // Not the numbers of the enumerators: "both" is a third one.
  address.add(audit_case.seeding == Seeding::kShared ? 0 : arm == Arm::kBaseline ? 1 : 2);
  if (is_narrow) return permuted(trial, address.hash());
  address.add(trial);
  return address.hash() >> 1;
}

SamplingRequest request_of(const Matrix& matrix, const AuditCase& audit_case, Arm arm,
                           std::uint64_t trial, bool is_narrow) {
  SamplingRequest request = audit_case.request;
  request.seed = seed_of(matrix, audit_case, arm, trial, is_narrow);
  return request;
}

std::size_t shard_of(const Setting& setting, std::size_t count) {
  DRAFTPROOF_CHECK(count > 0);
  Address address(0);
  address.add(setting.id);
  return static_cast<std::size_t>(address.hash() % count);
}

}  // namespace draftproof::properties::audits
