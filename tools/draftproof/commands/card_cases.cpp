#include "tools/draftproof/commands/card_cases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <string>

#include "oracle/curand_stream.h"
#include "properties/random.h"
#include "reference/error.h"

namespace draftproof::tools {
namespace {

using oracle::CurandStream;
using properties::Random;
using reference::Token;

/// In (0, 1): its logarithm is finite, and never 0.
double open_unit(Random& random) {
  return (static_cast<double>(random.bits() >> 12) + 0.5) * 0x1p-52;
}

void normalise(std::span<float> row, const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(weights[i] / total);
}

void one_hot(std::span<float> row, std::size_t token) {
  std::fill(row.begin(), row.end(), 0.0f);
  row[token] = 1.0f;
}

void random_row(std::span<float> row, Random& random, bool is_peaked) {
  std::vector<double> weights(row.size());
  for (double& weight : weights) {
    weight = -std::log(open_unit(random));
    // A product of normals is not needed: the sum of three uniforms, scaled to deviation 3.
    if (is_peaked)
      weight = std::exp(6 * (open_unit(random) + open_unit(random) + open_unit(random) - 1.5));
  }
  normalise(row, weights);
}

/// Sets one probability and scales the others so that the row still sums to one.
void set_probability(std::span<float> row, std::size_t token, float value) {
  const double others = std::accumulate(row.begin(), row.end(), 0.0) - row[token];
  const double scale = others > 0 ? (1.0 - value) / others : 0.0;
  for (float& each : row) each = static_cast<float>(each * scale);
  row[token] = value;
}

float stepped(float value, int steps) {
  for (; steps > 0; --steps) value = std::nextafter(value, 2.0f);
  for (; steps < 0; ++steps) value = std::nextafter(value, 0.0f);
  return value;
}

/// The row pairs of one case, filled law by law.
class Filler {
 public:
  Filler(CardCase& made, const oracle::ReplayRule& rule, std::size_t tile, Random& random)
      : made_(made),
        rule_(rule),
        tile_(tile),
        random_(random),
        vocab_size_(made.spec.vocab_size),
        draft_count_(made.spec.draft_count) {}

  void fill() {
    for (std::size_t request = 0; request < made_.spec.request_count; ++request) {
      for (std::size_t i = 0; i <= draft_count_; ++i) fill_pair(request, i);
      if (made_.spec.law == CardLaw::kAcceptTie && draft_count_ > 0 && vocab_size_ > 1)
        plant_accept_tie(request);
      if (made_.spec.law == CardLaw::kPickTie) plant_pick_tie(request);
    }
  }

 private:
  std::span<float> target(std::size_t request, std::size_t i) {
    return {made_.target_rows.data() + (request * (draft_count_ + 1) + i) * vocab_size_,
            vocab_size_};
  }
  /// The draft row beside target row i; for the bonus row a row of its own that nobody sees.
  std::span<float> draft(std::size_t request, std::size_t i) {
    if (i == draft_count_) {
      unseen_.resize(vocab_size_);
      return unseen_;
    }
    return {made_.draft_rows.data() + (request * draft_count_ + i) * vocab_size_, vocab_size_};
  }
  Token& drafted(std::size_t request, std::size_t i) {
    return i == draft_count_ ? unseen_token_ : made_.draft[request * draft_count_ + i];
  }

  void fill_pair(std::size_t request, std::size_t i) {
    const std::span<float> target_row = target(request, i);
    const std::span<float> draft_row = draft(request, i);
    const bool is_peaked = made_.spec.law == CardLaw::kPeaked || made_.spec.number % 3 == 2;
    random_row(draft_row, random_, is_peaked);
    random_row(target_row, random_, is_peaked);
    shape_rows(draft_row, target_row);
    drafted(request, i) = draw(draft_row);
    if (made_.spec.law == CardLaw::kUndrafted && vocab_size_ > 1) {
      const auto token = static_cast<std::size_t>(drafted(request, i));
      set_probability(draft_row, token, 0.0f);
      // Of two tokens one must stay: where both rows are the same one-hot, nothing is left to draw.
      if (vocab_size_ > 2 && random_.below(2) == 0) set_probability(target_row, token, 0.0f);
    }
  }

