// WarpExecution: vprintf and __assertfail, the two functions that device code calls and the driver
// provides. vprintf takes a format and a buffer in which the arguments lie at their natural
// alignment (CUDA C++ Programming Guide, "Formatted Output").
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "gpu/emulator/machine/warp_execution.h"

namespace draftproof::gpu::emulator {

namespace {

constexpr std::size_t kTextMax = 4096;
/// What the driver keeps of a launch's output (cudaLimitPrintfFifoSize), and the widest field.
constexpr std::size_t kPrintedMax = std::size_t{1} << 20;
constexpr int kFieldMax = 4096;
constexpr std::string_view kFlags = "-+ #0";

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

/// One conversion of a format: %[flags][width][.precision][size]type.
struct Directive {
  std::string flags;        ///< with the '%', flags, width and precision, as snprintf takes them
  std::size_t star_at = 0;  ///< where in `flags` a width argument goes; 0: there is none
  bool is_half = false;
  bool is_long = false;
  char type = 0;  ///< 0: the format ends before it
};

/// A width or precision, cut to what a line could hold: the kernel is the subject under test, and
/// may ask for gigabytes.
void take_number(const std::string& pattern, std::size_t& at, std::string& flags) {
  int value = 0;
  const std::size_t begin = at;
  for (; at < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9'; ++at) {
    value = std::min(10 * value + (pattern[at] - '0'), kFieldMax);
  }
  if (at != begin) flags += std::to_string(value);
}

/// Reads the directive whose '%' is at `at`, and moves behind it.
Directive take_directive(const std::string& pattern, std::size_t& at) {
  Directive result;
  result.flags = "%";
  const auto peek = [&] { return at < pattern.size() ? pattern[at] : '\0'; };
  for (++at; peek() != 0 && kFlags.find(peek()) != std::string_view::npos; ++at) {
    result.flags += peek();
  }
  if (peek() == '*') {
    result.star_at = result.flags.size();
    ++at;
  }
  take_number(pattern, at, result.flags);
  if (peek() == '.') {
    result.flags += pattern[at++];
    take_number(pattern, at, result.flags);
  }
  for (; peek() != 0 && std::string_view("hlzjt").find(peek()) != std::string_view::npos; ++at) {
    result.is_half = peek() == 'h';
    result.is_long = peek() != 'h';
  }
  result.type = peek();
  if (result.type != 0) ++at;
  return result;
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
                                  std::uint32_t lane, std::uint32_t& count) {
  std::string out;
  std::uint64_t offset = 0;
  const auto next = [&](std::uint32_t bytes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    std::uint64_t value = 0;
    read_bytes(arguments + offset, {reinterpret_cast<std::byte*>(&value), bytes}, lane);
    offset += bytes;
    ++count;
    return value;
  };
  for (std::size_t i = 0; i < pattern.size();) {
    if (pattern[i] != '%') {
      out += pattern[i++];
      continue;
    }
    const std::size_t begin = i;
    Directive directive = take_directive(pattern, i);
    if (directive.star_at != 0) {
      const int width = static_cast<int>(next(4));
      directive.flags.insert(directive.star_at,
                             std::to_string(std::clamp(width, -kFieldMax, kFieldMax)));
    }
    const std::string& flags = directive.flags;
    const char type = directive.type;
    if (type == '%') {
      out += '%';
    } else if (type == 'c') {
      out += print(flags + type, static_cast<int>(next(4)));
    } else if (type == 's') {
      out += print(flags + type, read_text(next(8), lane).c_str());
    } else if (type == 'p') {
      out += print("%#llx", static_cast<unsigned long long>(next(8)));
    } else if (type != 0 && std::string_view("diuxXo").find(type) != std::string_view::npos) {
      if (directive.is_long) {
        out += print(flags + "ll" + type, static_cast<long long>(next(8)));
      } else {
        out += print(flags + (directive.is_half ? "h" : "") + type, static_cast<int>(next(4)));
      }
    } else if (type != 0 && std::string_view("eEfFgGaA").find(type) != std::string_view::npos) {
      out += print(flags + type, std::bit_cast<double>(next(8)));
    } else {
      // Nothing the driver knows, %n among it: it stands as it is.
      out += pattern.substr(begin, i - begin);
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
    std::uint32_t count = 0;
    const std::string text = format(pattern, read_register(in.sources[1], lane), lane, count);
    std::string& printed = launch_.report.printed;
    if (printed.size() < kPrintedMax) printed += text.substr(0, kPrintedMax - printed.size());
    if (in.destinations[0].present) write_register(in.destinations[0], lane, count);
  }
  if (in.destinations[0].present) set_valid(in.destinations[0], active, active);
  return Next::kAdvance;
}

}  // namespace draftproof::gpu::emulator
