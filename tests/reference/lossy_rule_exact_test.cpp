// Lossy rules: what each does to the law of one position, against formulas written down apart from
// the rules, by hand on the textbook row, and nothing where its option says nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reference/error.h"
#include "reference/law/perplexity.h"
#include "tests/reference/single_path_cases.h"

namespace draftproof::reference::law {
namespace {

using Row = LawRow;

RuleFunction rule(const std::string& name, const OptionValues& given = {}) {
  return law_rule(name).make(checked(law_rule(name), given));
}

/// The law of the first emitted token.
Row first_token(const ModelCase& tiny, const RuleFunction& function) {
  Row row(static_cast<std::size_t>(tiny.vocab_size()));
  for (const auto& [emission, probability] : law_of(tiny, function))
    row[emission.tokens.front()] += probability;
  return row;
}

Row residual_of(const Row& target, const Row& draft) {
  Row row(target.size());
  Exact sum = 0;
  for (std::size_t v = 0; v < row.size(); ++v)
    sum += row[v] = std::max(Exact(0), Exact(target[v] - draft[v]));
  if (sum == 0) return target;
  for (Exact& part : row) part /= sum;
  return row;
}

/// kept + (1 - its sum) x replacement.
Row completed(Row kept, const Row& replacement) {
  Exact rest = 1;
  for (const Exact& part : kept) rest -= part;
  for (std::size_t v = 0; v < kept.size(); ++v) kept[v] += rest * replacement[v];
  return kept;
}

using Formula = std::function<Row(const Row& target, const Row& draft)>;

/// The rule's law of one position is the formula's, and it has its expected length.
void expect_law(const std::string& name, const OptionValues& given, const Formula& formula) {
  for (Family family : kFamilies)
    for (int vocab_size : {2, 3, 4})
      for (std::uint64_t seed : {1, 2, 3}) {
        const ModelCase tiny = family_case(family, vocab_size, 1, seed);
        ASSERT_EQ(first_token(tiny, rule(name, given)),
                  formula(tiny.target->row({}), tiny.draft->row({})))
            << name;
      }
  if (law_rule(name).expected_emitted) expect_closed_form(name, given);
}

/// draft x kept(v), the rest given out as the residual.
Formula kept_or_residual(const std::function<Exact(const Row&, const Row&, std::size_t)>& kept) {
  return [kept](const Row& target, const Row& draft) {
    Row mass(target.size());
    for (std::size_t v = 0; v < mass.size(); ++v)
      if (draft[v] > 0) mass[v] = draft[v] * kept(target, draft, v);
    return completed(mass, residual_of(target, draft));
  };
}

Exact distance_on_textbook(const std::string& name, const OptionValues& given) {
  return distance_of(constant_case(".1,.3,.6", ".7,.2,.1", 1), rule(name, given));
}

// Thresholds in floating point are only right where nothing is close: the margin is asserted.
bool is_above_typical(const Row& target, std::size_t v, double cap, double scale) {
  double entropy = 0;
  for (const Exact& part : target)
    if (part > 0) entropy -= part.convert_to<double>() * std::log(part.convert_to<double>());
  const double threshold = std::min(cap, scale * std::exp(-entropy));
  const double value = target[v].convert_to<double>();
  EXPECT_GT(std::abs(value - threshold), 1e-9);
  return value > threshold;
}

TEST(TypicalRule, KeepsWhatIsLikelyForItsEntropyAndElseTheArgmax) {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {".09", ".3"}, {".3", ".09"}, {".4", ".8"}};
  for (const auto& [cap, scale] : pairs) {
    const double cap_number = std::atof(cap);
    const double scale_number = std::atof(scale);
    expect_law("typical", {{"cap", exact_from_text(cap)}, {"scale", exact_from_text(scale)}},
               [=](const Row& target, const Row& draft) {
                 Row mass(target.size());
                 for (std::size_t v = 0; v < mass.size(); ++v)
                   if (is_above_typical(target, v, cap_number, scale_number)) mass[v] = draft[v];
                 return completed(
                     mass, one_hot_row(static_cast<int>(mass.size()), first_maximum(target)));
               });
  }
}

// exp(-H) = .4074 on the textbook row. Cap .3, scale .3: only .1 is below .1222, its .7 go to token
// 2: (0, .2, .8). The published pairs keep everything here: the draft's law.
TEST(TypicalRule, HasTheDistancesComputedByHand) {
  EXPECT_EQ(distance_on_textbook("typical", {{"cap", Exact(3, 10)}, {"scale", Exact(3, 10)}}),
            Exact(2, 10));
  EXPECT_EQ(distance_on_textbook("typical", {}), Exact(6, 10));
  EXPECT_EQ(distance_on_textbook("typical", {{"cap", Exact(3, 10)}, {"scale", Exact(9, 100)}}),
            Exact(6, 10));
}

TEST(RelaxedRule, IsTheGreedyLawRelaxed) {
  for (const auto& [count, delta] :
       std::vector<std::pair<int, Exact>>{{2, Exact(1, 10)}, {3, Exact(6, 10)}, {10, Exact(6, 10)}})
    expect_law("relaxed", {{"top-count", count}, {"delta", delta}},
               [count = count, delta = delta](const Row& target, const Row& draft) {
                 const auto best = static_cast<std::size_t>(first_maximum(target));
                 std::vector<std::size_t> order(target.size());
                 for (std::size_t v = 0; v < order.size(); ++v) order[v] = v;
                 std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                   return target[a] > target[b];
                 });
                 Row mass(target.size());
                 for (std::size_t i = 0; i < order.size() && static_cast<int>(i) < count; ++i)
                   if (target[best] - target[order[i]] <= delta) mass[order[i]] = draft[order[i]];
                 return completed(
                     mass, one_hot_row(static_cast<int>(mass.size()), static_cast<Token>(best)));
               });
}

