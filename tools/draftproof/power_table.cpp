#include "tools/draftproof/power_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fixtures/criteria/criteria.h"
#include "oracle/bet_growth.h"
#include "oracle/conditional.h"
#include "tools/draftproof/fault_chain.h"

namespace draftproof::tools {
namespace {

namespace criteria = fixtures::criteria;
using properties::Random;
using reference::Token;

constexpr double kAlarmValue = 1e9;
const double kNoAlarm = std::numeric_limits<double>::infinity();

/// Of a run: tokens until each kind of evidence alarmed.
struct Needs {
  double directed = kNoAlarm, places = kNoAlarm, joint = kNoAlarm;
  bool is_complete() const { return std::max({directed, places, joint}) < kNoAlarm; }
};

Needs needs_of(const FaultChain& chain, const std::vector<oracle::PreparedLaws>& laws,
               std::uint64_t tokens_max, Random& random) {
  const double alarm = std::log(kAlarmValue);
  oracle::ConditionalEvidence evidence;
  Needs needs;
  auto last = static_cast<Token>(random.below(kChainVocabulary));
  double look = 16;
  while (!needs.is_complete() && evidence.token_count() < tokens_max) {
    for (const Token token : chain.emitted(last, random)) {
      evidence.add(laws[static_cast<std::size_t>(last)], token, random.unit());
      last = token;
    }
    const auto count = static_cast<double>(evidence.token_count());
    if (count < look) continue;
    look = std::ceil(look * 1.03);
    const auto take = [&](double& need, double value) {
      if (need == kNoAlarm && value >= alarm) need = count;
    };
    take(needs.directed, evidence.log_e_value_of_directed());
    take(needs.places, evidence.log_e_value_of_places());
    take(needs.joint, evidence.log_e_value());
  }
  return needs;
}

std::optional<double> median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double middle = values[values.size() / 2];
  return middle == kNoAlarm ? std::nullopt : std::optional(middle);
}

std::size_t drawn_from(const std::vector<double>& law, Random& random) {
  double point = random.unit();
  std::size_t token = 0;
  while (token + 1 < law.size() && point >= law[token]) point -= law[token++];
  return token;
}

/// Behind which token authors' samples are drawn: of all rows the one whose target and draft are
/// apart by the median distance.
Token asked_behind(const std::vector<criteria::Law>& target,
                   const std::vector<criteria::Law>& draft) {
  std::vector<std::pair<double, Token>> apart;
  for (std::size_t last = 0; last < target.size(); ++last) {
    double distance = 0;
    for (std::size_t i = 0; i < target[last].size(); ++i)
      distance += std::fabs(target[last][i] - draft[last][i]) / 2;
    apart.emplace_back(distance, static_cast<Token>(last));
  }
  std::sort(apart.begin(), apart.end());
  return apart[apart.size() / 2].second;
}

/// A decoder that is asked behind one token again and again, as authors do.
struct Asked {
  const FaultChain& chain;
  const std::vector<criteria::Law>& target;
  Token start;

