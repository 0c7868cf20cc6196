#include "tools/draftproof/command_line.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>

#include "reference/error.h"
#include "tools/draftproof/commands/commands.h"
#include "tools/draftproof/commands/table_power.h"
#include "tools/draftproof/doctor_settings.h"
#include "tools/draftproof/filter_options.h"
#include "tools/draftproof/judge_settings.h"
#include "tools/draftproof/output_options.h"
#include "tools/draftproof/plan_settings.h"
#include "tools/draftproof/profile_settings.h"
#include "tools/draftproof/speed_settings.h"
#include "tools/draftproof/toy_settings.h"
#include "tools/draftproof/version.h"

namespace draftproof::tools {
namespace {

/// Everything that can be typed. CLI11 writes into it, so it must outlive the parser.
struct Typed {
  OutputTexts output;
  std::string battery = "standard";
  std::string time_limit;
  std::string law_time_limit;
  std::string seed;
  CheckSettings check;
  DemoSettings demo;
  LawSettings law;
  ReplaySettings replay;
  InspectSettings inspect;
  ListSettings list;
  TableSettings table;
  PowerOptions power;
  SpeedSettings speed;
  PlanSettings plan;
  DoctorCommandSettings doctor;
  ProfileSettings profile;
  ExploreSettings explore;
  ServeSettings serve;
  ToySettings toy;
  AuditRunSettings audit;
  JudgeRunSettings judge;
  ReportSettings report;
};

void add_subject(CLI::App& command, SubjectSettings& subject) {
  command.add_option("--subject", subject.subject,
                     "kernels (the default: rules in two launches), fused (chain and greedy in "
                     "one), reference, or mutant:NAME (see: draftproof list mutants)");
  command.add_option("--rule", subject.rule, "Default: every rule the subject has");
  // One value each time, or a property named behind it would be taken for a file.
  command
      .add_option("--kernel", subject.kernels,
                  "A kernel card (CARD.toml), or PTX of our entries; repeat for several files")
      ->allow_extra_args(false);
  command.add_option("--device", subject.device, "Where kernels run")
      ->check(CLI::IsMember({"emulator", "cuda"}));
}

void add_check(CLI::App& app, Typed& typed) {
  CheckSettings& settings = typed.check;
  CLI::App& command = *app.add_subcommand("check", "Hold the properties against a verifier");
  command.add_option("properties", settings.properties,
                     "Property ids (see: draftproof list properties); default: all. Or "
                     "calibration: the judge held to its own error rates");
  add_subject(command, settings.subject);
  command
      .add_option("--battery", typed.battery,
                  "How much to try: of one rule about 10 s, 2 min, 30 min on 2 cores")
      ->check(CLI::IsMember({"smoke", "standard", "deep"}));
  command.add_option("--seed", typed.seed, "Every random choice derives from it; default 1");
  command.add_option("--false-alarms", settings.false_alarms, "Budget of the whole run")
      ->check(CLI::Range(1e-300, 0.5));
  command.add_option("--time-limit", typed.time_limit, "As 90s, 2m or 1h30m; then inconclusive");
  command.add_option("-j,--jobs", settings.workers, "Checks at a time; default: one per core")
      ->check(CLI::Range(1, 256));
  command.add_flag("--allow-inconclusive", settings.allows_inconclusive,
                   "Exit 0 instead of 2 when nothing is violated");
  command.add_flag("--fail-fast", settings.stops_at_violation, "Stop at the first violation");
  command.add_option("--report", settings.reports, "Files: json,junit,jsonl,md,github or none");
  command.add_option("--report-dir", settings.report_dir, "Where runs and cases are kept");
  add_run_output(command, typed.output);
}

void add_contracts(CLI::App& command, ContractSettings& settings) {
  command
      .add_option("--preset", settings.presets,
                  "Order of the filters and their ties; repeat to hold engines against each other")
      ->allow_extra_args(false);
  command.add_option("--repetition-penalty", settings.repetition_penalty, "1 is off");
  command.add_option("--frequency-penalty", settings.frequency_penalty, "A token, each time");
  command.add_option("--presence-penalty", settings.presence_penalty, "A token, once");
  command.add_option("--last-n", settings.last_n, "Tokens that penalties count; -1 is all");
  command.add_option("--logit-bias", settings.logit_bias, "ID:VALUE, -inf bans; repeat for more")
      ->allow_extra_args(false);
  command.add_option("--allowed-ids", settings.allowed_ids, "Ids that alone may come: 0,3");
  command.add_option("--bad-words", settings.bad_words, "Words of ids that may not: 3;1,2");
  command.add_option("--min-tokens", settings.min_tokens, "No end token before so many");
  command.add_option("--eos", settings.end_tokens, "The end tokens: 2");
  command.add_option("--mask", settings.mask, "Ids that a grammar allows at this row: 1,3");
  command.add_option("--prompt", settings.prompt, "Ids of the prompt");
  command.add_option("--history", settings.history, "Ids emitted before this iteration");
  command.add_option("--drafted", settings.drafted, "Ids drafted before this row");
  command.add_flag("--from-probabilities", settings.is_probabilities,
                   "The row is a law; its fp32 logarithms are the logits");
  command.add_flag("--engine-defaults", settings.uses_defaults,
                   "What is not given is each engine's default, not off");
}

void add_decoding(CLI::App& command, LawSettings& settings) {
  command.add_option("--rule-option", settings.rule_options, "NAME=VALUE; repeat for more")
      ->allow_extra_args(false);
  command.add_option("--method", settings.method, "See: draftproof list methods");
  command.add_option("--toy", settings.toy, "Target and draft: see draftproof list toy-models");
  command.add_option("--tree", settings.tree, "Draft a tree; children per node, by level: 2,1");
  command.add_option("--siblings", settings.siblings,
                     "independent, without-replacement, largest or largest-then-drawn");
  command.add_flag("--one-hot", settings.reports_one_hot, "Report each token as its own law");
  command.add_option("--coins", settings.coins, "How coins are addressed: draftproof list coins");
  command.add_option("--iterations", settings.iterations, "Iterations to follow; default 1");
  command.add_option("--tokens", settings.tokens, "Also the law of the first so many tokens");
  command.add_option("--stop", settings.stops, "Ids that end a request: 1,2; repeat for more")
      ->allow_extra_args(false);
  command.add_option("--max-tokens", settings.token_count_max, "A request ends after so many");
  command.add_flag("--steps", settings.shows_steps, "Show every position behind every prefix");
  command.add_flag("--faults", settings.shows_faults,
                   "Which known faults these rows can show, and which they cannot");
}

void add_law(CLI::App& app, Typed& typed) {
  LawSettings& settings = typed.law;
  CLI::App& command = *app.add_subcommand("law", "Print the exact output law of a tiny case");
  command.add_option("--target", settings.target,
                     "A law as decimals or fractions: .1,.3,.6; several rows: .1,.9;1/2,1/2");
  command.add_option("--draft", settings.draft, "The law the draft is drawn from");
  command.add_option("--rule", settings.rule, "See: draftproof list rules; default: chain");
  command.add_option("--length", settings.length, "Draft length");
  add_decoding(command, settings);
  command.add_option("--temperature", settings.temperature,
                     "The rows are then logits, shaped to integer masses");
  add_filters(command, settings);
  command.add_option("--time-limit", typed.law_time_limit,
                     "Of the processor, as 90s or 2m; default 10s");
  add_contracts(command, settings.contracts);
  add_output(command, typed.output, {"text", "json"});
}

void add_small_commands(CLI::App& app, Typed& typed) {
  CLI::App& demo = *app.add_subcommand("demo", "See a law, a violation, a certificate, an audit");
  demo.add_option("--bug", typed.demo.bug, "The mutant or the engine's fault to catch");
  demo.add_option("--report-dir", typed.demo.report_dir, "Where the failing case is kept");
  demo.add_option("--color", typed.output.color)->check(CLI::IsMember({"auto", "always", "never"}));

  CLI::App& replay = *app.add_subcommand("replay", "Judge one recorded case again");
  replay.add_option("case", typed.replay.name, "A file, or an id in REPORT_DIR/cases")->required();
  add_subject(replay, typed.replay.subject);
  replay.add_option("--report-dir", typed.replay.report_dir, "Where cases are kept");
  add_run_output(replay, typed.output);

  CLI::App& inspect = *app.add_subcommand("inspect", "Say what is in a PTX file");
  inspect.add_option("files", typed.inspect.files, "PTX files")->required();
  add_output(inspect, typed.output, {"text", "json"});

  CLI::App& table = *app.add_subcommand("table", "Rules, methods, faults or power, as a table");
  table
      .add_option("name", typed.table.name,
                  "family (rules and methods), rules, methods, faults, or power: what faults take "
                  "to be seen, by us and by published criteria")
      ->required()
      ->check(CLI::IsMember({"family", "rules", "methods", "faults", "power"}));
  table.add_option("--battery", typed.power.battery, "Of power: seconds, or a minute")
      ->check(CLI::IsMember({"smoke", "standard"}));
  table.add_option("--seed", typed.power.seed, "Of power: what its draws derive from; default 1");
  table.add_option("--toy", typed.table.toy, "One toy instead of five: draftproof list toy-models");
  add_output(table, typed.output, {"text", "md", "json"});

  CLI::App& list = *app.add_subcommand("list", "Print a catalog, one line an entry");
  list.add_option(
          "catalog", typed.list.catalog,
          "properties, claims, rules, methods, toy-models, coins, faults, mutants, kernels, "
          "instructions, checklist, presets, engines, worlds, state-faults, audits, prompts")
      ->required();
  add_output(list, typed.output, {"text", "jsonl"});
}

ExitCode dispatch(const CLI::App& app, Typed& typed, const std::vector<std::string>& arguments,
                  const Streams& streams) {
  const OutputSettings output = output_settings(typed.output, streams);
  if (app.got_subcommand("check")) {
    CheckSettings& settings = typed.check;
    settings.output = output;
    settings.command_line = arguments;
    settings.battery = battery_from(typed.battery);
    // NaN lies outside of no range.
    if (std::isnan(settings.false_alarms))
      throw Error(ErrorKind::kInput, "is NaN; give a probability up to 0.5", "--false-alarms");
    if (!typed.seed.empty()) settings.seed = seed_from(typed.seed, "--seed");
    if (!typed.time_limit.empty()) {
      settings.time_limit_seconds = seconds_from(typed.time_limit, "--time-limit");
    }
    return check(settings, streams);
  }
  if (app.got_subcommand("law")) {
    typed.law.output = output;
    if (!typed.law_time_limit.empty())
      typed.law.seconds_max = seconds_from(typed.law_time_limit, "--time-limit");
    if (!typed.law.contracts.presets.empty()) {
      typed.law.preset = typed.law.contracts.presets.front();
    }
    return law(typed.law, streams);
  }
  if (app.got_subcommand("replay")) {
    typed.replay.output = output;
    return replay(typed.replay, streams);
  }
  if (app.got_subcommand("inspect")) {
    typed.inspect.output = output;
    return inspect(typed.inspect, streams);
  }
  typed.audit.command_line = typed.judge.command_line = typed.report.command_line = arguments;
  if (app.got_subcommand("audit")) return audit_command(typed.audit, streams);
  if (app.got_subcommand("judge")) return judge_command(typed.judge, streams);
  if (app.got_subcommand("report")) return report_command(typed.report, streams);
  if (app.got_subcommand("speed")) return speed_command(typed.speed, streams);
  if (app.got_subcommand("profile")) return profile_command(typed.profile, streams);
  if (app.got_subcommand("serve")) return serve_command(typed.serve, streams);
  if (app.got_subcommand("explore")) return explore_command(typed.explore, streams);
  if (app.got_subcommand("plan")) return plan_command(typed.plan, streams);
  if (app.got_subcommand("doctor")) return doctor_command(typed.doctor, streams);
  if (app.got_subcommand("toy")) return toy_command(typed.toy, streams);
  if (app.got_subcommand("table")) {
    typed.table.output = output;
    if (typed.table.name == "power") return table_power(typed.table, typed.power, streams);
    refuse_power_options(typed.power, typed.table.name);
    return table(typed.table, streams);
  }
  if (app.got_subcommand("list")) {
    typed.list.output = output;
    return list(typed.list, streams);
  }
  typed.demo.output = output;
  return demo(typed.demo, streams);
}

/// The first line of a message: CLI11 and libraries may add more.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

int parse_and_run(const std::vector<std::string>& arguments, const Streams& streams) {
  Typed typed;
  CLI::App app("Holds speculative decoding to the exact law of its target.", "draftproof");
  app.footer(exit_code_table());
  app.set_version_flag("--version", std::string("draftproof ") + kVersion);
  app.require_subcommand(0, 1);
  add_small_commands(app, typed);
  add_check(app, typed);
  add_law(app, typed);
  add_speed(app, typed.speed);
  add_profile(app, typed.profile);
  add_serve(app, typed.serve);
  add_audit(app, typed.audit);
  add_judge(app, typed.judge);
  add_report(app, typed.report);
  add_explore(app, typed.explore);
  add_toy(app, typed.toy);
  add_plan(app, typed.plan);
  add_doctor(app, typed.doctor);
  for (CLI::App* command : app.get_subcommands({})) command->footer(exit_code_table());
  // Two commands whose job is no verdict on a subject.
  app.get_subcommand("demo")->footer(
      "Exit codes:\n  0    it came out as it should: upheld where right, violated where wrong\n"
      "  1    our own kernel is violated\n  2    a fault that these audits cannot see\n"
      "  3    could not start\n"
      "  4    internal error\n  130  interrupted\n");
  app.get_subcommand("plan")->footer(
      "Exit codes:\n  0    planned\n  3    could not start\n  4    internal error\n");
  app.get_subcommand("doctor")->footer(
      "Exit codes:\n  0    ready\n  2    not all of it was shown\n"
      "  3    an audit would judge the wrong thing, or could not start\n"
      "  4    internal error\n  130  interrupted\n");
  app.get_subcommand("serve")->footer(
      "Exit codes:\n  0    stopped by SIGTERM\n  3    could not listen, or bad options\n"
      "  4    internal error\n  130  stopped by SIGINT\n");
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked, streams.out, streams.err);
  } catch (const CLI::ParseError& error) {
    const auto used = app.get_subcommands();
    const std::string command = used.empty() ? "" : used.front()->get_name();
    const std::string help = command.empty() ? "draftproof" : "draftproof " + command;
    throw Error(ErrorKind::kInput, one_line(error.what()) + "; see " + help + " --help", command);
  }
  return static_cast<int>(dispatch(app, typed, arguments, streams));
}

int fail(ExitCode code, const std::string& message, const Streams& streams) {
  fmt::print(streams.err, "draftproof: {}\n", one_line(message));
  return static_cast<int>(code);
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const Streams& streams) {
  try {
    const int code = parse_and_run(arguments, streams);
    streams.out.flush();
    if (!streams.out) {
      return fail(ExitCode::kCannotStart, "stdout: cannot write the result; is the disk full?",
                  streams);
    }
    return code;
  } catch (const Error& error) {
    return fail(ExitCode::kCannotStart, error.what(), streams);
  } catch (const std::exception& error) {
    return fail(
        ExitCode::kInternalError,
        std::string("internal error: ") + error.what() + "; please report it with the command line",
        streams);
  }
}

}  // namespace draftproof::tools
