// Lookups as drafters.
#include "reference/draft/lookup/lookup.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

using Kind = LookupEvent::Kind;

void remember(law::Memory& memory, const LookupEvent& event) {
  memory.push_back(static_cast<std::int64_t>(event.kind));
  memory.push_back(event.request);
  memory.push_back(event.accepted_count);
  memory.push_back(static_cast<std::int64_t>(event.history.size()));
  memory.insert(memory.end(), event.history.begin(), event.history.end());
}

class LookupDrafter final : public Drafter {
 public:
  LookupDrafter(TreeLookup lookup, Remembers remembers)
      : lookup_(std::move(lookup)), remembers_(remembers) {}

  law::DraftTree draft(const law::StepBegin& begin, law::Memory& own, law::Memory& shared,
                       law::Chooser&) const override {
    const LookupEvent asked{Kind::kAsked, begin.request, 0, begin.context};
    LookupEvents events;
    if (law::Memory* memory = kept(own, shared)) {
      remember(*memory, asked);
      events = events_of(*memory);
    } else {
      events = {asked};
    }
    law::DraftTree tree;
    if (begin.draft_count <= 0) return tree;
    tree = lookup_({events, begin.draft_count});
    for (int node = 0; node < tree.size(); ++node)
      DRAFTPROOF_CHECK(tree.nodes[node].reported.empty() && tree.depth(node) <= begin.draft_count,
                       "a lookup drafts one-hot, and no deeper than asked");
    return tree;
  }

  void commit(const law::StepEnd& end, law::Memory& own, law::Memory& shared) const override {
    if (law::Memory* memory = kept(own, shared))
      remember(*memory, {Kind::kVerified, end.request,
                         static_cast<int>(end.decision.accepted.size()), end.after});
  }

 private:
  law::Memory* kept(law::Memory& own, law::Memory& shared) const {
    if (remembers_ == Remembers::kNothing) return nullptr;
    return remembers_ == Remembers::kOwn ? &own : &shared;
  }

  TreeLookup lookup_;
  Remembers remembers_;
};

}  // namespace

std::shared_ptr<const Drafter> lookup_drafter(TreeLookup lookup, Remembers remembers) {
  return std::make_shared<LookupDrafter>(std::move(lookup), remembers);
}

std::shared_ptr<const Drafter> lookup_drafter(ChainLookup lookup, Remembers remembers) {
  return lookup_drafter(TreeLookup([lookup = std::move(lookup)](const Question& question) {
                          return chain_of(first_tokens(lookup(question), question.draft_count));
                        }),
                        remembers);
}

law::Memory memory_of(const LookupEvents& events) {
  law::Memory memory;
  for (const LookupEvent& event : events) remember(memory, event);
  return memory;
}

LookupEvents events_of(const law::Memory& memory) {
  LookupEvents events;
  for (std::size_t i = 0; i < memory.size();) {
    LookupEvent event;
    event.kind = static_cast<Kind>(memory.at(i));
    event.request = static_cast<int>(memory.at(i + 1));
    event.accepted_count = static_cast<int>(memory.at(i + 2));
    const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(i + 4);
    event.history.assign(begin, begin + static_cast<std::ptrdiff_t>(memory.at(i + 3)));
    i += 4 + event.history.size();
    events.push_back(std::move(event));
  }
  return events;
}

law::DraftTree chain_of(const std::vector<Token>& tokens) {
  law::DraftTree tree;
  for (const Token token : tokens) append(tree, token, {});
  return tree;
}

std::vector<Token> first_tokens(std::vector<Token> tokens, int count) {
  tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(std::max(count, 0))));
  return tokens;
}

bool stands_at(const Context& history, std::size_t position, const std::vector<Token>& pattern) {
  return position + pattern.size() <= history.size() &&
         std::equal(pattern.begin(), pattern.end(),
                    history.begin() + static_cast<std::ptrdiff_t>(position));
}

}  // namespace draftproof::reference::draft
