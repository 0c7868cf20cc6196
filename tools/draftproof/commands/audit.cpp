// audit: asks both arms of an engine, judges what comes, and reports it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <ostream>

#include "reference/error.h"
#include "tools/audit/arrivals.h"
#include "tools/audit/audit_run.h"
#include "tools/audit/examination.h"
#include "tools/audit/shard.h"
#include "tools/draftproof/audit_conclusion.h"
#include "tools/draftproof/collect_progress.h"
#include "tools/draftproof/interrupt.h"
#include "tools/draftproof/judge_settings.h"
#include "tools/draftproof/run_output.h"
#include "tools/store/atomic_file.h"
#include "tools/toys/manifest.h"

namespace draftproof::tools {
namespace {

namespace fs = std::filesystem;
using audit::AuditConfig;
using audit::CollectEnd;
using store::ObservationStore;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Where the run lies, and whether it goes on.
struct RunPlace {
  fs::path report_dir;
  std::string id;
  bool is_resumed = false;

  fs::path folder() const { return report_dir / id; }
  fs::path file() const { return folder() / "run.sqlite"; }
};

RunPlace place_of(const AuditRunSettings& settings, const AuditConfig& config,
                  const audit::Shard& shard) {
  RunPlace place;
  place.report_dir = config.report_dir;
  if (settings.resume.empty()) {
    place.id = store::make_run_id();
    if (shard.count > 1) place.id += fmt::format("-s{}of{}", shard.index + 1, shard.count);
    return place;
  }
  place.is_resumed = true;
  fs::path named = settings.resume;
  std::error_code error;
  if (!fs::exists(named / "run.sqlite", error)) named = place.report_dir / settings.resume;
  if (!fs::exists(named / "run.sqlite", error))
    throw Error(ErrorKind::kInput,
                fmt::format("no run {} in {}: there is no run.sqlite; name another --report-dir, "
                            "or audit without --resume",
                            settings.resume, place.report_dir.string()),
                "--resume");
  // "latest" is a link: its run has a name of its own.
  named = fs::weakly_canonical(named, error);
  place.id = named.filename().string();
  place.report_dir = named.parent_path();
  return place;
}

/// The manifest lies beside the transcripts, so that they are judged anywhere.
void keep_manifest(const std::string& toy, const fs::path& folder) {
  if (!toy.ends_with(".json")) return;
  const fs::path beside = folder / fs::path(toy).filename();
  std::error_code error;
  if (!fs::exists(beside, error)) {
    store::write_atomically(beside, store::read_file(toy));
  } else if (toys::load_manifest(toy).spec != toys::load_manifest(beside).spec) {
    throw Error(ErrorKind::kInput,
                "is of another toy than " + beside.string() +
                    ", by which this run was begun; resume it with that one, or begin another run",
                toy);
  }
}

std::string resume_line(const AuditRunSettings& settings, const RunPlace& place) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < settings.command_line.size(); ++i) {
    const std::string& word = settings.command_line[i];
    if (word == "--resume") {
      ++i;
    } else if (!word.starts_with("--resume=")) {
      words.push_back(word);
    }
  }
  return fmt::format("draftproof {} --resume {}", fmt::join(words, " "), place.id);
}

struct Run {
  const AuditRunSettings& settings;
  const AuditConfig& config;
  audit::Shard shard;
  RunPlace place;
  OutputSettings output;
};

std::vector<std::string> warnings_of(const audit::CollectResult& result, const Run& run,
                                     const properties::audits::Matrix& matrix) {
  std::vector<std::string> warnings;
  for (const auto& [setting, reason] : result.refused)
    warnings.push_back("setting " + matrix.settings[setting].id + " was not asked: " + reason);
  if (result.end == CollectEnd::kArmChanged)
    warnings.push_back("collecting ended early: " + result.reason +
                       "; what came is kept, and nothing of it is judged: start another run");
  else if (result.end != CollectEnd::kComplete)
    warnings.push_back("collecting ended early: " + result.reason + "; what came is kept; go on " +
                       "with: " + resume_line(run.settings, run.place));
  if (run.shard.count > 1)
    warnings.push_back(
        fmt::format("shard {} of {}: judge all of them together with: draftproof "
                    "judge RUN/run.sqlite ...",
                    run.shard.index + 1, run.shard.count));
  return warnings;
}

ExitCode end_of_collecting(const audit::CollectResult& result, const Run& run, std::size_t kept,
                           const properties::audits::Matrix& matrix, const Streams& streams) {
  for (const std::string& warning : warnings_of(result, run, matrix))
    streams.err << "warning: " << warning << "\n";
  streams.out << fmt::format("{} transcripts in {}\n", kept, run.place.file().string());
  if (result.end != CollectEnd::kArmChanged)
    streams.out << fmt::format("judge them with: draftproof judge {}\n", run.place.file().string());
  switch (result.end) {
    case CollectEnd::kInterrupted:
      return ExitCode::kInterrupted;
    case CollectEnd::kArmLost:
    case CollectEnd::kArmChanged:
      return ExitCode::kInconclusive;
    default:
      return result.refused.empty() ? ExitCode::kUpheld : ExitCode::kInconclusive;
  }
}

