// Goal: a target forward on a device gives each row the logits of its history, whatever was drafted
// and rejected in between: the bits of a twin that never drafted, and values inside the certified
// error of the float64 model; a wrong commit, mask or position shows. Method: random histories over
// a paged window, chains and trees, on the emulated device with all checks on.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "reference/error.h"
#include "tests/differential/forward_history.h"
#include "tests/gpu/cublas_stand_in.h"

namespace draftproof::tests {
namespace {

using gpu::ForwardStep;

class TargetForwards : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  static HistoryFindings history(std::uint64_t seed, bool is_certified, int rounds,
                                 const HistoryChanges& changes = {}) {
    return ForwardHistory(gpu::embedded_texts(), seed, is_certified, {}, changes).run(rounds, 5);
  }
};

std::string first_of(const std::vector<reference::Observation>& observations) {
  return observations.empty() ? "" : observations[0].check + ": " + observations[0].message;
}

TEST_F(TargetForwards, EqualATwinThatNeverDraftedBitForBit) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const HistoryFindings found = history(seed, false, 3);
    EXPECT_TRUE(found.equals_twin) << seed << ": " << found.first_difference;
    EXPECT_TRUE(found.commits_as_told) << seed;
    EXPECT_EQ(first_of(found.observations), "") << seed;
    EXPECT_GE(found.rows, 6);
  }
}

TEST_F(TargetForwards, StayInsideTheCertifiedError) {
  const HistoryFindings found = history(9, true, 3);
  RecordProperty("share_max", std::to_string(found.share_max));
  EXPECT_LT(found.share_max, 1.0);
  EXPECT_GT(found.share_max, 5e-4) << "a bound that nothing comes near says nothing";
}

/// Every fault of a hand-over differs from the twin by more than any rounding explains.
TEST_F(TargetForwards, ShowWhatACommitOrAMaskGetsWrong) {
  const auto expect_seen = [&](const char* fault, const HistoryChanges& changes) {
    HistoryFindings found;
    for (std::uint64_t seed = 1; seed <= 3 && found.equals_twin; ++seed)
      found = history(seed, true, 2, changes);
    EXPECT_FALSE(found.equals_twin) << fault;
    EXPECT_GT(found.share_max, 1.0) << fault;
  };
  expect_seen("accepted cells are not moved", {{}, false, false});
  expect_seen("a rejected cell stays committed", {{}, true, true});
  expect_seen("a rejected cell is seen", {[](ForwardStep& step) {
                                            for (auto& row : step.rows)
                                              for (auto& word : row.mask) word |= word >> 1;
                                          },
                                          true, false});
  expect_seen("positions are those of places, not of depths",
              {[](ForwardStep& step) {
                 for (std::size_t i = 1; i < step.rows.size(); ++i)
                   step.rows[i].position = step.lengths[0] + static_cast<int>(i);
               },
               true, false});
  expect_seen("the last committed cell is not seen",
              {[](ForwardStep& step) { --step.lengths[0]; }, true, false});
}

TEST_F(TargetForwards, GiveARowTheSameBitsAtEveryBatchShapeBlockSizeAndSchedule) {
  auto config = forward_config();
  config.format = reference::model::WeightFormat::kFloat32;
  const auto weights = reference::model::make_toy_llama_weights(config, 21);
  const std::vector<Token> tokens{1, 50, 96, 0, 33, 8, 9, 10, 11};
  std::vector<std::vector<float>> alone;
  ForwardArm one(gpu::embedded_texts(), weights);
  for (const Token token : tokens) {
    ForwardStep step = one.window.step();
    one.window.feed(step, 0, std::vector<Token>{token});
    alone.push_back(one.forward.step(step).logits[0]);
    one.window.commit(0, 1);
  }
  for (const std::uint32_t threads : {32u, 96u, 1024u})
    for (const auto schedule :
         {reference::ScheduleKind::kFirstWarpFirst, reference::ScheduleKind::kLastWarpFirst}) {
      gpu::TargetForwardOptions options;
      options.block_threads = threads;
      ForwardArm all(gpu::embedded_texts(), weights, options);
      ForwardStep step = all.window.step();
      all.window.feed(step, 0, tokens);
      const auto result = all.forward.step(step, {schedule, 1, 0});
      EXPECT_EQ(result.logits, alone) << threads;
      EXPECT_EQ(first_of(result.observations), "");
    }
}

