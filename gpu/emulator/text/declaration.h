// Declarations: `.align 8 .b8 name[88] = {...}`, the same in modules, parameter lists and bodies.
// PTX ISA 9.0, chapters 5.1 to 5.4.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gpu/emulator/text/lexer.h"
#include "gpu/emulator/text/parsed_module.h"

namespace draftproof::gpu::emulator {

/// ".b32" and its like; nothing for a word that is no type.
std::optional<ParsedType> parse_type(std::string_view word);

/// The space a directive opens (".reg", ".shared", ...).
std::optional<ParsedSpace> parse_space(std::string_view word);

/// Reads from behind the space's directive up to and with the ';': one or more variables.
std::vector<ParsedVariable> parse_variables(Lexer& lexer, ParsedSpace space, bool is_extern);

/// Reads "( .param ..., .param ... )".
std::vector<ParsedVariable> parse_parameters(Lexer& lexer);

}  // namespace draftproof::gpu::emulator
