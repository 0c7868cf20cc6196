// How fast the emulated device runs, and what its checks cost: one thread, no GPU. Each benchmark
// runs with the switchable checks off (checks:0) and on (checks:1); the counter threads/s is thread
// instructions a second. The ratio of the two rows is the price of the checks; tracking which
// values are defined is part of both.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/emulated_device.h"

namespace {

using draftproof::gpu::Argument;
using draftproof::gpu::DevicePointer;
using draftproof::gpu::EmulatedDeviceOptions;
using draftproof::gpu::LaunchOptions;
using draftproof::gpu::make_emulated_device;

constexpr std::uint32_t kBlockThreads = 256;
constexpr std::uint32_t kGlobalWords = 1u << 22;  // 16 MiB

/// An entry k(pointer, pointer); %a and %b hold them, %t is the thread in the grid.
std::string kernel(const std::string& body) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pa, .param .u64 pb)
{
  .reg .pred %p<4>;
  .reg .b32 %r<32>;
  .reg .b64 %q<16>;
  .reg .f32 %f<16>;
  .reg .b64 %a, %b;
  .reg .b32 %t, %x;
  .shared .align 16 .b8 s[4096];
  ld.param.u64 %a, [pa];
  ld.param.u64 %b, [pb];
  mov.u32 %x, %tid.x;
  mov.u32 %r30, %ctaid.x;
  mad.lo.u32 %t, %r30, )" +
         std::to_string(kBlockThreads) + R"(, %x;
)" + body +
         "\n  ret;\n}\n";
}

const std::string kArithmetic = R"(
  mov.u32 %r1, 0;
  cvt.rn.f32.u32 %f1, %t;
  mov.f32 %f2, 0f3F000000;
LOOP:
  fma.rn.f32 %f1, %f1, %f2, %f2;
  fma.rn.f32 %f3, %f1, %f1, %f2;
  add.f32 %f4, %f3, %f1;
  mul.f32 %f2, %f2, %f2;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 2000;
  @%p1 bra LOOP;)";

// Each thread writes its word, the block meets, and reads the word of another warp.
const std::string kShared = R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, s;
  mad.lo.u32 %r3, %x, 4, %r2;
  xor.b32 %r4, %x, 32;
  mad.lo.u32 %r4, %r4, 4, %r2;
LOOP:
  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  ld.shared.u32 %r5, [%r4];
  ld.shared.u32 %r6, [%r3];
  add.u32 %r7, %r5, %r6;
  bar.sync 0;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 500;
  @%p1 bra LOOP;)";

// A grid-stride sum over 16 MiB, four words a load.
const std::string kStreaming = R"(
  mul.wide.u32 %q1, %t, 16;
  add.s64 %q1, %a, %q1;
  mov.u32 %r1, 0;
  mov.f32 %f5, 0f00000000;
LOOP:
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%q1];
  add.f32 %f5, %f5, %f1;
  add.f32 %f6, %f2, %f3;
  add.f32 %f5, %f5, %f4;
  add.f32 %f5, %f5, %f6;
  add.s64 %q1, %q1, 65536;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 256;
  @%p1 bra LOOP;
  mul.wide.u32 %q2, %t, 4;
  add.s64 %q2, %b, %q2;
  st.global.f32 [%q2], %f5;)";

// Every lane reads a word of its own choice.
const std::string kGather = R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, %t;
LOOP:
  mad.lo.u32 %r2, %r2, 1664525, 1013904223;
  shr.u32 %r3, %r2, 10;
  mul.wide.u32 %q1, %r3, 4;
  add.s64 %q1, %a, %q1;
  ld.global.u32 %r4, [%q1];
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 100;
  @%p1 bra LOOP;)";

const std::string kHistogram = R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, %t;
  mov.u32 %r5, s;
  mad.lo.u32 %r6, %x, 4, %r5;
  st.shared.u32 [%r6], %r1;
  bar.sync 0;
LOOP:
  mad.lo.u32 %r2, %r2, 1664525, 1013904223;
  shr.u32 %r3, %r2, 24;
  mad.lo.u32 %r4, %r3, 4, %r5;
  atom.shared.add.u32 %r7, [%r4], 1;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 100;
  @%p1 bra LOOP;)";

void run(benchmark::State& state, const std::string& body, std::uint32_t blocks) {
  EmulatedDeviceOptions options;
  options.check_races = options.check_uninitialised = state.range(0) != 0;
  const auto device = make_emulated_device(options);
  const auto module = device->load(kernel(body), "bench.ptx");
  const std::vector<float> values(kGlobalWords, 1.0f);
  const DevicePointer from = device->allocate(values.size() * sizeof(float), "from");
  device->write(from, std::as_bytes(std::span(values)));
  const DevicePointer to = device->allocate(std::size_t{blocks} * kBlockThreads * 4, "to");
  LaunchOptions launch;
  launch.grid = {blocks, 1, 1};
  launch.block = {kBlockThreads, 1, 1};
  const std::vector<Argument> arguments = {Argument(from), Argument(to)};
  std::uint64_t threads = 0;
  std::uint64_t warps = 0;
  for (auto _ : state) {
    const auto report = device->launch(*module, "k", launch, arguments);
    if (!report.observations.empty()) {
      state.SkipWithError(report.observations.front().message.c_str());
      return;
    }
    threads += report.counts.thread_instructions;
    warps += report.counts.warp_instructions;
  }
  state.counters["threads/s"] =
      benchmark::Counter(static_cast<double>(threads), benchmark::Counter::kIsRate);
  state.counters["warps/s"] =
      benchmark::Counter(static_cast<double>(warps), benchmark::Counter::kIsRate);
}

void arithmetic(benchmark::State& state) { run(state, kArithmetic, 1); }
void shared_exchange(benchmark::State& state) { run(state, kShared, 1); }
void global_streaming(benchmark::State& state) { run(state, kStreaming, 16); }
void global_gather(benchmark::State& state) { run(state, kGather, 4); }
void shared_histogram(benchmark::State& state) { run(state, kHistogram, 4); }
void many_small_blocks(benchmark::State& state) { run(state, "", 2000); }

BENCHMARK(arithmetic)->ArgName("checks")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(shared_exchange)->ArgName("checks")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(global_streaming)->ArgName("checks")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(global_gather)->ArgName("checks")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(shared_histogram)->ArgName("checks")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(many_small_blocks)->ArgName("checks")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
