// WarpExecution: vprintf and __assertfail, the two functions that device code calls and the driver
// provides. vprintf takes a format and a buffer in which the arguments lie at their natural
// alignment (CUDA C++ Programming Guide, "Formatted Output").
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

constexpr std::size_t kTextMax = 4096;
constexpr std::string_view kFlags = "-+ #0123456789.";

template <class T>
std::string print(const std::string& directive, T value) {
  std::vector<char> text(64);
  while (true) {
    const int length = std::snprintf(text.data(), text.size(), directive.c_str(), value);
    if (length < 0) return "";
    if (static_cast<std::size_t>(length) < text.size()) {
      return std::string(text.data(), static_cast<std::size_t>(length));
    }
    text.resize(static_cast<std::size_t>(length) + 1);
  }
}

}  // namespace

bool WarpExecution::read_bytes(std::uint64_t address, std::span<std::byte> to, std::uint32_t lane) {
  const Location at = locate(Space::kGeneric, address, to.size(), lane);
  if (at.data == nullptr) return false;
  std::memcpy(to.data(), at.data, to.size());
  return true;
}

std::string WarpExecution::read_text(std::uint64_t address, std::uint32_t lane) {
  std::string text;
  std::byte letter;
  while (text.size() < kTextMax && read_bytes(address + text.size(), {&letter, 1}, lane) &&
         letter != std::byte{0}) {
    text.push_back(static_cast<char>(letter));
  }
  return text;
}

std::string WarpExecution::format(const std::string& pattern, std::uint64_t arguments,
                                  std::uint32_t lane) {
  std::string out;
  std::uint64_t offset = 0;
  const auto next = [&](std::uint32_t bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    std::uint64_t value = 0;
    read_bytes(arguments + offset, {reinterpret_cast<std::byte*>(&value), bytes}, lane);
    offset += bytes;
    return value;
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::string directive = "%";
    for (++i; i < pattern.size() && kFlags.find(pattern[i]) != std::string_view::npos; ++i) {
      directive += pattern[i];
    }
    bool is_long = false;
    for (; i < pattern.size() && (pattern[i] == 'l' || pattern[i] == 'h' || pattern[i] == 'z' ||
                                  pattern[i] == 'j' || pattern[i] == 't');
         ++i) {
      is_long = is_long || pattern[i] != 'h';
    }
    if (i >= pattern.size()) break;
    const char kind = pattern[i];
    switch (kind) {
      case '%':
        out += '%';
        break;
      case 'd':
      case 'i':
        out += is_long ? print(directive + "ll" + kind, static_cast<long long>(next(8)))
                       : print(directive + kind, static_cast<int>(next(4)));
        break;
      case 'c':
        out += print(directive + kind, static_cast<int>(next(4)));
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        out += is_long ? print(directive + "ll" + kind, static_cast<unsigned long long>(next(8)))
                       : print(directive + kind, static_cast<unsigned>(next(4)));
        break;
      case 's':
        out += print(directive + kind, read_text(next(8), lane).c_str());
        break;
      case 'p':
        out += print("%#llx", static_cast<unsigned long long>(next(8)));
        break;
      default:
        out += print(directive + kind, std::bit_cast<double>(next(8)));
    }
  }
  return out;
}

WarpExecution::Next WarpExecution::extern_call(const Instruction& in, LaneMask active) {
  if (in.function == ExternFunction::kAssertFail) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(active));
    launch_.observer.add("assert", party(in, active), [&] {
      const std::string text = read_text(read_register(in.sources[0], lane), lane);
      const std::string file = read_text(read_register(in.sources[1], lane), lane);
      const std::uint64_t line = read_register(in.sources[2], lane) & 0xffffffffu;
      return "assertion `" + text + "` failed at " + file + ":" + std::to_string(line);
    });
    launch_.is_aborted = true;
    return Next::kStop;
  }
  for (LaneMask rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::string pattern = read_text(read_register(in.sources[0], lane), lane);
    launch_.report.printed += format(pattern, read_register(in.sources[1], lane), lane);
    if (in.destinations[0].present) write_register(in.destinations[0], lane, 0);
  }
  if (in.destinations[0].present) set_valid(in.destinations[0], active, active);
  return Next::kAdvance;
}

}  // namespace draftproof::gpu::emulator
