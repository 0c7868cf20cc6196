// The pages of `draftproof explore`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "properties/state/random_history.h"
#include "tools/draftproof/explore_result.h"
#include "tools/report/table.h"

namespace draftproof::tools {

namespace state = properties::state;
using report::Align;
using report::Table;

namespace {

std::string number(std::int64_t value) {
  return report::grouped(static_cast<std::uint64_t>(value));
}

std::string words_of(const state::Action& action) {
  return state::to_string(state::StateHistory{action});
}

std::string_view verdict_of(const state::Exploration& found) {
  if (!found.is_clean()) return "DIVERGES";
  if (found.is_complete) return "clean, complete";
  return found.is_truncated ? "clean, cut short" : "clean to this depth";
}

std::string_view check_of(const state::HistoryResult& result) {
  return result.divergence ? to_string(result.divergence->check) : "exception";
}

constexpr std::array kFinishes = {
    reference::decode::FinishReason::kEos,       reference::decode::FinishReason::kStop,
    reference::decode::FinishReason::kLength,    reference::decode::FinishReason::kContext,
    reference::decode::FinishReason::kCancelled, reference::decode::FinishReason::kStatus};

/// The number in its world of the engine's request `id`: engines count them as they come, from 1.
std::string number_of(const state::StateHistory& history, reference::decode::RequestId id) {
  reference::decode::RequestId count = 0;
  for (const state::Action& action : history)
    if (action.kind == state::ActionKind::kSubmit && ++count == id)
      return std::to_string(action.request);
  return "that nobody submitted";
}

/// Let, expected, observed, because, replay.
std::string argument(const ExploreResult& result, const state::World& world,
                     const state::Exploration& found) {
  const auto line = [](std::string_view title, const std::string& text) {
    std::string out;
    for (const std::string& part : report::wrapped(text, 100))
      out += fmt::format("{:<11}{}\n", out.empty() ? title : "", part);
    return out;
  };
  std::string out = "\n" + line("Let", words(world));
  for (std::size_t i = 0; i < found.history.size(); ++i)
    out += fmt::format("           {:>3}. {}\n", i + 1, words_of(found.history[i]));
  if (const auto& divergence = found.result.divergence) {
    const std::string boundary = divergence->boundary == state::Boundary::kAfterEmit
                                     ? "behind an emission"
                                     : "behind a feed";
    out += line("Expected", divergence->expected);
    out += line("Observed", divergence->observed);
    out += line("Check",
                fmt::format("{}, {}{}", to_string(divergence->check), boundary,
                            divergence->request == 0
                                ? ""
                                : ", request " + number_of(found.history, divergence->request)));
  } else {
    out += line("Expected", "an engine that goes on");
    out += line("Observed", found.result.exception);
  }
  if (result.bug != nullptr)
    out += line("Because", fmt::format("{} ({}, {})", result.bug->statement, result.bug->entry,
                                       result.bug->report)) +
           line("Effect", std::string(to_string(result.bug->effect)));
  const std::string what =
      result.bug != nullptr ? "--bug " + result.bug->name : "--world " + found.world;
  return out + line("Replay", "draftproof explore " + what + result.options);
}

std::string coverage_text(const state::Coverage& coverage) {
  Table table({{"operation at a page edge -2 .. +2"},
               {"corners", Align::kRight},
               {"reached", Align::kRight},
               {"events", Align::kRight}});
  for (std::size_t i = 0; i < state::kOperationCount; ++i) {
    const auto operation = static_cast<state::Operation>(i);
    const state::Coverage::Share share = coverage.share(operation);
    table.add({std::string(to_string(operation)), std::to_string(share.reachable),
               std::to_string(share.reached), number(share.events)});
  }
  return table.text();
}

std::string worlds_text(const ExploreResult& result) {
  Table table({{"world"},
               {"states", Align::kRight},
               {"transitions", Align::kRight},
               {"depth", Align::kRight},
               {"seconds", Align::kRight},
               {"verdict"}});
  std::size_t states = 0, transitions = 0;
  double seconds = 0;
  for (const state::Exploration& found : result.explorations) {
    states += found.states;
    transitions += found.transitions;
    seconds += found.seconds;
    table.add({found.world, report::grouped(found.states), report::grouped(found.transitions),
               std::to_string(found.depth), fmt::format("{:.2f}", found.seconds),
               std::string(verdict_of(found))});
  }
  std::string out =
      table.text() + fmt::format("{} of {} worlds, {} states, {} transitions, {:.2f} s\n",
                                 result.explorations.size(), result.worlds.size(),
                                 report::grouped(states), report::grouped(transitions), seconds);
  if (result.bug == nullptr) out += "\n" + coverage_text(result.coverage);
  bool is_clean = true;
  for (std::size_t i = 0; i < result.explorations.size(); ++i) {
    if (result.explorations[i].is_clean()) continue;
    is_clean = false;
    out += argument(result, result.worlds[i], result.explorations[i]);
  }
  if (result.bug != nullptr && is_clean)
    out += fmt::format(
        "\n{} is {}: {}\nNo state differs in these histories from that of a decoder "
        "that never drafted.\n",
        result.bug->name, to_string(result.bug->effect), result.bug->statement);
  return out;
}

std::string soak_text(const ExploreResult& result) {
  Table table({{"engine"},
               {"tokens", Align::kRight},
               {"seconds", Align::kRight},
               {"tokens/s", Align::kRight},
               {"requests", Align::kRight},
               {"accepted", Align::kRight},
               {"dropped", Align::kRight},
               {"preempted", Align::kRight},
               {"cancelled", Align::kRight},
               {"hits", Align::kRight},
               {"checks", Align::kRight},
               {"whole", Align::kRight},
               {"verdict"}});
  const state::SoakReport& soak = *result.soak;
  for (const state::SoakLeg& leg : soak.legs)
    table.add({leg.name, number(leg.tokens), fmt::format("{:.1f}", leg.seconds),
               number(static_cast<std::int64_t>(static_cast<double>(leg.tokens) /
                                                std::max(leg.seconds, 1e-9))),
               number(leg.requests), number(leg.accepted), number(leg.dropped),
               number(leg.preemptions), number(leg.cancels), number(leg.hits), number(leg.checks),
               number(leg.whole_checks), leg.result.is_clean() ? "clean" : "DIVERGES"});
  std::string out = table.text();
  for (const auto reason : kFinishes) {
    std::int64_t count = 0;
    for (const state::SoakLeg& leg : soak.legs)
      count += leg.finishes[static_cast<std::size_t>(reason)];
    out += fmt::format("finished {:<10} {}\n", reference::decode::to_string(reason), number(count));
  }
  out += fmt::format("{} tokens in {:.1f} s, seed {}: {}\n", number(soak.tokens), soak.seconds,
                     result.seed,
                     soak.failed() != nullptr ? "DIVERGES"
                     : soak.is_complete       ? "clean, and nothing is left"
                                              : "clean, cut short");
  if (const state::SoakLeg* leg = soak.failed())
    out += fmt::format("\n{} after {} steps: {}\n", leg->name, leg->steps, to_string(leg->result));
  return out;
}

nlohmann::ordered_json json_of(const state::HistoryResult& result) {
  if (result.is_clean()) return nullptr;
  nlohmann::ordered_json json = {{"check", std::string(check_of(result))}};
  if (const auto& divergence = result.divergence) {
    json["boundary"] =
        divergence->boundary == state::Boundary::kAfterEmit ? "after emit" : "after feed";
    json["request"] = divergence->request;
    json["expected"] = divergence->expected;
    json["observed"] = divergence->observed;
  } else {
    json["observed"] = result.exception;
  }
  return json;
}

nlohmann::ordered_json json_of(const state::SoakLeg& leg) {
  nlohmann::ordered_json json = {{"engine", leg.name},
                                 {"seed", std::to_string(leg.seed)},
                                 {"tokens", leg.tokens},
                                 {"seconds", leg.seconds},
                                 {"requests", leg.requests},
                                 {"steps", leg.steps},
                                 {"verifications", leg.verifications},
                                 {"drafted", leg.drafted},
                                 {"accepted", leg.accepted},
                                 {"dropped", leg.dropped},
                                 {"preemptions", leg.preemptions},
                                 {"cancels", leg.cancels},
                                 {"evictions", leg.evictions},
                                 {"hits", leg.hits},
                                 {"checks", leg.checks},
                                 {"whole_checks", leg.whole_checks},
                                 {"replayed", leg.replayed}};
  for (const auto reason : kFinishes)
    json["finishes"][std::string(reference::decode::to_string(reason))] =
        leg.finishes[static_cast<std::size_t>(reason)];
  json["divergence"] = json_of(leg.result);
  return json;
}

nlohmann::ordered_json json_of(const state::Exploration& found) {
  nlohmann::ordered_json json = {{"world", found.world},
                                 {"states", found.states},
                                 {"transitions", found.transitions},
                                 {"depth", found.depth},
                                 {"seconds", found.seconds},
                                 {"is_complete", found.is_complete},
                                 {"is_truncated", found.is_truncated},
                                 {"divergence", json_of(found.result)}};
  json["history"] = nlohmann::ordered_json::array();
  for (const state::Action& action : found.history) json["history"].push_back(words_of(action));
  return json;
}

}  // namespace

std::string explore_page(const ExploreResult& result) {
  return result.soak ? soak_text(result) : worlds_text(result);
}

std::string explore_json(const ExploreResult& result) {
  nlohmann::ordered_json json = {{"schema_version", "draftproof/explore/1"}};
  json["bug"] = nullptr;
  if (result.bug != nullptr)
    json["bug"] = {{"name", result.bug->name},
                   {"effect", std::string(to_string(result.bug->effect))},
                   {"statement", result.bug->statement},
                   {"report", result.bug->report}};
  json["worlds"] = nlohmann::ordered_json::array();
  for (const state::Exploration& found : result.explorations)
    json["worlds"].push_back(json_of(found));
  json["coverage"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < state::kOperationCount && !result.soak; ++i) {
    const auto operation = static_cast<state::Operation>(i);
    const state::Coverage::Share share = result.coverage.share(operation);
    json["coverage"].push_back({{"operation", std::string(to_string(operation))},
                                {"reachable", share.reachable},
                                {"reached", share.reached},
                                {"events", share.events}});
  }
  json["soak"] = nullptr;
  if (result.soak) {
    json["soak"] = {{"seed", result.seed},
                    {"tokens", result.soak->tokens},
                    {"seconds", result.soak->seconds},
                    {"is_complete", result.soak->is_complete}};
    for (const state::SoakLeg& leg : result.soak->legs)
      json["soak"]["engines"].push_back(json_of(leg));
  }
  return json.dump(2) + "\n";
}

}  // namespace draftproof::tools
