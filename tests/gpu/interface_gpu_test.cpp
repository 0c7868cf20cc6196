// Goal: the C interface on a GPU gives the bytes that it gives on the emulated device, in one
// launch and in two, and a captured graph of its launches serves another batch behind the same
// pointers.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "gpu/cuda_driver.h"
#include "gpu/draftproof_kernels.h"
#include "tests/gpu/require_gpu.h"

namespace draftproof::gpu {
namespace {

constexpr std::uint32_t kRequests = 5, kDrafts = 3, kVocabulary = 2000;

/// A library with memory of its device.
class Engine {
 public:
  explicit Engine(bool is_emulated) : is_emulated_(is_emulated) {
    if (!is_emulated) {
      CudaContextHandle* context = nullptr;
      EXPECT_EQ(cuda_driver().retain_context(&context, 0), 0);
      EXPECT_EQ(cuda_driver().set_context(context), 0);
    }
    const draftproof_result made = is_emulated ? draftproof_library_create_emulated(&library_)
                                               : draftproof_library_create(0, &library_);
    EXPECT_EQ(made.code, DRAFTPROOF_OK) << made.text;
  }
  ~Engine() {
    for (const draftproof_pointer pointer : pointers_)
      is_emulated_ ? (void)draftproof_emulated_free(library_, pointer)
                   : (void)cuda_driver().release(pointer);
    draftproof_library_destroy(library_);
    if (!is_emulated_) cuda_driver().release_context(0);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const draftproof_library* library() const { return library_; }
  draftproof_pointer room(std::uint64_t bytes) {
    draftproof_pointer pointer = 0;
    if (is_emulated_)
      EXPECT_EQ(draftproof_emulated_allocate(library_, bytes, "test", &pointer).code, 0);
    else
      EXPECT_EQ(cuda_driver().allocate(reinterpret_cast<CudaAddress*>(&pointer), bytes), 0);
    pointers_.push_back(pointer);
    return pointer;
  }
  template <class T>
  void write(draftproof_pointer to, const std::vector<T>& values) {
    const std::uint64_t bytes = values.size() * sizeof(T);
    EXPECT_EQ(is_emulated_ ? draftproof_emulated_write(library_, to, values.data(), bytes).code
                           : cuda_driver().copy_to_device(to, values.data(), bytes),
              0);
    // A copy from pageable memory may still be under way, and streams do not wait for it.
    EXPECT_EQ(is_emulated_ ? 0 : cuda_driver().synchronise(), 0);
  }
  template <class T>
  draftproof_pointer put(const std::vector<T>& values) {
    const draftproof_pointer pointer = room(values.size() * sizeof(T));
    write(pointer, values);
    return pointer;
  }
  std::vector<std::int32_t> words(draftproof_pointer from, std::size_t count) {
    std::vector<std::int32_t> values(count);
    EXPECT_EQ(is_emulated_ ? draftproof_emulated_read(library_, from, values.data(), count * 4).code
                           : cuda_driver().copy_to_host(values.data(), from, count * 4),
              0);
    return values;
  }

 private:
  bool is_emulated_;
  draftproof_library* library_ = nullptr;
  std::vector<draftproof_pointer> pointers_;
};

/// Logits, tokens and requests drawn from a seed.
struct Batch {
  explicit Batch(unsigned seed) {
    std::mt19937 random(seed);
    const auto logit = [&] { return static_cast<float>(random() % 4096) / 512; };
    for (std::uint32_t i = 0; i < kRequests * (kDrafts + 1) * kVocabulary; ++i)
      target.push_back(logit());
    for (std::uint32_t i = 0; i < kRequests * kDrafts * kVocabulary; ++i) draft.push_back(logit());
    for (std::uint32_t i = 0; i < kRequests * kDrafts; ++i)
      tokens.push_back(static_cast<std::int32_t>(random() % kVocabulary));
    for (std::uint32_t i = 0; i < kRequests; ++i) {
      const draftproof_sampling sampling{0.5 + i, i % 2 ? 50 : 0, 0.9, 0, nullptr};
      draftproof_request request{};
      EXPECT_EQ(draftproof_request_init(&sampling, kVocabulary, &request).code, DRAFTPROOF_OK);
      request.draft_count = random() % (kDrafts + 1);
      request.coin_request = i;
      requests.push_back(request);
    }
  }
  std::vector<float> target, draft;
  std::vector<std::int32_t> tokens;
  std::vector<draftproof_request> requests;
};

/// One batch on an engine, and the launches that judge it.
class Judged {
 public:
  Judged(Engine& engine, const Batch& batch) : engine_(engine) {
    fused_.target_rows = engine.put(batch.target);
    fused_.draft_rows = engine.put(batch.draft);
    fused_.draft_tokens = engine.put(batch.tokens);
    fused_.requests = engine.put(batch.requests);
    fused_.target_row_stride = fused_.draft_row_stride = kVocabulary;
    fused_.seed = 11;
    fused_.emitted_tokens = engine.room(kSlots * 4);
    fused_.emitted_reasons = engine.room(kSlots * 4);
    fused_.outcomes = engine.room(kRequests * sizeof(draftproof_outcome));
    fused_.request_capacity = kRequests;
    fused_.padded_draft_count = kDrafts;
    fused_.vocab_size = kVocabulary;
    expect(draftproof_acceptance_divide(engine.library(), &fused_));
    expect(draftproof_acceptance_workspace(&fused_, &fused_.workspace_bytes));
    fused_.workspace = engine.put(std::vector<char>(fused_.workspace_bytes, 0));
  }

