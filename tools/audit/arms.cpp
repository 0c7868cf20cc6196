#include "tools/audit/arms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "reference/error.h"
#include "tools/audit/expectations.h"

namespace draftproof::tools::audit {
namespace {

using properties::Arm;

/// Programs of ours that serve HTTP; the others speak lines.
constexpr std::array<std::string_view, 1> kServingRunners = {"xllamacpp"};

bool is_serving_runner(const std::string& name) {
  return std::find(kServingRunners.begin(), kServingRunners.end(), name) != kServingRunners.end();
}

/// A name is one of our programs, anything else a command line.
bool is_command(const std::string& runner) {
  return runner.find_first_of(" /") != std::string::npos;
}

std::string with_port(std::string url, int port) {
  constexpr std::string_view kPlace = "{port}";
  for (std::size_t at = url.find(kPlace); at != std::string::npos; at = url.find(kPlace))
    url.replace(at, kPlace.size(), std::to_string(port));
  return url;
}

}  // namespace

struct Arms::Side {
  Arm arm;
  std::unique_ptr<engines::ArmProcess> process;
  std::shared_ptr<engines::ArmClient> client;
  engines::ArmFacts facts;
};

namespace {

struct FactsAgain {
  engines::ArmFacts now = {};
  std::optional<ArmChange> change = {};  ///< where there are none
};

FactsAgain facts_again(engines::ArmClient& client, const std::string& name) {
  try {
    return {.now = client.facts()};
  } catch (const engines::AnotherEngine& another) {
    return {.change = ArmChange{true, name + " is another one: " + another.what()}};
  } catch (const Error& error) {
    // Whoever answers in other words, or to other credentials, need not be who it was.
    const bool is_another = error.kind() == ErrorKind::kInput;
    return {.change = ArmChange{
                is_another,
                name + (is_another ? " no longer answers as it did: " : " no longer answers: ") +
                    error.what()}};
  }
}

/// A server that we start, and its client.
void start_server(engines::ProcessOptions process, engines::ClientOptions client,
                  std::unique_ptr<engines::ArmProcess>& started,
                  std::shared_ptr<engines::ArmClient>& made) {
  started = std::make_unique<engines::ArmProcess>(process);
  if (client.url.empty()) client.url = "http://127.0.0.1:{port}";
  client.url = with_port(client.url, started->port());
  made = engines::http_client(client);
}

}  // namespace

Arms::~Arms() = default;

Arms::Arms(const AuditConfig& config, const std::filesystem::path& folder) {
  const auto make = [&](Arm arm, const ArmConfig& given) {
    // Logs and programs need a place; servers that run already need none.
    std::error_code ignored;
    if (given.process || !given.runner.empty())
      std::filesystem::create_directories(folder, ignored);
    auto side = std::make_unique<Side>(Side{arm, nullptr, nullptr, {}});
    const std::filesystem::path log = folder / (to_string(arm) + ".log");
    if (given.process) {
      engines::ProcessOptions process = *given.process;
      if (process.log.empty()) process.log = log;
      start_server(process, given.client, side->process, side->client);
    } else if (!given.runner.empty() && is_serving_runner(given.runner)) {
      engines::ProcessOptions process;
      auto options = given.runner_options;
      options.emplace("port", "{port}");
      process.command = engines::runner_command(given.runner, options, folder);
      process.ready_url = "http://127.0.0.1:{port}/health";  // 503 while the model loads
      process.log = log;
      start_server(process, given.client, side->process, side->client);
    } else if (!given.runner.empty()) {
      engines::LineClientOptions options;
      options.command = is_command(given.runner)
                            ? given.runner
                            : engines::runner_command(given.runner, given.runner_options, folder);
      options.log = log;
      side->client = engines::line_client(options);
    } else {
      side->client = engines::http_client(given.client);
    }
    side->facts = side->client->facts();
    const auto wrong = unmet(given.expect, side->facts);
    if (!wrong.empty())
      throw Error(
          ErrorKind::kInput,
          fmt::format("{}; start what was expected, or mend expect", fmt::join(wrong, "; ")),
          "arm." + to_string(arm));
    return side;
  };
  // Where nothing is said of a baseline there is none: need_arms() has asked for it.
  if (!config.is_one_server) baseline_ = make(Arm::kBaseline, config.baseline);
  speculative_ = make(Arm::kSpeculative, config.speculative);
  if (config.scorer.url.empty()) return;
  scorer_ = engines::http_client(config.scorer);
  scorer_->facts();  // Throws where nobody answers, and keeps what it is.
}

const Arms::Side& Arms::side(Arm arm) const {
  const auto& side = arm == Arm::kBaseline ? baseline_ : speculative_;
  DRAFTPROOF_CHECK(side != nullptr, "there is no " + to_string(arm) + " arm");
  return *side;
}

engines::ArmClient& Arms::client(Arm arm) const { return *side(arm).client; }
std::shared_ptr<engines::ArmClient> Arms::shared(Arm arm) const { return side(arm).client; }
const engines::ArmFacts& Arms::facts(Arm arm) const { return side(arm).facts; }

std::vector<Arm> Arms::arms() const {
  if (!has_baseline()) return {Arm::kSpeculative};
  return {Arm::kBaseline, Arm::kSpeculative};
}

std::string Arms::what_ended() const {
  for (const Arm arm : arms()) {
    const auto& process = side(arm).process;
    const std::string ending = process == nullptr ? "" : process->ending();
    if (!ending.empty()) return "the " + to_string(arm) + " arm's server has ended: " + ending;
  }
  return "";
}

std::optional<ArmChange> Arms::what_changed() {
  // That another one answers counts for more than that one is gone, whichever is met first.
  std::optional<ArmChange> gone;
  if (const std::string ended = what_ended(); !ended.empty()) gone = ArmChange{false, ended};
  for (const Arm arm : arms()) {
    const auto facts = facts_again(client(arm), "the " + to_string(arm) + " arm");
    if (facts.change && facts.change->is_another) return facts.change;
    if (facts.change) {
      if (!gone) gone = facts.change;
      continue;
    }
    // llama.cpp tells how it drafts with its first answer only: that is no change.
    engines::ArmFacts before = this->facts(arm);
    if (before.method.empty()) before.method = facts.now.method;
    if (identity_of(facts.now) != identity_of(before))
      return ArmChange{true, fmt::format("the {} arm was {} when the run began, and is {} now",
                                         to_string(arm), line_of(before), line_of(facts.now))};
  }
  if (scorer_ == nullptr) return gone;
  const auto read = facts_again(*scorer_, "the scorer").change;
  return read && (read->is_another || !gone) ? read : gone;
}

std::string line_of(const engines::ArmFacts& facts) {
  std::string line = facts.engine.empty() ? "an engine that does not say which" : facts.engine;
  if (!facts.version.empty()) line += " " + facts.version;
  if (!facts.model.empty()) line += ", model " + facts.model;
  if (facts.vocab_size) line += fmt::format(", vocabulary {}", *facts.vocab_size);
  if (facts.is_speculative && !*facts.is_speculative) return line + ", no drafts";
  if (!facts.method.empty()) line += ", drafts by " + facts.method;
  if (facts.draft_count) line += fmt::format(", {} at most", *facts.draft_count);
  return line;
}

std::string identity_of(const engines::ArmFacts& facts) {
  nlohmann::ordered_json json = {{"engine", facts.engine},
                                 {"version", facts.version},
                                 {"model", facts.model},
                                 {"method", facts.method}};
  if (facts.vocab_size) json["vocab_size"] = *facts.vocab_size;
  if (facts.is_speculative) json["is_speculative"] = *facts.is_speculative;
  if (facts.draft_count) json["draft_count"] = *facts.draft_count;
  if (facts.lossy_mode) json["lossy_mode"] = *facts.lossy_mode;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace draftproof::tools::audit
