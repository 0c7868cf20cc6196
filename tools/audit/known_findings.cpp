#include "tools/audit/known_findings.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::audit {
namespace {

[[noreturn]] void refuse(const std::string& place, const std::string& message) {
  throw Error(ErrorKind::kInput, message, place);
}

std::string place_of(const std::filesystem::path& file, const toml::node& node) {
  return fmt::format("{}:{}", file.string(), node.source().begin.line);
}

KnownFinding finding_of(const toml::table& table, const std::filesystem::path& file) {
  KnownFinding finding;
  finding.place = place_of(file, table);
  for (const auto& [key, node] : table) {
    const std::string_view name = key.str();
    const std::string place = place_of(file, node);
    if (name == "expires") {
      const auto date = node.value<toml::date>();
      if (!date) refuse(place, "'expires' is no date; write it as 2027-03-01");
      finding.expires = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date->year),
                                    static_cast<int>(date->month), static_cast<int>(date->day));
    } else if (name == "id" || name == "reason") {
      const auto text = node.value<std::string>();
      if (!text || text->empty()) refuse(place, fmt::format("'{}' is no text", name));
      (name == "id" ? finding.id : finding.reason) = *text;
    } else {
      refuse(place, fmt::format("there is no key '{}'; known: id, reason, expires", name));
    }
  }
  for (const auto& [name, text] :
       {std::pair{"id", finding.id}, {"reason", finding.reason}, {"expires", finding.expires}})
    if (text.empty()) refuse(finding.place, fmt::format("the finding lacks '{}'", name));
  return finding;
}

bool is_meant(const std::string& pattern, const std::string& id) {
  if (pattern.back() != '*') return pattern == id;
  return id.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

}  // namespace

std::vector<KnownFinding> read_known(const std::filesystem::path& file) {
  const std::string text = store::read_file(file);
  toml::table root;
  try {
    root = toml::parse(text, file.string());
  } catch (const toml::parse_error& error) {
    refuse(fmt::format("{}:{}", file.string(), error.source().begin.line),
           "no TOML: " + std::string(error.description()));
  }
  std::vector<KnownFinding> known;
  for (const auto& [key, node] : root) {
    const toml::array* list = node.as_array();
    if (key.str() != "finding" || list == nullptr)
      refuse(place_of(file, node),
             fmt::format("there is no '{}' here; findings are written as [[finding]]", key.str()));
    for (const toml::node& each : *list) {
      if (!each.is_table()) refuse(place_of(file, each), "a finding is a table: [[finding]]");
      KnownFinding finding = finding_of(*each.as_table(), file);
      const auto twin = std::find_if(known.begin(), known.end(),
                                     [&](const auto& other) { return other.id == finding.id; });
      if (twin != known.end())
        refuse(finding.place,
               fmt::format("'{}' is accepted already, at {}", finding.id, twin->place));
      known.push_back(std::move(finding));
    }
  }
  return known;
}

KnownOutcome accept(const std::vector<KnownFinding>& known, const std::string& today,
                    std::vector<report::CheckResult>& checks) {
  KnownOutcome outcome;
  for (const KnownFinding& finding : known) {
    const bool has_expired = finding.expires < today;
    bool is_found = false, is_open = false;
    for (report::CheckResult& check : checks) {
      if (!is_meant(finding.id, check.id)) continue;
      is_open = is_open || check.verdict.kind == oracle::VerdictKind::kInconclusive;
      if (check.verdict.kind != oracle::VerdictKind::kViolated) continue;
      is_found = true;
      if (!has_expired)
        check.accepted = fmt::format("{} (until {})", finding.reason, finding.expires);
    }
    if (is_found && has_expired)
      outcome.expired.push_back(
          fmt::format("{}: the acceptance of {} ended on {} ({}); mend the "
                      "engine, or look again and move the day",
                      finding.place, finding.id, finding.expires, finding.reason));
    if (!is_found && !is_open)
      outcome.gone.push_back(fmt::format(
          "{}: {} is accepted, and no longer found: remove the entry", finding.place, finding.id));
  }
  return outcome;
}

std::string today() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

}  // namespace draftproof::tools::audit
