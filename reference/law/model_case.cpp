// Model cases.
#include "reference/law/model_case.h"

#include "reference/error.h"

namespace draftproof::reference::law {

std::vector<int> chain_parents(int count) {
  std::vector<int> parents;
  for (int node = 0; node < count; ++node) parents.push_back(node - 1);
  return parents;
}

std::vector<int> tree_parents(const std::vector<int>& widths) {
  std::vector<int> parents;
  std::vector<int> level = {-1};
  for (int width : widths) {
    std::vector<int> deeper;
    for (int parent : level) {
      for (int child = 0; child < width; ++child) {
        deeper.push_back(static_cast<int>(parents.size()));
        parents.push_back(parent);
      }
    }
    level = std::move(deeper);
  }
  return parents;
}

ModelCase chain_case(model::ToyModelPtr target, model::ToyModelPtr draft, int draft_count) {
  if (draft_count < 0)
    throw Error(ErrorKind::kInput,
                std::to_string(draft_count) + " is no draft length; give 0 or more");
  if (target->vocab_size() != draft->vocab_size())
    throw Error(ErrorKind::kInput, "the target has " + std::to_string(target->vocab_size()) +
                                       " tokens, the draft " + std::to_string(draft->vocab_size()) +
                                       "; give both the same vocabulary");
  return {std::move(target), std::move(draft), chain_parents(draft_count),
          SiblingDraw::kIndependent, DraftReport::kLawDrawn};
}

}  // namespace draftproof::reference::law
