// The twin's outputs: what was emitted, where requests end, and what the device remembers of it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "properties/state/twin.h"
#include "properties/state/words.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using decode::OutputToken;
using reference::Token;

namespace {

std::vector<Token> tokens_of(const std::vector<OutputToken>& output) {
  std::vector<Token> tokens;
  for (const OutputToken& out : output) tokens.push_back(out.token);
  return tokens;
}

/// From `from` on; what lies before has been compared.
bool is_same_text(const std::vector<OutputToken>& first, const std::vector<OutputToken>& second,
                  std::size_t from) {
  if (first.size() != second.size()) return false;
  for (std::size_t i = from; i < first.size(); ++i)
    if (first[i].token != second[i].token) return false;
  return true;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

}  // namespace

Twin::Finding Twin::proposals(const EngineState& state) const {
  for (const auto& [id, held] : held_by(state)) {
    const DeviceRequest& device = *held;
    const HostRequest& host = state.host.at(id);
    const bool is_waiting = !device.waiting.proposal.tokens.empty();
    const bool is_verifying = host.phase == decode::Phase::kVerifying;
    if (is_waiting == is_verifying) continue;
    return differs(
        StateCheck::kProposal, id,
        is_verifying ? "the draft that was made" : "no draft, as none was made",
        words(device.waiting.proposal) + " while " + std::string(decode::to_string(host.phase)));
  }
  return std::nullopt;
}

Twin::Finding Twin::outputs(const EngineState& state) const {
  for (const auto& [id, host] : state.host) {
    const Track& track = track_of(id);
    if (!is_same_text(track.output, host.output, track.compared))
      return differs(StateCheck::kOutput, id, words(tokens_of(track.output)),
                     words(tokens_of(host.output)));
  }
  for (const auto& [id, held] : held_by(state)) {
    const DeviceRequest& device = *held;
    const Track& track = track_of(id);
    const auto prompt_count = static_cast<int>(track.spec.prompt.size());
    if (device.prompt_count != prompt_count)
      return differs(StateCheck::kOutput, id,
                     "a prompt of " + std::to_string(prompt_count) + " on the device",
                     std::to_string(device.prompt_count));
    const bool is_same = track.compared > 0 ? device.tokens.size() == track.tokens.size()
                                            : device.tokens == track.tokens;
    if (!is_same)
      return differs(StateCheck::kOutput, id, "on the device " + words(track.tokens),
                     words(device.tokens));
  }
  return std::nullopt;
}

Twin::Finding Twin::finishes(const EngineState& state) const {
  for (const auto& [id, host] : state.host) {
    const Track& track = track_of(id);
    if (host.finish != track.finish)
      return differs(StateCheck::kFinish, id,
                     std::string(decode::to_string(track.finish)) + " behind " +
                         std::to_string(track.output.size()) + " tokens",
                     std::string(decode::to_string(host.finish)));
  }
  return std::nullopt;
}

Twin::Finding Twin::processors(const EngineState& state) const {
  for (const auto& [id, held] : held_by(state)) {
    const DeviceRequest& device = *held;
    const std::vector<Token> due = track_of(id).emitted_tokens();
    if (device.processor != due)
      return differs(StateCheck::kProcessor, id, "penalties to have counted " + words(due),
                     words(device.processor));
  }
  return std::nullopt;
}

Twin::Finding Twin::grammars(const EngineState& state) const {
  for (const auto& [id, held] : held_by(state)) {
    const DeviceRequest& device = *held;
    const Track& track = track_of(id);
    if (!track.spec.grammar) continue;
    const std::vector<Token> emitted = track.emitted_tokens();
    const SerialDecoder::GrammarPlace place = serial_.grammar_place(track.spec, emitted);
    const auto due = place.state.value_or(reference::model::Grammar::kRefused);
    const auto said = [](bool is_on, int at) {
      return is_on ? "in state " + std::to_string(at) : std::string("not in force");
    };
    if (device.is_grammar_on == place.is_on && (!place.is_on || device.grammar_state == due))
      continue;
    return differs(StateCheck::kGrammar, id, said(place.is_on, due) + " behind " + words(emitted),
                   said(device.is_grammar_on, device.grammar_state));
  }
  for (const auto& [id, host] : state.host) {
    const Track& track = track_of(id);
    if (!track.spec.grammar) continue;
    const std::vector<Token> output = host.output_tokens();
    const SerialDecoder::GrammarPlace place = serial_.grammar_place(track.spec, output);
    if (place.is_on && !place.state)
      return differs(StateCheck::kGrammar, id, "an output that the grammar allows", words(output));
  }
  return std::nullopt;
}

Twin::Finding Twin::logprobs(const EngineState& state) const {
  for (const auto& [id, host] : state.host) {
    const Track& track = track_of(id);
    if (!track.is_sampled) continue;
    for (std::size_t i = track.compared; i < host.output.size(); ++i) {
      const OutputToken& due = track.output[i];
      const OutputToken& held = host.output[i];
      const auto wrong = [&](const std::string& what, double expected, double observed) -> Finding {
        if (expected == observed ||
            std::fabs(expected - observed) <= serial_.logprob_tolerance(expected))
          return std::nullopt;
        return differs(StateCheck::kLogprobs, id,
                       what + " of token " + std::to_string(i) + " " + number(expected),
                       number(observed));
      };
      if (Finding finding = wrong("raw logprob", due.raw_logprob, held.raw_logprob)) return finding;
      if (Finding finding =
              wrong("processed logprob", due.processed_logprob, held.processed_logprob))
        return finding;
      if (due.top.size() != held.top.size())
        return differs(StateCheck::kLogprobs, id,
                       std::to_string(due.top.size()) + " likeliest tokens",
                       std::to_string(held.top.size()));
      for (std::size_t place = 0; place < due.top.size(); ++place) {
        if (due.top[place].token != held.top[place].token)
          return differs(StateCheck::kLogprobs, id,
                         "token " + std::to_string(due.top[place].token) + " at place " +
                             std::to_string(place) + " of the likeliest",
                         std::to_string(held.top[place].token));
        if (Finding finding = wrong("logprob at place " + std::to_string(place),
                                    due.top[place].logprob, held.top[place].logprob))
          return finding;
      }
    }
  }
  return std::nullopt;
}

}  // namespace draftproof::properties::state