  void replace(const Batch& batch) {
    engine_.write(fused_.target_rows, batch.target);
    engine_.write(fused_.draft_rows, batch.draft);
    engine_.write(fused_.draft_tokens, batch.tokens);
    engine_.write(fused_.requests, batch.requests);
  }
  void launch_fused(void* stream) {
    expect(draftproof_acceptance_launch(engine_.library(), &fused_, stream));
  }
  void launch_two(void* stream) {
    draftproof_shape_rows_arguments shape{};
    shape.target_rows = fused_.target_rows;
    shape.draft_rows = fused_.draft_rows;
    shape.target_row_stride = shape.draft_row_stride = kVocabulary;
    shape.draft_tokens = fused_.draft_tokens;
    shape.requests = fused_.requests;
    shape.target_records = engine_.room(kSlots * sizeof(draftproof_row_record));
    shape.draft_records = engine_.room(kSlots * sizeof(draftproof_row_record));
    shape.request_count = kRequests;
    shape.padded_draft_count = kDrafts;
    shape.vocab_size = kVocabulary;
    expect(draftproof_shape_rows_launch(engine_.library(), &shape, stream));
    draftproof_verify_arguments verify{};
    verify.target_rows = shape.target_rows;
    verify.draft_rows = shape.draft_rows;
    verify.target_row_stride = verify.draft_row_stride = kVocabulary;
    verify.draft_tokens = shape.draft_tokens;
    verify.requests = shape.requests;
    verify.target_records = shape.target_records;
    verify.draft_records = shape.draft_records;
    verify.seed = fused_.seed;
    verify.emitted_tokens = fused_.emitted_tokens;
    verify.emitted_reasons = fused_.emitted_reasons;
    verify.outcomes = fused_.outcomes;
    verify.request_count = kRequests;
    verify.padded_draft_count = kDrafts;
    verify.vocab_size = kVocabulary;
    expect(draftproof_verify_launch(engine_.library(), "chain", &verify, stream));
  }
  /// Tokens, then outcomes.
  std::vector<std::int32_t> outcome() {
    std::vector<std::int32_t> words = engine_.words(fused_.emitted_tokens, kSlots);
    const auto rest = engine_.words(fused_.outcomes, kRequests * 4);
    words.insert(words.end(), rest.begin(), rest.end());
    return words;
  }

 private:
  static constexpr std::uint32_t kSlots = kRequests * (kDrafts + 1);
  static void expect(const draftproof_result& result) {
    EXPECT_EQ(result.code, DRAFTPROOF_OK) << result.text;
  }
  Engine& engine_;
  draftproof_acceptance_arguments fused_{};
};

class InterfaceOnGpu : public tests::GpuTest {
 protected:
  static std::vector<std::int32_t> emulated(const Batch& batch) {
    Engine engine(true);
    Judged judged(engine, batch);
    judged.launch_two(nullptr);
    return judged.outcome();
  }
};

TEST_F(InterfaceOnGpu, GivesTheBytesOfTheEmulatedDevice) {
  Engine engine(is_stand_in());
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const Batch batch(seed);
    const std::vector<std::int32_t> expected = emulated(batch);
    Judged two(engine, batch), one(engine, batch);
    two.launch_two(nullptr);
    one.launch_fused(nullptr);
    EXPECT_EQ(two.outcome(), expected) << seed;
    EXPECT_EQ(one.outcome(), expected) << seed;
  }
}

/// The driver's functions of graphs, by name; pointers stand for its handles.
template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  ASSERT_NE(function, nullptr) << name;
  ASSERT_EQ(function(arguments...), 0) << name;
}

TEST_F(InterfaceOnGpu, IsCapturedOnceAndReplayedForAnotherBatch) {
  if (is_stand_in()) GTEST_SKIP() << "the emulated device has no graphs";
  Engine engine(false);
  const Batch first(1), second(2);
  Judged judged(engine, first);
  void *stream = nullptr, *graph = nullptr, *executable = nullptr;
  call("cuStreamCreate", &stream, 1u);         // CU_STREAM_NON_BLOCKING
  call("cuStreamBeginCapture_v2", stream, 1);  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
  judged.launch_fused(stream);
  call("cuStreamEndCapture", stream, &graph);
  call("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  for (const Batch* batch : {&first, &second, &first}) {
    judged.replace(*batch);
    call("cuGraphLaunch", executable, stream);
    call("cuStreamSynchronize", stream);
    EXPECT_EQ(judged.outcome(), emulated(*batch));
  }
  call("cuGraphExecDestroy", executable);
  call("cuGraphDestroy", graph);
  call("cuStreamDestroy_v2", stream);
}

}  // namespace
}  // namespace draftproof::gpu
