#include "gpu/emulator/isa/form.h"

#include <utility>

#include "gpu/emulator/isa/families.h"
#include "gpu/emulator/isa/lanes.h"
#include "reference/error.h"

namespace draftproof::gpu::emulator {

void FormTable::add(std::string name, std::string signature, Handler handler, Binding binding,
                    bool is_signed, std::uint64_t modifier) {
  Form form;
  form.prototype.kind = Kind::kCompute;
  form.prototype.handler = handler;
  form.prototype.modifier = modifier;
  form.binding = binding;
  form.signature = std::move(signature);
  form.is_signed = is_signed;
  const bool is_first = forms_.emplace(name, std::move(form)).second;
  DRAFTPROOF_CHECK(is_first, name);
}

const Form* FormTable::find(const std::string& name) const {
  const auto found = forms_.find(name);
  return found == forms_.end() ? nullptr : &found->second;
}

namespace {
thread_local bool wide_vectors_allowed = true;
}  // namespace

bool isa::has_wide_vectors() {
  static const bool is_supported =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("popcnt") &&
      __builtin_cpu_supports("f16c");
  return is_supported && wide_vectors_allowed;
}

FormTable build_compute_forms(bool allow_wide_vectors) {
  wide_vectors_allowed = allow_wide_vectors;
  FormTable result;
  isa::add_integer_forms(result);
  isa::add_integer_wide_forms(result);
  isa::add_division_forms(result);
  isa::add_logic_forms(result);
  isa::add_bit_forms(result);
  isa::add_carry_forms(result);
  isa::add_packed_forms(result);
  isa::add_compare_forms(result);
  isa::add_set_forms(result);
  isa::add_select_forms(result);
  isa::add_move_forms(result);
  isa::add_single_forms(result);
  isa::add_single_fma_forms(result);
  isa::add_double_forms(result);
  isa::add_quotient_forms(result);
  isa::add_approximate_forms(result);
  isa::add_half_forms(result);
  isa::add_integer_conversions(result);
  isa::add_integer_to_float_conversions(result);
  isa::add_float_to_integer_conversions(result);
  isa::add_float_conversions(result);
  isa::add_address_forms(result);
  wide_vectors_allowed = true;
  return result;
}

const FormTable& compute_forms() {
  static const FormTable table = build_compute_forms(true);
  return table;
}

std::optional<Form> find_form(std::string_view name) {
  if (const Form* form = compute_forms().find(std::string(name))) return *form;
  if (std::optional<Form> form = isa::find_memory_form(name)) return form;
  if (std::optional<Form> form = isa::find_control_form(name)) return form;
  return isa::find_collective_form(name);
}

std::vector<std::string_view> isa::split_words(std::string_view name) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    words.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace draftproof::gpu::emulator
