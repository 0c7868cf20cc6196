// set: a comparison whose result is a value, all ones for integers, 1.0 for floats.
// PTX ISA 9.0, 9.7.6.1 and 9.7.7.1.
#include <string>

#include "gpu/emulator/isa/compare.h"
#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

struct ResultType {
  const char* name;
  char letter;
  std::uint32_t one;
};
constexpr ResultType kFullResults[] = {
    {".u32", 'w', 0xffffffff}, {".s32", 'w', 0xffffffff}, {".f32", 'f', 0x3f800000}};
constexpr ResultType kHalfResults[] = {{".f16", 'x', 0x3c00},
                                       {".u16", 'h', 0xffff},
                                       {".s16", 'h', 0xffff},
                                       {".u32", 'w', 0xffffffff},
                                       {".s32", 'w', 0xffffffff}};
constexpr ResultType kBfloatResults[] = {{".bf16", 'x', 0x3f80},
                                         {".u16", 'h', 0xffff},
                                         {".s16", 'h', 0xffff},
                                         {".u32", 'w', 0xffffffff},
                                         {".s32", 'w', 0xffffffff}};

template <std::size_t kCount>
void add_all(FormTable& table, const ResultType (&results)[kCount], const std::string& flush,
             const std::string& source, char letter, const char* name, Handler handler) {
  for (const ResultType& result : results) {
    for (const CombinationName& c : kCombinations) {
      const bool is_plain = c.combination == Combination::kNone;
      std::string signature = std::string(1, result.letter) + ":" + letter + letter;
      if (!is_plain) signature += 'p';
      const std::uint64_t modifier =
          static_cast<std::uint64_t>(c.combination) | std::uint64_t{result.one} << 8;
      table.add("set." + std::string(name) + c.name + flush + result.name + source, signature,
                handler, Binding::kPlain, false, modifier);
    }
  }
}

template <class T>
void add_integer(FormTable& table) {
  for_integer_comparisons<T, true>(false, [&](const char* name, Handler handler) {
    add_all(table, kFullResults, "", "." + type_name<T>(), letter_of<T>(), name, handler);
  });
  if (std::is_signed_v<T>) return;
  for_integer_comparisons<T, true>(true, [&](const char* name, Handler handler) {
    add_all(table, kFullResults, "", "." + bits_name<T>(), letter_of<T>(), name, handler);
  });
}

}  // namespace

void add_set_forms(FormTable& table) {
  for_types<std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
      [&](auto type) { add_integer<decltype(type)>(table); });
  for_float_comparisons<float, float, 'i', false, true>([&](const char* name, Handler handler) {
    add_all(table, kFullResults, "", ".f32", 'f', name, handler);
  });
  for_float_comparisons<float, float, 'i', true, true>([&](const char* name, Handler handler) {
    add_all(table, kFullResults, ".ftz", ".f32", 'f', name, handler);
  });
  for_float_comparisons<double, double, 'i', false, true>([&](const char* name, Handler handler) {
    add_all(table, kFullResults, "", ".f64", 'd', name, handler);
  });
  for_float_comparisons<float, std::uint32_t, 'h', false, true>(
      [&](const char* name, Handler handler) {
        add_all(table, kHalfResults, "", ".f16", 'x', name, handler);
      });
  for_float_comparisons<float, std::uint32_t, 'b', false, true>(
      [&](const char* name, Handler handler) {
        add_all(table, kBfloatResults, "", ".bf16", 'x', name, handler);
      });
}

}  // namespace draftproof::gpu::emulator::isa
