// Goal: an engine author on a machine without a GPU runs the very calls of a GPU and sees their
// faults; and what users ask for is refused where it means nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "gpu/draftproof_kernels.h"
#include "gpu/kernel_modules.h"
#include "tests/gpu/right_arguments.h"

namespace draftproof::gpu::interface {
namespace {

using testing::HasSubstr;

constexpr float kMasked = -std::numeric_limits<float>::infinity();

class InterfaceEmulated : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
    ASSERT_EQ(draftproof_library_create_emulated(&library_).code, DRAFTPROOF_OK);
  }
  void TearDown() override { draftproof_library_destroy(library_); }

  template <class T>
  draftproof_pointer put(const std::vector<T>& values, const char* label) {
    draftproof_pointer pointer = 0;
    const std::uint64_t bytes = values.size() * sizeof(T);
    EXPECT_EQ(draftproof_emulated_allocate(library_, bytes, label, &pointer).code, DRAFTPROOF_OK);
    EXPECT_EQ(draftproof_emulated_write(library_, pointer, values.data(), bytes).code,
              DRAFTPROOF_OK);
    return pointer;
  }
  std::string observations() {
    std::string text(draftproof_emulated_observations(library_, nullptr, 0) + 1, '\0');
    draftproof_emulated_observations(library_, text.data(), text.size());
    text.pop_back();
    return text;
  }
  draftproof_shape_rows_arguments rows_of(draftproof_pointer target_rows, std::uint32_t vocab_size,
                                          const draftproof_sampling& sampling) {
    draftproof_request request{};
    EXPECT_EQ(draftproof_request_init(&sampling, vocab_size, &request).code, DRAFTPROOF_OK);
    draftproof_shape_rows_arguments a{};
    a.target_rows = target_rows;
    a.target_row_stride = vocab_size;
    a.requests = put<draftproof_request>({request}, "requests");
    EXPECT_EQ(draftproof_emulated_allocate(library_, sizeof(draftproof_row_record), "records",
                                           &a.target_records)
                  .code,
              DRAFTPROOF_OK);
    a.draft_kind = 2;
    a.request_count = 1;
    a.vocab_size = vocab_size;
    return a;
  }

  draftproof_library* library_ = nullptr;
};

TEST_F(InterfaceEmulated, ShapesARowAsTheRequestAsks) {
  draftproof_sampling sampling = DRAFTPROOF_SAMPLING_DEFAULT;
  sampling.top_k = 2;
  const auto a = rows_of(put<float>({1, 5, 3, 4}, "rows"), 4, sampling);
  EXPECT_EQ(draftproof_shape_rows_launch(library_, &a, nullptr).code, DRAFTPROOF_OK);
  EXPECT_EQ(observations(), "");
  draftproof_row_record record{};
  ASSERT_EQ(draftproof_emulated_read(library_, a.target_records, &record, sizeof(record)).code,
            DRAFTPROOF_OK);
  EXPECT_EQ(record.status, 0u);
  EXPECT_EQ(record.maximum, 5.0f);
  // Masses are 2^44 * 2^(logit * scale - floor(maximum * scale)), to 1.56e-7; two of them stay.
  const double scaled = 5 / std::log(2.0);
  const double largest = std::exp2(scaled - std::floor(scaled));
  EXPECT_NEAR(static_cast<double>(record.total) / std::ldexp(1.0, 44),
              largest * (1 + std::exp(-1.0)), 1e-6);
}

TEST_F(InterfaceEmulated, ReportsAFaultOfALaunchInWords) {
  draftproof_sampling sampling = DRAFTPROOF_SAMPLING_DEFAULT;
  auto a = rows_of(put<float>({1, 2}, "two logits"), 4, sampling);
  const draftproof_result result = draftproof_shape_rows_launch(library_, &a, nullptr);
  EXPECT_EQ(result.code, DRAFTPROOF_DEVICE);
  EXPECT_THAT(result.text, HasSubstr("draftproof_emulated_observations"));
  EXPECT_THAT(observations(), testing::AllOf(HasSubstr("bounds"), HasSubstr("two logits")));
  std::array<char, 8> few{};
  EXPECT_GT(draftproof_emulated_observations(library_, few.data(), few.size()), 8u);
  EXPECT_EQ(std::string(few.data()), observations().substr(0, 7));
}

TEST_F(InterfaceEmulated, HoldsNoMoreWaitingBlocksThanItSays) {
  draftproof_acceptance_arguments a = right_acceptance(8);
  a.request_capacity = 1000;
  ASSERT_EQ(draftproof_acceptance_divide(library_, &a).code, DRAFTPROOF_OK);
  a.block_capacity = a.block_count = 100'000;
  ASSERT_EQ(draftproof_acceptance_workspace(&a, &a.workspace_bytes).code, DRAFTPROOF_OK);
  a.workspace = std::uint64_t{1} << 40;  // it would reach into other buffers
  EXPECT_EQ(draftproof_acceptance_plan(library_, &a, nullptr).code, DRAFTPROOF_UNSUPPORTED);
  const draftproof_result launched = draftproof_acceptance_launch(library_, &a, nullptr);
  EXPECT_EQ(launched.code, DRAFTPROOF_DEVICE);
  EXPECT_THAT(launched.text, HasSubstr("lower block_count"));
}