  void shape_rows(std::span<float> draft_row, std::span<float> target_row) {
    switch (made_.spec.law) {
      case CardLaw::kClose: {
        std::vector<double> weights(draft_row.begin(), draft_row.end());
        for (double& weight : weights) weight *= 1 + 0.05 * (open_unit(random_) - 0.5);
        normalise(target_row, weights);
        break;
      }
      case CardLaw::kEqual:
      case CardLaw::kPickTie:
        std::copy(draft_row.begin(), draft_row.end(), target_row.begin());
        break;
      case CardLaw::kOneHotTarget:
        one_hot(target_row, random_.below(vocab_size_));
        break;
      case CardLaw::kOneHotDraft:
        one_hot(draft_row, random_.below(vocab_size_));
        break;
      case CardLaw::kOneHotEqual: {
        const std::size_t token = random_.below(vocab_size_);
        one_hot(draft_row, token);
        one_hot(target_row, token);
        break;
      }
      case CardLaw::kDisjoint:
        keep(draft_row, [](std::size_t token) { return token % 2 == 0; });
        keep(target_row, [](std::size_t token) { return token % 2 == 1; });
        break;
      case CardLaw::kZeros:
        keep(draft_row, [&](std::size_t) { return random_.below(4) != 0; });
        keep(target_row, [&](std::size_t) { return random_.below(4) == 0; });
        break;
      case CardLaw::kTileEdges:
        keep(target_row, [&](std::size_t token) { return is_edge(token); });
        one_hot(draft_row, random_.below(vocab_size_));
        break;
      case CardLaw::kSubnormal:
        thin_out(draft_row);
        thin_out(target_row);
        break;
      default:
        break;
    }
  }

  /// Sets the other tokens to zero; a row that would be empty keeps its last token.
  template <class Predicate>
  void keep(std::span<float> row, Predicate stays) {
    std::vector<double> weights(row.begin(), row.end());
    for (std::size_t token = 0; token < weights.size(); ++token)
      if (!stays(token)) weights[token] = 0;
    if (std::accumulate(weights.begin(), weights.end(), 0.0) == 0) weights.back() = 1;
    normalise(row, weights);
  }

  /// A third of the tokens, never the last, get probabilities below 2^-126.
  void thin_out(std::span<float> row) {
    std::vector<bool> is_thin(row.size());
    for (std::size_t token = 0; token + 1 < row.size(); ++token)
      is_thin[token] = random_.below(3) == 0;
    keep(row, [&](std::size_t token) { return !is_thin[token]; });
    for (std::size_t token = 0; token < row.size(); ++token)
      if (is_thin[token]) row[token] = std::ldexp(static_cast<float>(open_unit(random_)), -130);
  }

  bool is_edge(std::size_t token) const {
    const std::size_t within = token % tile_;
    return within == 0 || within + 1 == tile_ || token + 1 == vocab_size_;
  }

  Token draw(std::span<const float> row) {
    double left = open_unit(random_);
    std::size_t last = 0;
    for (std::size_t token = 0; token < row.size(); ++token) {
      if (!(row[token] > 0)) continue;
      last = token;
      left -= row[token];
      if (left < 0) break;
    }
    return static_cast<Token>(last);
  }

  /// Up to a random position everything is accepted; there the product of coin and draft
  /// probability is the target probability, or within two ulp of it.
  void plant_accept_tie(std::size_t request) {
    const std::size_t at = random_.below(draft_count_);
    for (std::size_t i = 0; i < at; ++i) {
      const auto token = static_cast<std::size_t>(drafted(request, i));
      set_probability(draft(request, i), token, 0.25f);
      set_probability(target(request, i), token, 0.5f);
    }
    const CurandStream stream(made_.seed, request, made_.offset);
    const float coin = stream.coin(oracle::accept_draw(rule_, static_cast<int>(at)));
    const auto token = static_cast<std::size_t>(drafted(request, at));
    const float value = static_cast<float>(0.3 + 0.6 * open_unit(random_));
    set_probability(draft(request, at), token, value);
    set_probability(target(request, at), token,
                    stepped(coin * value, static_cast<int>(random_.below(5)) - 2));
  }

  /// Half the requests: every row equal, so the bonus row is drawn from. The others: a first
  /// drafted token outside the target's support, so the residual is the target row itself.
  void plant_pick_tie(std::size_t request) {
    const bool recovers = draft_count_ > 0 && random_.below(2) == 0 && vocab_size_ > 1;
    const std::size_t row = recovers ? 0 : draft_count_;
    if (recovers) {
      const auto token = static_cast<std::size_t>(drafted(request, 0));
      one_hot(draft(request, 0), token);
      set_probability(target(request, 0), token, 0.0f);
    }
    const CurandStream stream(made_.seed, request, made_.offset);
    const double coin = stream.coin(
        oracle::final_draw(rule_, static_cast<int>(draft_count_), static_cast<int>(row)));
    const std::span<float> masses = target(request, row);
    const std::size_t cut = random_.below(vocab_size_);
    const double below = std::accumulate(masses.begin(), masses.begin() + cut, 0.0);
    const double above = std::accumulate(masses.begin() + cut, masses.end(), 0.0);
    if (below <= 0 || above <= 0) return;
    for (std::size_t token = 0; token < vocab_size_; ++token)
      masses[token] =
          static_cast<float>(masses[token] * (token < cut ? coin / below : (1 - coin) / above));
    float& nudged = masses[cut - 1];
    if (nudged > 0) nudged = stepped(nudged, static_cast<int>(random_.below(3)) - 1);
  }

