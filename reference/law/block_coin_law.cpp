// The law of the integer block, by counting coins. The largest candidate is kept, and each prefix
// has a coin of its own: so a prefix is kept with the probability that it is a candidate, times the
// probability, over what is drafted behind it, that no longer one is.
#include "reference/law/coin_count.h"
#include "reference/law/coin_law.h"
#include "reference/verify/block.h"

namespace draftproof::reference::law {
namespace {

class BlockWalk {
 public:
  BlockWalk(const MassCase& masses, int fraction_bits) : masses_(masses), bits_(fraction_bits) {}

  EmissionLaw run() {
    Context empty;
    visit(empty, Exact(1), verify::kWholeRatio);
    return std::move(law_);
  }

 private:
  /// Answers the probability that this prefix or a longer one is kept, given that it is drafted.
  Exact visit(Context& prefix, const Exact& drafted, verify::PrefixRatio ratio) {
    const std::size_t n = prefix.size();
    const std::size_t index = context_index(masses_.vocab_size, prefix);
    const MassRow& target = masses_.target[n][index];
    if (n == static_cast<std::size_t>(masses_.draft_count)) {
      const Exact kept = n == 0 ? Exact(1) : share_of_coins([&](std::uint64_t coin) {
        return verify::keeps_whole(coin, ratio);
      });
      if (kept != 0) add_ends(law_, prefix, Exact(drafted * kept), law_of_draw(target));
      return kept;
    }
    const MassRow& draft = masses_.draft[n][index];
    Exact longer = 0;
    for (Token x = 0; x < masses_.vocab_size; ++x) {
      if (draft.mass[x] == 0) continue;
      const Exact share(BigInteger(draft.mass[x]), BigInteger(draft.total));
      const verify::PrefixRatio whole = verify::carried(ratio, target, draft, x);
      prefix.push_back(x);
      longer +=
          share * visit(prefix, Exact(drafted * share), whole >> (62 - bits_) << (62 - bits_));
      prefix.pop_back();
    }
    // Nothing accepted is what is left when no prefix is a candidate.
    const Exact kept = n == 0 ? Exact(1) : share_of_coins([&](std::uint64_t coin) {
      return verify::is_candidate(coin, ratio, target, draft);
    });
    const Exact here = (1 - longer) * kept;
    if (here != 0)
      add_ends(law_, prefix, Exact(drafted * here),
               law_of_draw(verify::block_residual(ratio, target, draft)));
    return longer + here;
  }

  const MassCase& masses_;
  int bits_;
  EmissionLaw law_;
};

Exact coins_of(const MassCase& masses) {
  return masses.draft_count * two_to_minus(64) + masses.vocab_size * two_to_minus(65);
}

}  // namespace

EmissionLaw block_coin_law(const MassCase& masses, int fraction_bits) {
  return BlockWalk(masses, fraction_bits).run();
}

Exact block_sequence_bound(const MassCase& masses) {
  return masses.draft_count * two_to_minus(62) + coins_of(masses);
}

Exact block_emission_bound(const MassCase& masses) {
  return masses.draft_count * (masses.draft_count + 1) * two_to_minus(63) + coins_of(masses);
}

}  // namespace draftproof::reference::law