  const criteria::Law& law() const { return target[static_cast<std::size_t>(start)]; }
};

criteria::TokenCounts first_tokens(const Asked& asked, std::uint64_t draws, Random& random) {
  criteria::TokenCounts counts(kChainVocabulary);
  for (std::uint64_t draw = 0; draw < draws; ++draw)
    ++counts[static_cast<std::size_t>(asked.chain.emitted(asked.start, random).front())];
  return counts;
}

criteria::TokenCounts plain_tokens(const criteria::Law& law, std::uint64_t draws, Random& random) {
  criteria::TokenCounts counts(law.size());
  for (std::uint64_t draw = 0; draw < draws; ++draw) ++counts[drawn_from(law, random)];
  return counts;
}

/// vLLM asks every position. Its rows are all alike; here every token that is reached counts by the
/// row that it must have.
bool every_position_passes(const Asked& asked, Random& random) {
  std::vector<criteria::TokenCounts> counts(kChainDrafts + 1,
                                            criteria::TokenCounts(kChainVocabulary));
  std::vector<std::vector<double>> expected(kChainDrafts + 1,
                                            std::vector<double>(kChainVocabulary));
  for (std::uint64_t draw = 0; draw < criteria::kChiSquaredDraws; ++draw) {
    std::size_t last = static_cast<std::size_t>(asked.start), position = 0;
    for (const Token token : asked.chain.emitted(asked.start, random)) {
      for (std::size_t i = 0; i < kChainVocabulary; ++i)
        expected[position][i] += asked.target[last][i];
      last = static_cast<std::size_t>(token);
      ++counts[position++][last];
    }
  }
  for (std::size_t position = 0; position < counts.size(); ++position) {
    if (!criteria::chi_squared_is_small(counts[position], expected[position])) return false;
  }
  return true;
}

std::vector<criteria::Law> unrelated_laws(Random& random) {
  std::vector<criteria::Law> laws(100, criteria::Law(kChainVocabulary));
  for (criteria::Law& law : laws) {
    double total = 0;
    for (double& each : law) total += each = random.unit();
    for (double& each : law) each /= total;
  }
  return laws;
}

std::vector<bool> answers_of(const Asked& asked, Random& random) {
  const criteria::Law& law = asked.law();
  const auto draws = first_tokens(asked, criteria::kDistanceDraws, random);
  return {criteria::distance_shrinks_enough(first_tokens(asked, criteria::kFewDraws, random),
                                            first_tokens(asked, criteria::kManyDraws, random), law,
                                            unrelated_laws(random)),
          every_position_passes(asked, random),
          criteria::divergence_is_that_of_plain(
              draws, plain_tokens(law, criteria::kDivergenceDraws, random), law),
          criteria::total_variation_is_small(draws, law),
          criteria::cosine_similarity_is_high(draws, law),
          criteria::smells_right(first_tokens(asked, criteria::kSmellDraws, random), law),
          criteria::arms_lie_within_radii(first_tokens(asked, criteria::kArmDraws, random),
                                          plain_tokens(law, criteria::kArmDraws, random))};
}

/// What is known of the row before anything is drawn.
void foretell(PowerRow& row, const FaultChain& chain, const std::vector<criteria::Law>& target,
              const std::vector<oracle::PreparedLaws>& laws) {
  oracle::BetGrowth growth;
  for (std::size_t last = 0; last < target.size(); ++last) {
    criteria::Law actual = chain.pair_frequencies()[last];
    double visits = 0;
    for (const double each : actual) visits += each;
    if (visits <= 0) continue;
    for (std::size_t token = 0; token < actual.size(); ++token) {
      row.distance += std::fabs(actual[token] - visits * target[last][token]) / 2;
      actual[token] /= visits;
    }
    growth.add(laws[last], actual, visits);
  }
  const std::uint64_t needed =
      growth.tokens_to_alarm(oracle::BetKind::kJoint, std::log(kAlarmValue));
  // What is left of rounding is no fault.
  if (row.distance > 1e-9 && needed < std::numeric_limits<std::uint64_t>::max())
    row.foretold = static_cast<double>(needed);
  row.strongest = row.foretold ? growth.strongest() : "";
}

}  // namespace

const std::vector<std::string>& power_criteria() {
  static const std::vector<std::string> names = {"vLLM ratio", "vLLM chi2",    "TRT KL", "TRT TV",
                                                 "FI cosine",  "Smell Tester", "BHC"};
  return names;
}

PowerTable power_table(const PowerTableSettings& settings) {
  const auto target = chain_target_rows(), draft = chain_draft_rows();
  std::vector<oracle::PreparedLaws> laws;
  for (std::size_t last = 0; last < target.size(); ++last)
    laws.emplace_back(oracle::PositionLaws{target[last], draft[last]});
  const Token start = asked_behind(target, draft);
  PowerTable table;
  table.runs = settings.is_smoke ? 5 : 21;
  table.tokens_max = settings.is_smoke ? 20'000 : 1'000'000;
  for (const ChainFault& fault : chain_faults_of_table(settings.is_smoke)) {
    const FaultChain chain(fault.decoding);
    Random random(properties::derived_seed(settings.seed, fault.name.c_str()));
    PowerRow row;
    row.fault = fault.name;
    row.statement = fault.statement;
    row.report = fault.report;
    row.passes.resize(power_criteria().size());
    foretell(row, chain, target, laws);
    std::vector<double> directed, places, joint;
    for (std::uint64_t run = 0; run < table.runs; ++run) {
      if (settings.stopped()) {
        table.is_complete = false;
        return table;
      }
      const Needs needs = needs_of(chain, laws, table.tokens_max, random);
      directed.push_back(needs.directed);
      places.push_back(needs.places);
      joint.push_back(needs.joint);
      row.alarms += needs.joint < kNoAlarm ? 1 : 0;
      const auto answers = answers_of({chain, target, start}, random);
      for (std::size_t i = 0; i < answers.size(); ++i) row.passes[i] += answers[i] ? 1 : 0;
    }
    row.directed = median(directed);
    row.places = median(places);
    row.joint = median(joint);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace draftproof::tools
