// EAGLE-3 and P-EAGLE.
#include "reference/draft/eagle3.h"

#include "reference/draft/medusa.h"

namespace draftproof::reference::draft {

Context fused_taps(int vocab_size, const Hidden& hidden) {
  if (hidden.size() < 2) return hidden;
  return {hidden[0], (hidden[0] + hidden[1]) % vocab_size, hidden[1]};
}

Context own_output(int vocab_size, const Context& fused, Token token) {
  if (fused.size() < 3) return joined(fused, {token});
  return {fused[2], (fused[1] + token) % vocab_size, token};
}

PointLaw reduced_head_row(const model::Toy& toy) {
  return [vocabulary = reduced_vocabulary(toy),
          vocab_size = toy.target->vocab_size()](const ChainPoint& point) {
    Context fused = fused_taps(vocab_size, hidden_in(point.memory));
    fused = own_output(vocab_size, fused, point.context.back());
    for (const Token token : point.drafted) fused = own_output(vocab_size, fused, token);
    return vocabulary.row(fused);
  };
}

PointLaw reduced_head_law(const model::Toy& toy) {
  return [row = reduced_head_row(toy), vocabulary = reduced_vocabulary(toy),
          vocab_size = toy.target->vocab_size()](const ChainPoint& point) {
    return pushed(vocabulary, row(point), vocab_size);
  };
}

PointLaw parallel_law(const HiddenToy& toy) {
  return [head = head_rows(toy)](const ChainPoint& point) {
    return head(hidden_in(point.memory), point.offset());
  };
}

}  // namespace draftproof::reference::draft
