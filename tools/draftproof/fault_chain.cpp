#include "tools/draftproof/fault_chain.h"

#include <algorithm>
#include <cmath>

#include "fixtures/faults/chain_steps.h"
#include "fixtures/faults/fault.h"
#include "reference/error.h"

namespace draftproof::tools {
namespace {

namespace law = reference::law;
namespace model = reference::model;
using reference::Exact;
using reference::Token;

const model::Toy& chain_toy() {
  static const model::Toy toy = [] {
    const auto rows = [](std::uint64_t seed) {
      return model::markov_model({kChainVocabulary, seed, false}, 1);
    };
    model::Toy made;
    made.name = "chain of ten tokens";
    made.target = rows(3);
    made.draft = model::mixed_model(made.target, rows(4), Exact(1, 2));
    return made;
  }();
  return toy;
}

std::vector<std::vector<double>> rows_of(const model::ToyModel& toy) {
  std::vector<std::vector<double>> rows;
  for (Token last = 0; last < kChainVocabulary; ++last) {
    rows.emplace_back();
    for (const Exact& each : toy.row({last})) rows.back().push_back(static_cast<double>(each));
  }
  return rows;
}

ChainFault with_ratio(const std::string& name, const Exact& factor) {
  ChainFault fault;
  fault.name = name;
  fault.statement = "the acceptance ratio is too large";
  fault.report = "derived";
  fault.decoding =
      fixtures::chain_over(
          chain_toy(), fixtures::chain_of({.acceptance =
                                               [factor](const fixtures::TestedToken& at) {
                                                 const Exact ratio = factor * at.target[at.token] /
                                                                     at.draft[at.token];
                                                 return ratio < 1 ? ratio : Exact(1);
                                               }}))
          .front();
  return fault;
}

ChainFault known(const char* name) {
  const fixtures::Fault& fault = fixtures::fault(name);
  return {fault.name, fault.statement, fault.report, fault.make(chain_toy()).front()};
}

}  // namespace

std::vector<std::vector<double>> chain_target_rows() { return rows_of(*chain_toy().target); }
std::vector<std::vector<double>> chain_draft_rows() { return rows_of(*chain_toy().draft); }

FaultChain::FaultChain(const law::Decoding& decoding) {
  for (Token last = 0; last < kChainVocabulary; ++last) {
    law::Decoding behind = decoding;
    behind.prompt = {last};
    Iteration iteration;
    double total = 0;
    // Emissions that differ in what was accepted alone are one to whoever sees tokens.
    std::vector<std::pair<std::vector<Token>, double>> outcomes;
    for (const auto& [emission, probability] : law::emission_law(behind))
      outcomes.emplace_back(emission.tokens, static_cast<double>(probability));
    std::sort(outcomes.begin(), outcomes.end());
    for (const auto& [tokens, probability] : outcomes) {
      total += probability;
      if (!iteration.emissions.empty() && iteration.emissions.back() == tokens) {
        iteration.cumulative.back() = total;
        continue;
      }
      iteration.emissions.push_back(tokens);
      iteration.cumulative.push_back(total);
    }
    DRAFTPROOF_CHECK(total > .999999 && total < 1.000001, std::to_string(total));
    by_last_.push_back(std::move(iteration));
  }
  sum_pairs();
}

const std::vector<Token>& FaultChain::emitted(Token last, properties::Random& random) const {
  const Iteration& iteration = by_last_.at(static_cast<std::size_t>(last));
  const auto& cumulative = iteration.cumulative;
  const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), random.unit());
  return iteration.emissions[static_cast<std::size_t>(std::min(found, cumulative.end() - 1) -
                                                      cumulative.begin())];
}

std::vector<double> FaultChain::first_token(Token last) const {
  const Iteration& iteration = by_last_.at(static_cast<std::size_t>(last));
  std::vector<double> row(kChainVocabulary);
  double before = 0;
  for (std::size_t i = 0; i < iteration.emissions.size(); ++i) {
    row[static_cast<std::size_t>(iteration.emissions[i].front())] +=
        iteration.cumulative[i] - before;
    before = iteration.cumulative[i];
  }
  return row;
}

void FaultChain::sum_pairs() {
  // Where iterations start in a long text, by repeated steps; then every pair of an iteration.
  const std::size_t vocab = kChainVocabulary;
  std::vector<double> starts(vocab, 1.0 / kChainVocabulary);
  for (int step = 0; step < 200; ++step) {
    std::vector<double> after(vocab);
    pairs_.assign(vocab, std::vector<double>(vocab));
    double total = 0;
    for (std::size_t start = 0; start < vocab; ++start) {
      double before = 0;
      for (std::size_t i = 0; i < by_last_[start].emissions.size(); ++i) {
        const auto& tokens = by_last_[start].emissions[i];
        const double mass = starts[start] * (by_last_[start].cumulative[i] - before);
        before = by_last_[start].cumulative[i];
        std::size_t last = start;
        for (const Token token : tokens) {
          pairs_[last][static_cast<std::size_t>(token)] += mass;
          total += mass;
          last = static_cast<std::size_t>(token);
        }
        after[last] += mass;
      }
    }
    for (auto& row : pairs_) {
      for (double& each : row) each /= total;
    }
    double moved = 0;
    for (std::size_t i = 0; i < vocab; ++i) moved += std::abs(after[i] - starts[i]);
    starts = std::move(after);
    if (moved < 1e-13) break;
  }
}

std::vector<ChainFault> chain_faults_of_table(bool is_smoke) {
  ChainFault right;
  right.name = "none: the right chain";
  right.statement = "nothing is wrong: alarms here would be false";
  right.decoding = fixtures::right_chain(chain_toy()).front();
  std::vector<ChainFault> list = {right, known("always_accept"), known("recovered_from_target"),
                                  with_ratio("ratio_times_1_2", Exact(6, 5))};
  if (!is_smoke) {
    list.push_back(with_ratio("ratio_times_1_5", Exact(3, 2)));
    list.push_back(with_ratio("ratio_times_1_05", Exact(21, 20)));
    for (const char* name :
         {"accept_if_at_least_draft", "accept_by_target_maximum", "one_hot_accept_dense_residual",
          "residual_absolute", "dense_accept_one_hot_residual", "target_zeroed_before_accept",
          "first_draft_unverified", "bonus_from_draft", "bonus_from_previous_row",
          "row_after_rejected", "rows_shifted_by_one", "recovered_coin_is_accept_coin",
          "one_coin_for_all_positions", "bonus_coin_is_last_accept_coin",
          "greedy_draft_reports_soft_row", "draft_reported_colder", "draft_reported_warmer",
          "first_row_reported_for_all"})
      list.push_back(known(name));
  }
  for (ChainFault& fault : list) fault.decoding.draft_count = kChainDrafts;
  return list;
}

}  // namespace draftproof::tools
