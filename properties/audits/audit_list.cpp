#include "properties/audits/audit_list.h"

namespace draftproof::properties::audits {

const std::vector<Audit>& audits() {
  static const std::vector<Audit> list = {};
  return list;
}

const std::vector<AuditInfo>& audit_infos() {
  static const std::vector<AuditInfo> infos = [] {
    std::vector<AuditInfo> list;
    for (const Audit& audit : audits()) list.push_back(audit.info);
    return list;
  }();
  return infos;
}

}  // namespace draftproof::properties::audits