TEST_F(InterfaceEmulated, CountsWhatAnEntryHasOfItsOwnAmongABlocksSharedMemory) {
  draftproof_capabilities capabilities{};
  ASSERT_EQ(draftproof_library_capabilities(library_, &capabilities).code, DRAFTPROOF_OK);
  draftproof_acceptance_arguments a = right_acceptance(1000);
  ASSERT_EQ(draftproof_acceptance_divide(library_, &a).code, DRAFTPROOF_OK);
  ASSERT_EQ(draftproof_acceptance_workspace(&a, &a.workspace_bytes).code, DRAFTPROOF_OK);
  a.shared_bytes = capabilities.shared_bytes_max - 4096;
  EXPECT_EQ(draftproof_acceptance_plan(library_, &a, nullptr).code, DRAFTPROOF_OK);
  a.shared_bytes = capabilities.shared_bytes_max;
  const draftproof_result planned = draftproof_acceptance_plan(library_, &a, nullptr);
  EXPECT_EQ(planned.code, DRAFTPROOF_UNSUPPORTED);
  EXPECT_THAT(planned.text, HasSubstr("shared memory"));
  EXPECT_EQ(draftproof_acceptance_launch(library_, &a, nullptr).code, DRAFTPROOF_DEVICE);
  EXPECT_THAT(observations(), HasSubstr("shared memory"));
}