// N = 2, delta = .3 on the textbook row: tokens 1 and 2 may stay, so token 1 comes out with .2.
TEST(RelaxedRule, HasTheDistanceToGreedyComputedByHandAndIsGreedyForOne) {
  ModelCase tiny = constant_case(".1,.3,.6", ".7,.2,.1", 1);
  const auto greedy = model::greedy_model(tiny.target);
  const auto distance = [&](const OptionValues& given) {
    return total_variation(extended_law(*greedy, law_of(tiny, rule("relaxed", given)), 2),
                           target_law(*greedy, 2));
  };
  EXPECT_EQ(distance({{"top-count", 2}, {"delta", Exact(3, 10)}}), Exact(2, 10));
  EXPECT_EQ(distance({{"top-count", 3}, {"delta", Exact(5, 10)}}), Exact(9, 10));
  for_each_single_path_case(2, [](const ModelCase& other) {
    ASSERT_EQ(law_of(other, rule("relaxed", {{"top-count", 1}, {"delta", 0}})),
              law_of(other, rule("greedy")));
  });
  EXPECT_THROW(rule("relaxed", {{"top-count", Exact(3, 2)}}), Error);
}

TEST(ThresholdsRule, SharesTheCoinAmongSiblingsAndIsExactForOnes) {
  for_each_single_path_case(2, [](const ModelCase& tiny) {
    ASSERT_EQ(distance_of(tiny, rule("thresholds", {{"acc", 1}})), 0);
  });
  for (const auto& [single, acc] : std::vector<std::pair<Exact, Exact>>{
           {1, Exact(9, 10)}, {1, Exact(1, 2)}, {Exact(3, 10), 1}, {Exact(3, 10), Exact(9, 10)}})
    expect_law("thresholds", {{"single", single}, {"acc", acc}},
               [single = single, acc = acc](const Row& target, const Row& draft) {
                 Row out(target.size());
                 for (std::size_t x = 0; x < out.size(); ++x) {
                   const Exact kept =
                       target[x] >= single ? Exact(1) : std::min(Exact(1), Exact(target[x] / acc));
                   out[x] += draft[x] * kept;
                   if (kept == 1) continue;
                   for (std::size_t y = 0; y < out.size(); ++y)
                     if (y != x) out[y] += draft[x] * (1 - kept) * target[y] / (1 - target[x]);
                 }
                 return out;
               });
}

// Two children c_1, c_2 of largest draft probability: c_i gets min(1, S_i / acc) - min(1, S_{i-1} /
// acc) of the coin, and the rest is the target without them.
TEST(ThresholdsRule, HasTheLawOfTwoSiblings) {
  const Exact acc(9, 10);
  ModelCase tiny = constant_case(".1,.3,.2,.4", ".3,.3,.2,.2", 2);
  tiny.parents = tree_parents({2});
  tiny.siblings = SiblingDraw::kLargest;
  tiny.report = DraftReport::kOneHot;
  const Row expected = {Exact(1, 10) / acc, Exact(3, 10) / acc,
                        (1 - Exact(4, 10) / acc) * Exact(2, 6),
                        (1 - Exact(4, 10) / acc) * Exact(4, 6)};
  EXPECT_EQ(first_token(tiny, rule("thresholds")), expected);
  EXPECT_EQ(expected_emitted(law_of(tiny, rule("thresholds"))), 1 + Exact(4, 9));
  const LawRule& entry = law_rule("thresholds");
  // The closed form is for every shape and both laws of siblings, supports that run out included.
  tiny.draft = model::position_model(
      {distribution_from_text(".3,.3,0,.4"), distribution_from_text("1,0,0,0")});
  for (const SiblingDraw siblings : {SiblingDraw::kLargest, SiblingDraw::kWithoutReplacement}) {
    tiny.siblings = siblings;
    for (const std::vector<int>& widths : {std::vector{2, 2}, {3}, {1, 1}, {2, 1}}) {
      tiny.parents = tree_parents(widths);
      for (const OptionValues& given :
           std::vector<OptionValues>{{}, {{"acc", Exact(1, 2)}}, {{"single", Exact(3, 10)}}}) {
        const OptionValues options = checked(entry, given);
        EXPECT_EQ(entry.expected_emitted(tiny, options),
                  expected_emitted(law_of(tiny, entry.make(options))));
      }
    }
  }
}

