// Goal: the alarm rings. Method: KV kernels broken as compiled (fixtures/mutants/kernels/kv), and
// sound ones that a host tells something wrong, must be told from a twin that never drafted by what
// the fault names, in the first steps of a few random worlds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "gpu/ptx_patch.h"
#include "tests/differential/kv_history.h"

namespace draftproof::tests {
namespace {

constexpr int kWorlds = 12;
constexpr int kSteps = 12;

using Tamper = std::function<void(KvWorld&)>;

/// What is found first, and where; empty when the fault survives.
std::string finding(const gpu::KernelTexts& texts, const Tamper& tamper = {}) {
  for (int world = 0; world < kWorlds; ++world) {
    int step = 0;
    try {
      KvDevice device(texts, static_cast<std::uint64_t>(world) + 1);
      KvWorld live(device, static_cast<std::uint64_t>(world) + 500, {world % 3 + 2, 4, 14, 60});
      if (tamper) tamper(live);
      for (; step < kSteps; ++step) live.step();
    } catch (const Disparity& found) {
      return "world " + std::to_string(world) + ", step " + std::to_string(step) + ": " +
             found.what();
    }
  }
  return "";
}

std::vector<gpu::PtxPatch> patches() {
  std::vector<gpu::PtxPatch> list;
  for (const auto& file :
       std::filesystem::directory_iterator(DRAFTPROOF_SOURCE_DIR "/fixtures/mutants/kernels/kv")) {
    if (file.path().extension() != ".ptxpatch") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    list.push_back(gpu::parse_ptx_patch(text.str(), file.path().filename().string()));
  }
  return list;
}

class KvPatches : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::kernels_are_embedded()) GTEST_SKIP() << "this build has no own kernels";
  }
};

TEST_F(KvPatches, AreFoundByWhatTheyName) {
  const std::vector<gpu::PtxPatch> list = patches();
  EXPECT_GE(list.size(), 11u);
  for (const gpu::PtxPatch& patch : list) {
    gpu::KernelTexts texts = gpu::embedded_texts();
    std::string& text = texts.at(patch.module);
    text = gpu::patched(patch, text);
    const std::string found = finding(texts);
    EXPECT_THAT(found, testing::HasSubstr(patch.kills)) << patch.name << ": " << patch.statement;
    RecordProperty(patch.name, found);
  }
}

TEST_F(KvPatches, SoundKernelsAreFoundSound) { EXPECT_EQ(finding(gpu::embedded_texts()), ""); }

/// A draft's cache lacks cells that the target's has; its length is its own (lablup/mlxcel#994).
TEST_F(KvPatches, ADraftCommittedWithTheLengthsOfItsTargetIsFound) {
  const Tamper tamper = [](KvWorld& live) {
    auto lengths = std::make_shared<std::optional<DeviceArray<std::int32_t>>>();
    live.draft().wrong_plan = [&live, lengths](draftproof_kv_commit_arguments& arguments) {
      std::vector<std::int32_t> rows(arguments.sequences.sequence_count);
      live.device().device().read(arguments.sequences.rows,
                                  std::as_writable_bytes(std::span(rows)));
      for (std::int32_t& row : rows) row = row < 0 ? 0 : live.target().sequence(row).length();
      lengths->reset();
      lengths->emplace(live.device().array(rows, "lengths of the target"));
      arguments.sequences.lengths = (*lengths)->pointer();
    };
  };
  EXPECT_THAT(finding(gpu::embedded_texts(), tamper), testing::HasSubstr("commit"));
}

/// The accepted path is taken for a dense prefix (sgl-project/sglang#26866).
TEST_F(KvPatches, APathTakenForAPrefixIsFound) {
  const Tamper tamper = [](KvWorld& live) {
    live.target().wrong_plan = [](draftproof_kv_commit_arguments& arguments) {
      arguments.kept.nodes = 0;
    };
  };
  EXPECT_THAT(finding(gpu::embedded_texts(), tamper), testing::HasSubstr("target's cells"));
}

/// The pending token's cell is not counted (vllm-project/vllm#9730).
TEST_F(KvPatches, ACommitWithoutThePendingTokenIsFound) {
  const Tamper tamper = [](KvWorld& live) {
    live.target().wrong_plan = [](draftproof_kv_commit_arguments& arguments) {
      arguments.kept.leading_count = 0;
    };
  };
  EXPECT_THAT(finding(gpu::embedded_texts(), tamper), testing::HasSubstr("commit: length"));
}

/// Nodes that the draft never fed are committed as if it had, without the end that is due there.
TEST_F(KvPatches, ADraftThatKeepsWhatItWasNeverFedIsFound) {
  const Tamper tamper = [](KvWorld& live) {
    live.draft().wrong_plan = [](draftproof_kv_commit_arguments& arguments) {
      arguments.flags = 0;
    };
  };
  EXPECT_THAT(finding(gpu::embedded_texts(), tamper), testing::HasSubstr("commit: status 3"));
}

}  // namespace
}  // namespace draftproof::tests
