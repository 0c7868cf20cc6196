// The instruction families: each adds its forms to the table.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gpu/emulator/isa/form.h"

namespace draftproof::gpu::emulator::isa {

void add_integer_forms(FormTable& table);
void add_integer_wide_forms(FormTable& table);
void add_division_forms(FormTable& table);
void add_logic_forms(FormTable& table);
void add_bit_forms(FormTable& table);
void add_carry_forms(FormTable& table);
void add_packed_forms(FormTable& table);
void add_compare_forms(FormTable& table);
void add_set_forms(FormTable& table);
void add_select_forms(FormTable& table);
void add_move_forms(FormTable& table);
void add_single_forms(FormTable& table);
void add_single_fma_forms(FormTable& table);
void add_double_forms(FormTable& table);
void add_quotient_forms(FormTable& table);
void add_approximate_forms(FormTable& table);
void add_half_forms(FormTable& table);
void add_integer_conversions(FormTable& table);
void add_integer_to_float_conversions(FormTable& table);
void add_float_to_integer_conversions(FormTable& table);
void add_float_conversions(FormTable& table);
void add_address_forms(FormTable& table);

/// Memory instructions have too many legal combinations to list: their words are matched one by
/// one.
std::optional<Form> find_memory_form(std::string_view name);
std::optional<Form> find_control_form(std::string_view name);
std::optional<Form> find_collective_form(std::string_view name);

/// Splits an opcode at its dots.
std::vector<std::string_view> split_words(std::string_view name);

}  // namespace draftproof::gpu::emulator::isa
