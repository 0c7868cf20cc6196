// Toys.
#include "reference/model/toys.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::model {
namespace {

constexpr std::uint64_t kDenominator = 24;

/// splitmix64's finaliser (Steele, Lea, Flood, OOPSLA 2014) over a sequence of numbers.
class Mixer {
 public:
  explicit Mixer(std::uint64_t seed) : state_(seed) {}
  std::uint64_t mix(std::uint64_t value) {
    state_ = (state_ ^ (value + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31;
    return state_;
  }

 private:
  std::uint64_t state_;
};

std::vector<std::int64_t> key_of(const Context& context) {
  return {context.begin(), context.end()};
}

LawRow even_row(int vocab_size) {
  return LawRow(static_cast<std::size_t>(vocab_size), Exact(1, vocab_size));
}

std::vector<Toy> all_toys() {
  const RowFamily target{3, 11, false};
  const RowFamily draft{3, 12, false};
  const ToyModelPtr full = full_memory_model(target);
  const ToyModelPtr other = full_memory_model(draft);
  const auto textbook_row = [](const char* text) {
    return position_model({distribution_from_text(text)});
  };
  const ToyModelPtr recurrent = recurrent_model({3, 15, false});
  const ToyModelPtr copying = copying_model(3, 2);
  return {
      {"textbook",
       "one row everywhere: .1, .3, .6 drafted from .7, .2, .1",
       textbook_row(".1,.3,.6"),
       textbook_row(".7,.2,.1"),
       {}},
      {"full-memory",
       "every context has rows of its own, so that a wrong row shows",
       full,
       other,
       {}},
      {"near",
       "full memory, the draft half target and half another table",
       full,
       mixed_model(full, other, Exact(1, 2)),
       {}},
      {"markov",
       "rows depend on the last token only",
       markov_model({3, 13, false}, 1),
       markov_model({3, 14, false}, 1),
       {}},
      {"zeros",
       "full memory with tokens of probability 0 in target and draft",
       full_memory_model({4, 16, true}),
       full_memory_model({4, 17, true}),
       {}},
      {"equal", "the draft is the target: everything may be accepted", full, full, {}},
      {"disjoint",
       "no token that both can emit: everything must be rejected",
       parity_model({4, 18, false}, false),
       parity_model({4, 19, false}, true),
       {}},
      {"recurrent",
       "rows depend on a state fed token by token: s' = (3 s + x + 1) mod 5",
       recurrent,
       mixed_model(recurrent, markov_model({3, 20, false}, 1), Exact(1, 2)),
       {}},
      {"copying",
       "copies the token two steps back with probability 7/8",
       copying,
       markov_model({3, 21, false}, 1),
       {0, 1, 2, 0, 1}},
      {"two-tokens",
       "full memory over two tokens: the least vocabulary",
       full_memory_model({2, 22, false}),
       full_memory_model({2, 23, false}),
       {}},
  };
}

}  // namespace

LawRow RowFamily::row(const std::vector<std::int64_t>& key) const {
  DRAFTPROOF_CHECK(vocab_size >= 1 && vocab_size <= static_cast<int>(kDenominator) / 2,
                   std::to_string(vocab_size));
  Mixer mixer(seed);
  mixer.mix(key.size());
  for (std::int64_t part : key) mixer.mix(static_cast<std::uint64_t>(part) + 100);
  std::vector<std::uint64_t> weights(static_cast<std::size_t>(vocab_size), 1);
  if (has_zeros && vocab_size > 2) {
    for (std::uint64_t& weight : weights) weight = mixer.mix(1) % 3 == 0 ? 0 : 1;
    // Two tokens always remain, and which ones depends on the key.
    const std::size_t kept = mixer.mix(2) % weights.size();
    weights[kept] = 1;
    weights[(kept + 1 + mixer.mix(3) % (weights.size() - 1)) % weights.size()] = 1;
  }
  std::uint64_t given = 0;
  for (std::uint64_t weight : weights) given += weight;
  while (given < kDenominator) {
    std::uint64_t& weight = weights[mixer.mix(4) % weights.size()];
    if (weight == 0) continue;
    // Lumps, so that rows are far from even.
    const std::uint64_t lump = std::min<std::uint64_t>(1 + mixer.mix(5) % 5, kDenominator - given);
    weight += lump;
    given += lump;
  }
  LawRow row;
  for (std::uint64_t weight : weights) row.emplace_back(weight, kDenominator);
  return row;
}

ToyModelPtr full_memory_model(const RowFamily& rows) {
  return function_model(rows.vocab_size,
                        [rows](const Context& context) { return rows.row(key_of(context)); });
}

ToyModelPtr markov_model(const RowFamily& rows, int order) {
  DRAFTPROOF_CHECK(order >= 0, std::to_string(order));
  return function_model(rows.vocab_size, [rows, order](const Context& context) {
    const std::size_t count = std::min(context.size(), static_cast<std::size_t>(order));
    return rows.row({context.end() - static_cast<std::ptrdiff_t>(count), context.end()});
  });
}

ToyModelPtr parity_model(const RowFamily& rows, bool is_odd) {
  DRAFTPROOF_CHECK(rows.vocab_size >= 2, std::to_string(rows.vocab_size));
  return function_model(rows.vocab_size, [rows, is_odd](const Context& context) {
    std::vector<Exact> weights = rows.row(key_of(context));
    for (std::size_t v = 0; v < weights.size(); ++v)
      if ((v % 2 == 1) != is_odd) weights[v] = 0;
    return normalised(std::move(weights)).probabilities();
  });
}

int recurrent_state(int state, Token token) { return (3 * state + token + 1) % 5; }

ToyModelPtr recurrent_model(const RowFamily& rows) {
  return function_model(rows.vocab_size, [rows](const Context& context) {
    int state = 0;
    for (Token token : context) state = recurrent_state(state, token);
    return rows.row({state});
  });
}

ToyModelPtr copying_model(int vocab_size, int period) {
  DRAFTPROOF_CHECK(period >= 1, std::to_string(period));
  return function_model(vocab_size, [vocab_size, period](const Context& context) {
    LawRow row = even_row(vocab_size);
    if (context.size() < static_cast<std::size_t>(period)) return row;
    for (Exact& probability : row) probability /= 8;
    row[context[context.size() - static_cast<std::size_t>(period)]] += Exact(7, 8);
    return row;
  });
}

ToyModelPtr mixed_model(ToyModelPtr first, ToyModelPtr second, const Exact& weight) {
  DRAFTPROOF_CHECK(first->vocab_size() == second->vocab_size() && weight >= 0 && weight <= 1);
  const int vocab_size = first->vocab_size();
  return function_model(vocab_size, [=](const Context& context) {
    LawRow row = first->row(context);
    const LawRow& other = second->row(context);
    for (std::size_t v = 0; v < row.size(); ++v) row[v] = weight * row[v] + (1 - weight) * other[v];
    return row;
  });
}

const std::vector<Toy>& toys() {
  static const std::vector<Toy> list = all_toys();
  return list;
}

const Toy& toy(std::string_view name) {
  std::string known;
  for (const Toy& entry : toys()) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw Error(ErrorKind::kInput, "unknown toy '" + std::string(name) + "'; known: " + known);
}

}  // namespace draftproof::reference::model
