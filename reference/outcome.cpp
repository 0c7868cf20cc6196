// The words in which reports and case files write a reason.
#include "reference/outcome.h"

namespace draftproof::reference {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kAccepted:
      return "accepted";
    case Reason::kRecovered:
      return "recovered";
    case Reason::kBonus:
      return "bonus";
  }
  return "unknown-reason";
}

}  // namespace draftproof::reference
