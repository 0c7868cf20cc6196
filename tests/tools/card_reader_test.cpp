// Cards: the committed one reads as what it says, and every slip is refused at its line.
#include "tools/card_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "reference/error.h"

namespace draftproof::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kCommitted =
    std::string(DRAFTPROOF_SOURCE_DIR) + "/fixtures/kernels/flashinfer_chain.toml";

std::string committed_text() {
  std::ifstream stream(kCommitted);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// The committed card with one piece of text replaced, read again; what the error says.
std::string message(const std::string& from, const std::string& to) {
  std::string text = committed_text();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    card_from_toml(text, "some.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), StartsWith("some.toml:"));
    return error.what();
  }
  return "no error";
}

int line_of(const std::string& piece) {
  const std::string text = committed_text();
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(piece));
  return 1 + static_cast<int>(std::count(text.begin(), end, '\n'));
}

TEST(CardReader, ReadsTheCommittedCard) {
  const gpu::KernelCard card = read_card(kCommitted);
  EXPECT_EQ(card.name, "flashinfer.chain");
  EXPECT_EQ(card.build.name, "flashinfer");
  EXPECT_THAT(card.dims, ElementsAre("B", "G", "V"));
  EXPECT_THAT(card.rng_order, ElementsAre("accept", "recount", "final"));
  EXPECT_TRUE(card.rounding.flushes_subnormals);
  EXPECT_TRUE(card.allows_same_value_races);
  EXPECT_EQ(card.pad, -1);
  ASSERT_EQ(card.stages.size(), 1u);
  const gpu::CardStage& stage = card.stages[0];
  EXPECT_EQ(stage.parameters.size(), 14u);
  EXPECT_EQ(stage.dynamic_smem->evaluate({}), 2080);
  EXPECT_EQ(stage.let.at(0).second.evaluate({{"V", 1000}}), 4);
  EXPECT_EQ(stage.let.at(0).second.evaluate({{"V", 1002}}), 2);
  EXPECT_EQ(stage.let.at(0).second.evaluate({{"V", 1001}}), 1);
  EXPECT_EQ(stage.parameters[3].access, gpu::CardAccess::kOut);
  EXPECT_EQ(stage.parameters[4].access, gpu::CardAccess::kInOut);
  EXPECT_TRUE(stage.parameters[8].is_null);
  EXPECT_EQ(stage.parameters[9].role, "rng.seed");
  EXPECT_EQ(stage.parameters[9].place,
            kCommitted + ":" + std::to_string(line_of("{ name = \"seed_val\"")));
}

TEST(CardReader, ReadsWhatABufferHoldsAtFirst) {
  const auto init = [](const std::string& text) {
    std::string card = committed_text();
    const std::string from = "access = \"out\"";
    card.replace(card.find(from), from.size(), "init = \"" + text + "\"");
    return card_from_toml(card, "some.toml").stages[0].parameters[3];
  };
  EXPECT_EQ(init("poison").init, gpu::CardInit::kPoison);
  EXPECT_EQ(init("zeros").init, gpu::CardInit::kZeros);
  EXPECT_EQ(init("iota").init, gpu::CardInit::kIota);
  EXPECT_EQ(init("fill(3*V)").init, gpu::CardInit::kFill);
  EXPECT_EQ(init("fill(3*V)").init_value->evaluate({{"V", 5}}), 15);
  EXPECT_EQ(init("cumsum(i%2)").init, gpu::CardInit::kCumulative);
}

TEST(CardReader, ErrorsNameFileAndLine) {
  const std::string line = "some.toml:" + std::to_string(line_of("name        = ")) + ": ";
  EXPECT_THAT(message("name        = \"flashinfer.chain\"", "name = 3"),
              AllOf(StartsWith(line), HasSubstr("'name' in [card] must be a string")));
  EXPECT_THAT(message("name        = ", "nmae = "),
              AllOf(StartsWith(line), HasSubstr("unknown key 'nmae' in [card]; known: version")));
  EXPECT_THAT(message("name        = ", "name = = "), StartsWith(line));
  EXPECT_THAT(message("version     = 2", "version = 1"),
              HasSubstr("'version' in [card] must be 2"));
  EXPECT_THAT(message("[rng]", "[rgn]"), HasSubstr("unknown key 'rgn'"));
  EXPECT_THAT(message("pad  = -1", ""), HasSubstr("[result] lacks 'pad'"));
}

TEST(CardReader, RejectsWhatTheJudgeDoesNotKnow) {
  EXPECT_THAT(message("algorithm   = \"chain\"", "algorithm = \"tree\""),
              HasSubstr("one of: chain"));
  EXPECT_THAT(message("\"coin * draft < target\"", "\"coin < target\""),
              HasSubstr("coin * draft <= target"));
  EXPECT_THAT(message("curand_philox4_32_10\" #", "xorwow\" #"), HasSubstr("curand_philox4_32_10"));
  EXPECT_THAT(message("\"recount\", \"final\"", "\"final\", \"recount\""),
              HasSubstr("to \"final\""));
  EXPECT_THAT(message("\"recount\"", "\"skip\""), HasSubstr("one of: accept, recount, final"));
  EXPECT_THAT(message("\"flushed\"", "\"gone\""), HasSubstr("one of: kept, flushed"));
}

TEST(CardReader, RejectsParametersThatDoNotAddUp) {
  EXPECT_THAT(message("role = \"rng.seed\"", "role = \"rng.sede\""),
              HasSubstr("one of: draft_probs, draft_ids"));
  EXPECT_THAT(message("role = \"out.emit_count\", ", ""),
              HasSubstr("no parameter has the role 'out.emit_count'"));
  EXPECT_THAT(message("\"G\", \"V\"]  #", "\"G\", \"V\", \"X\"]  #"), HasSubstr("one of: B, G, V"));
  EXPECT_THAT(message("type = \"u32\",  value = \"G\"", "type = \"u33\",  value = \"G\""),
              HasSubstr("one of: u8, i32, u32"));
  EXPECT_THAT(message("value = \"G\"", "value = \"G +\""), HasSubstr("ends too early"));
  EXPECT_THAT(message(",  value = \"G\"", ""), HasSubstr("needs either a value or a role"));
  EXPECT_THAT(message("value = \"G\"", "null = true"), HasSubstr("is no pointer"));
  EXPECT_THAT(message("access = \"out\"", "init = \"fill 1000\""),
              HasSubstr("one of: poison, zeros"));
  EXPECT_THAT(message("access = \"out\"", "access = \"write\""),
              HasSubstr("one of: in, out, inout"));
  EXPECT_THAT(message("\"ChainSpeculativeSampling\"\n", "\"Chain(\"\n"),
              HasSubstr("must be a regular expression"));
  EXPECT_THAT(message("grid   = [\"B\"]", "grid = []"), HasSubstr("one to three"));
}

TEST(CardReader, SaysHowToGetThePtx) {
  const gpu::KernelCard card = read_card(kCommitted);
  const std::filesystem::path empty = std::filesystem::path(testing::TempDir()) / "no_third_party";
  try {
    third_party_folder(card, empty.string());
    FAIL() << "the folder does not exist";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("run tools/kernels/fetch.sh flashinfer"));
    EXPECT_THAT(error.what(), HasSubstr("flashinfer_chain.toml:"));
  }
  EXPECT_THROW(read_card("/nonexistent/card.toml"), Error);
}

}  // namespace
}  // namespace draftproof::tools
