// The parsed module: what the PTX text says, names unresolved. The texts of function bodies are
// parsed one by one on demand, since a module may hold hundreds of entries of which one runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::gpu::emulator {

/// A fundamental type's letter and size: .b32 is {'b', 4}; .pred is {'p', 0}.
struct ParsedType {
  char letter = 'b';
  int bytes = 0;
};

enum class ParsedSpace : std::uint8_t { kRegister, kGlobal, kConst, kShared, kLocal, kParam };

/// One element of an initialiser that is an address: a symbol plus a number of bytes.
struct ParsedAddress {
  std::uint64_t offset = 0;  ///< in the variable
  std::string_view symbol;
  std::int64_t addend = 0;
  int bytes = 8;
  int line = 0;
};

/// A variable, a parameter or a set of registers.
struct ParsedVariable {
  std::string_view name;
  ParsedSpace space = ParsedSpace::kGlobal;
  ParsedType type;
  int vector = 1;               ///< .v2, .v4
  std::uint64_t alignment = 0;  ///< 0: natural
  std::uint64_t elements = 1;   ///< product of the dimensions
  bool is_unsized = false;      ///< name[]
  bool is_extern = false;
  bool is_pointer = false;  ///< .ptr
  std::int64_t count = -1;  ///< registers: name<count>
  std::vector<std::byte> initial;
  std::vector<ParsedAddress> addresses;
  int line = 0;

  std::uint64_t bytes() const {
    return elements * static_cast<std::uint64_t>(vector) * static_cast<std::uint64_t>(type.bytes);
  }
  std::uint64_t effective_alignment() const {
    const std::uint64_t natural =
        static_cast<std::uint64_t>(type.bytes) * static_cast<std::uint64_t>(vector);
    return alignment > natural ? alignment : (natural == 0 ? 1 : natural);
  }
};

struct ParsedFunction {
  std::string_view name;
  bool is_entry = false;
  std::vector<ParsedVariable> parameters;
  std::vector<ParsedVariable> results;
  std::vector<std::uint32_t> required_block;
  std::vector<std::uint32_t> max_block;
  std::vector<std::uint32_t> required_cluster;
  bool has_body = false;
  std::string_view body;  ///< between the braces
  int body_line = 0;      ///< line of the opening brace
  int line = 0;
};

struct ParsedModule {
  std::string file_name;
  std::string version;
  std::string target;
  int address_size = 64;
  std::vector<ParsedVariable> variables;
  std::vector<ParsedFunction> functions;
  std::vector<std::string> source_files;  ///< by .file number
};

enum class OperandKind : std::uint8_t {
  kName,  ///< register, symbol or label; `value` is an offset added to it
  kInteger,
  kFloat32,
  kFloat64,
  kAddress,  ///< [name + value]; elements follow when there is more than that
  kVector,   ///< { ... }
  kList,     ///< ( ... ) of a call
  kSink,     ///< _
};

struct ParsedOperand {
  OperandKind kind = OperandKind::kName;
  std::string_view name;
  std::string_view second;  ///< name|second
  std::int64_t value = 0;   ///< integer, pattern of a float, offset
  bool is_negated = false;  ///< !name
  std::uint32_t first = 0;  ///< kVector, kList: elements in ParsedBody::elements
  std::uint32_t count = 0;
};

enum class StatementKind : std::uint8_t {
  kOpen,
  kClose,
  kVariable,
  kLabel,
  kInstruction,
  kBranchTargets,
  kPrototype
};

struct ParsedStatement {
  StatementKind kind = StatementKind::kInstruction;
  std::string_view name;   ///< opcode with suffixes, or label
  std::string_view guard;  ///< predicate's name; empty: none
  bool guard_is_negated = false;
  std::uint32_t first = 0;  ///< operands in ParsedBody::operands, or index of the variable
  std::uint32_t count = 0;
  std::uint32_t used_bytes_mask = 0xffffffffu;
  int line = 0;
  int source_file = 0;
  int source_line = 0;
};

struct ParsedBody {
  std::vector<ParsedStatement> statements;
  std::vector<ParsedOperand> operands;
  std::vector<ParsedOperand> elements;
  std::vector<ParsedVariable> variables;
};

/// Reads everything but the bodies. `text` must outlive the result, which refers to it. Throws
/// Error(kInput) at "FILE:LINE" for malformed text.
ParsedModule parse_module(std::string_view text, std::string_view file_name);

/// Reads the body of a function of a parsed module.
ParsedBody parse_body(const ParsedModule& module, const ParsedFunction& function);

}  // namespace draftproof::gpu::emulator