TEST_F(TargetForwards, KeepSequencesOfOneBatchApart) {
  const auto weights = reference::model::make_toy_llama_weights(forward_config(), 22);
  gpu::TargetForwardOptions options;
  options.sequence_count = 2;
  options.page_max = 2;
  ForwardArm both(gpu::embedded_texts(), weights, options);
  gpu::PagedWindow window(4, {{6, 1}, {4}});
  ForwardStep step = window.step();
  window.feed(step, 0, std::vector<Token>{5, 6, 7, 8, 9});
  window.feed(step, 1, std::vector<Token>{70, 71});
  const auto result = both.forward.step(step);
  EXPECT_EQ(first_of(result.observations), "");
  const auto alone = [&](const std::vector<Token>& tokens) {
    ForwardArm arm(gpu::embedded_texts(), weights);
    ForwardStep own = arm.window.step();
    arm.window.feed(own, 0, tokens);
    return arm.forward.step(own).logits;
  };
  const auto first = alone({5, 6, 7, 8, 9}), second = alone({70, 71});
  EXPECT_EQ(std::vector(result.logits.begin(), result.logits.begin() + 5), first);
  EXPECT_EQ(std::vector(result.logits.begin() + 5, result.logits.end()), second);
}

TEST_F(TargetForwards, RefuseAStepOfSizesThatNoLaunchTakes) {
  gpu::TargetForwardOptions options;
  options.mask_words = 65;
  ForwardArm arm(gpu::embedded_texts(),
                 reference::model::make_toy_llama_weights(forward_config(), 24), options);
  ForwardStep step = arm.window.step();
  arm.window.feed(step, 0, std::vector<Token>{1});
  try {
    arm.forward.step(step);
    FAIL() << "a mask of 65 words was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_NE(std::string(error.what()).find("mask_words"), std::string::npos) << error.what();
  }
}

/// The stand-in of cuBLAS on the memory of an emulated device.
class StandInOnDevice {
 public:
  explicit StandInOnDevice(gpu::Device& device) {
    void* const library = dlopen(DRAFTPROOF_CUBLAS_STAND_IN, RTLD_NOW | RTLD_LOCAL);
    control_ =
        reinterpret_cast<StandInControlFunction>(dlsym(library, "draftproof_cublas_stand_in"))();
    *control_ = {};
    control_->context = &device;
    control_->read = [](void* context, std::uint64_t from, void* to, std::size_t bytes) {
      static_cast<gpu::Device*>(context)->read(from, {static_cast<std::byte*>(to), bytes});
    };
    control_->write = [](void* context, std::uint64_t to, const void* from, std::size_t bytes) {
      static_cast<gpu::Device*>(context)->write(to, {static_cast<const std::byte*>(from), bytes});
    };
  }
  ~StandInOnDevice() { *control_ = {}; }
  const StandInControl& control() const { return *control_; }

 private:
  StandInControl* control_;
};

/// cuBLAS sums otherwise at M = 1 than at M = 6. Bits differ, tokens are judged by the bound.
TEST_F(TargetForwards, WithCublasDifferBetweenBatchShapesAndNeverByMoreThanTheBound) {
  const auto weights = reference::model::make_toy_llama_weights(forward_config(), 23);
  const auto device = gpu::make_emulated_device();
  const StandInOnDevice stand_in(*device);
  const gpu::Cublas cublas(gpu::open_cublas(DRAFTPROOF_CUBLAS_STAND_IN));
  gpu::KernelModules modules(*device, gpu::embedded_texts());
  gpu::TargetForwardOptions options;
  options.cublas = &cublas;
  const std::vector<Token> tokens{4, 40, 90, 12, 13, 14};
  const auto logits_of = [&](std::size_t rows_at_once) {
    gpu::TargetForward forward(modules, weights, options);
    gpu::PagedWindow window(4, {{9, 3, 12, 5, 8, 2, 7, 14}});
    std::vector<std::vector<float>> logits;
    for (std::size_t i = 0; i < tokens.size(); i += rows_at_once) {
      ForwardStep step = window.step();
      window.feed(step, 0, std::span(tokens).subspan(i, rows_at_once));
      const auto result = forward.step(step);
      EXPECT_EQ(first_of(result.observations), "");
      logits.insert(logits.end(), result.logits.begin(), result.logits.end());
      window.commit(0, static_cast<int>(rows_at_once));
    }
    return logits;
  };
  const auto decoded = logits_of(1), verified = logits_of(6);
  EXPECT_EQ(stand_in.control().refused_count, 0);
  EXPECT_EQ(stand_in.control().gemm_count, 7 * 9);
  EXPECT_NE(decoded, verified);
  expect_explained(reference::model::ToyLlama(weights).forward_sequence(tokens), decoded, verified);
}

}  // namespace
}  // namespace draftproof::tests