TEST(SyntheticRule, GivesOutRateTimesDraftAndTheResidual) {
  for (const Exact& rate : {Exact(7, 10), Exact(0), Exact(1)})
    expect_law("synthetic", {{"rate", rate}},
               kept_or_residual([rate](const Row&, const Row&, std::size_t) { return rate; }));
  // .7 draft + .3 (0, 1/6, 5/6) = (.49, .19, .32).
  EXPECT_EQ(distance_on_textbook("synthetic", {}), Exact(39, 100));
}

TEST(SyntheticRule, HasTheLengthThatIsAskedFor) {
  for (const Exact& length : {Exact(1), Exact(5, 2), Exact(13, 5), Exact(3), Exact(9)})
    expect_closed_form("synthetic", {{"length", length}});
  const ModelCase tiny = family_case(Family::kFullMemory, 2, 3, 3);
  EXPECT_EQ(expected_emitted(law_of(tiny, rule("synthetic", {{"length", Exact(13, 5)}}))),
            Exact(13, 5));
  // All before the fraction are kept, none behind it.
  const auto positions =
      acceptance_by_position(law_of(tiny, rule("synthetic", {{"length", Exact(13, 5)}})), 3);
  EXPECT_EQ(positions[0].conditional(), 1);
  EXPECT_EQ(positions[1].conditional(), Exact(3, 5));
  EXPECT_EQ(positions[2].conditional(), 0);
}

TEST(JudgeRule, KeepsWhatIsApproved) {
  for (int table : {0, 1, 5, 15})
    expect_law("judge", {{"approved", table}},
               kept_or_residual([table](const Row&, const Row&, std::size_t v) {
                 return Exact((table >> v) % 2);
               }));
  // (.7, 0, 0) + .3 (0, 1/6, 5/6).
  EXPECT_EQ(distance_on_textbook("judge", {}), Exact(6, 10));
}

TEST(EntropyRelaxedRule, RaisesTheRatioByTheUncertainty) {
  for (const Exact& tolerance : {Exact(1, 10), Exact(1)})
    expect_law("entropy-relaxed", {{"tolerance", tolerance}},
               [tolerance](const Row& target, const Row& draft) {
                 const Exact raise = tolerance * (1 - target[first_maximum(target)]);
                 Row mass(target.size());
                 for (std::size_t v = 0; v < mass.size(); ++v)
                   mass[v] = std::min(draft[v], Exact(target[v] + raise * draft[v]));
                 return completed(mass, residual_of(target, draft));
               });
  // The raise is .04 and keeps .028 more of token 0.
  EXPECT_EQ(distance_on_textbook("entropy-relaxed", {}), Exact(28, 1000));
  EXPECT_EQ(distance_on_textbook("entropy-relaxed", {{"tolerance", 0}}), 0);
}

TEST(AlwaysAcceptRule, GivesOutTheDraft) {
  expect_law("always-accept", {}, [](const Row&, const Row& draft) { return draft; });
}

TEST(AtLeastDraftRule, KeepsWhatTheTargetHasAtLeastAsMuchOf) {
  expect_law("at-least-draft", {},
             kept_or_residual([](const Row& target, const Row& draft, std::size_t v) {
               return Exact(target[v] >= draft[v] ? 1 : 0);
             }));
}

TEST(EnsembleRule, IsExactForItsMixture) {
  for (const Exact& weight : {Exact(0), Exact(1, 2), Exact(1)})
    expect_law("ensemble", {{"weight", weight}}, [weight](const Row& target, const Row& draft) {
      Row row(target.size());
      for (std::size_t v = 0; v < row.size(); ++v)
        row[v] = target[v] + weight * (draft[v] - target[v]);
      return row;
    });
  EXPECT_EQ(distance_on_textbook("ensemble", {}), Exact(3, 10)) << "half of TV = .6";
}

TEST(CascadeRule, IsTheDraftsLawUntilItDefers) {
  for (const Exact& cost : {Exact(0), Exact(1, 2), Exact(2)})
    expect_law("cascade", {{"cost", cost}}, [cost](const Row& target, const Row& draft) {
      const Exact distance = total_variation(Distribution(target), Distribution(draft));
      const Exact gain = target[first_maximum(target)] - draft[first_maximum(draft)];
      return gain > cost * distance ? target : draft;
    });
}

