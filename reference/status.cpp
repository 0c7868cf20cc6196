// The words in which reports and case files write a status.
#include "reference/status.h"

namespace draftproof::reference {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kNan:
      return "nan";
    case Status::kPositiveInfinity:
      return "positive-infinity";
    case Status::kEmptyRow:
      return "empty-row";
    case Status::kRange:
      return "range";
    case Status::kBadProbability:
      return "bad-probability";
    case Status::kDraftTokenRange:
      return "draft-token-range";
    case Status::kDraftMassZero:
      return "draft-mass-zero";
    case Status::kMalformedTree:
      return "malformed-tree";
  }
  // A kernel may write any word; what it writes is judged elsewhere, and this only names it.
  return "unknown-status";
}

}  // namespace draftproof::reference
