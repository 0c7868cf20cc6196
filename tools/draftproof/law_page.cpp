#include "tools/draftproof/law_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "reference/law/decoding.h"
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

std::string header_of(const LawResult& result) {
  const law::LawRule& rule = result.rule;
  return fmt::format(
      "rule       {} ({})\n"
      "keep x     with probability {}\n"
      "recovered  drawn from {}\n"
      "bonus      drawn from {}\n"
      "case       {} drafted token{}, a vocabulary of {}\n\n",
      rule.name, rule.citation, rule.acceptance, rule.recovered, rule.bonus,
      result.tiny_case.draft_count(), result.tiny_case.draft_count() == 1 ? "" : "s",
      result.tiny_case.vocab_size());
}

/// "min(1, 3/2) = 1": the formula with its numbers, and what the rule really did.
std::string kept_with(const law::TraceStep& step, std::size_t x, bool is_chain) {
  if (!step.kept_by_token[x]) return "never drafted";
  const std::string kept = readable(*step.kept_by_token[x]);
  if (!is_chain) return kept;
  return fmt::format("min(1, {}) = {}", readable(step.target[x] / step.draft[x]), kept);
}

std::string drafted_position(const law::TraceStep& step, const Exact& reached,
                             const std::string& rule) {
  const bool is_chain = rule == "chain";
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

/// One step a position: rows depend on the position only, so every prefix shows the same algebra.
std::string positions_of(const LawResult& result) {
  const auto steps = law::trace(result.tiny_case, result.emission);
  std::string out;
  for (std::size_t length = 0; length <= static_cast<std::size_t>(result.tiny_case.draft_count());
       ++length) {
    Exact reached = 0;
    const law::TraceStep* first = nullptr;
    for (const law::TraceStep& step : steps) {
      if (step.accepted.size() != length) continue;
      if (first == nullptr) first = &step;
      reached += step.reached;
    }
    if (first == nullptr) {
      const bool is_bonus = length == static_cast<std::size_t>(result.tiny_case.draft_count());
      out +=
          (is_bonus ? "Bonus   " : fmt::format("Position {}", length + 1)) + "   never reached\n\n";
    } else if (first->draft.empty()) {
      out += fmt::format("Bonus      reached with probability {}, drawn from {}\n\n",
                         with_decimal(reached), joined(first->last));
    } else {
      out += drafted_position(*first, reached, result.rule.name);
    }
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
  return fmt::format(
             "Joint law of {} tokens (an iteration that emits fewer goes on with the "
             "target)\n",
             result.tiny_case.draft_count() + 1) +
         table.text() + and_more(all.size()) + "\n";
}

std::string rates_of(const LawResult& result) {
  const int length = result.tiny_case.draft_count();
  std::string out = fmt::format("expected tokens per iteration   {}\n",
                                with_decimal(law::expected_emitted(result.emission)));
  if (length > 0) {
    out += fmt::format("draft acceptance                {}   accepted / drafted\n",
                       with_decimal(law::draft_acceptance(result.emission, length)));
    const auto positions = law::acceptance_by_position(result.emission, length);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto rate = positions[i].conditional();
      out += fmt::format("conditional acceptance at {}     {}   accepted / reached\n", i + 1,
                         rate ? with_decimal(*rate) : "never reached");
    }
  }
  return out +
         fmt::format("total variation to the target   {}\n",
                     result.distance == 0 ? "exactly 0: lossless" : with_decimal(result.distance));
}

}  // namespace

std::string readable(const Exact& value) {
  const std::string text = reference::to_string(value);
  if (text.size() <= kReadableDigits) return text;
  return fmt::format("~{:.6g}", value.convert_to<double>());
}

LawResult law_result(law::ModelCase tiny_case, const std::string& rule) {
  LawResult result{law::law_rule(rule), std::move(tiny_case), {}, {}, {}, 0};
  const int length = result.tiny_case.draft_count() + 1;
  const bool is_greedy = result.rule.decoded == law::DecodedLaw::kGreedy;
  const auto truth =
      is_greedy ? reference::model::greedy_model(result.tiny_case.target) : result.tiny_case.target;
  const law::RuleFunction function = result.rule.make(law::checked(result.rule, {}));
  result.emission = law::emission_law(law::decoding_of(result.tiny_case, function));
  result.joint = law::extended_law(*truth, result.emission, length);
  result.target = law::target_law(*truth, length);
  result.distance = law::total_variation(result.joint, result.target);
  return result;
}

std::string law_page(const LawResult& result) {
  return header_of(result) + positions_of(result) + emissions_of(result) + sequences_of(result) +
         rates_of(result);
}

}  // namespace draftproof::tools
