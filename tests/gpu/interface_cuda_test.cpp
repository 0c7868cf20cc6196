// Goal: on a GPU the C interface asks the driver for the right things, and refuses what no kernel
// serves. Method: a driver that is a table of functions of our own, which keeps a log. What only a
// GPU can show is in tests of label gpu.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/interface/cuda_executor.h"
#include "gpu/interface/library.h"

namespace {

/// Of this thread, counted by the operators below.
thread_local std::size_t allocation_count = 0;

}  // namespace

// Not inlined: g++ 12 would take malloc and free inside them for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocation_count;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace draftproof::gpu::interface {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What the driver of these tests knows and has seen.
struct World {
  std::map<int, int> attributes{{kCudaCapabilityMajor, 9},
                                {kCudaCapabilityMinor, 0},
                                {kCudaMultiprocessorCount, 132},
                                {kCudaSharedBytesMax, 232448},
                                {kCudaCooperativeLaunch, 1}};
  CudaContextHandle* current = nullptr;
  CudaResult load_result = kCudaSuccess;
  CudaResult launch_result = kCudaSuccess;
  int loaded = 0, unloaded = 0, retained = 0, released = 0;
  int dynamic_shared_bytes = 0;
  std::vector<std::string> launches;
  std::vector<std::string> contexts;
  int argument = 0;
  std::size_t allocations_before_launch = 0;
  std::size_t allocations_behind_launch = 0;
};
World* world = nullptr;

template <class T>
T* handle(std::uintptr_t number) {
  return reinterpret_cast<T*>(number);
}

std::string launch_text(const char* kind, unsigned x, unsigned block, unsigned shared,
                        CudaStreamHandle* stream) {
  return std::string(kind) + " " + std::to_string(x) + " x " + std::to_string(block) + ", " +
         std::to_string(shared) + " bytes, stream " +
         std::to_string(reinterpret_cast<std::uintptr_t>(stream)) + ", context " +
         std::to_string(reinterpret_cast<std::uintptr_t>(world->current));
}

CudaDriver told_driver() {
  CudaDriver driver{};
  driver.device_count = [](int* count) { return *count = 2, kCudaSuccess; };
  driver.device = [](CudaOrdinal* device, int index) { return *device = index, kCudaSuccess; };
  driver.device_name = [](char* name, int, CudaOrdinal) {
    return std::strcpy(name, "told"), kCudaSuccess;
  };
  driver.device_attribute = [](int* value, int attribute, CudaOrdinal) {
    return *value = world->attributes.at(attribute), kCudaSuccess;
  };
  driver.retain_context = [](CudaContextHandle** context, CudaOrdinal) {
    ++world->retained;
    return *context = handle<CudaContextHandle>(77), kCudaSuccess;
  };
  driver.release_context = [](CudaOrdinal) { return ++world->released, kCudaSuccess; };
  driver.current_context = [](CudaContextHandle** context) {
    return *context = world->current, kCudaSuccess;
  };
  driver.current_device = [](CudaOrdinal* device) { return *device = 1, kCudaSuccess; };
  driver.push_context = [](CudaContextHandle* context) {
    world->contexts.push_back("push");
    return world->current = context, kCudaSuccess;
  };
  driver.pop_context = [](CudaContextHandle**) {
    world->contexts.push_back("pop");
    return world->current = nullptr, kCudaSuccess;
  };
  driver.load_module = [](CudaModuleHandle** module, const void*, unsigned, int*, void**) {
    if (world->load_result != kCudaSuccess) return world->load_result;
    return *module = handle<CudaModuleHandle>(++world->loaded), kCudaSuccess;
  };
  driver.unload_module = [](CudaModuleHandle*) { return ++world->unloaded, kCudaSuccess; };
  driver.function = [](CudaFunctionHandle** function, CudaModuleHandle*, const char*) {
    return *function = handle<CudaFunctionHandle>(5), kCudaSuccess;
  };
  driver.function_attribute = [](int* value, int, CudaFunctionHandle*) {
    return *value = 448, kCudaSuccess;
  };
  driver.set_attribute = [](CudaFunctionHandle*, int, int value) {
    return world->dynamic_shared_bytes = value, kCudaSuccess;
  };
  driver.resident_blocks = [](int* blocks, CudaFunctionHandle*, int, std::size_t) {
    return *blocks = 2, kCudaSuccess;
  };
  driver.launch = [](CudaFunctionHandle*, unsigned x, unsigned, unsigned, unsigned block, unsigned,
                     unsigned, unsigned shared, CudaStreamHandle* stream, void** parameters,
                     void**) {
    world->allocations_before_launch = allocation_count;
    std::memcpy(&world->argument, parameters[0], sizeof(int));
    world->launches.push_back(launch_text("plain", x, block, shared, stream));
    world->allocations_behind_launch = allocation_count;
    return world->launch_result;
  };
  driver.launch_cooperative = [](CudaFunctionHandle*, unsigned x, unsigned, unsigned,
                                 unsigned block, unsigned, unsigned, unsigned shared,
                                 CudaStreamHandle* stream, void**) {
    world->launches.push_back(launch_text("cooperative", x, block, shared, stream));
    return world->launch_result;
  };
  driver.error_text = [](CudaResult, const char** text) {
    return *text = "the driver's own words", kCudaSuccess;
  };
  return driver;
}

