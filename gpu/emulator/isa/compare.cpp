// setp. PTX ISA 9.0, 9.7.6.2: p = (a op b) combined with c, q = not (a op b) combined with c.
#include "gpu/emulator/isa/compare.h"

#include <string>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/types.h"

namespace draftproof::gpu::emulator::isa {
namespace {

struct Combined {
  LaneMask value, valid;
};

Combined combine(Combination combination, Combined a, Combined c) {
  switch (combination) {
    case Combination::kNone:
      return a;
    case Combination::kAnd:
      return {a.value & c.value, (a.valid & c.valid) | (a.valid & ~a.value) | (c.valid & ~c.value)};
    case Combination::kOr:
      return {a.value | c.value, (a.valid & c.valid) | (a.valid & a.value) | (c.valid & c.value)};
    case Combination::kXor:
      return {a.value ^ c.value, a.valid & c.valid};
  }
  return a;
}

Combined third_operand(const Instruction& instruction, const Frame& frame) {
  const Operand& operand = instruction.sources[2];
  if (!operand.present) return {0, kAllLanes};
  return {frame.predicate(operand), frame.valid(operand)};
}

LaneMask compared_valid(const Instruction& instruction, const Frame& frame) {
  return frame.valid(instruction.sources[0]) & frame.valid(instruction.sources[1]);
}

void add_all(FormTable& table, const std::string& head, const std::string& tail, char letter,
             const char* name, Handler handler) {
  const std::string operands = std::string("P:") + letter + letter;
  for (const CombinationName& c : kCombinations) {
    const bool is_plain = c.combination == Combination::kNone;
    table.add("setp." + std::string(name) + c.name + head + tail,
              is_plain ? operands : operands + "p", handler, Binding::kPlain, false,
              static_cast<std::uint64_t>(c.combination));
  }
}

template <class T>
void add_integer(FormTable& table) {
  const char letter = letter_of<T>();
  for_integer_comparisons<T, false>(false, [&](const char* name, Handler handler) {
    add_all(table, "", "." + type_name<T>(), letter, name, handler);
  });
  if (std::is_signed_v<T>) return;
  for_integer_comparisons<T, false>(true, [&](const char* name, Handler handler) {
    add_all(table, "", "." + bits_name<T>(), letter, name, handler);
  });
}

}  // namespace

void write_comparison(const Instruction& instruction, const Frame& frame, LaneMask active,
                      LaneMask result) {
  const auto combination = static_cast<Combination>(instruction.modifier & 0xff);
  const LaneMask valid = compared_valid(instruction, frame);
  const Combined c = third_operand(instruction, frame);
  const Combined first = combine(combination, {result, valid}, c);
  const Combined second = combine(combination, {~result, valid}, c);
  const Operand& p = instruction.destinations[0];
  const Operand& q = instruction.destinations[1];
  write_mask(*frame.lanes<LaneMask>(p), first.value, active);
  write_mask(frame.valid(p), first.valid, active);
  if (!q.present) return;
  write_mask(*frame.lanes<LaneMask>(q), second.value, active);
  write_mask(frame.valid(q), second.valid, active);
}

void write_comparison_value(const Instruction& instruction, const Frame& frame, LaneMask active,
                            LaneMask result) {
  const auto combination = static_cast<Combination>(instruction.modifier & 0xff);
  const Combined value = combine(combination, {result, compared_valid(instruction, frame)},
                                 third_operand(instruction, frame));
  const auto one = static_cast<std::uint32_t>(instruction.modifier >> 8);
  const Operand& destination = instruction.destinations[0];
  std::uint32_t* const lanes = frame.lanes<std::uint32_t>(destination);
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const int lane = __builtin_ctz(rest);
    lanes[lane] = (value.value >> lane & 1) != 0 ? one : 0;
  }
  write_mask(frame.valid(destination), value.valid, active);
}

void add_compare_forms(FormTable& table) {
  for_types<std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
      [&](auto type) { add_integer<decltype(type)>(table); });
  for_float_comparisons<float, float, 'i', false, false>(
      [&](const char* name, Handler handler) { add_all(table, "", ".f32", 'f', name, handler); });
  for_float_comparisons<float, float, 'i', true, false>([&](const char* name, Handler handler) {
    add_all(table, ".ftz", ".f32", 'f', name, handler);
  });
  for_float_comparisons<double, double, 'i', false, false>(
      [&](const char* name, Handler handler) { add_all(table, "", ".f64", 'd', name, handler); });
  for_float_comparisons<float, std::uint32_t, 'h', false, false>(
      [&](const char* name, Handler handler) { add_all(table, "", ".f16", 'x', name, handler); });
  for_float_comparisons<float, std::uint32_t, 'b', false, false>(
      [&](const char* name, Handler handler) { add_all(table, "", ".bf16", 'x', name, handler); });
}

}  // namespace draftproof::gpu::emulator::isa
