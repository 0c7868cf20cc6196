#include "tools/draftproof/law_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "reference/law/trace.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

namespace law = reference::law;
using reference::Exact;
using report::Align;
using report::Table;

constexpr std::size_t kReadableDigits = 15;
constexpr std::size_t kRowsShown = 40;

std::string joined(const reference::LawRow& row) {
  std::vector<std::string> texts;
  for (const Exact& value : row) texts.push_back(readable(value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string joined(const std::vector<reference::Token>& tokens) {
  return fmt::format("{}", fmt::join(tokens, " "));
}

/// "2/5 = 0.4"; a whole number or a decimal already is one.
std::string with_decimal(const Exact& value) {
  const std::string text = readable(value);
  if (text.find('/') == std::string::npos) return text;
  return fmt::format("{} = {:.6g}", text, value.convert_to<double>());
}

/// What is left of the target when the draft has taken its part, before it is normalised.
Exact positive_part(const Exact& target, const Exact& draft) {
  return target > draft ? Exact(target - draft) : Exact(0);
}

std::string counted(int count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// What the rule is, as its paper states it.
std::string rule_lines(const LawPlan& plan) {
  if (!plan.rule) return fmt::format("rule       the method's own: {}\n", plan.method->rule);
  const law::LawRule& rule = *plan.rule;
  std::string out = fmt::format(
      "rule       {} ({})\n"
      "keep x     with probability {}\n"
      "recovered  drawn from {}\n"
      "bonus      drawn from {}\n",
      rule.name, rule.citation, rule.acceptance, rule.recovered, rule.bonus);
  for (const auto& [name, value] : plan.options)
    out += fmt::format("{:<10} {}\n", name, with_decimal(value));
  const bool is_lossy = rule.kind == law::RuleKind::kLossy;
  out += fmt::format("{}  {}\n", is_lossy ? "LOSSY    " : "lossless ", rule.conditions);
  return out;
}

std::string method_lines(const LawPlan& plan) {
  if (plan.method == nullptr) return "";
  const reference::draft::Method& method = *plan.method;
  return fmt::format(
      "method     {} ({})\n"
      "           {}\n"
      "reads      {}; reports {}\n"
      "keeps      {}\n",
      method.name, method.citation, method.statement, method.reads, method.reported,
      method.provenance.state.empty() ? "nothing" : method.provenance.state);
}

std::string header_of(const LawResult& result) {
  const LawPlan& plan = result.plan;
  const int drafted = plan.tiny ? plan.tiny->draft_count() : plan.decoding.draft_count;
  return method_lines(plan) + rule_lines(plan) +
         fmt::format("coins      {}: {}\n", plan.decoding.coins.name,
                     plan.decoding.coins.statement) +
         fmt::format("case       {}, {}, a vocabulary of {}{}\n\n", plan.source,
                     plan.tiny ? counted(drafted, "drafted token")
                               : fmt::format("at most {}", counted(drafted, "drafted token")),
                     plan.vocab_size(),
                     plan.decoding.prompt.empty()
                         ? ""
                         : ", behind the prompt " + joined(plan.decoding.prompt));
}

/// "min(1, 3/2) = 1": the formula with its numbers, and what the rule really did.
std::string kept_with(const law::TraceStep& step, std::size_t x, bool is_chain) {
  if (!step.kept_by_token[x]) return "never drafted";
  const std::string kept = readable(*step.kept_by_token[x]);
  if (!is_chain) return kept;
  return fmt::format("min(1, {}) = {}", readable(step.target[x] / step.draft[x]), kept);
}

std::string drafted_position(const law::TraceStep& step, const Exact& reached, bool is_chain) {
  const Exact rejected = 1 - step.kept;
  std::vector<report::Column> columns = {{"token", Align::kRight},
                                         {"target", Align::kRight},
                                         {"draft", Align::kRight},
                                         {"kept with", Align::kRight},
                                         {"draft x kept", Align::kRight}};
  if (is_chain) columns.push_back({"max(0, target - draft)", Align::kRight});
  columns.push_back({"recovered", Align::kRight});
  columns.push_back({"emitted", Align::kRight});
  Table table(columns);
  reference::LawRow emitted;
  for (std::size_t x = 0; x < step.target.size(); ++x) {
    const Exact kept =
        step.kept_by_token[x] ? Exact(step.draft[x] * *step.kept_by_token[x]) : Exact(0);
    const Exact last = step.last.empty() ? Exact(0) : step.last[x];
    emitted.push_back(kept + rejected * last);
    std::vector<std::string> cells = {std::to_string(x), readable(step.target[x]),
                                      readable(step.draft[x]), kept_with(step, x, is_chain),
                                      readable(kept)};
    if (is_chain) cells.push_back(readable(positive_part(step.target[x], step.draft[x])));
    cells.push_back(step.last.empty() ? "-" : readable(last));
    cells.push_back(readable(emitted.back()));
    table.add(std::move(cells));
  }
  std::string out = fmt::format("Position {}   reached with probability {}\n",
                                step.accepted.size() + 1, with_decimal(reached));
  out += table.text();
  out += fmt::format("kept       {}, the conditional acceptance of this position\n",
                     with_decimal(step.kept));
  if (rejected == 0) {
    out += "rejected   0: nothing is ever recovered here\n";
  } else if (is_chain) {
    out += fmt::format(
        "rejected   {}, the sum of max(0, target - draft): dividing by it gives "
        "recovered\n",
        with_decimal(rejected));
  } else {
    out += fmt::format("rejected   {}\n", with_decimal(rejected));
  }
  out += fmt::format("emitted    draft x kept + {} x recovered{}\n\n", readable(rejected),
                     emitted == step.target ? ": the target's law" : "");
  return out;
}

/// One position behind one accepted prefix, or behind the first of those that `reached` sums up.
std::string position_of(const law::TraceStep& step, const Exact& reached, bool is_chain) {
  if (!step.draft.empty()) return drafted_position(step, reached, is_chain);
  return fmt::format("Bonus      reached with probability {}, {}\n\n", with_decimal(reached),
                     step.last.empty() ? "none is emitted" : "drawn from " + joined(step.last));
}

/// One step a position: rows depend on the position only, so every prefix shows the same algebra.
std::string merged_positions(const std::vector<law::TraceStep>& steps, int draft_count,
                             bool is_chain) {
  std::string out;
  for (int length = 0; length <= draft_count; ++length) {
    Exact reached = 0;
    const law::TraceStep* first = nullptr;
    for (const law::TraceStep& step : steps) {
      if (step.accepted.size() != static_cast<std::size_t>(length)) continue;
      if (first == nullptr) first = &step;
      reached += step.reached;
    }
    if (first == nullptr) {
      out += (length == draft_count ? "Bonus   " : fmt::format("Position {}", length + 1)) +
             "   never reached\n\n";
    } else {
      out += position_of(*first, reached, is_chain);
    }
  }
  return out;
}

/// Step by step, where the draft is a chain of a draft model: always for rows given, which depend
/// on the position only; for toys when asked, one step a prefix.
std::string positions_of(const LawResult& result) {
  const LawPlan& plan = result.plan;
  if (!has_steps(plan)) return "";
  const auto steps = law::trace(*plan.tiny, result.emission);
  // The chain's algebra shows where the row drawn from is the row reported.
  const bool is_chain =
      plan.rule->name == "chain" && plan.tiny->report == law::DraftReport::kLawDrawn;
  if (plan.rows_depend_on_position_only) {
    return merged_positions(steps, plan.tiny->draft_count(), is_chain);
  }
  std::string out;
  for (const law::TraceStep& step : steps) {
    out += fmt::format("Behind     {}\n",
                       step.accepted.empty() ? "the prompt" : "accepted " + joined(step.accepted));
    out += position_of(step, step.reached, is_chain);
  }
  return out;
}

std::string and_more(std::size_t count) {
  if (count <= kRowsShown) return "";
  return fmt::format("and {} more; -o json writes all\n", count - kRowsShown);
}

std::string emissions_of(const LawResult& result) {
  Table table({{"emitted"},
               {"accepted", Align::kRight},
               {"probability", Align::kRight},
               {"", Align::kRight}});
  Exact sum = 0;
  std::size_t shown = 0;
  for (const auto& [emission, probability] : result.emission) {
    sum += probability;
    if (++shown > kRowsShown) continue;
    table.add({joined(emission.tokens), std::to_string(emission.accepted_count),
               readable(probability), fmt::format("{:.6f}", probability.convert_to<double>())});
  }
  return "What one iteration emits\n" + table.text() + and_more(result.emission.size()) +
         "sum        " + readable(sum) + "\n\n";
}

std::string sequences_of(const LawResult& result) {
  auto all = result.target;  // every sequence that either side knows
  all.insert(result.joint.begin(), result.joint.end());
  Table table({{"tokens"},
               {"speculative", Align::kRight},
               {"target alone", Align::kRight},
               {"difference", Align::kRight}});
  const auto in = [](const auto& law, const auto& key) {
    const auto found = law.find(key);
    return found == law.end() ? Exact(0) : found->second;
  };
  std::size_t shown = 0;
  for (const auto& [tokens, unused] : all) {
    if (++shown > kRowsShown) break;
    const Exact with = in(result.joint, tokens);
    const Exact without = in(result.target, tokens);
    table.add({joined(tokens), readable(with), readable(without), readable(with - without)});
  }
  const std::string through =
      result.plan.iterations == 1 ? "an iteration" : counted(result.plan.iterations, "iteration");
  return fmt::format("Joint law of {} tokens ({} that emits fewer goes on with the target)\n",
                     result.joint_length, through) +
         table.text() + and_more(all.size()) + "\n";
}

std::string histories_of(const LawResult& result) {
  if (result.histories.empty()) return "";
  Table table({{"tokens"}, {"emitted per iteration"}, {"probability", Align::kRight}});
  std::size_t shown = 0;
  for (const auto& [history, probability] : result.histories) {
    if (++shown > kRowsShown) break;
    table.add({joined(history.tokens), fmt::format("{}", fmt::join(history.emitted_counts, " ")),
               readable(probability)});
  }
  return fmt::format("What {} emit\n", counted(result.plan.iterations, "iteration")) +
         table.text() + and_more(result.histories.size()) + "\n";
}

std::string acceptance_of(const LawResult& result) {
  if (!result.plan.tiny) return "";
  const int length = result.plan.decoding.draft_count;
  if (length == 0) return "";
  const bool is_chain =
      result.plan.tiny->parents == law::chain_parents(result.plan.tiny->draft_count());
  std::string out;
  if (is_chain) {
    out += fmt::format("draft acceptance                {}   accepted / drafted\n",
                       with_decimal(law::draft_acceptance(result.emission, length)));
  }
  const auto positions = law::acceptance_by_position(result.emission, length);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto rate = positions[i].conditional();
    out += fmt::format("conditional acceptance at {}     {}   accepted / reached\n", i + 1,
                       rate ? with_decimal(*rate) : "never reached");
  }
  return out;
}

std::string distance_line(const std::string& what, const Exact& distance,
                          const std::string& none = "exactly 0: lossless") {
  return fmt::format("{:<31} {}\n", what, distance == 0 ? none : with_decimal(distance));
}

/// Of the iterations that were walked. Where later ones read coins again, 0 says less than
/// lossless.
std::string iterations_line(const LawPlan& plan, const Exact& distance) {
  const std::string what = "total variation to the target";
  if (!plan.decoding.coins.may_recur(reference::CoinAddress{}, 0)) {
    return distance_line(what, distance);
  }
  return distance_line(what, distance,
                       fmt::format("exactly 0 in {}; coins are read again: see --tokens",
                                   counted(plan.iterations, "iteration")));
}

std::string rates_of(const LawResult& result) {
  std::string out = fmt::format(
      "expected tokens per iteration   {}\n",
      result.expected.front() ? with_decimal(*result.expected.front()) : "no iteration");
  for (std::size_t k = 1; k < result.expected.size(); ++k) {
    out += fmt::format("  in iteration {:<17} {}\n", k + 1,
                       result.expected[k] ? with_decimal(*result.expected[k]) : "never reached");
  }
  if (result.formula) {
    out += fmt::format("by the closed form              {}{}\n", with_decimal(*result.formula),
                       *result.formula == *result.expected.front() ? "" : "   NOT THE SAME");
  }
  if (result.optimum) {
    out +=
        fmt::format("lossless optimum                {}{}\n", with_decimal(result.optimum->emitted),
                    *result.expected.front() > result.optimum->emitted
                        ? "   EXCEEDED: no lossless rule emits so many"
                        : "");
  }
  out += acceptance_of(result);
  if (result.sequence) {
    out += distance_line(fmt::format("distance over {}", counted(*result.plan.tokens, "token")),
                         result.sequence->distance);
  }
  const law::Limits& limits = result.plan.decoding.limits;
  if (limits.eos || !limits.stops.empty() || limits.token_count_max) return out;
  return out + iterations_line(result.plan, result.distance);
}

}  // namespace

std::string readable(const Exact& value) {
  const std::string text = reference::to_string(value);
  if (text.size() <= kReadableDigits) return text;
  return fmt::format("~{:.6g}", value.convert_to<double>());
}

bool has_steps(const LawPlan& plan) {
  if (!plan.tiny || !plan.decoding.prompt.empty()) return false;
  const bool is_chain = plan.tiny->parents == law::chain_parents(plan.tiny->draft_count());
  return is_chain && (plan.rows_depend_on_position_only || plan.shows_steps);
}

std::string law_page(const LawResult& result) {
  std::string out = header_of(result) + positions_of(result) + emissions_of(result);
  out += histories_of(result);
  // Long joint laws tell a reader nothing that the distance does not.
  if (result.target.size() <= kRowsShown || result.plan.tiny) out += sequences_of(result);
  return out + rates_of(result);
}

}  // namespace draftproof::tools
