// Penalties against their formulas in rationals, every operation rounded by the definition of
// rounding. Goal: one bit decides, for every order, form and history.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "reference/penalties.h"
#include "tests/reference/rounded_arithmetic.h"

namespace draftproof::reference {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// A float with the four operations that penalties use, in rationals; an infinite one stays what it
/// is, since the other side is finite and factors are positive.
struct Number {
  float value;

  bool is_infinite() const { return std::isinf(value); }
  Exact exact() const { return exact_from_double(value); }
  bool is_negative() const { return std::signbit(value); }
};

Number minus(Number a, Number b) {
  if (a.is_infinite()) return a;
  const bool is_negative_zero = a.is_negative() && a.value == 0 && b.value == 0 && !b.is_negative();
  return {nearest_float(a.exact() - b.exact(), is_negative_zero)};
}
Number plus(Number a, Number b) { return {nearest_float(a.exact() + b.exact())}; }
Number times(Number a, Number b) {
  if (a.is_infinite()) return a;
  return {nearest_float(a.exact() * b.exact(), a.is_negative() != b.is_negative())};
}
Number over(Number a, Number b) {
  if (a.is_infinite()) return a;
  return {nearest_float(a.exact() / b.exact(), a.is_negative() != b.is_negative())};
}

struct Setting {
  PenaltyOrder order;
  RepetitionForm repetition;
  FrequencyForm frequency;
};

Number repeated(Number z, Number r, RepetitionForm form) {
  if (r.value == 1) return z;
  const bool is_positive = z.value > 0;
  if (form == RepetitionForm::kReciprocal) return times(z, is_positive ? over({1}, r) : r);
  return is_positive ? over(z, r) : times(z, r);
}

Number share_of(int count, Number f, FrequencyForm form) {
  if (form == FrequencyForm::kProduct) return times({static_cast<float>(count)}, f);
  Number sum = {0};
  for (int i = 0; i < count; ++i) sum = plus(sum, f);
  return sum;
}

Number lowered(Number z, int count, Number f, Number p, const Setting& setting) {
  if (count == 0) return z;
  const Number share = share_of(count, f, setting.frequency);
  if (f.value != 0 && p.value != 0 && setting.order != PenaltyOrder::kRepetitionFrequencyPresence)
    return minus(z, plus(share, p));
  if (f.value != 0) z = minus(z, share);
  return p.value != 0 ? minus(z, p) : z;
}

/// One logit by the formulas of penalties.h; the token counts `repetitions` for repetition and
/// `occurrences` for the other two.
float by_formula(float logit, int repetitions, int occurrences, const Penalties& penalties,
                 const Setting& setting) {
  const Number r = {static_cast<float>(penalties.repetition)};
  const Number f = {static_cast<float>(penalties.frequency)};
  const Number p = {static_cast<float>(penalties.presence)};
  Number z = {logit};
  if (setting.order == PenaltyOrder::kSumThenRepetition) z = lowered(z, occurrences, f, p, setting);
  if (repetitions > 0) z = repeated(z, r, setting.repetition);
  if (setting.order != PenaltyOrder::kSumThenRepetition) z = lowered(z, occurrences, f, p, setting);
  return z.value;
}

class Draws {
 public:
  template <class... T>
  auto pick(T... values) {
    const std::common_type_t<T...> list[] = {values...};
    return list[random_() % sizeof...(values)];
  }
  float logit() {
    if (random_() % 8 == 0) return pick(0.0F, -0.0F, kNever, 1e-40F, -1e-40F, 3e38F, -3e38F);
    return std::ldexp(static_cast<float>(static_cast<int>(random_() % 20001) - 10000), -9);
  }
  Penalties penalties() {
    return {pick(1.0, 1.1, 1.3, 2.0, 0.7, 1.0 / 3, 1e-3), pick(0.0, 0.1, 0.7, -0.3, 1e-3, 2.0),
            pick(0.0, 0.2, -0.6, 1.5, 1.0 / 3), std::nullopt};
  }
  History history() {
    History history;
    for (auto* part : {&history.prompt, &history.committed, &history.drafted})
      for (unsigned i = random_() % 6; i > 0; --i) part->push_back(random_() % 4);
    return history;
  }

 private:
  std::mt19937 random_{7};
};

int count_in(Token token, const std::vector<Token>& tokens) {
  return static_cast<int>(std::count(tokens.begin(), tokens.end(), token));
}

const std::vector<Setting>& all_settings() {
  static const std::vector<Setting> list = [] {
    std::vector<Setting> all;
    for (const auto order : {PenaltyOrder::kRepetitionFrequencyPresence,
                             PenaltyOrder::kRepetitionThenSum, PenaltyOrder::kSumThenRepetition})
      for (const auto repetition : {RepetitionForm::kQuotient, RepetitionForm::kReciprocal})
        for (const auto frequency : {FrequencyForm::kProduct, FrequencyForm::kSummed})
          all.push_back({order, repetition, frequency});
    return all;
  }();
  return list;
}

TEST(Penalties, EqualTheirFormulasBitForBit) {
  Draws draws;
  for (int i = 0; i < 200; ++i) {
    std::vector<float> logits;
    for (int token = 0; token < 4; ++token) logits.push_back(draws.logit());
    const Penalties penalties = draws.penalties();
    const History history = draws.history();
    for (const Setting& setting : all_settings()) {
      PenaltyRule rule;
      rule.order = setting.order;
      rule.repetition = setting.repetition;
      rule.frequency = setting.frequency;
      const std::vector<float> row = penalised(logits, penalties, history, rule);
      for (Token token = 0; token < 4; ++token) {
        const int output = count_in(token, history.committed) + count_in(token, history.drafted);
        const float expected = by_formula(logits[token], output + count_in(token, history.prompt),
                                          output, penalties, setting);
        ASSERT_EQ(bits_of(row[token]), bits_of(expected))
            << "case " << i << ", " << to_string(rule) << ", logit " << logits[token];
      }
    }
  }
}

TEST(Penalties, OrdersAndFormsAreToldApartByTheirBits) {
  // The sibling that must say no: each setting differs from the first one somewhere.
  Draws draws;
  std::vector<int> differing(all_settings().size());
  for (int i = 0; i < 500; ++i) {
    const float logit = draws.logit();
    const Penalties penalties = draws.penalties();
    for (std::size_t s = 0; s < differing.size(); ++s)
      differing[s] += bits_of(by_formula(logit, 7, 7, penalties, all_settings()[0])) !=
                      bits_of(by_formula(logit, 7, 7, penalties, all_settings()[s]));
  }
  EXPECT_EQ(differing[0], 0);
  for (std::size_t s = 1; s < differing.size(); ++s) EXPECT_GT(differing[s], 10) << s;
}

TEST(NearestFloat, IsTheConversionOfTheMachineWhereThatIsExactOnce) {
  // Rationals with 2^-k denominators below 53 bits convert to double exactly, so that the
  // conversion to float rounds once.
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    const auto significand = static_cast<std::int64_t>(random() >> 12);
    const int shift = static_cast<int>(random() % 260) - 30;
    const double value = std::ldexp(static_cast<double>(significand), -shift);
    ASSERT_EQ(bits_of(nearest_float(exact_from_double(value))), bits_of(static_cast<float>(value)));
  }
}

}  // namespace
}  // namespace draftproof::reference
