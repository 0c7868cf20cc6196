#include "tools/cost/copy_kernel.h"

#include <algorithm>
#include <numeric>

#include "gpu/cuda_timing.h"
#include "reference/error.h"

namespace draftproof::tools::cost {

namespace {

/// Each thread copies 16 bytes, then those that lie one grid further.
constexpr const char* kText = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry draftproof_copy(.param .u64 from, .param .u64 to, .param .u64 bytes)
{
  .reg .pred %p<2>;
  .reg .b32 %r<16>;
  .reg .b64 %q<16>;
  ld.param.u64 %q1, [from];
  ld.param.u64 %q2, [to];
  ld.param.u64 %q3, [bytes];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mad.lo.u32 %r5, %r1, %r2, %r3;
  mul.wide.u32 %q4, %r5, 16;
  mul.lo.u32 %r6, %r4, %r2;
  mul.wide.u32 %q5, %r6, 16;
TURN:
  setp.ge.u64 %p1, %q4, %q3;
  @%p1 bra END;
  add.u64 %q6, %q1, %q4;
  add.u64 %q7, %q2, %q4;
  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%q6];
  st.global.v4.u32 [%q7], {%r7, %r8, %r9, %r10};
  add.u64 %q4, %q4, %q5;
  bra TURN;
END:
  ret;
}
)";

constexpr std::size_t kBytesOnGpu = std::size_t{256} << 20;
constexpr std::size_t kBytesEmulated = 65536 + 16;

}  // namespace

double copied_gigabytes_a_second(gpu::Device& device, const Plan& plan) {
  const std::size_t bytes = device.observes() ? kBytesEmulated : kBytesOnGpu;
  std::vector<std::uint32_t> words(bytes / 4);
  std::iota(words.begin(), words.end(), 1u);
  gpu::Buffer from(device, bytes, "copied_from");
  gpu::Buffer to(device, bytes, "copied_to");
  from.write(std::span<const std::uint32_t>(words));
  const auto module = device.load(kText, "copy.ptx");
  const std::vector<gpu::Argument> arguments{gpu::Argument(from.pointer()),
                                             gpu::Argument(to.pointer()),
                                             gpu::Argument(std::uint64_t{bytes})};
  gpu::LaunchOptions options;
  options.grid.x = device.observes() ? 4 : 16 * gpu::multiprocessors(device);
  options.block.x = 256;
  device.launch(*module, "draftproof_copy", options, arguments);
  std::vector<std::uint32_t> copied(words.size());
  to.read(std::span<std::uint32_t>(copied), std::byte{0});
  DRAFTPROOF_CHECK(copied == words, "the copy kernel does not copy");
  if (device.observes()) return 0;
  const gpu::TimedLaunch launch{module.get(), "draftproof_copy", options, arguments};
  gpu::TimingOptions timing;
  timing.repeats = std::max(plan.repeats, 1);
  timing.is_cold = plan.is_cold;
  const Timing seen{gpu::time_launches(device, {&launch, 1}, timing)};
  return 2e-3 * static_cast<double>(bytes) / seen.median();
}

}  // namespace draftproof::tools::cost
