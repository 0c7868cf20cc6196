// Audit list: the catalogue of audits over transcripts, each with what it is, what it needs and the
// function that judges. Whoever adds an audit adds its file and its entry here.
#pragma once

#include <vector>

#include "properties/audits/check.h"

namespace draftproof::properties::audits {

struct Audit {
  AuditInfo info;
  oracle::Verdict (*verdict)(const CheckContext&) = nullptr;
};

/// In the order in which a reader understands them.
const std::vector<Audit>& audits();

/// Those of laws, controls first: a part of audits().
std::vector<Audit> law_audits();

}  // namespace draftproof::properties::audits
