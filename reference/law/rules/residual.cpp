// Residuals.
#include "reference/law/rules/residual.h"

#include "reference/error.h"

namespace draftproof::reference::law::rules {

LawRow residual(const LawRow& target, const LawRow& draft) {
  LawRow row(target.size());
  Exact sum = 0;
  for (std::size_t v = 0; v < row.size(); ++v) {
    if (target[v] > draft[v]) row[v] = target[v] - draft[v];
    sum += row[v];
  }
  DRAFTPROOF_CHECK(sum > 0, "no residual");
  for (Exact& probability : row) probability /= sum;
  return row;
}

}  // namespace draftproof::reference::law::rules
