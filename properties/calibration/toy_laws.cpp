#include "properties/calibration/toy_laws.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace draftproof::properties::calibration {
namespace {

Law normalised(Law law) {
  const double total = std::accumulate(law.begin(), law.end(), 0.0);
  for (double& each : law) each /= total;
  return law;
}

Law of_bet(const Context& context, std::size_t bet) {
  const oracle::BetLaws laws({context.target, context.draft});
  Law law(context.target.size());
  for (std::size_t token = 0; token < law.size(); ++token)
    law[token] = context.target[token] > 0 ? context.target[token] * laws.ratio(bet, token) : 0;
  return normalised(law);
}

/// The coin that rejected is used again: it lies in [a(x), 1), where the recovered token is read.
Law coin_used_again(const Context& context) {
  const Law& target = context.target;
  const Law& draft = context.draft;
  Law residual(target.size()), law(target.size());
  for (std::size_t token = 0; token < target.size(); ++token)
    residual[token] = std::max(0.0, target[token] - draft[token]);
  residual = normalised(residual);
  for (std::size_t drafted = 0; drafted < target.size(); ++drafted) {
    if (draft[drafted] <= 0) continue;
    const double accepted = std::min(1.0, target[drafted] / draft[drafted]);
    law[drafted] += draft[drafted] * accepted;
    double start = 0;
    for (std::size_t token = 0; token < target.size(); ++token) {
      const double end = start + residual[token];
      law[token] += draft[drafted] * std::max(0.0, std::min(end, 1.0) - std::max(start, accepted));
      start = end;
    }
  }
  return normalised(law);
}

/// The rows of two tokens are exchanged.
Law two_tokens_exchanged(const Context& context) {
  Law law = context.target;
  std::swap(law[3], law[7]);
  return law;
}

/// An id that a filter took out, or that the vocabulary's map lost.
Law fifth_token_never(const Context& context) {
  Law law = context.target;
  law[4] = 0;
  return normalised(law);
}

}  // namespace

Law some_law(std::size_t size, Random& random, double zero_share) {
  Law law(size);
  for (double& each : law) each = random.unit() < zero_share ? 0 : std::pow(random.unit(), 2) + .01;
  if (std::all_of(law.begin(), law.end(), [](double each) { return each == 0; })) law[0] = 1;
  return normalised(law);
}

Law mixed(const Law& one, const Law& other, double share) {
  Law law = one;
  for (std::size_t i = 0; i < law.size(); ++i) law[i] = (1 - share) * one[i] + share * other[i];
  return law;
}

Law hardest(std::size_t cells, double distance) {
  Law law(cells);
  for (std::size_t i = 0; i < cells; ++i)
    law[i] = (1 + (i % 2 == 0 ? 2 : -2) * distance) / static_cast<double>(cells);
  return law;
}

std::size_t drawn_at(const Law& law, double point) {
  std::size_t token = 0, last = 0;
  for (; token < law.size(); ++token) {
    if (law[token] > 0) last = token;
    if (point < law[token]) return token;
    point -= law[token];
  }
  return last;
}

std::vector<Context> toy_contexts() {
  Random random(7);
  std::vector<Context> contexts;
  for (int i = 0; i < 8; ++i) {
    Law target = some_law(10, random);
    Law draft = mixed(target, some_law(10, random), .5);
    oracle::PreparedLaws prepared({target, draft});
    contexts.push_back({std::move(target), std::move(draft), std::move(prepared)});
  }
  return contexts;
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault> list = [] {
    std::vector<Fault> made;
    for (std::size_t bet = 0; bet < oracle::directed_bets().size(); ++bet) {
      const std::string& name = oracle::directed_bets()[bet];
      made.push_back({name, [bet](const Context& context) { return of_bet(context, bet); }});
      made.push_back({name + ", one token in three", [bet](const Context& context) {
                        return mixed(context.target, of_bet(context, bet), 1.0 / 3);
                      }});
    }
    made.push_back({"coin of the rejection used again", coin_used_again});
    made.push_back({"two tokens exchanged", two_tokens_exchanged});
    made.push_back({"one token never emitted", fifth_token_never});
    return made;
  }();
  return list;
}

std::string number(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

}  // namespace draftproof::properties::calibration