constexpr const char* kText =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry told(.param .u32 a)\n{\nret;\n}\n";

class InterfaceCuda : public testing::Test {
 protected:
  InterfaceCuda() { world = &world_; }
  ~InterfaceCuda() override {
    executor_.reset();
    world = nullptr;
  }

  draftproof_result create(std::int32_t device) {
    return make_cuda_executor(driver_, device, {{"one", kText}, {"two", kText}}, executor_);
  }
  KernelLaunch launch_of(const char* module, const char* entry) {
    KernelLaunch launch;
    launch.module = module;
    launch.entry = entry;
    launch.grid.x = 3;
    launch.block.x = 64;
    launch.dynamic_shared_bytes = 1000;
    launch.add(argument_);
    return launch;
  }
  draftproof_result run(const KernelLaunch& launch) {
    return executor_->run(launch, handle<void>(9));
  }

  World world_;
  CudaDriver driver_ = told_driver();
  int argument_ = 41;
  std::unique_ptr<Executor> executor_;
};

TEST_F(InterfaceCuda, RefusesAGpuThatNoKernelIsMadeFor) {
  world_.attributes[kCudaCapabilityMajor] = 7;
  const draftproof_result old = create(0);
  EXPECT_EQ(old.code, DRAFTPROOF_UNSUPPORTED);
  EXPECT_THAT(old.text, HasSubstr("8.0"));
  world_.attributes[kCudaCapabilityMajor] = 8;
  world_.attributes[kCudaCooperativeLaunch] = 0;
  const draftproof_result alone = create(0);
  EXPECT_EQ(alone.code, DRAFTPROOF_UNSUPPORTED);
  EXPECT_THAT(alone.text, HasSubstr("cooperative"));
  EXPECT_EQ(executor_, nullptr);
  EXPECT_EQ(world_.loaded, 0);
  EXPECT_EQ(world_.retained, world_.released);
}

