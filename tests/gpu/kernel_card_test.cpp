// Launching from a card, on a device that records what it is asked and answers by hand: what is
// tested is the card's side, before any PTX runs.
#include "gpu/kernel_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "reference/error.h"

namespace draftproof::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RecordedModule final : public Module {
 public:
  explicit RecordedModule(std::vector<EntryInfo> entries) : entries_(std::move(entries)) {}
  const std::vector<EntryInfo>& entries() const override { return entries_; }

 private:
  std::vector<EntryInfo> entries_;
};

/// Memory by address; a launch calls `kernel`.
class RecordingDevice final : public Device {
 public:
  std::string name() const override { return "recording"; }
  bool observes() const override { return true; }
  std::unique_ptr<Module> load(std::string_view, std::string_view) override {
    return std::make_unique<RecordedModule>(entries);
  }
  DevicePointer allocate(std::size_t bytes, std::string_view) override {
    next += 1u << 20;
    memory[next] = std::vector<std::optional<std::byte>>(bytes);
    return next;
  }
  void free(DevicePointer pointer) override { memory.erase(pointer); }
  void write(DevicePointer to, std::span<const std::byte> from) override {
    std::copy(from.begin(), from.end(), memory.at(to).begin());
  }
  void read(DevicePointer from, std::span<std::byte> to, std::optional<std::byte> poison) override {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = memory.at(from)[i].value_or(*poison);
  }
  LaunchReport launch(const Module&, std::string_view entry, const LaunchOptions& options,
                      std::span<const Argument> arguments) override {
    launched = entry;
    launch_options = options;
    kernel(arguments);
    LaunchReport report;
    report.counts.launches = 1;
    return report;
  }

  std::vector<EntryInfo> entries;
  std::map<DevicePointer, std::vector<std::optional<std::byte>>> memory;
  DevicePointer next = 0;
  std::string launched;
  LaunchOptions launch_options;
  std::function<void(std::span<const Argument>)> kernel = [](auto) {};
};

template <class T>
T scalar(const Argument& argument) {
  T value;
  EXPECT_EQ(argument.bytes().size(), sizeof(value));
  std::memcpy(&value, argument.bytes().data(), sizeof(value));
  return value;
}

CardExpression expression(const char* text) { return {text, "card.toml:9"}; }

CardParameter buffer(const char* name, CardType type, const char* shape, CardAccess access) {
  CardParameter parameter;
  parameter.name = parameter.role = name;
  parameter.type = type;
  parameter.is_pointer = true;
  parameter.shape = {expression(shape)};
  parameter.access = access;
  parameter.place = "card.toml:20";
  return parameter;
}

CardParameter value(const char* name, CardType type, const char* text) {
  CardParameter parameter;
  parameter.name = name;
  parameter.type = type;
  parameter.value = expression(text);
  parameter.place = "card.toml:21";
  return parameter;
}

KernelCard card() {
  KernelCard card;
  card.place = "card.toml:2";
  card.dims = {"B", "V"};
  card.constraints = {expression("V >= 1")};
  CardStage stage;
  stage.ptx = "a.ptx";
  stage.entry = "sample.*";
  stage.select = "Width{W}E";
  stage.let = {{"W", expression("4 if V%4 == 0 else 1")}};
  stage.grid = {expression("B"), expression("W")};
  stage.block = {expression("128")};
  stage.dynamic_smem = expression("V*4");
  stage.place = "card.toml:10";
  stage.parameters = {buffer("in", CardType::kFloat32, "B*V", CardAccess::kIn),
                      buffer("out", CardType::kInt32, "B", CardAccess::kOut),
                      value("size", CardType::kUint32, "V")};
  card.stages = {stage};
  return card;
}

EntryInfo entry(const char* name) {
  return {name, {{0, 8, 8, true}, {8, 8, 8, true}, {16, 4, 4, false}}, {}, {}, 0, true};
}

class KernelCardTest : public testing::Test {
 protected:
  KernelCardTest() { device_.entries = {entry("sampleWidth1E"), entry("sampleWidth4E")}; }

