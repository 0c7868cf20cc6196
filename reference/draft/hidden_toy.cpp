// Toys with a hidden state.
#include "reference/draft/hidden_toy.h"

#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

constexpr std::size_t kHiddenTokens = 2;

model::ToyModelPtr through_hidden(model::ToyModelPtr model) {
  const int vocab_size = model->vocab_size();
  return model::function_model(vocab_size, [model = std::move(model)](const Context& context) {
    return model->row(hidden_of(context));
  });
}

}  // namespace

Hidden hidden_of(const Context& context) { return last_tokens(context, kHiddenTokens); }

HiddenToy hidden_toy(const model::Toy& toy) {
  return {through_hidden(toy.target), through_hidden(toy.draft), pending_prompt(toy)};
}

Context pending_prompt(const model::Toy& toy) {
  return toy.prompt.empty() ? Context{0} : toy.prompt;
}

Context fed(const Context& context) {
  DRAFTPROOF_CHECK(!context.empty(), "no pending token");
  return {context.begin(), context.end() - 1};
}

Hidden kept_hidden(const law::StepEnd& end, const Hidden&) {
  return hidden_of(joined(end.before, end.draft.tokens_to(end.decision.node())));
}

DraftFunctions with_hidden(DraftFunctions functions, HiddenKept kept) {
  functions.initial = [](const Context& prompt) { return memory_of(hidden_of(fed(prompt))); };
  functions.commit = [kept = std::move(kept)](const law::StepEnd& end, const law::Memory& before) {
    return memory_of(kept(end, hidden_in(before)));
  };
  return functions;
}

DraftFunctions hidden_chain(ChainLaws laws, HiddenKept kept) {
  return with_hidden(chain_functions(std::move(laws)), std::move(kept));
}

Hidden hidden_in(const law::Memory& memory) { return {memory.begin(), memory.end()}; }

law::Memory memory_of(const Hidden& hidden) { return {hidden.begin(), hidden.end()}; }

}  // namespace draftproof::reference::draft
