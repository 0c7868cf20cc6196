#include "properties/verifier/sampled_law.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "oracle/sequential.h"
#include "properties/describe.h"
#include "properties/verifier/tree_fixture.h"

namespace draftproof::properties::verifier {
namespace {

using reference::MassRow;
using reference::Token;

constexpr std::size_t kChunk = 1000;

/// Counts of the next token at one context.
using Counts = std::vector<std::uint64_t>;

Token drawn(Random& random, const MassRow& row) {
  reference::Mass point = random.bits() % row.total;
  for (std::size_t v = 0; v < row.mass.size(); ++v) {
    if (point < row.mass[v]) return static_cast<Token>(v);
    point -= row.mass[v];
  }
  return 0;
}

std::vector<Token> drafted(const TreeFixture& fixture, Random& random) {
  std::vector<Token> tokens;
  for (int i = 0; i < fixture.outline.draft_count; ++i)
    tokens.push_back(drawn(random, fixture.law.draft[i][fixture.context(tokens, i)]));
  return tokens;
}

std::vector<double> probabilities(const MassRow& row) {
  std::vector<double> law;
  for (reference::Mass mass : row.mass)
    law.push_back(static_cast<double>(mass) / static_cast<double>(row.total));
  return law;
}

class Sample {
 public:
  explicit Sample(const TreeFixture& fixture) : fixture_(fixture) {}

  /// Every row here can be judged, so a status, or no token at all, counts as what no law gives:
  /// a subject that refuses when it does not like its draw would look lossless otherwise.
  void add(const reference::RequestOutcome& outcome) {
    std::vector<Token> prefix;
    if (outcome.status != reference::Status::kOk || outcome.emitted.empty()) {
      Counts& counts = counts_[prefix];
      counts.resize(static_cast<std::size_t>(fixture_.outline.vocab_size) + 1);
      ++counts.back();
      return;
    }
    for (const reference::EmittedToken& each : outcome.emitted) {
      if (static_cast<int>(prefix.size()) > fixture_.outline.draft_count) return;
      Counts& counts = counts_[prefix];
      counts.resize(static_cast<std::size_t>(fixture_.outline.vocab_size) + 1);
      // The last cell collects what is no token at all: probability 0 under every law.
      const bool is_token = each.token >= 0 && each.token < fixture_.outline.vocab_size;
      ++counts[is_token ? static_cast<std::size_t>(each.token) : counts.size() - 1];
      if (!is_token) return;
      prefix.push_back(each.token);
    }
  }

  /// The logarithm of the evidence against all contexts together: the mean of their e-values. A
  /// context that was not met counts with its e-value 1: a mean over those that happened to be met
  /// would be weighted by the data, and is no e-value.
  double log_evidence() const {
    std::vector<double> each;
    for (const auto& [prefix, counts] : counts_) each.push_back(log_evidence(prefix, counts));
    std::size_t contexts = 0, of_length = 1;
    for (int length = 0; length <= fixture_.outline.draft_count; ++length) {
      contexts += of_length;
      of_length *= static_cast<std::size_t>(fixture_.outline.vocab_size);
    }
    each.resize(std::max(contexts, each.size()));
    return oracle::log_mean(each);
  }

  /// The context with the most evidence, told as an argument.
  oracle::Witness witness() const {
    const std::vector<Token>* worst = nullptr;
    double most = -1;
    for (const auto& [prefix, counts] : counts_) {
      const double evidence = log_evidence(prefix, counts);
      if (worst != nullptr && !(evidence > most)) continue;
      worst = &prefix;
      most = evidence;
    }
    oracle::Witness witness;
    if (worst == nullptr) return witness;
    std::string after;
    for (Token token : *worst) after += " " + std::to_string(token);
    const MassRow& row =
        fixture_.law.target[worst->size()][fixture_.context(*worst, worst->size())];
    const Counts& counts = counts_.at(*worst);
    double total = 0;
    for (std::uint64_t count : counts) total += static_cast<double>(count);
    witness.let =
        name_of(fixture_.outline) + ", tokens so far:" + (after.empty() ? " none" : after);
    for (std::size_t v = 0; v < row.mass.size(); ++v) {
      const std::string name = "P(token " + std::to_string(v) + ") = ";
      witness.expected += (v > 0 ? ", " : "") + name + short_number(probabilities(row)[v]);
      witness.observed +=
          (v > 0 ? ", " : "") + name + short_number(static_cast<double>(counts[v]) / total);
    }
    if (counts.back() > 0)
      witness.observed +=
          ", P(no token) = " + short_number(static_cast<double>(counts.back()) / total);
    witness.observed += " in " + short_number(total) + " draws";
    witness.because = "evidence of e^" + short_number(most) + " against the target's law";
    return witness;
  }

 private:
  double log_evidence(const std::vector<Token>& prefix, const Counts& counts) const {
    std::vector<double> law =
        probabilities(fixture_.law.target[prefix.size()][fixture_.context(prefix, prefix.size())]);
    law.push_back(0);
    return oracle::log_evidence(counts, law);
  }

  const TreeFixture& fixture_;
  std::map<std::vector<Token>, Counts> counts_;
};

bool sample_law(Course& course, const TreeOutline& outline, std::uint64_t samples,
                double log_alarm) {
  const TreeFixture fixture = tree_fixture(outline);
  Random random(derived_seed(outline.seed, 2));
  const reference::PhiloxCoins coins(random.bits());
  Sample sample(fixture);
  for (std::uint64_t done = 0; done < samples; done += kChunk) {
    if (course.stopped()) return false;
    reference::Batch batch = fixture.batch();
    for (std::size_t i = 0; i < kChunk; ++i) {
      batch.requests.push_back(fixture.request(drafted(fixture, random)));
      batch.requests.back().id = static_cast<std::uint32_t>(done + i);
    }
    const reference::Outcome outcome = course.subject().verifier->verify(batch, coins, {});
    for (std::size_t i = 0; i < kChunk; ++i) sample.add(answer(outcome, i));
    course.count(kChunk, name_of(outline));
    if (sample.log_evidence() < log_alarm) continue;
    course.convict_by_sample(sample.witness());
    return false;
  }
  return true;
}

}  // namespace

void sample_laws(Course& course, std::uint64_t seed) {
  const reference::VerifierTraits& traits = course.traits();
  const std::uint64_t laws = course.by_battery(4, 12, 24);
  const std::uint64_t samples = course.by_battery(10000, 40000, 400000);
  course.expect(laws * samples);
  const double log_alarm = std::log(static_cast<double>(laws) / course.false_alarms());
  for (std::uint64_t i = 0; i < laws; ++i) {
    TreeOutline outline;
    outline.vocab_size = 2 + static_cast<int>(i % 3);
    outline.draft_count = static_cast<int>((i + 1) % 3);
    outline.draft_kind = traits.draft_kinds[i % traits.draft_kinds.size()];
    outline.format = traits.formats[i % traits.formats.size()];
    if (i % 2 == 1) outline.sampling = {.temperature = 0.7, .top_k = 2};
    outline.seed = derived_seed(seed, i);
    if (!sample_law(course, outline, samples, log_alarm)) return;
  }
  // Noncentral chi-square at 1e-9 with 99% power needs about 100 / (4 TV^2) draws for few cells.
  course.verdict().smallest_visible_effect =
      "total variation of about " + short_number(std::sqrt(25.0 / static_cast<double>(samples))) +
      " at the first token, sampled";
  course.verdict().evidence = std::to_string(laws) + " laws sampled, no evidence against them";
}

}  // namespace draftproof::properties::verifier
