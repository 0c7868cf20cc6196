// The law of the integer chain, by counting coins.
#include "reference/law/coin_law.h"

#include <functional>

#include "reference/error.h"
#include "reference/verify/chain.h"

namespace draftproof::reference::law {
namespace {

const BigInteger& coin_count() {
  static const BigInteger count = BigInteger(1) << 64;
  return count;
}

/// How many of the 2^64 coins are below the first one that `holds` is false for. Monotone: true for
/// small coins, false from some coin on.
BigInteger coins_that(const std::function<bool(std::uint64_t)>& holds) {
  if (holds(~std::uint64_t{0})) return coin_count();
  std::uint64_t count = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t candidate = count | std::uint64_t{1} << bit;
    if (holds(candidate - 1)) count = candidate;
  }
  return count;
}

LawRow law_of_draw(const std::vector<WideMass>& weights) {
  LawRow law;
  BigInteger before = 0;
  for (std::size_t v = 0; v < weights.size(); ++v) {
    const BigInteger up_to = coins_that(
        [&](std::uint64_t coin) { return verify::draw(coin, weights) <= static_cast<Token>(v); });
    law.emplace_back(BigInteger(up_to - before), coin_count());
    before = up_to;
  }
  return law;
}

class Walk {
 public:
  explicit Walk(const MassCase& masses) : masses_(masses) {}

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
    if (n == static_cast<std::size_t>(masses_.draft_count)) {
      end(accepted, reach, {target.mass.begin(), target.mass.end()});
      return;
    }
    const MassRow& draft = masses_.draft[n][index];
    Exact rejected = 0;
    for (Token x = 0; x < masses_.vocab_size; ++x) {
      if (draft.mass[x] == 0) continue;
      const Exact drafted = reach * Exact(BigInteger(draft.mass[x]), BigInteger(draft.total));
      const Exact kept(
          coins_that([&](std::uint64_t coin) { return verify::accepts(coin, target, draft, x); }),
          coin_count());
      rejected += drafted * (1 - kept);
      if (kept == 0) continue;
      accepted.push_back(x);
      visit(accepted, Exact(drafted * kept));
      accepted.pop_back();
    }
    if (rejected != 0) end(accepted, rejected, verify::residual(target, draft));
  }

  void end(const Context& accepted, const Exact& reach, const std::vector<WideMass>& weights) {
    const LawRow last = law_of_draw(weights);
    for (Token v = 0; v < masses_.vocab_size; ++v) {
      if (last[v] == 0) continue;
      Emission emission{accepted, static_cast<int>(accepted.size())};
      emission.tokens.push_back(v);
      law_[emission] += reach * last[v];
    }
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

EmissionLaw coin_law(const MassCase& masses) { return Walk(masses).run(); }

Exact coin_law_bound(const MassCase& masses) {
  return Exact(BigInteger(2 * masses.draft_count + masses.vocab_size), 2 * coin_count());
}

}  // namespace draftproof::reference::law
