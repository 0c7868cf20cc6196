// cp.async: what has been waited for is there; what has not is undefined, under some seed.
#include <gtest/gtest.h>

#include "tests/gpu/emulator_run.h"

namespace draftproof::gpu::test {
namespace {

std::string copy_kernel(const std::string& wait, const std::string& source_bytes = "") {
  return kernel(R"(
    .shared .align 16 .b8 s[512];
    mov.u32 %r1, s;
    mad.lo.u32 %r2, %t, 4, %r1;
    cp.async.ca.shared.global [%r2], [%at], 4)" +
                source_bytes + R"(;
    cp.async.commit_group;
    )" + wait + R"(
    bar.sync 0;
    xor.b32 %r3, %t, 32;
    mad.lo.u32 %r3, %r3, 4, %r1;
    ld.shared.u32 %r4, [%r3];
    add.s64 %q1, %b, %q31;
    st.global.u32 [%q1], %r4;  // HERE)");
}

TEST(EmulatorCopyAsync, ArrivesAtTheWait) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    EmulatorRun run;
    run.launch_options.block = {64, 1, 1};
    run.launch_options.schedule_seed = seed;
    const DevicePointer from = run.words(counting(64), "from");
    const DevicePointer to = run.unwritten(256, "to");
    run.run(copy_kernel("cp.async.wait_group 0;"), from, to);
    EXPECT_EQ(run.seen(), "");
    EXPECT_EQ(run.read(to, 64)[40], 8u);
    run.run(copy_kernel("cp.async.wait_all;"), from, to);
    EXPECT_EQ(run.seen(), "");
  }
}

TEST(EmulatorCopyAsync, ReadingWithoutTheWaitShows) {
  std::size_t seen = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    EmulatorRun run;
    run.launch_options.block = {64, 1, 1};
    run.launch_options.schedule_seed = seed;
    const DevicePointer from = run.words(counting(64), "from");
    const DevicePointer to = run.unwritten(256, "to");
    // One group may stay in flight, and one is all there is.
    const std::string text = copy_kernel("cp.async.wait_group 1;");
    run.run(text, from, to);
    seen += run.count("uninitialised");
    if (run.count("uninitialised") != 0) {
      EXPECT_EQ(run.first("uninitialised").place.ptx_line, line_of(text, "HERE"));
    }
  }
  EXPECT_GT(seen, 0u);
}

TEST(EmulatorCopyAsync, FillsWithZeroBeyondTheSourceSize) {
  EmulatorRun run;
  run.launch_options.block = {64, 1, 1};
  const DevicePointer from = run.words(counting(10), "from");
  const DevicePointer to = run.unwritten(256, "to");
  // Lanes beyond the source read nothing, so that is no bounds fault.
  const std::string sized = "\n    setp.lt.u32 %p1, %t, 10;\n";
  std::string text = copy_kernel("cp.async.wait_group 0;", ", %r9");
  text.insert(text.find("    cp.async.ca"), sized + "    selp.u32 %r9, 4, 0, %p1;\n");
  run.run(text, from, to);
  EXPECT_EQ(run.seen(), "");
  EXPECT_EQ(run.read(to, 64)[32 + 9], 9u);
  EXPECT_EQ(run.read(to, 64)[32 + 10], 0u);
  run.run(copy_kernel("cp.async.wait_group 0;"), from, to);
  EXPECT_EQ(run.count("bounds"), 1u) << run.seen();
}

}  // namespace
}  // namespace draftproof::gpu::test
