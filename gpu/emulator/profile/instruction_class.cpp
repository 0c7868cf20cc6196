#include "gpu/emulator/profile/instruction_class.h"

#include <algorithm>
#include <array>

namespace draftproof::gpu::emulator {

namespace {

template <std::size_t Count>
bool is_one_of(std::string_view word, const std::array<std::string_view, Count>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 7> kMemory{"ld",  "ldu", "st",      "atom",
                                                  "red", "cp",  "prefetch"};
constexpr std::array<std::string_view, 6> kExchange{"shfl",  "vote",       "match",
                                                    "redux", "activemask", "elect"};
constexpr std::array<std::string_view, 14> kControl{
    "bra",    "brx",  "call",  "ret",       "exit",           "bar",    "barrier", "fence",
    "membar", "trap", "brkpt", "nanosleep", "griddepcontrol", "discard"};
/// A multiprocessor computes 16 of these a cycle and 64 or more of the others; some it makes of
/// many others (CUDA C++ Programming Guide, "Arithmetic Instructions": special functions,
/// conversions).
constexpr std::array<std::string_view, 11> kSpecial{"ex2",   "lg2",  "sin", "cos", "tanh", "rcp",
                                                    "rsqrt", "sqrt", "div", "rem", "cvt"};

}  // namespace

InstructionClass class_of(std::string_view form) {
  const std::string_view opcode = form.substr(0, form.find('.'));
  if (is_one_of(opcode, kMemory)) return InstructionClass::kMemory;
  if (is_one_of(opcode, kExchange)) return InstructionClass::kExchange;
  if (is_one_of(opcode, kControl)) return InstructionClass::kControl;
  if (is_one_of(opcode, kSpecial)) return InstructionClass::kSpecial;
  // Moves and selects copy bits, whatever the type that they are written with.
  if (opcode == "mov" || opcode == "selp" || opcode == "cvta") return InstructionClass::kInteger;
  // A compare is of its operands' type; the last suffix names it, before that of a second operand.
  const std::string_view type = form.substr(std::min(form.rfind('.'), form.size()));
  if (type == ".f64") return InstructionClass::kFloat64;
  if (type == ".f32") return InstructionClass::kFloat32;
  if (type == ".f16" || type == ".f16x2" || type == ".bf16" || type == ".bf16x2")
    return InstructionClass::kHalf;
  return InstructionClass::kInteger;
}

}  // namespace draftproof::gpu::emulator