TEST_F(InterfaceCuda, RefusesOrdinalsOfNoDeviceAndThreadsWithoutAContext) {
  EXPECT_EQ(create(2).code, DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(create(-2).code, DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(create(DRAFTPROOF_CURRENT_CONTEXT).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(create(1).code, DRAFTPROOF_OK);
}

TEST_F(InterfaceCuda, HandsOnTheDriversWordsAndGivesEverythingBack) {
  world_.load_result = 222;
  const draftproof_result result = create(0);
  EXPECT_EQ(result.code, DRAFTPROOF_DEVICE);
  EXPECT_STREQ(result.text, "the driver's own words");
  EXPECT_EQ(world_.retained, 1);
  EXPECT_EQ(world_.released, 1);
  world_.load_result = kCudaSuccess;
  EXPECT_EQ(create(0).code, DRAFTPROOF_OK);
  EXPECT_EQ(world_.loaded, 2);
  executor_.reset();
  EXPECT_EQ(world_.unloaded, 2);
  EXPECT_EQ(world_.released, 2);
}

TEST_F(InterfaceCuda, SaysWhatTheDeviceCanDo) {
  ASSERT_EQ(create(0).code, DRAFTPROOF_OK);
  const draftproof_capabilities capabilities = executor_->capabilities();
  EXPECT_EQ(capabilities.compute_major, 9u);
  EXPECT_EQ(capabilities.multiprocessor_count, 132u);
  EXPECT_EQ(capabilities.is_emulated, 0u);
  EXPECT_STREQ(capabilities.name, "told");
  EXPECT_EQ(world_.dynamic_shared_bytes, 232448 - 448);
}

TEST_F(InterfaceCuda, LaunchesOnItsStreamInItsContextWithOneCall) {
  ASSERT_EQ(create(0).code, DRAFTPROOF_OK);
  world_.contexts.clear();
  EXPECT_EQ(run(launch_of("two", "told")).code, DRAFTPROOF_OK);
  EXPECT_THAT(world_.launches, ElementsAre("plain 3 x 64, 1000 bytes, stream 9, context 77"));
  EXPECT_EQ(world_.argument, 41);
  EXPECT_THAT(world_.contexts, ElementsAre("push", "pop"));
  world_.current = handle<CudaContextHandle>(77);
  EXPECT_EQ(run(launch_of("one", "told")).code, DRAFTPROOF_OK);
  EXPECT_EQ(world_.contexts.size(), 2u) << "its context was current already";
}

TEST_F(InterfaceCuda, ChecksAndLaunchesWithoutAnAllocation) {
  std::ostringstream text;
  text << ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry draftproof_kv_poison("
       << ".param .align 8 .b8 a[" << sizeof(draftproof_kv_poison_arguments) << "])\n{\nret;\n}\n";
  ASSERT_EQ(make_cuda_executor(driver_, 0, {{"paged_cache_pages", text.str()}}, executor_).code,
            DRAFTPROOF_OK);
  const draftproof_library library{std::move(executor_)};
  draftproof_kv_poison_arguments a{};
  a.pool.planes[0].base = 4096;
  a.pool.planes[0].page_stride = 64;
  a.pool.planes[0].slot_stride = a.pool.planes[0].head_bytes = 16;
  a.pool.planes[0].head_count = 1;
  a.pool.plane_count = a.pool.layer_count = a.pool.page_size = a.pool.page_count = 1;
  a.sequences.tables = 8192;
  a.sequences.table_stride = a.sequences.page_max = 1;
  a.sequences.row_count = a.sequences.sequence_count = 1;
  a.sequences.lengths = 12288;
  a.sequences.fed_counts = 16384;
  a.new_lengths = 20480;
  a.statuses = 24576;
  world_.current = handle<CudaContextHandle>(77);
  const std::size_t before = allocation_count;
  const draftproof_result launched = draftproof_kv_poison_launch(&library, &a, nullptr);
  const std::size_t behind = allocation_count;
  EXPECT_EQ(launched.code, DRAFTPROOF_OK) << launched.text;
  EXPECT_EQ(world_.launches.size(), 1u);
  EXPECT_EQ(world_.allocations_before_launch, before);
  EXPECT_GT(world_.allocations_behind_launch, before) << "this driver allocates: the count counts";
  EXPECT_EQ(behind, world_.allocations_behind_launch);
}

TEST_F(InterfaceCuda, LaunchesCooperativelyWhatMustBeResidentAtOnce) {
  ASSERT_EQ(create(0).code, DRAFTPROOF_OK);
  KernelLaunch launch = launch_of("one", "told");
  launch.is_cooperative = true;
  world_.launch_result = 720;
  EXPECT_STREQ(run(launch).text, "the driver's own words");
  EXPECT_THAT(world_.launches, ElementsAre(HasSubstr("cooperative 3 x 64")));
}

TEST_F(InterfaceCuda, LaunchesNoEntryThatItDoesNotHaveNorArgumentsOfOtherSizes) {
  ASSERT_EQ(create(0).code, DRAFTPROOF_OK);
  EXPECT_EQ(run(launch_of("three", "told")).code, DRAFTPROOF_UNSUPPORTED);
  EXPECT_EQ(run(launch_of("one", "untold")).code, DRAFTPROOF_UNSUPPORTED);
  KernelLaunch larger = launch_of("one", "told");
  larger.arguments[0].bytes = 8;
  EXPECT_EQ(run(larger).code, DRAFTPROOF_UNSUPPORTED);
  EXPECT_TRUE(world_.launches.empty());
}

TEST_F(InterfaceCuda, StaysInTheContextOfTheCallerWhenToldTo) {
  world_.current = handle<CudaContextHandle>(5);
  ASSERT_EQ(create(DRAFTPROOF_CURRENT_CONTEXT).code, DRAFTPROOF_OK);
  EXPECT_EQ(run(launch_of("one", "told")).code, DRAFTPROOF_OK);
  EXPECT_THAT(world_.launches, ElementsAre(HasSubstr("context 5")));
  EXPECT_EQ(world_.retained, 0);
  executor_.reset();
  EXPECT_EQ(world_.released, 0);
}

}  // namespace
}  // namespace draftproof::gpu::interface
