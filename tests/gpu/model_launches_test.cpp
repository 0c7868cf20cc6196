// Goal: no launch of the model's kernels that cannot be sound passes its check, and one that passes
// touches what it says and nothing else. Method: each argument broken by itself; small launches on
// the emulated device, whose checks watch every byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/emulated_device.h"
#include "gpu/kernel_modules.h"
#include "gpu/launches/model.h"

namespace draftproof::gpu::launches {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr draftproof_model_rows kFourRows{0, 4, 0};

draftproof_gemm_arguments good_gemm() {
  return {kFourRows, 0x1000, 0x2000, 0x3000, 8, 8, 6, 8, 6, DRAFTPROOF_FLOAT32, 0};
}

draftproof_rope_scatter_arguments good_rope() {
  return {kFourRows, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000, 32, 16, 9, 4, 2, 4};
}

draftproof_attention_arguments good_attention() {
  return {kFourRows, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000, 0x7000, 0x8000, 32,   16,
          3,         2,      3,      4,      5,      1,      4,      2,      4,      0.5f, 0};
}

/// Expects the code, and that the text names the field and says more than its name.
template <class Arguments, class Change>
void expect_refused(Arguments arguments, int code, const std::string& field, Change change) {
  ASSERT_EQ(check(arguments).code, DRAFTPROOF_OK) << check(arguments).text;
  change(arguments);
  const draftproof_result result = check(arguments);
  EXPECT_EQ(result.code, code) << field << ": " << result.text;
  EXPECT_THAT(result.text, testing::HasSubstr(field));
  EXPECT_THAT(result.text, testing::HasSubstr(": "));
}

TEST(ModelLaunches, RefuseAGemmThatIsNotSound) {
  using Own = draftproof_gemm_arguments;
  const auto expect = [](int code, const char* field, auto change) {
    expect_refused(good_gemm(), code, field, change);
  };
  expect(DRAFTPROOF_NULL_POINTER, "weight is null", [](Own& own) { own.weight = 0; });
  expect(DRAFTPROOF_MISALIGNED, "input is misaligned", [](Own& own) { own.input += 2; });
  expect(DRAFTPROOF_MISALIGNED, "rows.count", [](Own& own) { own.rows.count = 0x101; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "rows.row_max", [](Own& own) { own.rows.row_max = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "input_width", [](Own& own) { own.input_width = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "output_width", [](Own& own) { own.output_width = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "output_width",
         [](Own& own) { own.output_stride = own.output_width = 1u << 31; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "weight's stride", [](Own& own) { own.weight_stride = 7; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "output's stride", [](Own& own) { own.output_stride = 5; });
  expect(DRAFTPROOF_TOO_LARGE, "input spans",
         [](Own& own) { own.input_stride = std::uint64_t{1} << 61; });
  expect(DRAFTPROOF_UNSUPPORTED, "format", [](Own& own) { own.format = DRAFTPROOF_FLOAT16; });
  expect(DRAFTPROOF_OVERLAP, "overlaps", [](Own& own) { own.output = own.input + 4; });
  expect(DRAFTPROOF_OVERLAP, "overlaps", [](Own& own) { own.rows.count = own.output + 4; });
}

TEST(ModelLaunches, RefuseARotationThatIsNotSound) {
  using Own = draftproof_rope_scatter_arguments;
  const auto expect = [](int code, const char* field, auto change) {
    expect_refused(good_rope(), code, field, change);
  };
  expect(DRAFTPROOF_NULL_POINTER, "sines is null", [](Own& own) { own.sines = 0; });
  expect(DRAFTPROOF_MISALIGNED, "slots is misaligned", [](Own& own) { own.slots += 4; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "kv_heads", [](Own& own) { own.kv_heads = 3; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "kv_heads", [](Own& own) { own.kv_heads = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "heads", [](Own& own) { own.heads = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "head_dim", [](Own& own) { own.head_dim = 3; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "head_dim", [](Own& own) { own.head_dim = 258; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "position_count", [](Own& own) { own.position_count = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "slot_count", [](Own& own) { own.slot_count = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "qkv's stride", [](Own& own) { own.qkv_stride = 31; });
  expect(DRAFTPROOF_OVERLAP, "overlaps", [](Own& own) { own.value_cache = own.key_cache; });
}

TEST(ModelLaunches, RefuseAnAttentionThatIsNotSound) {
  using Own = draftproof_attention_arguments;
  const auto expect = [](int code, const char* field, auto change) {
    expect_refused(good_attention(), code, field, change);
  };
  expect(DRAFTPROOF_NULL_POINTER, "tables is null", [](Own& own) { own.tables = 0; });
  expect(DRAFTPROOF_MISALIGNED, "masks is misaligned", [](Own& own) { own.masks += 4; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "sequence_count", [](Own& own) { own.sequence_count = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "page_size", [](Own& own) { own.page_size = 0; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "page_count", [](Own& own) { own.page_count = 1u << 31; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "mask_words", [](Own& own) { own.mask_words = 65; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "scale", [](Own& own) { own.scale = kNan; });
  expect(DRAFTPROOF_OUT_OF_RANGE, "tables's stride", [](Own& own) { own.table_stride = 2; });
  expect(DRAFTPROOF_OVERLAP, "overlaps", [](Own& own) { own.output = own.queries; });
}

TEST(ModelLaunches, RefuseElementwiseStagesThatAreNotSound) {
  const draftproof_embed_arguments embed{kFourRows, 0x1000, 0x2000, 0x3000, 8, 8, 9, 8, 0, 0};
  expect_refused(embed, DRAFTPROOF_OUT_OF_RANGE, "vocab_size",
                 [](draftproof_embed_arguments& own) { own.vocab_size = 0; });
  const draftproof_rms_norm_arguments norm{kFourRows, 0x1000, 0x2000, 0x3000, 8, 8, 8, 1e-5f};
  expect_refused(norm, DRAFTPROOF_OUT_OF_RANGE, "epsilon",
                 [](draftproof_rms_norm_arguments& own) { own.epsilon = 0.0f; });
  expect_refused(norm, DRAFTPROOF_OUT_OF_RANGE, "epsilon",
                 [](draftproof_rms_norm_arguments& own) { own.epsilon = kNan; });
  const draftproof_swiglu_arguments swiglu{kFourRows, 0x1000, 0x2000, 16, 8, 8, 0};
  expect_refused(swiglu, DRAFTPROOF_OUT_OF_RANGE, "gate_up's stride",
                 [](draftproof_swiglu_arguments& own) { own.gate_up_stride = 15; });
  const draftproof_residual_add_arguments add{kFourRows, 0x1000, 0x2000, 8, 8, 8, 0};
  expect_refused(add, DRAFTPROOF_OUT_OF_RANGE, "width",
                 [](draftproof_residual_add_arguments& own) { own.width = 0; });
}

TEST(ModelLaunches, RefuseWhatIsReservedForLater) {
  const auto expect = [](const auto& arguments) {
    using Own = std::remove_cvref_t<decltype(arguments)>;
    expect_refused(arguments, DRAFTPROOF_OUT_OF_RANGE, "rows.reserved",
                   [](Own& own) { own.rows.reserved = 1; });
    if constexpr (requires { arguments.reserved; })
      expect_refused(arguments, DRAFTPROOF_OUT_OF_RANGE, "reserved: give 0",
                     [](Own& own) { own.reserved = 1; });
  };
  expect(good_gemm());
  expect(good_rope());
  expect(good_attention());
  expect(draftproof_embed_arguments{kFourRows, 0x1000, 0x2000, 0x3000, 8, 8, 9, 8, 0, 0});
  expect(draftproof_rms_norm_arguments{kFourRows, 0x1000, 0x2000, 0x3000, 8, 8, 8, 1e-5f});
  expect(draftproof_swiglu_arguments{kFourRows, 0x1000, 0x2000, 16, 8, 8, 0});
  expect(draftproof_residual_add_arguments{kFourRows, 0x1000, 0x2000, 8, 8, 8, 0});
}

class ModelKernels : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }

  template <class Value>
  Buffer filled(const std::vector<Value>& values, const char* label) {
    Buffer buffer(*device_, values.size() * sizeof(Value), label);
    buffer.write(std::span<const Value>(values));
    return buffer;
  }
  template <class Arguments>
  void run(const Arguments& arguments) {
    ASSERT_EQ(check(arguments).code, DRAFTPROOF_OK) << check(arguments).text;
    KernelModules modules(*device_, embedded_texts());
    const LaunchReport report = modules.launch(launch_of(arguments));
    for (const auto& each : report.observations) ADD_FAILURE() << each.check << each.message;
  }

  std::unique_ptr<Device> device_ = make_emulated_device();
};

/// The exponential inside: relative error, and its ends.
TEST_F(ModelKernels, GateWithinTheErrorThatTheBoundAllowsAnExponential) {
  std::vector<float> values;
  for (float gate = -100.0f; gate <= 100.0f; gate += 0.0390625f) values.push_back(gate);
  const std::vector<float> gates = values;
  values.insert(values.end(), gates.size(), 1.0f);
  const Buffer both = filled(values, "gate and up");
  const Buffer output(*device_, gates.size() * 4, "output");
  const auto width = static_cast<std::uint32_t>(gates.size());
  run(draftproof_swiglu_arguments{
      {0, 1, 0}, both.pointer(), output.pointer(), 2 * width, width, width, 0});
  std::vector<float> gated(gates.size());
  output.read(std::span(gated));
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const double gate = static_cast<double>(gates[i]), truth = gate / (1.0 + std::exp(-gate));
    // Half of what ErrorModel allows exp, and three roundings.
    EXPECT_NEAR(static_cast<double>(gated[i]), truth,
                (0x1p-22 + 3 * 0x1p-24) * std::abs(truth) + 0x1p-118)
        << gate;
  }
}

TEST_F(ModelKernels, ComputeAsManyRowsAsTheDeviceSays) {
  const Buffer count = filled(std::vector<std::uint32_t>{2}, "count");
  const Buffer sum = filled(std::vector<float>{1, 2, 3, 4, 5, 6}, "sum");
  const Buffer addend = filled(std::vector<float>{10, 20, 30, 40, 50, 60}, "addend");
  run(draftproof_residual_add_arguments{
      {count.pointer(), 3, 0}, sum.pointer(), addend.pointer(), 2, 2, 2, 0});
  std::vector<float> sums(6);
  sum.read(std::span(sums));
  EXPECT_THAT(sums, testing::ElementsAre(11, 22, 33, 44, 5, 6));
}

TEST_F(ModelKernels, EmbedTokensOutsideTheVocabularyAsZeros) {
  const Buffer tokens = filled(std::vector<std::int32_t>{1, -1, 2, 0}, "tokens");
  const Buffer table = filled(std::vector<float>{1, 2, 3, 4}, "embedding");
  const Buffer output(*device_, 4 * 3 * 4, "output");
  run(draftproof_embed_arguments{kFourRows, tokens.pointer(), table.pointer(), output.pointer(), 2,
                                 3, 2, 2, 0, 0});
  std::vector<float> rows(12);
  output.read(std::span(rows), std::byte{0x40});
  const float gap = rows[2];
  EXPECT_THAT(rows, testing::ElementsAre(3, 4, gap, 0, 0, gap, 0, 0, gap, 1, 2, gap));
}

/// Rows without a position or a slot write nothing: the pool stays as it was, byte for byte.
TEST_F(ModelKernels, ScatterNoCellOfAnAbsentRow) {
  const Buffer qkv = filled(std::vector<float>(4 * 6, 1.0f), "qkv");
  const Buffer positions = filled(std::vector<std::int32_t>{0, 9, -1, 1}, "positions");
  const Buffer slots = filled(std::vector<std::int64_t>{-1, 0, 1, 4}, "slots");
  const Buffer angles = filled(std::vector<float>{0.5f, 0.5f}, "angles");
  const Buffer keys = filled(std::vector<float>(8, 7.0f), "keys");
  const Buffer values = filled(std::vector<float>(8, 7.0f), "values");
  run(draftproof_rope_scatter_arguments{kFourRows, qkv.pointer(), positions.pointer(),
                                        slots.pointer(), angles.pointer(), angles.pointer(),
                                        keys.pointer(), values.pointer(), 6, 4, 2, 1, 1, 2});
  for (const Buffer* pool : {&keys, &values}) {
    std::vector<float> cells(8);
    pool->read(std::span(cells));
    EXPECT_THAT(cells, testing::Each(7.0f));
  }
  std::vector<float> rows(24);
  qkv.read(std::span(rows));
  EXPECT_EQ(rows[0], 0.0f) << "turned: 1/2 - 1/2";
  EXPECT_EQ(rows[6], 1.0f) << "a position behind the tables stays";
}

/// A score that is no number gives no weight that is one: the value would come out as if nothing
/// was.
TEST_F(ModelKernels, GiveARowWhoseScoreIsNoNumberNone) {
  const Buffer queries = filled(std::vector<float>{kNan, 1}, "queries");
  const Buffer pool = filled(std::vector<float>{1, 2}, "pool");
  const Buffer sequence = filled(std::vector<std::int32_t>{0}, "sequence, page and length");
  const Buffer masks = filled(std::vector<std::uint64_t>{1}, "masks");
  const Buffer output(*device_, 8, "output");
  draftproof_attention_arguments arguments{};
  arguments.rows.row_max = 1;
  arguments.queries = queries.pointer();
  arguments.key_cache = arguments.value_cache = pool.pointer();
  arguments.sequences = arguments.tables = arguments.lengths = sequence.pointer();
  arguments.masks = masks.pointer();
  arguments.output = output.pointer();
  arguments.query_stride = arguments.output_stride = arguments.head_dim = 2;
  arguments.table_stride = arguments.sequence_count = arguments.page_max = 1;
  arguments.page_size = arguments.page_count = arguments.mask_words = 1;
  arguments.heads = arguments.kv_heads = 1;
  arguments.scale = 0.5f;
  run(arguments);
  std::vector<float> row(2);
  output.read(std::span(row));
  EXPECT_TRUE(std::isnan(row[0])) << row[0];
  EXPECT_TRUE(std::isnan(row[1])) << row[1];
}

TEST_F(ModelKernels, GiveARowThatSeesNothingZeros) {
  const Buffer queries = filled(std::vector<float>{1, 1, 1, 1}, "queries");
  const Buffer pool = filled(std::vector<float>{1, 2, 3, 4}, "pool");
  const Buffer sequences = filled(std::vector<std::int32_t>{-1, 0}, "sequences");
  const Buffer tables = filled(std::vector<std::int32_t>{5, 1}, "tables");
  const Buffer lengths = filled(std::vector<std::int32_t>{1}, "lengths");
  const Buffer masks = filled(std::vector<std::uint64_t>{1, 5}, "masks");
  const Buffer output(*device_, 16, "output");
  run(draftproof_attention_arguments{{0, 2, 0},
                                     queries.pointer(),
                                     pool.pointer(),
                                     pool.pointer(),
                                     sequences.pointer(),
                                     tables.pointer(),
                                     lengths.pointer(),
                                     masks.pointer(),
                                     output.pointer(),
                                     2,
                                     2,
                                     2,
                                     1,
                                     2,
                                     1,
                                     2,
                                     1,
                                     1,
                                     1,
                                     2,
                                     0.5f,
                                     0});
  std::vector<float> rows(4);
  output.read(std::span(rows));
  // Page 5 is none of the pool's two, and place 3 lies behind the table: page 1 alone is seen.
  EXPECT_THAT(rows, testing::ElementsAre(0, 0, 3, 4));
}

}  // namespace
}  // namespace draftproof::gpu::launches
