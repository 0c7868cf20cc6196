// OneInstruction: runs the handler of one PTX form on lanes that a test fills.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/emulator/isa/form.h"

namespace draftproof::gpu::emulator {

class OneInstruction {
 public:
  /// Throws when the form is not implemented.
  explicit OneInstruction(const std::string& name) {
    const std::optional<Form> form = find_form(name);
    if (!form || form->prototype.handler == nullptr) throw std::runtime_error("no form " + name);
    bind(*form, name);
  }
  OneInstruction(const Form& form, const std::string& name) { bind(form, name); }

  Instruction& instruction() { return instruction_; }
  /// Adds a second destination predicate (p|q) or similar.
  void add_destination(char letter) { instruction_.destinations[1] = place(letter); }

  template <class T>
  void set_source(int index, int lane, T value) {
    write(instruction_.sources[static_cast<std::size_t>(index)], lane, value);
  }
  template <class T>
  void set_result(int index, int lane, T value) {
    write(instruction_.destinations[static_cast<std::size_t>(index)], lane, value);
  }
  template <class T>
  T result(int lane, int index = 0) const {
    T value;
    const Operand& operand = instruction_.destinations[static_cast<std::size_t>(index)];
    std::memcpy(&value, base() + operand.offset + static_cast<std::size_t>(lane) * sizeof(T),
                sizeof(T));
    return value;
  }
  LaneMask& source_predicate(int index) {
    return *reinterpret_cast<LaneMask*>(
        base() + instruction_.sources[static_cast<std::size_t>(index)].offset);
  }
  LaneMask& result_predicate(int index = 0) {
    return *reinterpret_cast<LaneMask*>(
        base() + instruction_.destinations[static_cast<std::size_t>(index)].offset);
  }
  LaneMask& source_valid(int index) {
    return validity_[instruction_.sources[static_cast<std::size_t>(index)].validity];
  }
  LaneMask& result_valid(int index = 0) {
    return validity_[instruction_.destinations[static_cast<std::size_t>(index)].validity];
  }

  std::vector<std::byte>& bytes() { return bytes_; }
  std::vector<LaneMask>& validity() { return validity_; }

  LaneMask run(LaneMask active = ~LaneMask{0}, std::uint32_t seed = 0) {
    Frame frame;
    frame.values = {base(), base()};
    frame.validity = {validity_.data(), validity_.data()};
    frame.approximation_seed = seed;
    return instruction_.handler(instruction_, frame, active);
  }

 private:
  static constexpr std::size_t kSlots = 12;

  void bind(const Form& form, const std::string& name) {
    instruction_ = form.prototype;
    bool is_source = false;
    std::size_t sources = 0, destinations = 0;
    for (const char letter : form.signature) {
      if (letter == ':') {
        is_source = true;
      } else if (letter == '?' || letter == 'i' || letter == '*') {
        throw std::runtime_error("the signature of " + name + " is not for this harness");
      } else if (is_source) {
        instruction_.sources[sources++] = place(letter);
      } else {
        instruction_.destinations[destinations++] = place(letter);
      }
    }
    bytes_.resize(kSlots * 256);
    validity_.assign(kSlots, ~LaneMask{0});
  }

  Operand place(char letter) {
    Operand operand;
    operand.present = true;
    operand.bytes = letter == 'q' || letter == 'd'                    ? 8
                    : letter == 'p' || letter == 'P' || letter == 'c' ? 0
                                                                      : 4;
    operand.validity = static_cast<std::uint32_t>(used_);
    operand.offset = static_cast<std::uint32_t>(256 * used_++);
    return operand;
  }
  template <class T>
  void write(const Operand& operand, int lane, T value) {
    std::memcpy(base() + operand.offset + static_cast<std::size_t>(lane) * sizeof(T), &value,
                sizeof(T));
  }
  std::byte* base() const { return const_cast<std::byte*>(bytes_.data()); }

  Instruction instruction_;
  std::vector<std::byte> bytes_;
  std::vector<LaneMask> validity_;
  std::size_t used_ = 0;
};

}  // namespace draftproof::gpu::emulator
