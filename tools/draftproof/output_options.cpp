#include "tools/draftproof/output_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

namespace draftproof::tools {

OutputSettings output_settings(const OutputTexts& texts, const Streams& streams) {
  OutputSettings settings;
  static const std::map<std::string, OutputFormat> formats = {{"text", OutputFormat::kText},
                                                              {"md", OutputFormat::kMarkdown},
                                                              {"json", OutputFormat::kJson},
                                                              {"jsonl", OutputFormat::kJsonLines}};
  settings.format = formats.at(texts.format);
  settings.verbosity = texts.is_quiet ? -1 : texts.is_verbose ? 1 : 0;
  const bool is_terminal = &streams.out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  const bool wants_none = no_color != nullptr && *no_color != '\0';
  settings.with_color =
      texts.color == "always" || (texts.color == "auto" && is_terminal && !wants_none);
  const bool err_is_terminal = &streams.err == &std::cerr && ::isatty(STDERR_FILENO) == 1;
  const bool is_auto = texts.progress == "auto";
  if (texts.progress == "bar" || (is_auto && err_is_terminal)) {
    settings.progress = report::ProgressKind::kBar;
  } else if (texts.progress == "plain" || is_auto) {
    settings.progress = report::ProgressKind::kPlain;
  }
  return settings;
}

void add_output(CLI::App& command, OutputTexts& texts, const std::vector<std::string>& formats) {
  command.add_option("-o,--output", texts.format, "What stdout carries")
      ->check(CLI::IsMember(formats));
}

void add_run_output(CLI::App& command, OutputTexts& texts) {
  add_output(command, texts, {"text", "md", "json", "jsonl"});
  auto* quiet =
      command.add_flag("-q,--quiet", texts.is_quiet, "Only what falls, and the last line");
  command.add_flag("-v,--verbose", texts.is_verbose, "Also how many cases fell into each cell")
      ->excludes(quiet);
  command.add_option("--color", texts.color, "auto obeys the terminal and NO_COLOR")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command.add_option("--progress", texts.progress, "What stderr shows while checks run")
      ->check(CLI::IsMember({"auto", "bar", "plain", "none"}));
}

}  // namespace draftproof::tools
