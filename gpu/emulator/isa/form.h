// Form: what an opcode with all its modifiers and types means. A form is known as a whole or not at
// all: an unknown suffix is never dropped, for a dropped suffix is a wrong answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gpu/emulator/code/program.h"

namespace draftproof::gpu::emulator {

/// How the operands of a form are bound; kPlain by its signature.
enum class Binding : std::uint8_t {
  kPlain,
  kMove,     ///< registers, symbols, packing, special registers, clocks
  kConvert,  ///< as kPlain, and registers may be wider than the types
  kLoad,
  kStore,
  kAtomic,
  kReduction,
  kCopyAsync,
  kBranch,
  kIndexedBranch,
  kCall,
  kReturn,
  kBarrier,
};

/// The signature names the operands in textual order, destinations before ':'. One letter each:
///   w 32-bit, h 16-bit, q 64-bit integer or bits; f, d, x binary32, binary64, 16-bit float;
///   p predicate; P predicate, or two as p|q; W 32-bit with optional |p; c the carry flag, which
///   the text does not name; i an integer constant (Instruction::immediate); * swallows the rest.
///   '?' behind a letter: may be left out.
struct Form {
  Instruction prototype;  ///< kind, handler and modes; operands still absent
  Binding binding = Binding::kPlain;
  std::string signature;
  bool is_signed = false;  ///< kConvert: widening to the register extends the sign
};

/// The compute forms, built once a process.
class FormTable {
 public:
  void add(std::string name, std::string signature, Handler handler,
           Binding binding = Binding::kPlain, bool is_signed = false, std::uint64_t modifier = 0);
  const Form* find(const std::string& name) const;
  std::size_t size() const { return forms_.size(); }
  const std::unordered_map<std::string, Form>& all() const { return forms_; }

 private:
  std::unordered_map<std::string, Form> forms_;
};

const FormTable& compute_forms();

/// A table of its own, with vector code for this CPU or for any. Both compute the same, which is
/// tested; everything but that test uses compute_forms().
FormTable build_compute_forms(bool allow_wide_vectors);

/// The form of that name, or nothing when it is not implemented.
std::optional<Form> find_form(std::string_view name);

}  // namespace draftproof::gpu::emulator
