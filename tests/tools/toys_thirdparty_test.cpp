// Toys in programs of others: llama.cpp's server gives the law that was computed here, within the
// tolerance that is granted to it, and greedy tokens of the integer toy without a near tie; the
// readers of the formats' own packages find what was written. Needs tools/engines/fetch.sh
// xllamacpp, and python3 with the packages gguf and safetensors; skipped without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/schema.h"
#include "tests/tools/stored_toy.h"
#include "tools/store/atomic_file.h"
#include "tools/toys/toy_files.h"
#include "tools/toys/toy_tolerance.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;
using properties::SamplingRequest;
using reference::Token;
using tools::toys::TensorFormat;
using tools::toys::ToyFileOptions;
using tools::toys::ToyKind;
using tools::toys::ToySpec;

/// Arguments: a model, a JSON list of prompts, tokens to generate greedily, f32 or f16 for the
/// cache. Prints for each prompt [greedy ids, [id, logprob] of every token at the first place].
constexpr const char* kAskLlama = R"(
import json, sys, urllib.request, xllamacpp as x
model, prompts, count, cache = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
p = x.CommonParams()
p.model.path, p.port, p.n_ctx, p.warmup, p.cpuparams.n_threads = model, 0, 2048, False, 1
if cache == 'f32':
    p.cache_type_k = p.cache_type_v = x.ggml_type.GGML_TYPE_F32
    p.flash_attn_type = x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = x.Server(p)
def ask(prompt, **more):
    body = dict(prompt=prompt, samplers=['temperature'], return_tokens=True, cache_prompt=False)
    body.update(more)
    url = server.listening_address + '/completion'
    request = urllib.request.Request(url, json.dumps(body).encode(),
                                     {'Content-Type': 'application/json'})
    return json.load(urllib.request.urlopen(request))
answers = []
for prompt in prompts:
    first = ask(prompt, n_predict=1, temperature=1.0, n_probs=1 << 16)
    greedy = ask(prompt, n_predict=count, temperature=0.0, ignore_eos=True)
    top = first['completion_probabilities'][0]['top_logprobs']
    answers.append([greedy['tokens'], [[e['id'], e['logprob']] for e in top]])
sys.stdout.write('ANSWERS' + json.dumps(answers) + '\n')
sys.stdout.flush()
)";

/// Prints {name: [shape, sum of magnitudes]} of a file.
constexpr const char* kReadGguf = R"(
import gguf, json, numpy, sys
reader = gguf.GGUFReader(sys.argv[1])
print(json.dumps({t.name: [[int(n) for n in reversed(t.shape)],
    float(numpy.abs(t.data.astype(numpy.float64)).sum())] for t in reader.tensors}))
)";
constexpr const char* kReadSafetensors = R"(
import json, numpy, sys
from safetensors.numpy import load_file
print(json.dumps({n: [list(t.shape), float(numpy.abs(t.astype(numpy.float64)).sum())]
    for n, t in load_file(sys.argv[1]).items()}))
)";

class ToysElsewhere : public testing::Test {
 protected:
  ToysElsewhere() { fs::create_directories(folder_); }
  ~ToysElsewhere() override { fs::remove_all(folder_); }

  std::string write(const ToySpec& spec, TensorFormat dtype = TensorFormat::kF32,
                    const std::string& format = "gguf") const {
    ToyFileOptions options;
    options.folder = folder_;
    options.name = "toy";
    options.dtype = dtype;
    options.format = format;
    return (folder_ / write_toy(spec, options).model).string();
  }

  /// What a program prints.
  std::string run(const std::string& python, const char* program,
                  const std::string& arguments) const {
    const std::string file = (folder_ / "program.py").string();
    std::ofstream(file) << program;
    return output_of("'" + python + "' '" + file + "' " + arguments + " 2>/dev/null");
  }

  const fs::path folder_ =
      fs::temp_directory_path() / ("draftproof-elsewhere-" + std::to_string(::getpid()));
};

class ToysInLlamaCpp : public ToysElsewhere {
 protected:
  void SetUp() override {
    if (!fs::exists(python_)) GTEST_SKIP() << "run tools/engines/fetch.sh xllamacpp";
  }

  std::vector<std::vector<Token>> prompts(const ToySpec& spec) const {
    const int live = std::min(spec.vocab_size - 4, 900);
    std::vector<std::vector<Token>> made;
    for (const int length : {1, 2, 7, 20, 45}) {
      made.push_back({1});
      for (int i = 1; i < length; ++i) made.back().push_back(3 + (i * i * 5 + length) % live);
    }
    return made;
  }

  nlohmann::json ask(const ToySpec& spec, const std::string& model, int count,
                     const std::string& cache = "f32") const {
    const std::string out = run(python_, kAskLlama,
                                model + " '" + nlohmann::json(prompts(spec)).dump() + "' " +
                                    std::to_string(count) + " " + cache);
    const auto at = out.find("ANSWERS");
    if (at == std::string::npos) return nullptr;
    return nlohmann::json::parse(out.substr(at + 7, out.find('\n', at) - at - 7));
  }

