// Observations: what a device saw while a subject ran. Filled by gpu/, judged by oracle/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace draftproof::reference {

/// How bad an observation is. kUnsafe refutes a side claim; kNote is printed and never judged.
enum class Severity : std::uint8_t { kNote, kUnsafe };

/// Where in a kernel something happened.
struct Place {
  std::string kernel;
  int ptx_line = 0;         ///< 1-based line of the PTX text; 0: unknown
  std::string source_file;  ///< from .loc, empty when compiled without -lineinfo
  int source_line = 0;
  std::uint32_t block = 0;  ///< linear block index
  std::uint32_t warp = 0;   ///< within the block
  std::uint32_t lanes = 0;  ///< one bit a lane
};

/// One finding. `check` is one of: bounds, uninitialised, race, same-value-race, misaligned,
/// barrier, deadlock, divide-by-zero, shuffle, noncoherent-write, trap, assert, limit.
struct Observation {
  std::string check;
  std::string message;  ///< one line: what, on which address of which allocation
  Place place;
  Place other;  ///< the second party of a race or a barrier; kernel empty when there is none
  Severity severity = Severity::kUnsafe;
  std::string schedule;     ///< "random:7", "first-warp-first", "last-warp-first"
  std::uint64_t count = 1;  ///< how many times the same finding (check, both lines) was seen
};

}  // namespace draftproof::reference
