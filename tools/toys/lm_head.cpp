#include "tools/toys/lm_head.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace draftproof::tools::toys {
namespace {

using reference::Token;

std::vector<float> permuted(const std::vector<float>& rows, const std::vector<Token>& place) {
  const std::size_t width = rows.size() / place.size();
  std::vector<float> moved(rows.size());
  for (std::size_t token = 0; token < place.size(); ++token)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(token * width), width,
                moved.begin() +
                    static_cast<std::ptrdiff_t>(static_cast<std::size_t>(place[token]) * width));
  return moved;
}

}  // namespace

std::uint64_t SeededIntegers::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int SeededIntegers::within(int reach) {
  const auto count = static_cast<std::uint64_t>(2 * reach + 1);
  return static_cast<int>((next() >> 20) % count) - reach;
}

int SeededIntegers::bell() { return within(28) + within(28) + within(28) + within(28); }

std::uint64_t draft_seed(std::uint64_t seed) {
  return SeededIntegers(seed).next() ^ 0x64726166740aULL;
}

bool is_live(const ToySpec& spec, int token) {
  if (token == kEndToken) return spec.has_end_trap;
  return token >= kSpecialCount && token < spec.vocab_size - spec.unreachable_count;
}

bool is_tied(const ToySpec& spec, int token) {
  return token >= kSpecialCount && token < kSpecialCount + spec.tie_count;
}

double tie_lift(const ToySpec& spec) {
  // Logits of attention spread wider, and the last norm takes some of a bias away.
  const double deviations = spec.kind == ToyKind::kAttention ? 4 : 2;
  return std::exp2(std::round(std::log2(deviations * spec.sharpness)));
}

void finish_rows(const ToySpec& spec, double constant, reference::model::ToyLlamaWeights& weights) {
  const auto width = static_cast<std::size_t>(weights.config.hidden);
  float* const first = weights.lm_head.data();
  for (int token = 0; token < spec.vocab_size; ++token) {
    float* const row = first + static_cast<std::size_t>(token) * width;
    if (!is_live(spec, token)) {
      std::fill_n(row, width, 0.0f);
      row[kBiasChannel] = static_cast<float>(kNever / constant);
    } else if (is_tied(spec, token)) {
      std::copy_n(first + static_cast<std::size_t>(kSpecialCount) * width, width, row);
      row[kBiasChannel] = static_cast<float>(tie_lift(spec) / constant);
      row[kFineChannel] = static_cast<float>((token - kSpecialCount) * spec.near_tie / constant);
    }
  }
}

std::vector<Token> vocabulary_map(const ToySpec& spec) {
  std::vector<Token> place(static_cast<std::size_t>(spec.vocab_size));
  std::iota(place.begin(), place.end(), 0);
  if (!spec.permutes_vocabulary) return place;
  SeededIntegers source(draft_seed(spec.seed));
  // Fisher and Yates over the live ids; specials and unreachable ids stay where they are.
  const auto end = static_cast<std::size_t>(spec.vocab_size - spec.unreachable_count);
  for (std::size_t i = end - 1; i > kSpecialCount; --i)
    std::swap(place[i], place[kSpecialCount + (source.next() >> 20) % (i + 1 - kSpecialCount)]);
  return place;
}

void permute_rows(const ToySpec& spec, reference::model::ToyLlamaWeights& weights) {
  if (!spec.permutes_vocabulary) return;
  const std::vector<Token> place = vocabulary_map(spec);
  weights.embedding = permuted(weights.embedding, place);
  weights.lm_head = permuted(weights.lm_head, place);
}

}  // namespace draftproof::tools::toys