  /// The largest distance of a reported logprob to the law, in nats; infinite where a token that
  /// never comes has a probability.
  static double distance(const nlohmann::json& answer, const ToySpec& spec,
                         const std::vector<Token>& prompt) {
    SamplingRequest request;
    request.prompt = prompt;
    const auto law = tools::toys::known_target(spec, "llama.cpp")->next(request, {});
    double largest = 0;
    for (const auto& entry : answer.at(1)) {
      const double exact = law.at(entry.at(0).get<std::size_t>());
      const double logprob = entry.at(1);
      if (exact == 0 && logprob > -104) return INFINITY;
      if (exact > 0x1p-20) largest = std::max(largest, std::abs(logprob - std::log(exact)));
    }
    EXPECT_EQ(answer.at(1).size(), law.size());
    return largest;
  }

  const std::string python_ =
      std::string(DRAFTPROOF_BINARY_DIR) + "/engines/xllamacpp/venv/bin/python3";
};

TEST_F(ToysInLlamaCpp, HaveTheLawThatWasComputedHere) {
  for (const ToySpec& spec :
       {ToySpec{.kind = ToyKind::kBigram}, ToySpec{.kind = ToyKind::kAttention},
        ToySpec{.kind = ToyKind::kInteger, .vocab_size = 64, .spelling = "json"},
        ToySpec{.kind = ToyKind::kBigram, .vocab_size = 1500, .sharpness = 4},
        ToySpec{.kind = ToyKind::kAttention, .tie_count = 3, .has_end_trap = true}}) {
    SCOPED_TRACE(std::string(to_string(spec.kind)) + std::to_string(spec.vocab_size));
    const auto answers = ask(spec, write(spec), 1);
    ASSERT_TRUE(answers.is_array());
    const double granted = tolerance_of(spec, {.engine = "llama.cpp"}).nats;
    for (std::size_t i = 0; i < answers.size(); ++i)
      EXPECT_LT(distance(answers[i], spec, prompts(spec)[i]), granted);
  }
}

// The sibling that must fail: the law of another seed, and of the same toy a fiftieth of the way to
// another one.
TEST_F(ToysInLlamaCpp, DoNotHaveTheLawOfAnotherToy) {
  const ToySpec spec{.kind = ToyKind::kAttention};
  ToySpec other = spec, near = spec;
  other.seed = 2;
  near.distance = 0.02;
  const auto answers = ask(spec, write(spec), 1);
  ASSERT_TRUE(answers.is_array());
  const double granted = tolerance_of(spec, {.engine = "llama.cpp"}).nats;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_GT(distance(answers[i], other, prompts(spec)[i]), 1000 * granted);
    EXPECT_GT(distance(answers[i], near, prompts(spec)[i]), granted);
  }
}

TEST_F(ToysInLlamaCpp, DecodeIntegersGreedilyAsComputedInHalfPrecisionToo) {
  const ToySpec spec{.kind = ToyKind::kInteger};
  const auto target = tools::toys::known_target(spec, "llama.cpp");
  for (const TensorFormat dtype : {TensorFormat::kF32, TensorFormat::kF16, TensorFormat::kBf16}) {
    const auto answers =
        ask(spec, write(spec, dtype), 48, dtype == TensorFormat::kF32 ? "f32" : "f16");
    ASSERT_TRUE(answers.is_array());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      SamplingRequest request;
      request.prompt = prompts(spec)[i];
      request.sampling.temperature = 0;
      std::vector<Token> emitted;
      while (emitted.size() < 48) {
        const auto law = target->next(request, emitted);
        emitted.push_back(
            static_cast<Token>(std::max_element(law.begin(), law.end()) - law.begin()));
      }
      EXPECT_EQ(answers[i].at(0), nlohmann::json(emitted)) << to_string(dtype);
      EXPECT_LT(distance(answers[i], spec, request.prompt),
                tolerance_of(spec, {.engine = "llama.cpp", .dtype = dtype}).nats);
    }
  }
}

class ToysInPackages : public ToysElsewhere {
 protected:
  void SetUp() override {
    const std::string probe = "' -c 'import gguf, numpy, safetensors' 2>/dev/null";
    for (const std::string& python :
         {std::string(DRAFTPROOF_BINARY_DIR) + "/engines/xllamacpp/venv/bin/python3",
          std::string("python3")})
      if (std::system(("'" + python + probe).c_str()) == 0) python_ = python;
    if (python_.empty()) GTEST_SKIP() << "pip install gguf safetensors, for python3";
  }

  static nlohmann::json listed(const StoredToy& toy) {
    nlohmann::json json;
    for (const auto& [name, tensor] : toy.tensors) {
      double sum = 0;
      for (const float value : tensor.values) sum += std::abs(double{value});
      json[name] = {tensor.shape, sum};
    }
    return json;
  }

  std::string python_;
};

TEST_F(ToysInPackages, AreReadAsTheyWereWritten) {
  const ToySpec spec{.kind = ToyKind::kAttention};
  const std::string gguf = write(spec, TensorFormat::kF16);
  EXPECT_EQ(nlohmann::json::parse(run(python_, kReadGguf, gguf), nullptr, false),
            listed(gguf_from(tools::store::read_file(gguf))));
  const fs::path model = fs::path(write(spec, TensorFormat::kF32, "safetensors"));
  const std::string weights = (model / "model.safetensors").string();
  EXPECT_EQ(nlohmann::json::parse(run(python_, kReadSafetensors, weights), nullptr, false),
            listed(safetensors_from(tools::store::read_file(weights),
                                    tools::store::read_file(model / "config.json"))));
}

}  // namespace
}  // namespace draftproof::tests
