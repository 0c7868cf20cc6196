// Plans as pages: text, Markdown, JSON.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/audit/plan.h"
#include "tools/report/table.h"

namespace draftproof::tools::audit {
namespace {

using nlohmann::json;
using report::Align;
using report::grouped;
using report::Table;

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * 86400.0) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

std::string cost_line(const PlanCost& cost) {
  std::string line =
      fmt::format("{} requests, {} tokens in, {} out, {}", grouped(cost.requests),
                  grouped(cost.prompt_tokens), grouped(cost.output_tokens), duration(cost.seconds));
  if (cost.price) line += fmt::format(", price {:.2f}", *cost.price);
  return line;
}

/// One row an audit: over its settings, what it sees least well.
Table audit_table(const AuditPlan& plan) {
  Table table({{"audit"},
               {"claim"},
               {"settings", Align::kRight},
               {"samples each", Align::kRight},
               {"sees at least"},
               {"samples to certify", Align::kRight},
               {"false alarms"}});
  std::vector<std::string> order;
  std::map<std::string, std::vector<const PlannedCheck*>> by_audit;
  for (const PlannedCheck& check : plan.checks) {
    if (!by_audit.contains(check.audit)) order.push_back(check.audit);
    by_audit[check.audit].push_back(&check);
  }
  for (const std::string& audit : order) {
    const auto& checks = by_audit[audit];
    const PlannedCheck& worst = **std::max_element(
        checks.begin(), checks.end(),
        [](const auto* left, const auto* right) { return left->visible < right->visible; });
    table.add({audit, worst.claim, std::to_string(checks.size()),
               grouped(worst.samples) + " " + worst.unit, worst.visible_text,
               worst.to_certify ? grouped(*worst.to_certify) : "",
               worst.takes_budget ? fmt::format("{:.2g}", worst.false_alarms) : "none"});
  }
  return table;
}

Table setting_table(const AuditPlan& plan) {
  Table table({{"setting"},
               {"cases", Align::kRight},
               {"in flight", Align::kRight},
               {"requests", Align::kRight},
               {"tokens out", Align::kRight},
               {"time", Align::kRight}});
  for (const PlannedSetting& each : plan.settings)
    table.add({each.id, std::to_string(each.cases), std::to_string(each.concurrency),
               grouped(each.most.requests), grouped(each.most.output_tokens),
               duration(each.most.seconds)});
  return table;
}

std::string list_of(const std::vector<std::string>& lines, bool is_markdown) {
  std::string text;
  for (const std::string& line : lines) text += (is_markdown ? "* " : "  ") + line + "\n";
  return text;
}

std::string budget_line(const AuditPlan& plan) {
  if (!plan.log_alarm)
    return fmt::format("budget       {:g} of false alarms; no check can raise one",
                       plan.false_alarms);
  return fmt::format(
      "budget       {:g} of false alarms over {} checks that can raise one: each alarms at an "
      "e-value of {:.2g}",
      plan.false_alarms, plan.budget_shares, std::exp(*plan.log_alarm));
}

std::string prose_page(const AuditPlan& plan, bool is_markdown) {
  const auto shown = [&](const Table& table) {
    return is_markdown ? table.markdown() : table.text();
  };
  const auto heading = [&](const std::string& text) {
    return is_markdown ? "\n## " + text + "\n\n" : "\n" + text + "\n";
  };
  std::string page = fmt::format("{} checks in {} settings; no request is sent\n\n",
                                 plan.checks.size(), plan.settings.size());
  page += shown(audit_table(plan));
  page += "\n" + shown(setting_table(plan)) + "\n";
  const std::string gap = is_markdown ? "\n\n" : "\n";
  page += "first look   " + cost_line(plan.first_look) + gap;
  page += "at most      " + cost_line(plan.most) + gap;
  if (plan.reached_share < 1)
    page += fmt::format(
                "limits       leave {:.1f} % of that; what is not settled then is "
                "inconclusive",
                100 * plan.reached_share) +
            gap;
  page += budget_line(plan) + "\n";
  page += heading("Not exercised") + list_of(plan.not_exercised, is_markdown);
  page += heading("Assumed") + list_of(plan.assumptions, is_markdown);
  return page;
}

json json_of(const PlanCost& cost) {
  return {{"requests", cost.requests},
          {"prompt_tokens", cost.prompt_tokens},
          {"output_tokens", cost.output_tokens},
          {"seconds", cost.seconds},
          {"price", cost.price ? json(*cost.price) : json(nullptr)}};
}

json json_of(const AuditPlan& plan) {
  json checks = json::array();
  for (const PlannedCheck& each : plan.checks)
    checks.push_back({{"audit", each.audit},
                      {"setting", each.setting},
                      {"claim", each.claim},
                      {"samples", each.samples},
                      {"unit", each.unit},
                      {"takes_budget", each.takes_budget},
                      {"false_alarms", each.false_alarms},
                      {"log_alarm", each.log_alarm ? json(*each.log_alarm) : json(nullptr)},
                      {"smallest_visible_effect", each.visible},
                      {"smallest_visible_effect_text", each.visible_text},
                      {"to_certify", each.to_certify ? json(*each.to_certify) : json(nullptr)}});
  json settings = json::array();
  for (const PlannedSetting& each : plan.settings)
    settings.push_back({{"id", each.id},
                        {"cases", each.cases},
                        {"concurrency", each.concurrency},
                        {"most", json_of(each.most)}});
  return {{"schema_version", "draftproof/plan/1"},
          {"checks", std::move(checks)},
          {"settings", std::move(settings)},
          {"first_look", json_of(plan.first_look)},
          {"most", json_of(plan.most)},
          {"reached_share", plan.reached_share},
          {"budget",
           {{"false_alarms", plan.false_alarms},
            {"checks", plan.budget_shares},
            {"log_alarm", plan.log_alarm ? json(*plan.log_alarm) : json(nullptr)},
            {"effect_tv", plan.effect_tv}}},
          {"not_exercised", plan.not_exercised},
          {"assumptions", plan.assumptions}};
}

}  // namespace

std::string page_of(const AuditPlan& plan, PlanForm form) {
  if (form == PlanForm::kJson) return json_of(plan).dump(2) + "\n";
  return prose_page(plan, form == PlanForm::kMarkdown);
}

}  // namespace draftproof::tools::audit
