#include "properties/audits/check.h"

#include <algorithm>

#include "oracle/family.h"
#include "properties/audits/address.h"

namespace draftproof::properties::audits {

std::vector<std::uint64_t> look_sizes(const CheckContext& context, Arm arm) {
  std::uint64_t all = 0;
  for (const AuditCase* audit_case : context.cases) {
    const auto& trials = context.evidence.of(audit_case->id, arm);
    if (!trials.empty()) all = std::max(all, trials.rbegin()->first + 1);
  }
  if (all == 0) return {};
  return oracle::looks(std::min(std::max<std::uint64_t>(context.matrix.first_look, 1), all), all);
}

double place_coin(const Matrix& matrix, const TrialKey& key, std::size_t position) {
  Address address(matrix.seed);
  address.add("place");
  address.add(key.case_id);
  address.add(static_cast<std::uint64_t>(key.arm));
  address.add(key.trial);
  address.add(std::uint64_t{key.repeat});
  address.add(static_cast<std::uint64_t>(position));
  return address.coin();
}

oracle::Verdict begun(const CheckContext& context) {
  oracle::Verdict verdict;
  verdict.claim = context.info.claim;
  verdict.property = context.info.id;
  verdict.setting = context.setting.id;
  verdict.subject = context.settings.speculative.name;
  return verdict;
}

}  // namespace draftproof::properties::audits
