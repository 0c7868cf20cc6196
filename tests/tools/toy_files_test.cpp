// Files of toys. Goal: their bytes are what the formats say, in every number format; a manifest
// gives its spec back or says what is wrong with it; nobody else's file is written over.
#include "tools/toys/toy_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "reference/error.h"
#include "tests/tools/schema.h"
#include "tests/tools/stored_toy.h"
#include "tools/store/atomic_file.h"
#include "tools/toys/sha256.h"
#include "tools/toys/toy_model_files.h"
#include "tools/toys/toy_vocabulary.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;
using tools::store::read_file;
using tools::toys::Manifest;
using tools::toys::TensorFormat;
using tools::toys::ToyFileOptions;
using tools::toys::ToyKind;
using tools::toys::ToySpec;

const ToySpec kSmall{.kind = ToyKind::kBigram};

class ToyFiles : public testing::Test {
 protected:
  ToyFiles() { fs::create_directories(folder_); }
  ~ToyFiles() override { fs::remove_all(folder_); }

  ToyFileOptions named(const std::string& name) const {
    ToyFileOptions options;
    options.folder = folder_;
    options.name = name;
    return options;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// The message of what reading the manifest throws.
  std::string complaint(const std::string& name) const {
    try {
      static_cast<void>(tools::toys::read_manifest(folder_ / name));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("draftproof-toys-" + std::to_string(::getpid()));
};

std::string refusal(ToySpec spec) {
  try {
    validate(spec);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ToySha256, IsThatOfTheStandard) {
  // FIPS 180-4 examples: one block, two blocks, a million bytes; and nothing.
  EXPECT_EQ(tools::toys::sha256(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(tools::toys::sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(tools::toys::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(tools::toys::sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(ToyModelFiles, HoldTheSameNumbersInEveryFormat) {
  for (const ToyKind kind : {ToyKind::kBigram, ToyKind::kAttention, ToyKind::kInteger}) {
    const ToySpec spec{
        .kind = kind, .sharpness = 1.5, .tie_count = 3, .near_tie = 0x1p-12, .distance = 0.25};
    const auto weights = weights_of(spec);
    const auto stored = [&](TensorFormat format) {
      return gguf_from(tools::toys::gguf_model(spec, weights, format, "llama").bytes).tensors;
    };
    const auto full = stored(TensorFormat::kF32), half = stored(TensorFormat::kF16),
               brain = stored(TensorFormat::kBf16);
    ASSERT_EQ(full.size(), half.size());
    for (const auto& [name, tensor] : full) {
      EXPECT_EQ(half.at(name).values, tensor.values) << name;
      EXPECT_EQ(brain.at(name).values, tensor.values) << name;
      EXPECT_EQ(half.at(name).shape, tensor.shape) << name;
    }
    const auto& head = full.at("output.weight").values;
    EXPECT_EQ(head, weights.lm_head);
  }
}

TEST(ToyModelFiles, TellAnEngineWhatTheModelIs) {
  const ToySpec spec{.kind = ToyKind::kAttention};
  const auto stored =
      gguf_from(tools::toys::gguf_model(spec, weights_of(spec), TensorFormat::kF16, "llama").bytes);
  const auto& data = stored.metadata;
  EXPECT_EQ(data.at("general.architecture"), "llama");
  EXPECT_EQ(data.at("general.file_type"), 1);
  EXPECT_EQ(data.at("llama.attention.head_count"), 4);
  EXPECT_EQ(data.at("llama.attention.head_count_kv"), 2);
  EXPECT_EQ(data.at("llama.vocab_size"), 16);
  EXPECT_EQ(data.at("tokenizer.ggml.model"), "llama");
  EXPECT_EQ(data.at("tokenizer.ggml.tokens").at(3), "a");
  EXPECT_EQ(data.at("tokenizer.ggml.token_type"),
            nlohmann::json({2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(data.at("tokenizer.ggml.add_bos_token"), false);
  EXPECT_EQ(stored.tensors.at("blk.1.attn_k.weight").shape, (std::vector<std::uint64_t>{64, 128}));
}

TEST(ToyModelFiles, OfSafetensorsAreAFolderWithATokenizer) {
  const ToySpec spec{.kind = ToyKind::kInteger, .vocab_size = 64, .spelling = "json"};
  const auto files = tools::toys::safetensors_model(spec, weights_of(spec), TensorFormat::kF16);
  std::map<std::string, std::string> by_name;
  for (const auto& file : files) by_name[file.name] = file.bytes;
  const auto config = nlohmann::json::parse(by_name.at("config.json"));
  EXPECT_EQ(config.at("architectures"), nlohmann::json({"LlamaForCausalLM"}));
  EXPECT_EQ(config.at("torch_dtype"), "float16");
  const auto tokenizer = nlohmann::json::parse(by_name.at("tokenizer.json"));
  EXPECT_EQ(tokenizer.at("model").at("vocab").size(), 64u);
  EXPECT_EQ(tokenizer.at("added_tokens").at(2).at("content"), "</s>");
  const auto stored = safetensors_from(by_name.at("model.safetensors"), by_name.at("config.json"));
  EXPECT_EQ(stored.tensors.at("lm_head.weight").values, weights_of(spec).lm_head);
}

TEST(ToyVocabularies, ReachLongerTokensByMerges) {
  const auto letters = tools::toys::vocabulary_of({.kind = ToyKind::kBigram, .vocab_size = 40});
  EXPECT_EQ(letters.texts[29], "aa");
  EXPECT_THAT(letters.merges, testing::Contains(std::pair<std::string, std::string>("a", "a")));
  EXPECT_EQ(letters.merges.size(), 11u);
  const auto json = tools::toys::vocabulary_of({.vocab_size = 64, .spelling = "json"});
  EXPECT_THAT(json.texts, testing::Contains("{\""));
  EXPECT_THAT(json.merges, testing::Contains(std::pair<std::string, std::string>("{", "\"")));
  EXPECT_EQ(tools::toys::byte_level("a \n"), "a\xc4\xa0\xc4\x8a");
  EXPECT_EQ(tools::toys::sentencepiece("a b"),
            "a\xe2\x96\x81"
            "b");
}

TEST(ToyVocabularies, OfAPermutedDraftHaveTheSameTextsElsewhere) {
  const ToySpec draft = tools::toys::draft_of(kSmall, "permuted");
  const auto texts = tools::toys::vocabulary_of(kSmall).texts;
  const auto moved = tools::toys::vocabulary_of(draft).texts;
  const auto place = tools::toys::vocabulary_map(draft);
  for (std::size_t id = 0; id < texts.size(); ++id)
    EXPECT_EQ(moved[static_cast<std::size_t>(place[id])], texts[id]);
  EXPECT_NE(moved, texts);
  for (const std::size_t special : {0u, 1u, 2u, 15u}) EXPECT_EQ(moved[special], texts[special]);
}

TEST_F(ToyFiles, GiveTheirSpecBack) {
  for (const auto& toy : tools::toys::named_toys()) {
    if (toy.target.vocab_size > 256) continue;
    SCOPED_TRACE(toy.name);
    const ToySpec draft = tools::toys::draft_of(toy.target, "near");
    static_cast<void>(write_toy(draft, named(toy.name)));
    EXPECT_EQ(tools::toys::read_manifest(folder_ / (toy.name + ".toy.json")), draft);
  }
}

TEST_F(ToyFiles, HaveTheHashesThatTheManifestSays) {
  ToyFileOptions options = named("toy");
  options.format = "safetensors";
  const Manifest manifest = write_toy(kSmall, options);
  ASSERT_EQ(manifest.files.size(), 5u);
  for (const auto& file : manifest.files) {
    EXPECT_EQ(fs::file_size(folder_ / file.name), file.bytes);
    EXPECT_EQ(output_of("sha256sum < '" + (folder_ / file.name).string() + "'"),
              file.sha256 + "  -\n");
  }
}

TEST_F(ToyFiles, HaveManifestsOfThePublishedSchema) {
  if (!can_validate()) GTEST_SKIP() << "python3-jsonschema is not installed";
  static_cast<void>(write_toy(kSmall, named("toy")));
  static_cast<void>(write_toy(tools::toys::draft_of(kSmall, "permuted"), named("draft")));
  const std::string target = read_file(folder_ / "toy.toy.json");
  EXPECT_EQ(schema_complaint("toy.schema.json", target), "");
  EXPECT_EQ(schema_complaint("toy.schema.json", read_file(folder_ / "draft.toy.json")), "");
  auto broken = nlohmann::json::parse(target);
  broken["spec"]["kind"] = "trigram";
  EXPECT_NE(schema_complaint("toy.schema.json", broken.dump()), "");
}

TEST_F(ToyFiles, HaveManifestsThatSayWhatIsWrongWithThem) {
  static_cast<void>(write_toy(kSmall, named("toy")));
  const auto good = nlohmann::json::parse(read_file(folder_ / "toy.toy.json"));
  const auto altered = [&](const char* pointer, const nlohmann::json& value) {
    auto json = good;
    json[nlohmann::json::json_pointer(pointer)] = value;
    write("other.toy.json", json.dump());
    return complaint("other.toy.json");
  };
  EXPECT_EQ(altered("/name", "toy"), "");
  EXPECT_THAT(altered("/spec/seed", 2), HasSubstr("weights_sha256"));
  EXPECT_THAT(altered("/spec/seed", -2), HasSubstr("seed"));
  EXPECT_THAT(altered("/spec/kind", "trigram"), HasSubstr("known: bigram"));
  EXPECT_THAT(altered("/spec/vocab_size", 1e12), HasSubstr("vocab_size"));
  EXPECT_THAT(altered("/spec/vocab_size", 2), HasSubstr("--vocab"));
  EXPECT_THAT(altered("/spec/has_end_trap", "no"), HasSubstr("has_end_trap"));
  EXPECT_THAT(altered("/schema_version", "draftproof/toy/0"), HasSubstr("write the toy again"));
  EXPECT_THAT(altered("/spec", 7), HasSubstr("no object"));
  EXPECT_THAT(altered("/files", "none"), HasSubstr("files"));
  // Read by reference alone: a copy, or a dump, of so many brackets takes the whole stack.
  const std::string brackets = std::string(100000, '[') + std::string(100000, ']');
  write("other.toy.json", brackets);
  EXPECT_THAT(complaint("other.toy.json"), HasSubstr("no object"));
  std::string text = good.dump();
  text.replace(text.find("\"f32\""), 5, brackets);
  write("other.toy.json", text);
  EXPECT_THAT(complaint("other.toy.json"), HasSubstr("dtype: is of another type: array"));
  auto lacking = good;
  lacking["spec"].erase("sharpness");
  write("other.toy.json", lacking.dump());
  EXPECT_THAT(complaint("other.toy.json"), HasSubstr("sharpness: is missing"));
  write("other.toy.json", "{");
  EXPECT_THAT(complaint("other.toy.json"), HasSubstr("is no JSON"));
  EXPECT_THAT(complaint("absent.toy.json"), HasSubstr("absent.toy.json"));
}

TEST_F(ToyFiles, AreReplacedWhereTheyAreOurs) {
  static_cast<void>(write_toy(kSmall, named("toy")));
  ToySpec other = kSmall;
  other.seed = 9;
  static_cast<void>(write_toy(other, named("toy")));
  EXPECT_EQ(tools::toys::read_manifest(folder_ / "toy.toy.json"), other);
}

TEST_F(ToyFiles, OfAnotherFormatGoWhereTheToyIsWrittenAgain) {
  ToyFileOptions options = named("toy");
  static_cast<void>(write_toy(kSmall, options));
  options.format = "safetensors";
  static_cast<void>(write_toy(kSmall, options));
  EXPECT_FALSE(fs::exists(folder_ / "toy.gguf"));
  EXPECT_TRUE(fs::exists(folder_ / "toy" / "config.json"));
  ToySpec other = kSmall;
  other.seed = 9;
  static_cast<void>(write_toy(other, named("toy")));
  EXPECT_TRUE(fs::exists(folder_ / "toy.gguf"));
  EXPECT_FALSE(fs::exists(folder_ / "toy"));
  EXPECT_EQ(tools::toys::read_manifest(folder_ / "toy.toy.json"), other);
}

// What somebody put in the place of our file, and what a manifest lists elsewhere, is not ours.
TEST_F(ToyFiles, OfAnotherFormatStayWhereTheyWereAltered) {
  static_cast<void>(write_toy(kSmall, named("toy")));
  auto manifest = nlohmann::json::parse(read_file(folder_ / "toy.toy.json"));
  write("other.gguf", "mine");
  manifest["files"].push_back(
      {{"name", "other.gguf"}, {"bytes", 4}, {"sha256", tools::toys::sha256("mine")}});
  write("toy.toy.json", manifest.dump());
  write("toy.gguf", "a model that took days to train");
  ToyFileOptions options = named("toy");
  options.format = "safetensors";
  static_cast<void>(write_toy(kSmall, options));
  EXPECT_EQ(read_file(folder_ / "toy.gguf"), "a model that took days to train");
  EXPECT_EQ(read_file(folder_ / "other.gguf"), "mine");
}

TEST_F(ToyFiles, OfOthersAreLeftAlone) {
  write("toy.gguf", "a model that took days to train");
  EXPECT_THROW(write_toy(kSmall, named("toy")), Error);
  EXPECT_EQ(read_file(folder_ / "toy.gguf"), "a model that took days to train");
  EXPECT_FALSE(fs::exists(folder_ / "toy.toy.json"));
  write("mine.toy.json", "{}");
  EXPECT_THROW(write_toy(kSmall, named("mine")), Error);
  EXPECT_EQ(read_file(folder_ / "mine.toy.json"), "{}");
  EXPECT_FALSE(fs::exists(folder_ / "mine.gguf"));
}

TEST_F(ToyFiles, NeedOptionsThatMeanSomething) {
  const auto refused = [&](const auto& alter) {
    ToyFileOptions options = named("toy");
    alter(options);
    try {
      static_cast<void>(write_toy(kSmall, options));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refused([](auto& options) { options.format = "onnx"; }), StartsWith("--format"));
  EXPECT_THAT(refused([](auto& options) { options.tokenizer = "bert"; }),
              StartsWith("--tokenizer"));
  EXPECT_THAT(refused([](auto& options) { options.name = "../toy"; }), StartsWith("--name"));
  EXPECT_THAT(refused([](auto& options) { options.name = ""; }), StartsWith("--name"));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST(ToySpecs, NameTheOptionThatIsWrong) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({.vocab_size = 7}), StartsWith("--vocab"));
  EXPECT_THAT(refusal({.kind = ToyKind::kInteger, .vocab_size = 257}), StartsWith("--vocab"));
  EXPECT_THAT(refusal({.layers = 0}), StartsWith("--layers"));
  EXPECT_THAT(refusal({.sharpness = NAN}), StartsWith("--sharpness"));
  EXPECT_THAT(refusal({.head_dim = 31}), StartsWith("--head-dim"));
  EXPECT_THAT(refusal({.unreachable_count = 9}), StartsWith("--unreachable"));
  EXPECT_THAT(refusal({.tie_count = 1}), StartsWith("--ties"));
  EXPECT_THAT(refusal({.tie_count = 3, .near_tie = 0.3}), StartsWith("--near-tie"));
  EXPECT_THAT(refusal({.near_tie = 0.25}), StartsWith("--near-tie"));
  EXPECT_THAT(refusal({.spelling = "morse"}), StartsWith("--spelling"));
  EXPECT_THAT(refusal({.spelling = "json"}), StartsWith("--spelling"));
  EXPECT_THAT(refusal({.distance = 1.5}), StartsWith("--distance"));
  EXPECT_THROW(tools::toys::draft_of({}, "distant"), Error);
  EXPECT_THROW(tools::toys::named_toy("trigram"), Error);
}

}  // namespace
}  // namespace draftproof::tests
