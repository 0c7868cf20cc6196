#include "tools/toys/toy_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/error.h"
#include "reference/model/spelling.h"

namespace draftproof::tools::toys {
namespace {

constexpr double kNearDistance = 0.25;
constexpr int kVocabMax = 65536;

[[noreturn]] void refuse(const std::string& message, const char* option) {
  throw Error(ErrorKind::kInput, message, option);
}

void check_range(int value, int low, int high, const char* option) {
  if (value < low || value > high)
    refuse(fmt::format("is {}; it must be in [{}, {}]", value, low, high), option);
}

void check_numbers(const ToySpec& spec) {
  if (!(spec.sharpness >= 0.125 && spec.sharpness <= 16))
    refuse(fmt::format("is {}; it must be in [0.125, 16]", spec.sharpness), "--sharpness");
  // A power of two is exact in every format and in every sum it enters.
  int exponent = 0;
  if (spec.near_tie != 0 && (std::frexp(spec.near_tie, &exponent) != 0.5 ||
                             spec.near_tie < 0x1p-13 || spec.near_tie > 0.5))
    refuse(
        fmt::format("is {}; take a power of two in [2^-13, 1/2], as 0.000244140625", spec.near_tie),
        "--near-tie");
  if (spec.near_tie != 0 && spec.tie_count < 2)
    refuse("needs --ties: how many tokens are so near", "--near-tie");
  if (!(spec.distance >= 0 && spec.distance <= 1))
    refuse(fmt::format("is {}; it must be in [0, 1]", spec.distance), "--distance");
}

}  // namespace

std::string_view to_string(ToyKind kind) {
  switch (kind) {
    case ToyKind::kBigram:
      return "bigram";
    case ToyKind::kAttention:
      return "attention";
    case ToyKind::kInteger:
      break;
  }
  return "integer";
}

void validate(const ToySpec& spec) {
  check_range(spec.vocab_size, 8, kVocabMax, "--vocab");
  check_range(spec.layers, 1, 8, "--layers");
  check_range(spec.head_dim, 2, 128, "--head-dim");
  if (spec.head_dim % 2 != 0)
    refuse("must be even: coordinates are rotated in pairs", "--head-dim");
  check_range(spec.unreachable_count, 0, spec.vocab_size / 2, "--unreachable");
  if (spec.kind == ToyKind::kInteger && spec.vocab_size > 256)
    refuse(fmt::format("is {}; an integer toy has at most 256 ids, or logits run out of 8 bits",
                       spec.vocab_size),
           "--vocab");
  const int live = spec.vocab_size - kSpecialCount - spec.unreachable_count;
  if (spec.tie_count != 0) check_range(spec.tie_count, 2, live - 1, "--ties");
  if (spec.spelling != "letters" && spec.spelling != "json")
    refuse("there is no " + spec.spelling + "; known: letters, json", "--spelling");
  const int json_min = kSpecialCount + static_cast<int>(reference::model::kJsonSpellingMin);
  if (spec.spelling == "json" && spec.vocab_size < json_min)
    refuse(fmt::format("json needs a vocabulary of at least {} ids; this one has {}", json_min,
                       spec.vocab_size),
           "--spelling");
  check_numbers(spec);
}

bool is_draft(const ToySpec& spec) {
  return spec.distance > 0 || spec.is_adversarial || spec.permutes_vocabulary;
}

const std::vector<std::string>& draft_names() {
  static const std::vector<std::string> names = {"near", "far", "adversarial", "permuted"};
  return names;
}

ToySpec draft_of(ToySpec target, std::string_view name) {
  if (name == "near") {
    target.distance = kNearDistance;
  } else if (name == "far") {
    target.distance = 1;
  } else if (name == "adversarial") {
    target.is_adversarial = true;
  } else if (name == "permuted") {
    target.permutes_vocabulary = true;
  } else {
    throw Error(
        ErrorKind::kInput,
        fmt::format("there is no draft {}; known: {}", name, fmt::join(draft_names(), ", ")),
        "--draft");
  }
  return target;
}

std::string draft_name(const ToySpec& spec) {
  if (!is_draft(spec)) return "";
  for (const std::string& name : draft_names())
    if (draft_of(target_of(spec), name) == spec) return name;
  return "draft";
}

ToySpec target_of(ToySpec spec) {
  spec.distance = 0;
  spec.is_adversarial = spec.permutes_vocabulary = false;
  return spec;
}

const std::vector<NamedToy>& named_toys() {
  static const std::vector<NamedToy> toys = [] {
    using enum ToyKind;
    return std::vector<NamedToy>{
        {"bigram", "the last token decides; 16 ids", {.kind = kBigram}},
        {"bigram-256", "the same with 256 ids", {.kind = kBigram, .vocab_size = 256}},
        {"bigram-1000", "the same with 1,000 ids", {.kind = kBigram, .vocab_size = 1000}},
        {"bigram-32000",
         "the same with 32,000 ids: states are codes, laws have a long tail",
         {.kind = kBigram, .vocab_size = 32000, .sharpness = 4, .unreachable_count = 64}},
        {"attention", "two layers; the whole history decides; 16 ids", {.kind = kAttention}},
        {"attention-json",
         "the same with 64 ids that spell JSON",
         {.kind = kAttention, .vocab_size = 64, .spelling = "json"}},
        {"attention-256", "the same with 256 ids", {.kind = kAttention, .vocab_size = 256}},
        {"integer",
         "the history decides through integers alone: greedy is bit for bit",
         {.kind = kInteger}},
        {"integer-json",
         "the same with 64 ids that spell JSON",
         {.kind = kInteger, .vocab_size = 64, .spelling = "json"}},
        {"ties", "three tokens exactly equal, often on top", {.kind = kBigram, .tie_count = 3}},
        {"near-ties",
         "three tokens 2^-12 apart, often on top",
         {.kind = kBigram, .tie_count = 3, .near_tie = 0x1p-12}},
        {"end-trap",
         "the end token comes at every position",
         {.kind = kAttention, .has_end_trap = true}},
    };
  }();
  return toys;
}

const ToySpec& named_toy(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedToy& toy : named_toys()) {
    if (toy.name == name) return toy.target;
    names.push_back(toy.name);
  }
  throw Error(ErrorKind::kInput,
              fmt::format("there is no toy {}; known: {}", name, fmt::join(names, ", ")), "toy");
}

}  // namespace draftproof::tools::toys
