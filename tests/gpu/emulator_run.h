// EmulatorRun: what the tests of the emulated device share. A test is a few lines of PTX; the frame
// around them (registers, four pointer parameters a to d, the thread's number) is added here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/device.h"
#include "gpu/emulated_device.h"

namespace draftproof::gpu::test {

/// An entry `k` whose parameters a, b, c, d are pointers. When `body` starts, %a to %d hold them as
/// global addresses, %t is %tid.x, %c is %ctaid.x, %n is %ntid.x, and %at = %a + 4 * %t.
inline std::string kernel(std::string_view body, std::string_view declarations = "") {
  std::string text = R"(.version 8.0
.target sm_80
.address_size 64
)";
  text += declarations;
  text += R"(
.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{
  .reg .pred %p<16>;
  .reg .b16 %h<16>;
  .reg .b32 %r<64>;
  .reg .b64 %q<32>;
  .reg .f32 %f<32>;
  .reg .f64 %w<8>;
  .reg .b64 %a, %b, %cc, %d, %at;
  .reg .b32 %t, %c, %n;
  ld.param.u64 %a, [pa];
  ld.param.u64 %b, [pb];
  ld.param.u64 %cc, [pc];
  ld.param.u64 %d, [pd];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mul.wide.u32 %q31, %t, 4;
  add.s64 %at, %a, %q31;
)";
  text += body;
  text += "\n  ret;\n}\n";
  return text;
}

/// The 1-based line of `text` that holds `marker`; 0 when there is none.
inline int line_of(const std::string& text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string::npos) return 0;
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

class EmulatorRun {
 public:
  explicit EmulatorRun(const EmulatedDeviceOptions& options = {})
      : device(make_emulated_device(options)) {
    launch_options.grid = {1, 1, 1};
    launch_options.block = {32, 1, 1};
  }

  DevicePointer words(std::vector<std::uint32_t> values, std::string_view label) {
    const DevicePointer pointer = device->allocate(values.size() * 4, label);
    device->write(pointer, std::as_bytes(std::span(values)));
    return pointer;
  }
  DevicePointer unwritten(std::size_t bytes, std::string_view label) {
    return device->allocate(bytes, label);
  }
  std::vector<std::uint32_t> read(DevicePointer pointer, std::size_t count) {
    std::vector<std::uint32_t> values(count);
    device->read(pointer, std::as_writable_bytes(std::span(values)));
    return values;
  }
  /// Runs the entry `k` of `text`.
  LaunchReport& run(const std::string& text, DevicePointer a = 0, DevicePointer b = 0,
                    DevicePointer c = 0, DevicePointer d = 0) {
    const auto module = device->load(text, "test.ptx");
    const std::vector<Argument> arguments = {Argument(a), Argument(b), Argument(c), Argument(d)};
    report = device->launch(*module, "k", launch_options, arguments);
    return report;
  }
  std::size_t count(std::string_view check) const {
    std::size_t result = 0;
    for (const auto& seen : report.observations) result += seen.check == check ? 1 : 0;
    return result;
  }
  /// The first observation of that check; an empty one when there is none.
  reference::Observation first(std::string_view check) const {
    for (const auto& seen : report.observations) {
      if (seen.check == check) return seen;
    }
    return {};
  }
  /// All checks seen, for messages of failed tests.
  std::string seen() const {
    std::string text;
    for (const auto& one : report.observations) {
      text += one.check + " at line " + std::to_string(one.place.ptx_line) + ": " + one.message +
              " (x" + std::to_string(one.count) + ")\n";
    }
    return text;
  }

  std::unique_ptr<Device> device;
  LaunchOptions launch_options;
  LaunchReport report;
};

inline std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

}  // namespace draftproof::gpu::test
