// Conversions and 16-bit arithmetic against MPFR.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/gpu/exact_real.h"
#include "tests/gpu/float_samples.h"
#include "tests/gpu/one_instruction.h"

namespace draftproof::gpu::emulator {
namespace {

/// A 16-bit pattern's value, from its definition.
double value_of_half(std::uint32_t pattern, bool bfloat) {
  const int mantissa_bits = bfloat ? 7 : 10;
  const int exponent_bits = bfloat ? 8 : 5;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(pattern >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(pattern) & ((1 << mantissa_bits) - 1);
  const double sign = (pattern & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa != 0 ? NAN : sign * INFINITY;
  const double significand = mantissa + (exponent != 0 ? 1 << mantissa_bits : 0);
  return sign * std::ldexp(significand, (exponent != 0 ? exponent : 1) - bias - mantissa_bits);
}

bool is_same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

TEST(HalfConversions, WidenEveryPattern) {
  for (const bool bfloat : {false, true}) {
    OneInstruction run(bfloat ? "cvt.f32.bf16" : "cvt.f32.f16");
    for (std::uint32_t first = 0; first < 0x10000; first += 32) {
      for (int lane = 0; lane < 32; ++lane) {
        run.set_source<std::uint32_t>(0, lane, 0xabcd0000 | (first + static_cast<unsigned>(lane)));
      }
      run.run();
      for (int lane = 0; lane < 32; ++lane) {
        ASSERT_TRUE(is_same(run.result<float>(lane),
                            value_of_half(first + static_cast<unsigned>(lane), bfloat)))
            << first + static_cast<unsigned>(lane);
      }
    }
  }
}

int narrowing_differences(const std::string& form, bool bfloat, const std::string& rounding) {
  OneInstruction run(form);
  FloatSource source(11);
  const std::vector<float> edges = float_edges<float>();
  int count = 0;
  for (int i = 0; i < 400; ++i) {
    float values[32];
    for (int lane = 0; lane < 32; ++lane) {
      const float random = source.binary32();
      // Half of the numbers lie where the format ends: overflow, subnormals, ties.
      const int exponent = static_cast<int>(source.bits() % 50) - 30;
      values[lane] =
          i < 2 ? edges[static_cast<std::size_t>((i * 32 + lane)) % edges.size()]
          : i % 2 == 0 || bfloat
              ? random
              : std::ldexp(std::bit_cast<float>(
                               (std::bit_cast<std::uint32_t>(random) & 0x807ff800) | 0x3f800000),
                           exponent);
      run.set_source(0, lane, values[lane]);
    }
    run.run();
    for (int lane = 0; lane < 32; ++lane) {
      const double expected =
          exact_result('=', values[lane], 0, 0, bfloat ? kBfloat16Format : kBinary16Format,
                       rounding_named(rounding));
      count += !is_same(value_of_half(run.result<std::uint32_t>(lane) & 0xffff, bfloat), expected);
    }
  }
  return count;
}

TEST(HalfConversions, NarrowAsMpfrDoes) {
  for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
    EXPECT_EQ(narrowing_differences("cvt." + rounding + ".f16.f32", false, rounding), 0);
    EXPECT_EQ(narrowing_differences("cvt." + rounding + ".bf16.f32", true, rounding), 0);
  }
  EXPECT_GT(narrowing_differences("cvt.rn.f16.f32", false, "rz"), 100);
  EXPECT_GT(narrowing_differences("cvt.rz.bf16.f32", true, "rm"), 100);
}

TEST(HalfConversions, PutTheFirstSourceInTheUpperHalf) {
  OneInstruction run("cvt.rn.bf16x2.f32");
  run.set_source(0, 0, 1.0f);
  run.set_source(1, 0, 2.0f);
  run.run();
  EXPECT_EQ(run.result<std::uint32_t>(0), 0x3f804000u);
}

int half_differences(const std::string& form, char operation, int operands, bool bfloat,
                     const std::string& rounding) {
  OneInstruction run(form);
  FloatSource source(5);
  int count = 0;
  for (int i = 0; i < 400; ++i) {
    std::uint32_t v[32][3];
    for (int lane = 0; lane < 32; ++lane) {
      for (int k = 0; k < operands; ++k) {
        v[lane][k] = static_cast<std::uint32_t>(source.bits()) & 0xffff;
        // Like exponents cancel and tie.
        if (i % 2 == 0) v[lane][k] = (v[lane][k] & 0x83ff) | (bfloat ? 0x3f00 : 0x3800);
        run.set_source(k, lane, v[lane][k]);
      }
    }
    run.run();
    for (int lane = 0; lane < 32; ++lane) {
      const double a = value_of_half(v[lane][0], bfloat), b = value_of_half(v[lane][1], bfloat);
      const double c = operands > 2 ? value_of_half(v[lane][2], bfloat) : 0;
      const double expected = exact_result(
          operation, a, b, c, bfloat ? kBfloat16Format : kBinary16Format, rounding_named(rounding));
      count += !is_same(value_of_half(run.result<std::uint32_t>(lane) & 0xffff, bfloat), expected);
    }
  }
  return count;
}

TEST(HalfArithmetic, RoundsOnceAsMpfrDoes) {
  for (const bool bfloat : {false, true}) {
    const std::string type = bfloat ? ".bf16" : ".f16";
    EXPECT_EQ(half_differences("add" + type, '+', 2, bfloat, "rn"), 0) << type;
    EXPECT_EQ(half_differences("sub" + type, '-', 2, bfloat, "rn"), 0) << type;
    EXPECT_EQ(half_differences("mul" + type, '*', 2, bfloat, "rn"), 0) << type;
    EXPECT_EQ(half_differences("fma.rn" + type, 'f', 3, bfloat, "rn"), 0) << type;
    EXPECT_GT(half_differences("fma.rn" + type, 'f', 3, bfloat, "rz"), 100) << type;
    EXPECT_GT(half_differences("add" + type, '+', 2, bfloat, "rp"), 100) << type;
  }
}

TEST(HalfArithmetic, WorksOnBothHalves) {
  OneInstruction run("add.f16x2");
  run.set_source<std::uint32_t>(0, 0, 0x3c004000);
  run.set_source<std::uint32_t>(1, 0, 0x3c003c00);
  run.run();
  EXPECT_EQ(run.result<std::uint32_t>(0), 0x40004200u);
}

double single_result(const std::string& form, double a) {
  OneInstruction run(form);
  run.set_source(0, 0, a);
  run.run();
  return run.result<float>(0);
}

TEST(FloatConversions, NarrowBinary64InEveryDirection) {
  FloatSource source(3);
  for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
    OneInstruction run("cvt." + rounding + ".f32.f64");
    for (int i = 0; i < 300; ++i) {
      double values[32];
      for (int lane = 0; lane < 32; ++lane) {
        values[lane] = i % 2 == 0 ? source.binary64()
                                  : std::ldexp(1 + source.bits() * 0x1p-64,
                                               static_cast<int>(source.bits() % 300) - 160);
        run.set_source(0, lane, values[lane]);
      }
      run.run();
      for (int lane = 0; lane < 32; ++lane) {
        ASSERT_TRUE(is_same(
            run.result<float>(lane),
            exact_result('=', values[lane], 0, 0, kBinary32Format, rounding_named(rounding))))
            << rounding << " " << values[lane];
      }
    }
  }
  EXPECT_NE(single_result("cvt.rm.f32.f64", 0.1), single_result("cvt.rp.f32.f64", 0.1));
}

/// An integer rounded to a format by MPFR.
double integer_rounded(std::int64_t value, bool is_signed, const FloatFormat& format,
                       const std::string& rounding) {
  mpfr_t x;
  mpfr_init2(x, format.precision);
  if (is_signed)
    mpfr_set_sj(x, value, rounding_named(rounding));
  else
    mpfr_set_uj(x, static_cast<std::uint64_t>(value), rounding_named(rounding));
  const double result = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clear(x);
  return result;
}

TEST(IntegerToFloat, RoundsAsMpfrDoes) {
  FloatSource source(17);
  int other = 0;
  for (const std::string rounding : {"rn", "rz", "rm", "rp"}) {
    for (const bool is_signed : {false, true}) {
      const std::string type = is_signed ? ".s64" : ".u64";
      OneInstruction single("cvt." + rounding + ".f32" + type);
      OneInstruction wide("cvt." + rounding + ".f64" + type);
      for (int i = 0; i < 2000; ++i) {
        std::uint64_t bits = source.bits() >> source.bits() % 64;
        if (i % 4 == 0) bits = (bits & 0xffffff8000000000) | (std::uint64_t{1} << 39);
        if (i < 4) bits = std::uint64_t{0x7ffffffffffffffd} + static_cast<unsigned>(i);
        single.set_source(0, 0, bits);
        wide.set_source(0, 0, bits);
        single.run(1);
        wide.run(1);
        const auto value = static_cast<std::int64_t>(bits);
        ASSERT_EQ(single.result<float>(0),
                  integer_rounded(value, is_signed, kBinary32Format, rounding))
            << bits << rounding << type;
        ASSERT_EQ(wide.result<double>(0),
                  integer_rounded(value, is_signed, kBinary64Format, rounding))
            << bits << rounding << type;
        other += single.result<float>(0) !=
                 integer_rounded(value, is_signed, kBinary32Format, rounding == "rp" ? "rz" : "rp");
      }
    }
  }
  EXPECT_GT(other, 1000);
}

template <class To>
To to_integer(const std::string& form, float a) {
  OneInstruction run(form);
  run.set_source(0, 0, a);
  run.run(1);
  if constexpr (sizeof(To) == 8) return run.result<To>(0);
  return static_cast<To>(run.result<std::uint32_t>(0));
}

TEST(FloatToInteger, RoundsAndClamps) {
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rni.s32.f32", 2.5f), 2);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rni.s32.f32", -3.5f), -4);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rzi.s32.f32", -2.9f), -2);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rmi.s32.f32", -2.1f), -3);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rpi.s32.f32", 2.1f), 3);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rzi.s32.f32", 1e20f), INT32_MAX);
  EXPECT_EQ(to_integer<std::uint32_t>("cvt.rzi.u32.f32", -5.0f), 0u);
  EXPECT_EQ(to_integer<std::uint32_t>("cvt.rzi.u32.f32", 4294967040.0f), 4294967040u);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rzi.s32.f32", NAN), 0);
  EXPECT_EQ(to_integer<std::uint64_t>("cvt.rzi.u64.f32", NAN), std::uint64_t{1} << 63);
  EXPECT_EQ(to_integer<std::int64_t>("cvt.rzi.s64.f32", -1e30f), INT64_MIN);
  EXPECT_EQ(to_integer<std::uint64_t>("cvt.rzi.u64.f32", 0x1p63f), std::uint64_t{1} << 63);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rzi.s8.f32", 200.0f), 127);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rpi.ftz.s32.f32", 1e-40f), 0);
  EXPECT_EQ(to_integer<std::int32_t>("cvt.rpi.s32.f32", 1e-40f), 1);
}

