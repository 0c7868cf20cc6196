// Which cases a battery holds, and what they are called.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "reference/error.h"
#include "tools/draftproof/commands/card_cases.h"

namespace draftproof::tools {
namespace {

constexpr std::size_t kLargeVocab = 20000;

/// Sizes beside the first multiples of every tile, and the usual ones.
std::vector<std::size_t> vocab_sizes(properties::Battery battery,
                                     const std::vector<std::size_t>& tiles) {
  std::set<std::size_t> sizes = {1, 2, 3, 8, 1000};
  const bool is_smoke = battery == properties::Battery::kSmoke;
  for (const std::size_t tile : tiles) {
    for (std::size_t multiple = 1; multiple <= (is_smoke ? 2u : 3u); ++multiple) {
      // The widest vector in use is 4, so a step of 4 stays in the class of the tile, 1 and 2 leave
      // it.
      for (const int step : {-4, -2, -1, 0, 1, 2, 4}) {
        if (is_smoke && (step == -4 || step == -2 || step == 2)) continue;
        sizes.insert(static_cast<std::size_t>(static_cast<long>(tile * multiple) + step));
      }
    }
  }
  sizes.insert(32000);
  if (!is_smoke) sizes.insert(128256);
  return {sizes.begin(), sizes.end()};
}

/// Plans number their cases, so that every one has random numbers of its own.
class Plan {
 public:
  void add(CardLaw law, CardCoins coins, std::size_t requests, std::size_t drafts,
           std::size_t vocab_size) {
    specs_.push_back({law, coins, requests, drafts, vocab_size, specs_.size()});
  }
  std::size_t size() const { return specs_.size(); }
  std::vector<CardCaseSpec> take() { return std::move(specs_); }

 private:
  std::vector<CardCaseSpec> specs_;
};

void add_laws(Plan& plan, std::size_t vocab_size) {
  // Requests 1..8 and draft lengths 0..8 with coprime periods: every pair occurs with every law.
  for (const CardLaw law : all_card_laws()) {
    const std::size_t number = plan.size();
    const bool is_large = vocab_size >= kLargeVocab;
    plan.add(law, CardCoins::kAny, 1 + number % (is_large ? 4 : 8), number % (is_large ? 5 : 9),
             vocab_size);
  }
}

void add_coins(Plan& plan, std::size_t vocab_size) {
  for (const CardCoins coins : {CardCoins::kLargestAccept, CardCoins::kLargestFinal,
                                CardCoins::kSmallestAccept, CardCoins::kSmallestFinal})
    for (const CardLaw law : {CardLaw::kEqual, CardLaw::kOneHotEqual, CardLaw::kRandom,
                              CardLaw::kDisjoint, CardLaw::kZeros, CardLaw::kTileEdges})
      plan.add(law, coins, 1 + plan.size() % 2, 1 + plan.size() % 4, vocab_size);
}

}  // namespace

const std::vector<CardLaw>& all_card_laws() {
  static const std::vector<CardLaw> laws = {
      CardLaw::kRandom,       CardLaw::kPeaked,      CardLaw::kClose,       CardLaw::kEqual,
      CardLaw::kOneHotTarget, CardLaw::kOneHotDraft, CardLaw::kOneHotEqual, CardLaw::kDisjoint,
      CardLaw::kZeros,        CardLaw::kUndrafted,   CardLaw::kAcceptTie,   CardLaw::kPickTie,
      CardLaw::kTileEdges,    CardLaw::kSubnormal};
  return laws;
}

std::string_view to_string(CardLaw law) {
  static constexpr std::array<std::string_view, 14> kNames = {
      "random",        "peaked",        "close",      "equal rows", "one-hot target",
      "one-hot draft", "one-hot equal", "disjoint",   "zeros",      "undrafted",
      "accept tie",    "pick tie",      "tile edges", "subnormal"};
  return kNames.at(static_cast<std::size_t>(law));
}

std::string_view to_string(CardCoins coins) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "any coin", "coin 1 at an acceptance", "coin 1 at the final draw",
      "coin 2^-33 at an acceptance", "coin 2^-33 at the final draw"};
  return kNames.at(static_cast<std::size_t>(coins));
}

std::vector<CardCaseSpec> card_case_plan(properties::Battery battery,
                                         const std::vector<std::size_t>& tiles) {
  DRAFTPROOF_CHECK(!tiles.empty());
  Plan plan;
  const int rounds = battery == properties::Battery::kDeep ? 12 : 1;
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t vocab_size :
         {std::size_t{3}, std::size_t{8}, std::size_t{1000}, tiles.back(), tiles.back() + 1})
      add_coins(plan, vocab_size);
    for (const std::size_t vocab_size : vocab_sizes(battery, tiles)) add_laws(plan, vocab_size);
    if (battery == properties::Battery::kSmoke) break;
    plan.add(CardLaw::kPeaked, CardCoins::kAny, 8, 8, 32000);
    plan.add(CardLaw::kClose, CardCoins::kAny, 8, 8, 128256);
  }
  return plan.take();
}

}  // namespace draftproof::tools
