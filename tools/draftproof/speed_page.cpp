// The report of `draftproof speed` for people: text and Markdown from the same tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/draftproof/speed_report.h"
#include "tools/report/table.h"

namespace draftproof::tools {
namespace {

namespace speed = oracle::speed;
using report::Align;
using report::Table;

constexpr std::size_t kEntriesShown = 16;

std::string number(double value) { return fmt::format("{:.4g}", value); }
std::string milliseconds(double seconds) { return fmt::format("{:.4g}", seconds * 1e3); }
std::string number(const std::optional<double>& value) {
  return value ? number(*value) : "not reported";
}

std::string with_interval(const std::optional<speed::JackknifeInterval>& estimate) {
  if (!estimate) return "not reported";
  if (!estimate->interval) return number(estimate->value) + " (no interval)";
  return fmt::format("{} [{}, {}]", number(estimate->value), number(estimate->interval->low),
                     number(estimate->interval->high));
}

/// "0.8", "1: 0.8, 2: 0.7, ...", "not reported".
std::string shown(const speed::Metric& metric) {
  if (!metric.is_reported()) return "not reported";
  std::vector<std::string> parts;
  for (const auto& [label, value] : metric.values) {
    if (parts.size() == kEntriesShown) {
      parts.push_back(fmt::format("... {} more", metric.values.size() - kEntriesShown));
      break;
    }
    parts.push_back(label.empty() ? number(value) : label + ": " + number(value));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

class Page {
 public:
  explicit Page(bool is_markdown) : is_markdown_(is_markdown) {}

  void title(const std::string& text) {
    out_ += is_markdown_ ? "## " + text + "\n\n" : text + "\n";
  }
  void heading(const std::string& text) {
    out_ += is_markdown_ ? "\n**" + text + "**\n\n" : "\n" + text + "\n";
  }
  void fact(const std::string& name, const std::string& value) {
    out_ += is_markdown_ ? "- **" + name + "** " + value + "\n"
                         : fmt::format("  {:<28}{}\n", name, value);
  }
  void line(const std::string& text) { out_ += text + "\n"; }
  void table(const Table& table) { out_ += is_markdown_ ? table.markdown() : table.text(); }
  std::string text() const { return out_; }

 private:
  bool is_markdown_;
  std::string out_;
};

void add_headline(const CohortReport& cohort, double confidence, Page& page) {
  const speed::Decision& decision = cohort.decision;
  page.title(fmt::format("cohort {}: {}", cohort.name, speed::to_string(decision.advice)));
  page.fact("committed per target call", number(cohort.headline.committed_per_call));
  const std::string ratio = decision.evidence ? with_interval(decision.evidence->speed)
                                              : number(cohort.headline.itl_ratio);
  page.fact("ITL ratio, off / on", fmt::format("{}  ({:g}% interval)", ratio, confidence * 100));
  page.fact("the term that decides", decision.term);
  page.fact("because", decision.reason);
  if (decision.break_even) {
    page.fact("break even at", number(*decision.break_even) + " committed tokens per call");
  }
  page.fact("seen", fmt::format("{} requests, {} speculative calls, {} baseline calls",
                                cohort.requests, cohort.speculative_calls, cohort.baseline_calls));
  for (const std::string& remark : cohort.remarks) page.fact("note", remark);
}

void add_metrics(const CohortReport& cohort, Page& page) {
  page.heading("Metrics");
  Table table({{"metric"},
               {"value", Align::kLeft, 44},
               {"unit"},
               {"definition", Align::kLeft, 40},
               {"field", Align::kLeft, 24}});
  for (const speed::Metric& metric : cohort.metrics)
    table.add({metric.id, shown(metric), metric.unit, metric.definition, metric.field});
  page.table(table);
}

std::string place_of(const speed::Breach& breach) {
  std::string place;
  if (!breach.request.empty()) place += "request " + breach.request + ", ";
  if (breach.iteration >= 0) place += fmt::format("iteration {}, ", breach.iteration);
  if (breach.line > 0) place += fmt::format("line {}, ", breach.line);
  if (place.size() >= 2) place.resize(place.size() - 2);
  return place.empty() ? breach.detail : place + ": " + breach.detail;
}

void add_identities(const CohortReport& cohort, Page& page) {
  page.heading("Identities");
  Table table({{"identity", Align::kLeft, 52},
               {"status"},
               {"checked", Align::kRight},
               {"broken", Align::kRight},
               {"first breach", Align::kLeft, 60}});
  for (const auto& identity : cohort.identities) {
    table.add({identity.statement, std::string(speed::to_string(identity.status)),
               std::to_string(identity.checked), std::to_string(identity.broken),
               identity.breaches.empty() ? "" : place_of(identity.breaches.front())});
  }
  page.table(table);
}

void add_terms(const CohortReport& cohort, Page& page) {
  if (!cohort.decision.effects.empty()) {
    page.heading("Terms of a step with a draft, and the speed without each");
    Table table({{"term"},
                 {"ms", Align::kRight},
                 {"in decodes", Align::kRight},
                 {"speed without it", Align::kRight}});
    for (const auto& effect : cohort.decision.effects)
      table.add({effect.name, milliseconds(effect.seconds), number(effect.decodes),
                 number(effect.speed_without)});
    page.table(table);
  }
  if (cohort.committed || cohort.flat.by_measured || cohort.flat.by_layers)
    page.heading("Expected length and the textbook formula");
  if (const auto& ways = cohort.committed) {
    page.fact("draft acceptance", number(ways->draft_acceptance) + " accepted / proposed");
    page.fact("as a conditional rate", number(ways->constant_rate) + ", if it were constant");
    page.fact("E[committed], closed form", number(ways->closed_form) + " at that constant rate");
    page.fact("E[committed], products",
              number(ways->products) +
                  fmt::format(" of the rates by position, draft length {}", ways->draft_length));
    page.fact("E[committed], counted",
              number(ways->counted) + " per call with a draft, what a stop cut off included");
  }
  if (cohort.flat.by_measured)
    page.fact("AL / (1 + rho D)",
              fmt::format("{} with rho {} as measured", number(*cohort.flat.by_measured),
                          number(*cohort.flat.rho_measured)));
  if (cohort.flat.by_layers)
    page.fact("AL / (1 + rho D), estimate",
              fmt::format("{} with rho {} by layers, not measured", number(*cohort.flat.by_layers),
                          number(*cohort.flat.rho_layers)));
}

void add_lengths(const CohortReport& cohort, Page& page) {
  if (cohort.decision.predictions.empty()) return;
  page.heading("Draft lengths");
  const auto& evidence = cohort.decision.evidence;
  Table table({{"draft length", Align::kRight},
               {"committed", Align::kRight},
               {"step ms", Align::kRight},
               {"speed", Align::kRight},
               {"cost"},
               {""}});
  for (const auto& prediction : cohort.decision.predictions) {
    const bool is_best =
        evidence && evidence->best && evidence->best->draft_length == prediction.draft_length;
    table.add({std::to_string(prediction.draft_length), number(prediction.committed),
               milliseconds(speed::step_time(prediction.terms, cohort.decision.model->placement)),
               number(prediction.speed), std::string(speed::to_string(prediction.kind)),
               is_best ? "best " + with_interval(evidence->best_speed) : ""});
  }
  page.table(table);
}

void add_tiles(const CohortReport& cohort, Page& page) {
  if (!cohort.tiles.empty()) {
    page.heading("Tiles");
    Table table({{"rule"},
                 {"rows a position", Align::kRight},
                 {"tile", Align::kRight},
                 {"draft length", Align::kRight},
                 {"rows", Align::kRight},
                 {"tiles", Align::kRight},
                 {"fill", Align::kRight},
                 {"least D that fills", Align::kRight},
                 {"longest D at no more tiles", Align::kRight}});
    for (const TileLine& line : cohort.tiles)
      table.add({line.rule, std::to_string(line.rows_per_position), std::to_string(line.tile),
                 std::to_string(line.draft_length), std::to_string(line.use.rows),
                 std::to_string(line.use.tiles), number(line.use.fill),
                 std::to_string(line.filling_length), std::to_string(line.free_length)});
    page.table(table);
  }
  if (!cohort.verify || !cohort.slope) return;
  page.heading("Verify by the roofline, ms");
  const speed::VerifyTerms &here = *cohort.verify, &more = cohort.slope->terms;
  Table table({{"term"}, {"at the mean length", Align::kRight}, {"one token more", Align::kRight}});
  table.add({"dense weights", milliseconds(here.dense_weights), milliseconds(more.dense_weights)});
  table.add({"experts", milliseconds(here.experts), milliseconds(more.experts)});
  table.add({"KV", milliseconds(here.kv), milliseconds(more.kv)});
  table.add({"arithmetic", milliseconds(here.arithmetic), milliseconds(more.arithmetic)});
  table.add({"communication", milliseconds(here.communication), milliseconds(more.communication)});
  table.add({here.is_memory_bound() ? "total, bound by memory" : "total, bound by arithmetic",
             milliseconds(here.total()), milliseconds(cohort.slope->total)});
  page.table(table);
}

void add_admission(const BatchAdmission& batch, Page& page) {
  page.heading("A step shared by one request of every cohort");
  Table table({{"cohort"}, {"draft tokens to admit", Align::kRight}});
  for (std::size_t c = 0; c < batch.cohorts.size(); ++c)
    table.add({batch.cohorts[c], std::to_string(batch.admission.draft_lengths[c])});
  page.table(table);
  page.fact("admit iff survival >=", number(batch.admission.lambda) + ", what a slot's " +
                                         milliseconds(batch.slot_seconds) +
                                         " ms would commit elsewhere");
}

}  // namespace

std::string speed_page(const SpeedReport& report, bool is_markdown) {
  Page page(is_markdown);
  for (const CohortReport& cohort : report.cohorts) {
    add_headline(cohort, report.confidence, page);
    add_metrics(cohort, page);
    add_identities(cohort, page);
    add_terms(cohort, page);
    add_lengths(cohort, page);
    add_tiles(cohort, page);
    page.line("");
  }
  if (report.admission) add_admission(*report.admission, page);
  if (!report.damaged.empty()) {
    page.heading(fmt::format("{} damaged lines left out", report.damaged.size()));
    for (const auto& damage : report.damaged)
      page.fact(fmt::format("line {}", damage.line), damage.reason);
  }
  return page.text();
}

std::string examples_page(const std::vector<speed::WorkedExample>& examples, bool is_markdown) {
  Table table({{"example"},
               {"given", Align::kLeft, 46},
               {"quantity", Align::kLeft, 44},
               {"published", Align::kRight},
               {"computed", Align::kRight},
               {"agrees"},
               {"source", Align::kLeft, 50}});
  for (const auto& example : examples)
    table.add({example.id, example.given, example.quantity,
               fmt::format("{:.{}f}", example.published, example.decimals),
               fmt::format("{:.{}f}", example.computed, example.decimals + 2),
               example.agrees() ? "yes" : "NO", example.source});
  return is_markdown ? table.markdown() : table.text();
}

}  // namespace draftproof::tools
