// Distributions: exact laws over token ids.
#include "reference/distribution.h"

#include <numeric>

#include "reference/error.h"

namespace draftproof::reference {
namespace {

Exact sum_of(const std::vector<Exact>& values) {
  return std::accumulate(values.begin(), values.end(), Exact(0));
}

}  // namespace

Distribution::Distribution(std::vector<Exact> probabilities)
    : probabilities_(std::move(probabilities)) {
  for (const Exact& probability : probabilities_)
    DRAFTPROOF_CHECK(probability >= 0, to_string(probability));
  DRAFTPROOF_CHECK(sum_of(probabilities_) == 1, to_string(sum_of(probabilities_)));
}

Distribution distribution_from_text(std::string_view text, std::string_view place) {
  const auto refuse = [&](const std::string& message) {
    throw Error(ErrorKind::kInput, message, std::string(place));
  };
  std::vector<Exact> probabilities;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string entry(text.substr(begin, end - begin));
    while (!entry.empty() && entry.front() == ' ') entry.erase(0, 1);
    while (!entry.empty() && entry.back() == ' ') entry.pop_back();
    try {
      probabilities.push_back(exact_from_text(entry));
    } catch (const Error& error) {
      refuse(error.message());
    }
    if (probabilities.back() < 0) refuse("probability " + entry + " is negative");
    begin = end + 1;
  }
  if (const Exact sum = sum_of(probabilities); sum != 1)
    refuse("probabilities sum to " + to_string(sum) + ", not to 1");
  return Distribution(std::move(probabilities));
}

std::string to_string(const Distribution& law) {
  std::string text;
  for (const Exact& probability : law.probabilities())
    text += (text.empty() ? "" : ", ") + to_string(probability);
  return text;
}

Distribution normalised(std::vector<Exact> weights) {
  const Exact sum = sum_of(weights);
  DRAFTPROOF_CHECK(sum > 0, to_string(sum));
  for (Exact& weight : weights) weight /= sum;
  return Distribution(std::move(weights));
}

Distribution distribution_of(const MassRow& row) {
  DRAFTPROOF_CHECK(row.status == Status::kOk, std::string(to_string(row.status)));
  std::vector<Exact> probabilities;
  for (Mass mass : row.mass) probabilities.emplace_back(BigInteger(mass), BigInteger(row.total));
  return Distribution(std::move(probabilities));
}

Distribution point_mass(std::size_t vocab_size, std::size_t token) {
  DRAFTPROOF_CHECK(token < vocab_size, std::to_string(token));
  std::vector<Exact> probabilities(vocab_size);
  probabilities[token] = 1;
  return Distribution(std::move(probabilities));
}

Exact total_variation(const Distribution& first, const Distribution& second) {
  DRAFTPROOF_CHECK(first.vocab_size() == second.vocab_size(), "vocabularies differ");
  Exact sum = 0;
  for (std::size_t token = 0; token < first.vocab_size(); ++token)
    sum += abs(first[token] - second[token]);
  return sum / 2;
}

}  // namespace draftproof::reference
