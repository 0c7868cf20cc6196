// Combined drafters.
#include "reference/draft/compose/combined.h"

namespace draftproof::reference::draft {
namespace {

/// Memories one behind the other, each behind its size.
std::vector<law::Memory> parts_of(const law::Memory& memory) {
  std::vector<law::Memory> parts;
  for (std::size_t at = 0; at < memory.size();) {
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    parts.emplace_back(from, from + static_cast<std::ptrdiff_t>(memory[at]));
    at += 1 + parts.back().size();
  }
  return parts;
}

law::Memory joined_parts(const std::vector<law::Memory>& parts) {
  law::Memory memory;
  for (const law::Memory& part : parts) {
    memory.push_back(static_cast<std::int64_t>(part.size()));
    memory.insert(memory.end(), part.begin(), part.end());
  }
  return memory;
}

/// Without a choice: the first that drafts something. Shared memory is parted like own memory.
class CombinedDrafter final : public Drafter {
 public:
  CombinedDrafter(std::vector<DrafterPtr> drafters, DrafterChoice choice)
      : drafters_(std::move(drafters)), choice_(std::move(choice)) {}

  law::Memory initial(const Context& prompt) const override {
    std::vector<law::Memory> parts;
    for (const DrafterPtr& drafter : drafters_) parts.push_back(drafter->initial(prompt));
    return joined_parts(parts);
  }

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory& shared,
                       law::Chooser& chooser) const override {
    std::vector<law::Memory> owns = parts_of(own);
    std::vector<law::Memory> shares = parts_of(shared);
    shares.resize(drafters_.size());
    law::DraftTree tree;
    const std::size_t from = choice_ ? choice_(begin) : 0;
    const std::size_t end = choice_ ? from + 1 : drafters_.size();
    for (std::size_t i = from; i < end && tree.nodes.empty(); ++i)
      tree = drafters_.at(i)->draft(begin, owns[i], shares[i], chooser);
    own = joined_parts(owns);
    shared = joined_parts(shares);
    return tree;
  }

  void commit(const law::StepEnd& end, law::Memory& own, law::Memory& shared) const override {
    std::vector<law::Memory> owns = parts_of(own);
    std::vector<law::Memory> shares = parts_of(shared);
    shares.resize(drafters_.size());
    for (std::size_t i = 0; i < drafters_.size(); ++i)
      drafters_[i]->commit(end, owns[i], shares[i]);
    own = joined_parts(owns);
    shared = joined_parts(shares);
  }

 private:
  std::vector<DrafterPtr> drafters_;
  DrafterChoice choice_;
};

}  // namespace

DrafterPtr first_nonempty(std::vector<DrafterPtr> drafters) {
  return std::make_shared<CombinedDrafter>(std::move(drafters), nullptr);
}

DrafterPtr chosen_drafter(std::vector<DrafterPtr> drafters, DrafterChoice choice) {
  return std::make_shared<CombinedDrafter>(std::move(drafters), std::move(choice));
}

}  // namespace draftproof::reference::draft