TEST(IntegerConversions, TruncateExtendAndSaturate) {
  const auto run = [](const std::string& form, std::uint32_t a) {
    OneInstruction one(form);
    one.set_source(0, 0, a);
    one.run(1);
    return one.result<std::uint32_t>(0);
  };
  EXPECT_EQ(run("cvt.s32.s8", 0x180), 0xffffff80u);
  EXPECT_EQ(run("cvt.u32.u16", 0xabcd1234), 0x1234u);
  EXPECT_EQ(run("cvt.u16.u32", 0xabcd1234), 0x1234u);
  EXPECT_EQ(run("cvt.s8.s32", 0xff), 0xffffffffu);
  EXPECT_EQ(run("cvt.sat.u8.s32", 0xfffffff0), 0u);
  EXPECT_EQ(run("cvt.sat.s8.s32", 1000), 127u);
  EXPECT_EQ(run("cvt.sat.u32.s32", 0x80000000), 0u);
}

TEST(Approximations, StayInsideTheirBoundsForEverySeed) {
  const auto run = [](const std::string& form, float a, std::uint32_t seed) {
    OneInstruction one(form);
    one.set_source(0, 0, a);
    one.run(1, seed);
    return one.result<float>(0);
  };
  bool moved = false;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    for (const float a : {0.3f, 1.7f, -2.2f, 7.0f, 20.5f}) {
      const float nearest = static_cast<float>(std::exp2(double{a}));
      const float got = run("ex2.approx.f32", a, seed);
      EXPECT_LE(std::abs(static_cast<int>(std::bit_cast<std::uint32_t>(got)) -
                         static_cast<int>(std::bit_cast<std::uint32_t>(nearest))),
                2);
      moved = moved || got != nearest;
      if (seed == 0) {
        EXPECT_EQ(got, nearest);
      }
      EXPECT_EQ(got, run("ex2.approx.f32", a, seed));
    }
    EXPECT_EQ(run("ex2.approx.f32", 0.0f, seed), 1.0f);
    EXPECT_EQ(run("lg2.approx.f32", 0.0f, seed), -INFINITY);
    EXPECT_EQ(run("rcp.approx.f32", INFINITY, seed), 0.0f);
    EXPECT_NEAR(run("lg2.approx.f32", 1.0f, seed), 0.0f, 0x1p-22);
  }
  EXPECT_TRUE(moved);
}

}  // namespace
}  // namespace draftproof::gpu::emulator
