// The law of the integer chain, by counting coins.
#include "reference/law/coin_law.h"

#include "reference/law/coin_count.h"
#include "reference/verify/chain.h"

namespace draftproof::reference::law {
namespace {

class CoinWalk {
 public:
  explicit CoinWalk(const MassCase& masses) : masses_(masses) {}

  EmissionLaw run() {
    Context empty;
    visit(empty, Exact(1));
    return std::move(law_);
  }

 private:
  void visit(Context& accepted, const Exact& reach) {
    const std::size_t n = accepted.size();
    const std::size_t index = context_index(masses_.vocab_size, accepted);
    const MassRow& target = masses_.target[n][index];
    if (n == static_cast<std::size_t>(masses_.draft_count))
      return add_ends(law_, accepted, reach, law_of_draw(target));
    const MassRow& draft = masses_.draft[n][index];
    Exact rejected = 0;
    for (Token x = 0; x < masses_.vocab_size; ++x) {
      if (draft.mass[x] == 0) continue;
      const Exact drafted = reach * Exact(BigInteger(draft.mass[x]), BigInteger(draft.total));
      const Exact kept = share_of_coins(
          [&](std::uint64_t coin) { return verify::accepts(coin, target, draft, x); });
      rejected += drafted * (1 - kept);
      if (kept == 0) continue;
      accepted.push_back(x);
      visit(accepted, Exact(drafted * kept));
      accepted.pop_back();
    }
    if (rejected != 0)
      add_ends(law_, accepted, rejected, law_of_draw(verify::residual(target, draft)));
  }

  const MassCase& masses_;
  EmissionLaw law_;
};

model::ToyModelPtr model_of(int vocab_size, const std::vector<std::vector<MassRow>>& masses) {
  return model::function_model(vocab_size, [vocab_size, masses](const Context& context) {
    return distribution_of(masses.at(context.size()).at(context_index(vocab_size, context)))
        .probabilities();
  });
}

}  // namespace

ModelCase laws_of(const MassCase& masses) {
  return chain_case(model_of(masses.vocab_size, masses.target),
                    model_of(masses.vocab_size, masses.draft), masses.draft_count);
}

ModelCase laws_of(const MassTree& tree) {
  ModelCase result = laws_of(tree.masses);
  result.parents = tree.parents;
  result.siblings = tree.siblings;
  return result;
}

EmissionLaw coin_law(const MassCase& masses) { return CoinWalk(masses).run(); }

Exact coin_law_bound(const MassCase& masses) {
  return masses.draft_count * two_to_minus(64) + masses.vocab_size * two_to_minus(65);
}

}  // namespace draftproof::reference::law