TEST_F(InterfaceEmulated, RefusesMemoryThatIsNotThere) {
  draftproof_pointer pointer = 0;
  std::uint32_t word = 0;
  ASSERT_EQ(draftproof_emulated_allocate(library_, 4, "word", &pointer).code, DRAFTPROOF_OK);
  EXPECT_EQ(draftproof_emulated_read(library_, pointer, &word, 4).code, DRAFTPROOF_DEVICE);
  EXPECT_THAT(observations(), HasSubstr("no one has written"));
  EXPECT_EQ(draftproof_emulated_write(library_, pointer, &word, 8).code, DRAFTPROOF_DEVICE);
  EXPECT_EQ(draftproof_emulated_write(library_, pointer, nullptr, 4).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(draftproof_emulated_read(library_, 0, &word, 4).code, DRAFTPROOF_DEVICE);
  EXPECT_EQ(draftproof_emulated_free(library_, pointer + 1).code, DRAFTPROOF_DEVICE);
  EXPECT_EQ(draftproof_emulated_free(library_, pointer).code, DRAFTPROOF_OK);
  EXPECT_EQ(draftproof_emulated_free(library_, pointer).code, DRAFTPROOF_DEVICE);
  EXPECT_EQ(draftproof_emulated_allocate(library_, std::uint64_t{1} << 63, "all", &pointer).code,
            DRAFTPROOF_TOO_LARGE);
  EXPECT_EQ(draftproof_emulated_allocate(library_, std::uint64_t{1} << 62, "all", &pointer).code,
            DRAFTPROOF_DEVICE);
  EXPECT_EQ(draftproof_emulated_free(nullptr, pointer).code, DRAFTPROOF_NULL_POINTER);
}

TEST_F(InterfaceEmulated, ServesThreadsOneAfterTheOther) {
  const draftproof_sampling sampling = DRAFTPROOF_SAMPLING_DEFAULT;
  std::vector<draftproof_shape_rows_arguments> list;
  for (int i = 0; i < 4; ++i)
    list.push_back(rows_of(put<float>({1, 2, static_cast<float>(3 + i)}, "rows"), 3, sampling));
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (const auto& arguments : list)
    threads.emplace_back([&, a = &arguments] {
      for (int i = 0; i < 10; ++i)
        failures += draftproof_shape_rows_launch(library_, a, nullptr).code != DRAFTPROOF_OK;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  for (int i = 0; i < 4; ++i) {
    draftproof_row_record record{};
    draftproof_emulated_read(library_, list[static_cast<std::size_t>(i)].target_records, &record,
                             sizeof(record));
    EXPECT_EQ(record.maximum, static_cast<float>(3 + i));
  }
}

TEST_F(InterfaceEmulated, SaysThatItIsEmulated) {
  draftproof_capabilities capabilities{};
  EXPECT_EQ(draftproof_library_capabilities(library_, &capabilities).code, DRAFTPROOF_OK);
  EXPECT_EQ(capabilities.is_emulated, 1u);
  EXPECT_STREQ(capabilities.name, "emulator");
  EXPECT_EQ(draftproof_library_capabilities(library_, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(draftproof_library_capabilities(nullptr, &capabilities).code, DRAFTPROOF_NULL_POINTER);
}

TEST(InterfaceLibrary, IsRefusedWithAWordWhereThereIsNoGpu) {
  draftproof_library* library = reinterpret_cast<draftproof_library*>(1);
  const draftproof_result result = draftproof_library_create(1 << 20, &library);
  EXPECT_NE(result.code, DRAFTPROOF_OK);
  EXPECT_EQ(library, nullptr);
  EXPECT_STRNE(result.text, "");
  EXPECT_EQ(draftproof_library_create(0, nullptr).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(draftproof_library_create_emulated(nullptr).code, DRAFTPROOF_NULL_POINTER);
  draftproof_library_destroy(nullptr);
  EXPECT_EQ(draftproof_version(), 0x000100u);
}

TEST(InterfaceRequests, WriteWhatAPresetAndASamplingMean) {
  const draftproof_sampling sampling{0.5, 3, 0.5, 0.25, "llama.cpp"};
  draftproof_request request{};
  ASSERT_EQ(draftproof_request_init(&sampling, 100, &request).code, DRAFTPROOF_OK);
  EXPECT_EQ(request.steps, 0x1432u) << "top-k, top-p, min-p, temperature, the first lowest";
  EXPECT_EQ(request.scale, static_cast<float>(2 * std::log2(std::exp(1.0))));
  EXPECT_EQ(request.top_k, 3u);
  EXPECT_EQ(std::ldexp(static_cast<double>(request.top_p_mantissa), -request.top_p_exponent), 0.5);
  EXPECT_EQ(std::ldexp(static_cast<double>(request.min_p_mantissa), -request.min_p_exponent), 0.25);
  EXPECT_EQ(request.flags, DRAFTPROOF_REQUEST_TOP_P | DRAFTPROOF_REQUEST_MIN_P |
                               DRAFTPROOF_REQUEST_TOP_K_LOWEST_IDS |
                               DRAFTPROOF_REQUEST_TOP_P_LOWEST_IDS);
  EXPECT_EQ(request.draft_count + request.coin_request + request.coin_position, 0u);
  const draftproof_sampling off{1, 100, 1, 0, nullptr};
  ASSERT_EQ(draftproof_request_init(&off, 100, &request).code, DRAFTPROOF_OK);
  EXPECT_EQ(request.top_k, 0u);
  EXPECT_EQ(request.flags, DRAFTPROOF_REQUEST_TOP_P_LOWEST_IDS);
  const draftproof_sampling cold{1e-6, 0, 1, 0, "vllm"};
  ASSERT_EQ(draftproof_request_init(&cold, 100, &request).code, DRAFTPROOF_OK);
  EXPECT_EQ(request.flags, DRAFTPROOF_REQUEST_GREEDY);
}

TEST(InterfaceRequests, RefuseWhatMeansNothingAndWriteNothing) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  draftproof_request request{};
  request.draft_count = 77;
  const auto code = [&](draftproof_sampling sampling, std::uint32_t vocab_size = 100) {
    const draftproof_result result = draftproof_request_init(&sampling, vocab_size, &request);
    EXPECT_EQ(result.text[0] == 0, result.code == DRAFTPROOF_OK);
    return result.code;
  };
  EXPECT_EQ(code({-0.5, 0, 1, 0, nullptr}), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code({kNan, 0, 1, 0, nullptr}), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code({1, 0, kNan, 0, nullptr}), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code({1, 0, 1, kNan, nullptr}), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code({1, 0, 1, 0, "vLLM"}), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code({1, 0, 1, 0, nullptr}, 0), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(code({1, 0, 1, 0, nullptr}, (1 << 20) + 1), DRAFTPROOF_OUT_OF_RANGE);
  EXPECT_EQ(draftproof_request_init(nullptr, 100, &request).code, DRAFTPROOF_NULL_POINTER);
  EXPECT_EQ(request.draft_count, 77u);
  EXPECT_EQ(code({1, 0, 1, 0, nullptr}, 1 << 20), DRAFTPROOF_OK);
}

TEST(InterfaceRequests, ListPresetsThatTheyTake) {
  EXPECT_STREQ(draftproof_preset_name(0), "default");
  std::uint32_t count = 0;
  for (; draftproof_preset_name(count) != nullptr; ++count) {
    draftproof_sampling sampling = DRAFTPROOF_SAMPLING_DEFAULT;
    sampling.preset = draftproof_preset_name(count);
    draftproof_request request;
    EXPECT_EQ(draftproof_request_init(&sampling, 8, &request).code, DRAFTPROOF_OK);
  }
  EXPECT_GE(count, 10u);
}

}  // namespace
}  // namespace draftproof::gpu::interface