audit::CollectResult collected(ObservationStore& store, properties::audits::Evidence& evidence,
                               audit::Arms& arms, audit::CollectOrder order, const Run& run,
                               const Streams& streams) {
  CollectProgress progress(
      run.output.progress, order.record.matrix, order.settings.size(),
      [&](const std::string& text) { streams.err << text << std::flush; }, now);
  order.is_interrupted = is_interrupted;
  order.progress = [&](std::size_t setting, std::uint64_t done, std::uint64_t of) {
    progress.tell(setting, done, of);
  };
  catch_interrupts();
  return audit::collect_into(store, evidence, arms, order);
}

/// The arms once more, as many requests at a time as are handed over together.
audit::AskTogether asking(audit::Arms& arms) {
  const auto speculative = arms.shared(properties::Arm::kSpeculative);
  // Whoever has one arm never asks for the other.
  const auto baseline = arms.has_baseline() ? arms.shared(properties::Arm::kBaseline) : speculative;
  return [=](properties::Arm arm, const std::vector<properties::SamplingRequest>& requests,
             int concurrency) {
    return engines::two_arms(baseline, speculative, concurrency)->generate(arm, requests);
  };
}

ExitCode audit_with(const Run& run, audit::Arms& arms, const Streams& streams) {
  const AuditConfig& config = run.config;
  const audit::RunRecord record = audit::record_of(config, arms);
  audit::ToyLaw law;
  auto judge = audit::judge_settings(record, law, run.place.folder().string(), "target.toy");
  judge.replay = fmt::format("draftproof judge {} --show {{case}}", run.place.file().string());
  if (properties::audits::checks_of(record.matrix, judge).empty())
    throw Error(ErrorKind::kInput,
                "no check is left: none of these audits speaks of any of these settings", "audit");
  const auto settings = audit::settings_of_shard(record.matrix, run.shard.index, run.shard.count);
  auto known = known_findings(run.settings.known, config.file.parent_path().string());
  const auto formats = formats_of(config.reports);
  if (!run.settings.is_unproven && !run.place.is_resumed) {
    for (const std::string& warning : audit::need_sound_arms(config, arms, law.target.get()))
      streams.err << "warning: " << warning << "\n";
  }

  ObservationStore store(run.place.file(), run.place.is_resumed ? ObservationStore::Mode::kAppend
                                                                : ObservationStore::Mode::kCreate);
  if (const std::string changed = audit::change_of(store); !changed.empty())
    throw Error(ErrorKind::kInput,
                "this run cannot go on, since another engine answered: " + changed +
                    "; audit without --resume",
                "--resume");
  audit::write_record(store, record);
  keep_manifest(record.toy, run.place.folder());
  store::RunStore(run.place.report_dir, run.place.id).point_latest();
  auto evidence = store.read();
  const double begin = now();
  const audit::CollectResult result =
      collected(store, evidence, arms, {config, record, judge, settings, {}, {}}, run, streams);
  if (run.settings.collects_only)
    return end_of_collecting(result, run, evidence.size(), record.matrix, streams);

  Conclusion conclusion{
      .record = record,
      .evidence = evidence,
      .judge = judge,
      .gate = {config.required_claims, config.inconclusive_is_failure, std::move(known)},
      .settings = run.shard.count > 1 ? settings : std::vector<std::size_t>{},
      .run_id = run.place.id,
      .subject = judge.speculative.name,
      .command_line = run.settings.command_line,
      .warnings = warnings_of(result, run, record.matrix),
      .changed = audit::change_of(store),
      .is_cut = result.end == CollectEnd::kArmLost,
      .is_interrupted = result.end == CollectEnd::kInterrupted,
      .allows_inconclusive = !config.inconclusive_is_failure,
      .time_limit_s = config.time_limit_s,
      .seconds = now() - begin,
      .output = run.output,
      .formats = formats,
      .report_dir = run.place.report_dir.string(),
      .keeps_findings = true};
  conclusion.curl = [&](properties::Arm arm, const properties::SamplingRequest& request) {
    return arms.client(arm).curl_of(request);
  };
  // Whoever counts requests wants no more of them.
  if (!config.request_max) conclusion.ask = asking(arms);
  const ExitCode code = conclude(conclusion, streams);
  if (code == ExitCode::kInterrupted)
    streams.err << "interrupted; go on with: " << resume_line(run.settings, run.place) << "\n";
  return code;
}

}  // namespace

ExitCode audit_command(const AuditRunSettings& settings, const Streams& streams) {
  const audit::LoadedConfig loaded = settings_of_flags(settings.audit);
  if (settings.audit.prints_config) {
    streams.out << audit::page_of(loaded.lines);
    return ExitCode::kUpheld;
  }
  const AuditConfig& config = loaded.config;
  audit::need_arms(config);
  if (!config.traffic.arrivals.empty()) audit::Arrivals(config.traffic.arrivals, config.seed);
  Run run{settings, config, {}, {}, output_settings(settings.output, streams)};
  if (!settings.shard.empty()) run.shard = audit::shard_from(settings.shard);
  run.place = place_of(settings, config, run.shard);
  store::need_writable(run.place.report_dir);
  formats_of(config.reports);
  known_findings(settings.known, config.file.parent_path().string());
  audit::Arms arms(config, run.place.folder());
  return audit_with(run, arms, streams);
}

}  // namespace draftproof::tools
