// Multi-token prediction.
#include "reference/draft/mtp.h"

#include <algorithm>

#include "reference/draft/eagle.h"
#include "reference/draft/recurrent.h"

namespace draftproof::reference::draft {

PointLaw mtp_law(const model::Toy& toy, int module_count) {
  return [draft = toy.draft, module_count](const ChainPoint& point) {
    const int vocab_size = draft->vocab_size();
    const Hidden hidden =
        predicted_along(vocab_size, hidden_in(point.memory), point.context, point.drafted);
    const Token module = std::min(point.offset(), module_count - 1) % vocab_size;
    return draft->row(joined({module}, hidden));
  };
}

DraftFunctions recurrent_mtp(const model::Toy& toy) {
  DraftFunctions functions =
      chain_functions(greedy_drawn([draft = toy.draft](const ChainPoint& point) {
        const TargetState state =
            fed_state(fed_state(state_in(point.memory), {point.context.back()}), point.drafted);
        return draft->row(state_key(state.recurrent));
      }));
  functions.initial = [](const Context& prompt) { return memory_of(fed_state({}, fed(prompt))); };
  functions.commit = [](const law::StepEnd& end, const law::Memory& memory) {
    return memory_of(fed_state(state_in(memory), accepted_again(end)));
  };
  return functions;
}

}  // namespace draftproof::reference::draft
