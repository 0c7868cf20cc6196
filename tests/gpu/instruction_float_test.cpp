// Exact floating-point instructions against MPFR, over edges and random operands.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/gpu/exact_real.h"
#include "tests/gpu/float_samples.h"
#include "tests/gpu/one_instruction.h"

namespace draftproof::gpu::emulator {
namespace {

template <class T>
FloatFormat format_of() {
  return sizeof(T) == 4 ? kBinary32Format : kBinary64Format;
}

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
Bits<T> canonical_bits(double value) {
  if (std::isnan(value)) {
    return static_cast<Bits<T>>(sizeof(T) == 4 ? 0x7fffffff : 0xfff8000000000000);
  }
  return std::bit_cast<Bits<T>>(static_cast<T>(value));
}

struct Triple {
  double a, b, c;
};

template <class T>
std::vector<Triple> samples(int operands, int random_count) {
  std::vector<Triple> result;
  const std::vector<T> edges = float_edges<T>();
  for (const T a : edges) {
    for (const T b : operands > 1 ? edges : std::vector<T>{1}) {
      if (operands < 3) {
        result.push_back({a, b, 0});
      } else {
        for (const T c :
             {T{0}, -T{0}, T{1}, -std::numeric_limits<T>::denorm_min(), -static_cast<T>(a * b),
              std::numeric_limits<T>::max(), -std::numeric_limits<T>::infinity()}) {
          result.push_back({a, b, c});
        }
      }
    }
  }
  FloatSource source(20240607);
  const auto next = [&] {
    if constexpr (sizeof(T) == 4)
      return source.binary32();
    else
      return source.binary64();
  };
  for (int i = 0; i < random_count; ++i) {
    Triple triple{next(), next(), next()};
    // Cancellation: the addend near minus the product.
    if (i % 3 == 0) triple.c = -static_cast<T>(static_cast<T>(triple.a) * static_cast<T>(triple.b));
    result.push_back(triple);
  }
  return result;
}

/// Lanes in which the form differs from `operation` rounded as `rounding` says.
template <class T>
int count_differences(const std::string& form, char operation, int operands,
                      const std::string& rounding, int random_count, std::string* example) {
  OneInstruction run(form);
  const std::vector<Triple> all = samples<T>(operands, random_count);
  int differences = 0;
  for (std::size_t first = 0; first < all.size(); first += 32) {
    const auto at = [&](int lane) {
      return all[std::min(first + static_cast<std::size_t>(lane), all.size() - 1)];
    };
    for (int lane = 0; lane < 32; ++lane) {
      run.set_source(0, lane, static_cast<T>(at(lane).a));
      if (operands > 1) run.set_source(1, lane, static_cast<T>(at(lane).b));
      if (operands > 2) run.set_source(2, lane, static_cast<T>(at(lane).c));
    }
    run.run();
    for (int lane = 0; lane < 32; ++lane) {
      const Triple t = at(lane);
      const double expected =
          operation == 'r'
              ? exact_result('/', 1, t.a, 0, format_of<T>(), rounding_named(rounding))
              : exact_result(operation, t.a, t.b, t.c, format_of<T>(), rounding_named(rounding));
      if (run.result<Bits<T>>(lane) == canonical_bits<T>(expected)) continue;
      if (differences++ == 0 && example != nullptr) {
        char text[200];
        std::snprintf(text, sizeof(text), "%a %a %a: got %a, exact %a", t.a, t.b, t.c,
                      static_cast<double>(run.result<T>(lane)), expected);
        *example = text;
      }
    }
  }
  return differences;
}

struct Named {
  const char* name;
  char operation;
  int operands;
};
constexpr Named kOperations[] = {{"add", '+', 2}, {"sub", '-', 2}, {"mul", '*', 2},
                                 {"div", '/', 2}, {"fma", 'f', 3}, {"sqrt", 's', 1},
                                 {"rcp", 'r', 1}};

class ExactFloat : public testing::TestWithParam<std::string> {};

TEST_P(ExactFloat, RoundsBinary32AsMpfrDoes) {
  for (const Named& named : kOperations) {
    const std::string form = std::string(named.name) + "." + GetParam() + ".f32";
    std::string example;
    EXPECT_EQ(
        count_differences<float>(form, named.operation, named.operands, GetParam(), 6000, &example),
        0)
        << form << " " << example;
  }
}

TEST_P(ExactFloat, RoundsBinary64AsMpfrDoes) {
  for (const Named& named : kOperations) {
    const std::string form = std::string(named.name) + "." + GetParam() + ".f64";
    std::string example;
    EXPECT_EQ(count_differences<double>(form, named.operation, named.operands, GetParam(), 6000,
                                        &example),
              0)
        << form << " " << example;
  }
}

// The sibling that must fail: every other direction is told apart by the same samples.
TEST_P(ExactFloat, IsToldFromEveryOtherDirection) {
  for (const Named& named : kOperations) {
    for (const std::string other : {"rn", "rz", "rm", "rp"}) {
      if (other == GetParam()) continue;
      // A root is never negative, so down and to zero are the same.
      if (named.operation == 's' && other != "rn" && GetParam() != "rn" && other != "rp" &&
          GetParam() != "rp") {
        continue;
      }
      const std::string head = std::string(named.name) + "." + GetParam();
      EXPECT_GT(count_differences<float>(head + ".f32", named.operation, named.operands, other,
                                         2000, nullptr),
                10)
          << head << " as " << other;
      EXPECT_GT(count_differences<double>(head + ".f64", named.operation, named.operands, other,
                                          2000, nullptr),
                10)
          << head << " as " << other;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Directions, ExactFloat, testing::Values("rn", "rz", "rm", "rp"),
                         [](const auto& info) { return info.param; });

TEST(SingleFloat, WithoutAModifierRoundsToNearest) {
  EXPECT_EQ(count_differences<float>("add.f32", '+', 2, "rn", 2000, nullptr), 0);
  EXPECT_EQ(count_differences<float>("mul.f32", '*', 2, "rn", 2000, nullptr), 0);
  EXPECT_EQ(count_differences<double>("sub.f64", '-', 2, "rn", 2000, nullptr), 0);
}

// A product and a sum contracted by the compiler would make this a fused operation.
TEST(SingleFloat, KeepsMultiplyAndAddApart) {
  OneInstruction multiply("mul.f32"), add("add.f32");
  const float a = 1.0f + 0x1p-23f;
  multiply.set_source(0, 0, a);
  multiply.set_source(1, 0, a);
  multiply.run();
  add.set_source(0, 0, multiply.result<float>(0));
  add.set_source(1, 0, -(1.0f + 0x1p-22f));
  add.run();
  EXPECT_EQ(add.result<float>(0), 0.0f);
}

float run_pair(const std::string& form, float a, float b) {
  OneInstruction run(form);
  run.set_source(0, 5, a);
  run.set_source(1, 5, b);
  run.run();
  return run.result<float>(5);
}
std::uint32_t run_pair_bits(const std::string& form, float a, float b) {
  return std::bit_cast<std::uint32_t>(run_pair(form, a, b));
}

TEST(SingleFloat, FlushesOperandsAndResultsWithTheirSign) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float least = std::numeric_limits<float>::min();
  EXPECT_EQ(run_pair_bits("add.ftz.f32", -tiny, -0.0f), 0x80000000u);
  EXPECT_EQ(run_pair_bits("add.f32", -tiny, -0.0f), 0x80000001u);
  EXPECT_EQ(run_pair_bits("mul.ftz.f32", -least, 0.5f), 0x80000000u);
  EXPECT_EQ(run_pair("mul.f32", -least, 0.5f), -least / 2);
  EXPECT_EQ(run_pair("sub.ftz.f32", least, tiny), least);
}

TEST(SingleFloat, SaturatesToTheUnitInterval) {
  EXPECT_EQ(run_pair("add.sat.f32", 0.75f, 0.5f), 1.0f);
  EXPECT_EQ(run_pair_bits("add.sat.f32", -0.75f, 0.5f), 0u);
  EXPECT_EQ(run_pair_bits("mul.sat.f32", NAN, 0.5f), 0u);
  EXPECT_EQ(run_pair("mul.sat.f32", 0.5f, 0.5f), 0.25f);
}

TEST(SingleFloat, MinAndMaxPreferNumbersAndOrderZeros) {
  EXPECT_EQ(run_pair("min.f32", NAN, 2.0f), 2.0f);
  EXPECT_EQ(run_pair("max.f32", 2.0f, NAN), 2.0f);
  EXPECT_EQ(run_pair_bits("min.f32", NAN, NAN), 0x7fffffffu);
  EXPECT_EQ(run_pair_bits("min.NaN.f32", NAN, 2.0f), 0x7fffffffu);
  EXPECT_EQ(run_pair_bits("max.NaN.f32", 2.0f, NAN), 0x7fffffffu);
  EXPECT_EQ(run_pair_bits("min.f32", 0.0f, -0.0f), 0x80000000u);
  EXPECT_EQ(run_pair_bits("max.f32", -0.0f, 0.0f), 0u);
  EXPECT_EQ(run_pair("max.f32", -3.0f, -2.0f), -2.0f);
  EXPECT_EQ(run_pair("min.xorsign.abs.f32", -3.0f, 2.0f), -2.0f);
}

TEST(TestFloat, CountsZerosAsNormalNumbers) {
  const float values[] = {0.0f, -0.0f, 1.0f, 0x1p-127f, INFINITY, std::nanf("")};
  const auto bits = [&](const std::string& name) {
    OneInstruction run("testp." + name + ".f32");
    for (int lane = 0; lane < 32; ++lane) run.set_source(0, lane, values[lane % 6]);
    run.run();
    return run.result_predicate() & 0x3f;
  };
  EXPECT_EQ(bits("normal"), 0b000111u);
  EXPECT_EQ(bits("subnormal"), 0b001000u);
  EXPECT_EQ(bits("finite"), 0b001111u);
  EXPECT_EQ(bits("infinite"), 0b010000u);
  EXPECT_EQ(bits("number"), 0b011111u);
  EXPECT_EQ(bits("notanumber"), 0b100000u);
}

TEST(SingleFloat, NanIsCanonical) {
  EXPECT_EQ(run_pair_bits("add.f32", std::bit_cast<float>(0xffc12345u), 1.0f), 0x7fffffffu);
  EXPECT_EQ(run_pair_bits("sub.f32", INFINITY, INFINITY), 0x7fffffffu);
}

}  // namespace
}  // namespace draftproof::gpu::emulator
