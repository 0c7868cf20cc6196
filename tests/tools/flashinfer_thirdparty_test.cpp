// FlashInfer's chain kernel under the judge, and the judge under faults: the same run must flag a
// kernel whose PTX was changed by one instruction, and a replay that counts draws wrongly. Needs
// tools/kernels/fetch.sh flashinfer; skipped without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gpu/emulated_device.h"
#include "oracle/curand_stream.h"
#include "reference/error.h"
#include "tools/card_reader.h"
#include "tools/draftproof/commands/check_card.h"

namespace draftproof::tools {
namespace {

namespace fs = std::filesystem;
using oracle::Claim;
using oracle::Verdict;
using oracle::VerdictKind;
using testing::HasSubstr;

const std::string kCard =
    std::string(DRAFTPROOF_SOURCE_DIR) + "/fixtures/kernels/flashinfer_chain.toml";

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

class FlashinferChain : public testing::Test {
 protected:
  void SetUp() override {
    try {
      ptx_ = text_of(fs::path(third_party_folder(read_card(kCard), "")) / "flashinfer/chain.ptx");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  /// Verdicts of the first `case_limit` cases of the smoke battery (0: all of them).
  std::vector<Verdict> check(const std::string& ptx, const std::string& card_text,
                             std::uint64_t case_limit) {
    write(folder_ / "card.toml", card_text);
    write(folder_ / "flashinfer/chain.ptx", ptx);
    const auto device = gpu::make_emulated_device();
    CardCheck settings;
    settings.card = (folder_ / "card.toml").string();
    settings.third_party = folder_.string();
    settings.device = device.get();
    settings.battery = properties::Battery::kSmoke;
    std::uint64_t done = 0;
    settings.progress = [&](std::uint64_t count, std::uint64_t) { done = count; };
    settings.stopped = [&] { return case_limit > 0 && done >= case_limit; };
    return check_card(settings);
  }

  static const Verdict& of(const std::vector<Verdict>& verdicts, const std::string& property) {
    const auto found = std::find_if(verdicts.begin(), verdicts.end(),
                                    [&](const Verdict& each) { return each.property == property; });
    EXPECT_NE(found, verdicts.end()) << property;
    return *found;
  }

  /// The PTX with `count` occurrences of `from` replaced; there must be some.
  std::string mutated(const std::string& from, const std::string& to) const {
    std::string result = ptx_;
    std::size_t count = 0;
    for (std::size_t at = 0; (at = result.find(from, at)) != std::string::npos; at += to.size()) {
      result.replace(at, from.size(), to);
      ++count;
    }
    EXPECT_GT(count, 0u) << from;
    return result;
  }

  std::string ptx_;
  fs::path folder_;
};

TEST_F(FlashinferChain, DrawsTheStreamThatIsReplayed) {
  const auto device = gpu::make_emulated_device();
  const auto module = device->load(ptx_, "chain.ptx");
  constexpr std::uint32_t kCount = 23;
  std::uint64_t number = 1;
  for (int trial = 0; trial < 40; ++trial) {
    const auto next = [&] { return number = number * 6364136223846793005u + 1442695040888963407u; };
    const std::uint64_t seed = next();
    const std::uint64_t subsequence = trial < 20 ? next() % 9 : next();
    const std::uint64_t offset = trial % 2 == 0 ? next() % 100 : next();
    gpu::Buffer words(*device, kCount * 4, "words");
    gpu::Buffer coins(*device, kCount * 4, "coins");
    const gpu::Argument arguments[] = {
        gpu::Argument(words.pointer()), gpu::Argument(coins.pointer()), gpu::Argument(seed),
        gpu::Argument(subsequence),     gpu::Argument(offset),          gpu::Argument(kCount)};
    gpu::LaunchOptions options;
    const auto report = device->launch(*module, "draftproof_curand_stream", options, arguments);
    EXPECT_TRUE(report.observations.empty());
    std::vector<std::uint32_t> word(kCount);
    std::vector<float> coin(kCount);
    words.read(std::span(word));
    coins.read(std::span(coin));
    const oracle::CurandStream stream(seed, subsequence, offset);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      EXPECT_EQ(word[i], stream.word(i)) << seed << ' ' << subsequence << ' ' << offset;
      EXPECT_EQ(coin[i], stream.coin(i));
    }
  }
}

TEST_F(FlashinferChain, IsSafeAndDecidesAsItsRuleSaysExceptAtTheCoinOne) {
  const std::vector<Verdict> verdicts = check(ptx_, text_of(kCard), 0);
  for (const char* property :
       {"memory_safe", "race_free", "inputs_unchanged", "schedule_does_not_matter",
        "no_token_outside_the_support", "counters_are_truthful", "decisions_equal_the_replay"}) {
    EXPECT_EQ(of(verdicts, property).kind, VerdictKind::kUpheld)
        << property << ": " << of(verdicts, property).evidence;
    EXPECT_GT(of(verdicts, property).trials, 400u);
    EXPECT_FALSE(of(verdicts, property).smallest_visible_effect.empty());
  }
  // What 0.7.4 does: coins reach 1, and 1 * draft < target rejects where both are equal. Of equal
  // rows nothing is left, and -1 is written where a token is due.
  const Verdict& emits = of(verdicts, "every_request_emits_a_token");
  EXPECT_EQ(emits.kind, VerdictKind::kViolated);
  ASSERT_TRUE(emits.witness.has_value());
  EXPECT_THAT(emits.witness->observed, HasSubstr("token -1"));
  EXPECT_THAT(emits.witness->because, HasSubstr("coin = 1 "));
  EXPECT_THAT(emits.witness->replay, HasSubstr("--seed 1"));
  EXPECT_EQ(of(verdicts, "target_at_least_draft_is_accepted").kind, VerdictKind::kViolated);
}

TEST_F(FlashinferChain, AnInclusiveAcceptanceIsFlagged) {
  // The acceptance is the only comparison "product >= target, unordered included".
  const std::vector<Verdict> verdicts =
      check(mutated("setp.geu.ftz.f32", "setp.gtu.ftz.f32"), text_of(kCard), 40);
  EXPECT_EQ(of(verdicts, "decisions_equal_the_replay").kind, VerdictKind::kViolated);
  EXPECT_TRUE(of(verdicts, "decisions_equal_the_replay").witness.has_value());
  EXPECT_EQ(of(verdicts, "memory_safe").kind, VerdictKind::kInconclusive)
      << "a run that was cut short upholds nothing";
}

TEST_F(FlashinferChain, AWrongResidualIsFlagged) {
  const std::vector<Verdict> verdicts =
      check(mutated("sub.ftz.f32", "add.ftz.f32"), text_of(kCard), 40);
  EXPECT_EQ(of(verdicts, "decisions_equal_the_replay").kind, VerdictKind::kViolated);
  EXPECT_EQ(of(verdicts, "no_token_outside_the_support").kind, VerdictKind::kViolated);
}

TEST_F(FlashinferChain, MissingBarriersAreFlagged) {
  const std::vector<Verdict> verdicts =
      check(mutated("bar.sync", "// bar.sync"), text_of(kCard), 8);
  EXPECT_EQ(of(verdicts, "race_free").kind, VerdictKind::kViolated);
  EXPECT_FALSE(of(verdicts, "race_free").observations.empty());
}

TEST_F(FlashinferChain, ReadsPastTheRowsAreFlagged) {
  // The kernel is told a vocabulary that is larger by one vector than its rows.
  std::string card = text_of(kCard);
  const std::string from = "{ name = \"vocab_size\",    type = \"u32\",  value = \"V\" }";
  ASSERT_NE(card.find(from), std::string::npos);
  card.replace(card.find(from), from.size(),
               "{ name = \"vocab_size\",    type = \"u32\",  value = \"V+4\" }");
  const std::vector<Verdict> verdicts = check(ptx_, card, 8);
  EXPECT_EQ(of(verdicts, "memory_safe").kind, VerdictKind::kViolated);
  ASSERT_FALSE(of(verdicts, "memory_safe").observations.empty());
  EXPECT_EQ(of(verdicts, "memory_safe").observations[0].check, "bounds");
  EXPECT_THAT(of(verdicts, "memory_safe").observations[0].place.kernel,
              HasSubstr("ChainSpeculativeSampling"));
}

TEST_F(FlashinferChain, AReplayThatLeavesOutADrawIsFlagged) {
  std::string card = text_of(kCard);
  const std::string from = "\"recount\", ";
  ASSERT_NE(card.find(from), std::string::npos);
  card.erase(card.find(from), from.size());
  const std::vector<Verdict> verdicts = check(ptx_, card, 60);
  EXPECT_EQ(of(verdicts, "decisions_equal_the_replay").kind, VerdictKind::kViolated);
}

TEST_F(FlashinferChain, WithoutLeaveStoresOfTheSameValueAreRaces) {
  std::string card = text_of(kCard);
  const std::string from = "same_value_races = true";
  ASSERT_NE(card.find(from), std::string::npos);
  card.replace(card.find(from), from.size(), "same_value_races = false");
  EXPECT_EQ(of(check(ptx_, card, 4), "race_free").kind, VerdictKind::kViolated);
}

TEST_F(FlashinferChain, CardMistakesStopBeforeTheFirstLaunch) {
  std::string card = text_of(kCard);
  const std::string from = "block  = [\"1024\"]";
  ASSERT_NE(card.find(from), std::string::npos);
  std::string other = card;
  other.replace(other.find("entry  = \"Chain"), 15, "entry  = \"Tree ");
  EXPECT_THROW(check(ptx_, other, 1), Error);
  EXPECT_THROW(check("not PTX", card, 1), Error);
}

}  // namespace
}  // namespace draftproof::tools
