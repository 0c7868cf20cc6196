// Expected lengths in closed form.
#include "reference/draft/expected.h"

#include <algorithm>
#include <set>

namespace draftproof::reference::draft {

// Level by level: the paths that may still be kept, with what is kept of each.
Exact expected_by_ratio(const model::ToyModel& target, const Context& context, int draft_count,
                        const PathLaw& draft) {
  std::vector<std::pair<std::vector<Token>, Exact>> level = {{{}, Exact(1)}};
  Exact sum = 1;
  for (int depth = 0; depth < draft_count; ++depth) {
    std::vector<std::pair<std::vector<Token>, Exact>> deeper;
    for (const auto& [path, reach] : level) {
      const LawRow row = draft(path);
      if (row.empty()) continue;
      Context behind = context;
      behind.insert(behind.end(), path.begin(), path.end());
      const LawRow& truth = target.row(behind);
      for (std::size_t x = 0; x < truth.size(); ++x) {
        const Exact part = reach * std::min(truth[x], row[x]);
        if (part == 0) continue;
        sum += part;
        deeper.emplace_back(path, part);
        deeper.back().first.push_back(static_cast<Token>(x));
      }
    }
    level = std::move(deeper);
  }
  return sum;
}

Exact expected_on_paths(const model::ToyModel& target, const Context& context,
                        const std::vector<std::vector<Token>>& paths) {
  Exact sum = 1;
  for (const std::vector<Token>& path : std::set<std::vector<Token>>(paths.begin(), paths.end())) {
    Exact reach = 1;
    Context behind = context;
    for (const Token token : path) {
      reach *= target.row(behind)[static_cast<std::size_t>(token)];
      behind.push_back(token);
    }
    sum += reach;
  }
  return sum;
}

}  // namespace draftproof::reference::draft
