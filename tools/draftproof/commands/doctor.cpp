// doctor: servers, a launch line, or alert rules.
#include "tools/audit/doctor.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <ostream>

#include "reference/error.h"
#include "tools/audit/alert_rules.h"
#include "tools/audit/arms.h"
#include "tools/audit/examination.h"
#include "tools/audit/launch_line.h"
#include "tools/audit/toy_law.h"
#include "tools/draftproof/doctor_settings.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools {
namespace {

using audit::AuditConfig;
using properties::Arm;

audit::DoctorForm form_of(const std::string& format) {
  return format == "json" ? audit::DoctorForm::kJson
         : format == "md" ? audit::DoctorForm::kMarkdown
                          : audit::DoctorForm::kText;
}

/// As typed with --engine; empty: none.
std::string engine_of(const AuditSettings& settings) {
  const auto found = settings.flags.find("arm.speculative.engine");
  if (found == settings.flags.end()) return "";
  return found->second.substr(1, found->second.size() - 2);
}

/// Addresses without a flag are flags like any other.
AuditSettings with_urls(const DoctorCommandSettings& settings) {
  AuditSettings flags = settings.audit;
  const auto quoted = [](const std::string& url) {
    if (url.find_first_of("\"\\\n") != std::string::npos)
      throw Error(ErrorKind::kInput, "\"" + url + "\" is no address; write http://HOST:PORT",
                  "url");
    return "\"" + url + "\"";
  };
  const bool is_pair = !settings.second_url.empty();
  if (is_pair) flags.flags["arm.baseline.url"] = quoted(settings.url);
  if (!settings.url.empty())
    flags.flags["arm.speculative.url"] = quoted(is_pair ? settings.second_url : settings.url);
  return flags;
}

ExitCode examine_servers(const DoctorCommandSettings& settings, const Streams& streams) {
  const audit::LoadedConfig loaded = settings_of_flags(with_urls(settings));
  AuditConfig config = loaded.config;
  if (settings.audit.prints_config) {
    streams.out << audit::page_of(loaded.lines);
    return ExitCode::kUpheld;
  }
  if (!config.baseline.is_given()) config.is_one_server = true;
  audit::need_arms(config);
  const bool is_kept = config.reports != "none";
  if (is_kept) store::need_writable(config.report_dir);
  const audit::Arms arms(config, std::filesystem::path(config.report_dir) / "doctor");
  audit::DoctorSettings doctor = audit::doctor_settings(config);
  std::vector<audit::Patient> patients = audit::patients_of(config, arms);
  audit::ToyLaw law;
  if (!config.toy.empty()) {
    const std::string contract =
        config.contract.empty() ? audit::contract_of_engine(patients.front().record.facts.engine)
                                : config.contract;
    law = audit::toy_law(config.toy, contract, config.vocab_size, "--toy");
    doctor.target = law.target.get();
  }
  const audit::DoctorReport report = audit::examine(std::move(patients), doctor);
  streams.out << audit::page_of(report, form_of(settings.format));
  if (is_kept) {
    const auto file = audit::doctor_file(config.report_dir, !config.is_one_server);
    store::write_atomically(file.string(), audit::page_of(report, audit::DoctorForm::kJson));
    fmt::print(streams.err, "kept in {}, where `draftproof plan` reads rates and capabilities\n",
               file.string());
  }
  return static_cast<ExitCode>(audit::exit_code_of(report));
}

}  // namespace

ExitCode doctor_command(const DoctorCommandSettings& settings, const Streams& streams) {
  if (settings.writes_alerts) {
    streams.out << audit::alert_rules(engine_of(settings.audit));
    return ExitCode::kUpheld;
  }
  if (!settings.command_line.empty()) {
    if (!settings.url.empty())
      throw Error(ErrorKind::kInput, "is read, not started: ask for the servers in a second run",
                  "--command");
    const audit::LaunchReport report = audit::read_launch_line(
        settings.command_line, engine_of(settings.audit), settings.engine_version);
    streams.out << audit::page_of(report, form_of(settings.format));
    return static_cast<ExitCode>(audit::exit_code_of(report));
  }
  return examine_servers(settings, streams);
}

}  // namespace draftproof::tools