TEST(TemperatureMismatchRule, IsTheChainAgainstAnotherRowThanWasDrawnFrom) {
  for (int power : {1, 2, 3})
    expect_law("temperature-mismatch", {{"power", power}},
               [power](const Row& target, const Row& draft) {
                 Row taken(draft.size());
                 Exact sum = 0;
                 for (std::size_t v = 0; v < taken.size(); ++v)
                   sum += taken[v] = power == 1   ? draft[v]
                                     : power == 2 ? Exact(draft[v] * draft[v])
                                                  : Exact(draft[v] * draft[v] * draft[v]);
                 Row mass(target.size());
                 for (std::size_t v = 0; v < mass.size(); ++v) {
                   taken[v] /= sum;
                   if (draft[v] > 0)
                     mass[v] = draft[v] * std::min(Exact(1), Exact(target[v] / taken[v]));
                 }
                 return completed(mass, residual_of(target, taken));
               });
  EXPECT_EQ(distance_on_textbook("temperature-mismatch", {{"power", 1}}), 0);
  EXPECT_GT(distance_on_textbook("temperature-mismatch", {}), 0);
}

// A rejected first token is kept if the second passes on its own, which it does with A(x) = sum
// min(target, draft) behind x.
TEST(FlyRule, OverridesARejectionThatTheWindowMakesGoodFor) {
  for (Family family : kFamilies) {
    const ModelCase tiny = family_case(family, 3, 2, 3);
    const Row& target = tiny.target->row({});
    const Row& draft = tiny.draft->row({});
    Row mass(3);
    for (Token x = 0; x < 3; ++x) {
      Exact passes = 0;
      for (Token y = 0; y < 3; ++y)
        passes += std::min(tiny.target->row({x})[y], tiny.draft->row({x})[y]);
      const Exact natural = std::min(target[x], draft[x]);
      mass[x] = natural + (target[x] > 0 ? Exact((draft[x] - natural) * passes) : Exact(0));
    }
    EXPECT_EQ(first_token(tiny, rule("fly", {{"entropy", 0}})),
              completed(mass, residual_of(target, draft)));
  }
}

TEST(FlyRule, IsTheChainWithoutRoomForItsWindowOrBelowItsEntropy) {
  for_each_single_path_case(2, [](const ModelCase& tiny) {
    ASSERT_EQ(law_of(tiny, rule("fly", {{"window", 2}, {"entropy", 0}})),
              law_of(tiny, chain_rule()));
    ASSERT_EQ(law_of(tiny, rule("fly", {{"entropy", 2}})), law_of(tiny, chain_rule()));
  });
  const ModelCase tiny = family_case(Family::kFullMemory, 3, 2, 3);
  EXPECT_GT(distance_of(tiny, rule("fly", {{"entropy", 0}})), 0);
  EXPECT_GT(expected_emitted(law_of(tiny, rule("fly", {{"entropy", 0}}))),
            law_rule("block").expected_emitted(tiny, {}))
      << "above the lossless optimum";
}

TEST(Entropy, IsComparedExactly) {
  const Row even = {Exact(1, 3), Exact(1, 3), Exact(1, 3)};  // ln 3 = 1.0986122886681098..
  EXPECT_TRUE(entropy_is_at_least(even, exact_from_text("1.0986122886681096")));
  EXPECT_FALSE(entropy_is_at_least(even, exact_from_text("1.0986122886681099")));
  const Row textbook = {Exact(1, 10), Exact(3, 10), Exact(6, 10)};  // .89794572..
  EXPECT_TRUE(entropy_is_at_least(textbook, exact_from_text(".8979")));
  EXPECT_FALSE(entropy_is_at_least(textbook, exact_from_text(".8980")));
  EXPECT_TRUE(entropy_is_at_least({1, 0}, 0));
  EXPECT_FALSE(entropy_is_at_least({1, 0}, Exact(1, 1'000'000)));
  EXPECT_THROW(entropy_is_at_least({Exact(1, 4099), Exact(4098, 4099)}, 1), Error);
}

TEST(LossyRules, AreLabelledAndAwayFromTheTarget) {
  int lossy = 0;
  const ModelCase tiny = family_case(Family::kFullMemory, 3, 2, 3);
  for (const char* name : {"hsd", "typical", "thresholds", "synthetic", "judge", "entropy-relaxed",
                           "always-accept", "at-least-draft", "ensemble", "temperature-mismatch"}) {
    EXPECT_EQ(law_rule(name).kind, RuleKind::kLossy);
    EXPECT_GT(distance_of(tiny, rule(name)), 0) << name;
    ++lossy;
  }
  EXPECT_EQ(lossy, 10);
}

}  // namespace
}  // namespace draftproof::reference::law
