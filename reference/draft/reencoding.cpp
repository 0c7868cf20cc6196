// String-level re-encoding.
#include "reference/draft/reencoding.h"

#include <algorithm>

namespace draftproof::reference::draft {

std::vector<Token> aligned(const Spelling& spelling, const Context& context,
                           const std::string& text) {
  const Context window = last_tokens(context, kLookbehind);
  std::vector<Token> tokens = encoded(spelling.target, spelled(spelling.target, window) + text);
  const bool is_same =
      tokens.size() >= window.size() && std::equal(window.begin(), window.end(), tokens.begin());
  if (!is_same) return encoded(spelling.target, text);
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(window.size()));
  return tokens;
}

DraftFunctions reencoding_functions(const Spelling& spelling, model::ToyModelPtr draft) {
  DraftFunctions functions;
  functions.draft = [=](const law::StepBegin& begin, const law::Memory&, law::Chooser& chooser) {
    const Context seen = mapped_by_text(spelling, begin.context);
    std::vector<Token> drawn;
    for (int offset = 0; offset < begin.draft_count; ++offset)
      drawn.push_back(chooser.draw(draft->row(joined(seen, drawn)), {offset, Purpose::kDraft}));
    law::DraftTree tree;
    for (const Token token : aligned(spelling, begin.context, spelled(spelling.draft, drawn)))
      if (tree.size() < begin.draft_count) append(tree, token, {});
    return tree;
  };
  return functions;
}

}  // namespace draftproof::reference::draft