  CardCase& made_;
  const oracle::ReplayRule& rule_;
  std::size_t tile_;
  Random& random_;
  std::size_t vocab_size_, draft_count_;
  std::vector<float> unseen_;
  Token unseen_token_ = 0;
};

/// A draw of the stream of subsequence 0 whose coin is the largest, or 2^-33. Both were found by
/// walking the stream; the check makes sure that they are what they are said to be.
struct FoundCoin {
  std::uint64_t seed, index;
};

FoundCoin largest_coin(std::uint64_t seed) {
  // 128 of 2^32 words round to the coin 1: about 2^25 words are walked, at most 2^31, once a seed.
  static thread_local std::map<std::uint64_t, std::uint64_t> known;
  if (const auto found = known.find(seed); found != known.end()) return {seed, found->second};
  const auto index = CurandStream(seed, 0, 1u << 20).find(0xffffff80u, 0xffffffffu, 1ull << 31);
  DRAFTPROOF_CHECK(index.has_value(), std::to_string(seed));
  known[seed] = *index + (1u << 20);
  return {seed, known[seed]};
}

FoundCoin smallest_coin() {
  // Word 0 has one chance in 2^32: found once, by walking 3.6e8 words of seed 1.
  const FoundCoin found{1, 364375560};
  DRAFTPROOF_CHECK(CurandStream(found.seed, 0, found.index).word(0) == 0);
  return found;
}

void place_coin(CardCase& made, const oracle::ReplayRule& rule, Random& random,
                std::uint64_t seed) {
  const CardCoins coins = made.spec.coins;
  if (coins == CardCoins::kAny) return;
  const bool is_largest = coins == CardCoins::kLargestAccept || coins == CardCoins::kLargestFinal;
  const bool is_accept = coins == CardCoins::kLargestAccept || coins == CardCoins::kSmallestAccept;
  // Four streams for all cases of a run: walking them is what takes time.
  const FoundCoin found =
      is_largest ? largest_coin(seed * 4 + made.spec.number % 4) : smallest_coin();
  const int draft_count = static_cast<int>(made.spec.draft_count);
  std::uint64_t draw = 0;
  if (is_accept && draft_count > 0) {
    draw = oracle::accept_draw(rule, static_cast<int>(random.below(made.spec.draft_count)));
  } else {
    draw = oracle::final_draw(rule, draft_count, random.below(2) == 0 ? draft_count : 0);
  }
  made.seed = found.seed;
  made.offset = found.index - draw;
}

}  // namespace

oracle::ReplayRequest CardCase::request(std::size_t index) const {
  const std::size_t draft_size = spec.draft_count * spec.vocab_size;
  const std::size_t target_size = (spec.draft_count + 1) * spec.vocab_size;
  oracle::ReplayRequest result;
  result.vocab_size = spec.vocab_size;
  result.draft = std::span(draft).subspan(index * spec.draft_count, spec.draft_count);
  result.draft_rows = std::span(draft_rows).subspan(index * draft_size, draft_size);
  result.target_rows = std::span(target_rows).subspan(index * target_size, target_size);
  result.seed = seed;
  result.subsequence = index;
  result.offset = offset;
  return result;
}

CardCase make_card_case(const CardCaseSpec& spec, const oracle::ReplayRule& rule, std::size_t tile,
                        std::uint64_t seed) {
  DRAFTPROOF_CHECK(spec.request_count > 0 && spec.vocab_size > 0 && tile > 0);
  Random random(seed * 0x9E3779B97F4A7C15u + spec.number);
  CardCase made;
  made.spec = spec;
  made.seed = random.bits();
  made.offset = random.bits() >> (random.below(4) * 16);
  made.draft_rows.resize(spec.request_count * spec.draft_count * spec.vocab_size);
  made.target_rows.resize(spec.request_count * (spec.draft_count + 1) * spec.vocab_size);
  made.draft.resize(spec.request_count * spec.draft_count);
  place_coin(made, rule, random, seed);
  Filler(made, rule, tile, random).fill();
  return made;
}

}  // namespace draftproof::tools
