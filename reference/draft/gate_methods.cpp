// Methods that switch speculation off: one for each reason, with signals that change while a toy is
// decoded, so that iterations with and without drafts follow each other.
#include "reference/draft/expected.h"
#include "reference/draft/length/gates.h"
#include "reference/draft/length/length_policy.h"
#include "reference/draft/method_parts.h"

namespace draftproof::reference::draft {
namespace {

/// One gate: its signals as a function of the tokens emitted so far, and its limits.
struct GateCase {
  GateReason reason;
  std::string statement;
  std::function<GateSignals(const Context& history, std::size_t emitted)> signals;
  GateLimits limits;
};

int as_int(std::size_t count) { return static_cast<int>(count); }

std::vector<GateCase> gate_cases() {
  std::vector<GateCase> list;
  const auto add = [&](GateReason reason, std::string statement,
                       const std::function<void(GateSignals&, const Context&, int)>& set,
                       const std::function<void(GateLimits&)>& limit) {
    GateCase entry{reason, std::move(statement), {}, {}};
    entry.signals = [set](const Context& history, std::size_t emitted) {
      GateSignals signals;
      set(signals, history, as_int(emitted));
      return signals;
    };
    limit(entry.limits);
    list.push_back(std::move(entry));
  };
  const auto last = [](const Context& history) { return history.empty() ? 0 : history.back(); };

  add(
      GateReason::kShortOutput, "off where less than 2 of 4 announced tokens are to come",
      [](GateSignals& s, const Context&, int emitted) { s.expected_tokens = 4 - emitted; },
      [](GateLimits& l) { l.expected_tokens_min = 2; });
  add(
      GateReason::kPoorAcceptance, "off once the last iteration kept less than 1 token",
      [](GateSignals&, const Context&, int) {},
      [](GateLimits& l) {
        l.window = 1;
        l.accepted_min = 1;
      });
  add(
      GateReason::kSaturatedBatch, "off while more than 2 requests run; 1, 2, 3, 1, ... do",
      [](GateSignals& s, const Context&, int emitted) { s.running_count = 1 + emitted % 3; },
      [](GateLimits& l) { l.running_max = 2; });
  add(
      GateReason::kLittleMemory, "off where less than 2 of 3 blocks are free; a token takes one",
      [](GateSignals& s, const Context&, int emitted) { s.free_blocks = 3 - emitted; },
      [](GateLimits& l) { l.free_blocks_min = 2; });
  add(
      GateReason::kUnsupported, "off behind token 1, where a grammar begins that is not served",
      [last](GateSignals& s, const Context& history, int) { s.is_supported = last(history) != 1; },
      [](GateLimits&) {});
  add(
      GateReason::kOutOfDomain, "off behind token 0, a cohort on which drafts do not pay",
      [last](GateSignals& s, const Context& history, int emitted) {
        s.is_in_domain = emitted == 0 || last(history) != 0;
      },
      [](GateLimits&) {});
  add(
      GateReason::kColdDraft, "off until the drafter is loaded, one token later",
      [](GateSignals& s, const Context&, int emitted) {
        s.load_time = 1 - emitted;
        s.time_left = 0;
      },
      [](GateLimits&) {});
  return list;
}

Method method_of(const GateCase& entry) {
  Method method;
  std::string name = "gate " + name_of(entry.reason);
  for (char& letter : name)
    if (letter == ' ') letter = '-';
  method.name = name;
  method.statement = entry.statement;
  method.citation = "derived from theorem B";
  method.reads = "tokens; the draft model's rows; the signal, from the past";
  method.reported = "the row drawn from";
  method.rule = "chain";
  method.conditions =
      "the signal is known before the iteration drafts; no verified round is redone";
  method.provenance = {"recent accepted lengths; a log of switches, each with its reason",
                       "not known",
                       "as of the draft model",
                       "saves the draft and the verify slope where they do not pay",
                       "not needed",
                       "a captured graph with and without drafts: not known"};
  method.toys = {"near", "full-memory", "markov", "zeros", "two-tokens"};
  method.make = [entry](const model::Toy& toy) {
    law::Decoding decoding;
    decoding.target = toy.target;
    decoding.scorer = law::model_scorer(toy.target);
    const std::size_t before = toy.prompt.size();
    decoding.drafter = gated_drafter(
        policed_drafter(toy.draft, {}),
        [entry, before](const law::StepBegin& begin) {
          return entry.signals(begin.context, begin.context.size() - before);
        },
        entry.limits);
    decoding.rule = law::law_rule("chain").make({});
    decoding.draft_count = kDraftCount;
    decoding.coins = law::coin_scheme("position-keyed");
    decoding.prompt = toy.prompt;
    return decoding;
  };
  method.expected_emitted = [entry](const model::Toy& toy) {
    if (gate(entry.signals(toy.prompt, 0), entry.limits) != GateReason::kNone) return Exact(1);
    return expected_by_ratio(*toy.target, toy.prompt, kDraftCount,
                             [&](const std::vector<Token>& drafted) {
                               Context context = toy.prompt;
                               for (const Token token : drafted) context.push_back(token);
                               return toy.draft->row(context);
                             });
  };
  return method;
}

}  // namespace

std::vector<Method> gate_methods() {
  std::vector<Method> list;
  for (const GateCase& entry : gate_cases()) list.push_back(method_of(entry));
  return list;
}

}  // namespace draftproof::reference::draft