  CardInputs inputs(std::int64_t requests, std::int64_t vocab_size) {
    CardInputs inputs;
    inputs.dims = {{"B", requests}, {"V", vocab_size}};
    inputs.buffers["in"] = std::vector<std::byte>(requests * vocab_size * 4, std::byte{1});
    return inputs;
  }
  CardRun run(KernelCard card, const CardInputs& inputs) {
    return CardKernel(device_, std::move(card), {{"a.ptx", ""}}).run(inputs, {});
  }
  std::string message(KernelCard card, const CardInputs& inputs) {
    try {
      run(std::move(card), inputs);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  RecordingDevice device_;
};

TEST_F(KernelCardTest, LaunchesTheEntryThatTheShapeSelects) {
  run(card(), inputs(3, 8));
  EXPECT_EQ(device_.launched, "sampleWidth4E");
  EXPECT_EQ(device_.launch_options.grid.x, 3u);
  EXPECT_EQ(device_.launch_options.grid.y, 4u);
  EXPECT_EQ(device_.launch_options.block.x, 128u);
  EXPECT_EQ(device_.launch_options.dynamic_shared_bytes, 32u);
  run(card(), inputs(3, 7));
  EXPECT_EQ(device_.launched, "sampleWidth1E");
}

TEST_F(KernelCardTest, HandsOverArgumentsAndBringsOutputsBack) {
  device_.kernel = [&](std::span<const Argument> arguments) {
    ASSERT_EQ(arguments.size(), 3u);
    EXPECT_EQ(scalar<std::uint32_t>(arguments[2]), 8u);
    EXPECT_EQ(device_.memory.at(scalar<std::uint64_t>(arguments[0])).size(), 2u * 8 * 4);
    auto& out = device_.memory.at(scalar<std::uint64_t>(arguments[1]));
    EXPECT_FALSE(out[0].has_value()) << "outputs start poisoned";
    for (int i = 0; i < 4; ++i) out[i] = std::byte{static_cast<unsigned char>(i)};
  };
  const CardRun result = run(card(), inputs(2, 8));
  EXPECT_THAT(result.outputs.at("out"),
              ElementsAre(std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}, kUnwritten,
                          kUnwritten, kUnwritten, kUnwritten));
  EXPECT_TRUE(result.changed_inputs.empty());
  EXPECT_TRUE(device_.memory.empty()) << "buffers are freed";
}

TEST_F(KernelCardTest, NoticesAnInputThatIsWrittenTo) {
  device_.kernel = [&](std::span<const Argument> arguments) {
    device_.memory.at(scalar<std::uint64_t>(arguments[0]))[3] = std::byte{9};
  };
  EXPECT_THAT(run(card(), inputs(2, 8)).changed_inputs, ElementsAre("in"));
}

TEST_F(KernelCardTest, FillsBuffersByTheirInit) {
  KernelCard filled = card();
  std::vector<std::int32_t> seen;
  device_.kernel = [&](std::span<const Argument> arguments) {
    seen.assign(4, 0);
    const auto& memory = device_.memory.at(scalar<std::uint64_t>(arguments[1]));
    for (std::size_t i = 0; i < 16; ++i)
      reinterpret_cast<std::byte*>(seen.data())[i] = memory[i].value();
  };
  CardParameter& out = filled.stages[0].parameters[1];
  out.init = CardInit::kIota;
  run(filled, inputs(4, 8));
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3));
  out.init = CardInit::kFill;
  out.init_value = expression("0-V");
  run(filled, inputs(4, 8));
  EXPECT_THAT(seen, ElementsAre(-8, -8, -8, -8));
  out.init = CardInit::kCumulative;
  out.init_value = expression("i+1");
  run(filled, inputs(4, 8));
  EXPECT_THAT(seen, ElementsAre(0, 1, 3, 6));
  out.init = CardInit::kZeros;
  run(filled, inputs(4, 8));
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0));
}

TEST_F(KernelCardTest, MistakesAreKnownBeforeTheFirstLaunch) {
  KernelCard wrong = card();
  wrong.stages[0].block = {expression("128/(V-V)")};
  EXPECT_THROW(CardKernel(device_, wrong, {{"a.ptx", ""}}), Error);
  KernelCard unknown = card();
  unknown.stages[0].parameters[0].shape = {expression("B*W*Q")};
  EXPECT_THROW(CardKernel(device_, unknown, {{"a.ptx", ""}}), Error);
  KernelCard depth = card();
  depth.rounding.cumulative_depth = expression("V/0");
  EXPECT_THROW(CardKernel(device_, depth, {{"a.ptx", ""}}), Error);
  EXPECT_NO_THROW(CardKernel(device_, card(), {{"a.ptx", ""}}));
}

TEST_F(KernelCardTest, MistakesNameTheCardsLine) {
  KernelCard two = card();
  two.stages[0].select = "Width";
  EXPECT_THAT(message(two, inputs(1, 8)), HasSubstr("card.toml:10: two entries match"));
  KernelCard none = card();
  none.stages[0].entry = "other";
  EXPECT_THAT(message(none, inputs(1, 8)), HasSubstr("card.toml:10: no entry"));
  KernelCard unknown = card();
  unknown.stages[0].select = "Width{X}E";
  EXPECT_THAT(message(unknown, inputs(1, 8)), HasSubstr("unknown name {X}"));
  KernelCard fewer = card();
  fewer.stages[0].parameters.pop_back();
  EXPECT_THAT(message(fewer, inputs(1, 8)), HasSubstr("card has 2 parameters, entry"));
  KernelCard wide = card();
  wide.stages[0].parameters[2].type = CardType::kUint64;
  EXPECT_THAT(message(wide, inputs(1, 8)), HasSubstr("card.toml:21: parameter 2 'size' has 8"));
  KernelCard small = card();
  small.stages[0].parameters[2].type = CardType::kUint8;
  EXPECT_THAT(message(small, inputs(1, 8)), HasSubstr("card.toml:21: "));
  EXPECT_THAT(message(card(), inputs(1, 0)), HasSubstr("constraint 'V >= 1' does not hold"));
  CardInputs short_bytes = inputs(1, 8);
  short_bytes.buffers["in"].pop_back();
  EXPECT_THAT(message(card(), short_bytes), HasSubstr("has 32 bytes by its shape, 31 were given"));
  KernelCard narrow = card();
  narrow.stages[0].parameters[2].value = expression("V - 8");
  EXPECT_THAT(message(narrow, inputs(1, 8)), HasSubstr("card.toml:21: 'size': -7 is outside"));
  KernelCard missing = card();
  missing.stages[0].parameters[2].value.reset();
  missing.stages[0].parameters[2].role = "rng.seed";
  EXPECT_THAT(message(missing, inputs(1, 8)), HasSubstr("'rng.seed' is a scalar that this check"));
  CardInputs dims = inputs(1, 8);
  dims.dims.erase("V");
  EXPECT_THAT(message(card(), dims), HasSubstr("dim 'V'"));
}

}  // namespace
}  // namespace draftproof::gpu
