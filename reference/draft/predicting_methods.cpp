// Methods of multi-token prediction, and of targets with recurrent state.
#include "reference/draft/expected.h"
#include "reference/draft/method.h"
#include "reference/draft/method_parts.h"
#include "reference/draft/mtp.h"
#include "reference/draft/recurrent.h"

namespace draftproof::reference::draft {
namespace {

/// The hidden state that the modules compute behind the prompt and `drafted`, for the formulas.
Hidden computed_state(const HiddenToy& toy, const std::vector<Token>& drafted) {
  Hidden state(toy.prompt.begin(), toy.prompt.end() - 1);
  if (state.size() > 2) state.erase(state.begin(), state.end() - 2);
  std::vector<Token> steps = {toy.prompt.back()};
  steps.insert(steps.end(), drafted.begin(), drafted.end());
  for (const Token token : steps) {
    if (state.size() == 2) state = {(state[0] + state[1]) % toy.target->vocab_size()};
    state.push_back(token);
  }
  return state;
}

LawRow module_row(const model::Toy& toy, const HiddenToy& hidden, Token module,
                  const std::vector<Token>& drafted) {
  Context key = {module};
  for (const Token token : computed_state(hidden, drafted)) key.push_back(token);
  return toy.draft->row(key);
}

Method mtp() {
  Method method = hidden_method();
  method.name = "mtp";
  method.statement = "one prediction module, applied to its own output; argmax";
  method.citation = "DeepSeek-AI 2024 (arXiv:2412.19437), section 2.2";
  method.reported = "one-hot";
  method.conditions = "against the target as it is; argmax drafts are reported one-hot";
  method.provenance.engines =
      "vLLM deepseek_mtp, qwen3_next_mtp and others (2026-08); SGLang NEXTN (2026-07); "
      "TensorRT-LLM MTP (1.4.0rc); llama.cpp draft-mtp (build 11434)";
  method.provenance.weights = "a module that comes with the target";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, hidden_chain(greedy_drawn(mtp_law(toy, 1))), "chain",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    const Token first = first_maximum(module_row(toy, hidden, 0, {}));
    const Token second = first_maximum(module_row(toy, hidden, 0, {first}));
    return expected_on_paths(*hidden.target, hidden.prompt, {{first}, {first, second}});
  };
  return method;
}

Method mtp_modules() {
  Method method = mtp();
  method.name = "mtp-modules";
  method.statement = "two prediction modules, once each; drawn from their rows";
  method.reported = "the row drawn from";
  method.conditions =
      "against the target as it is; the row reported is the row drawn from, "
      "temperature included";
  method.provenance.engines =
      "SGLang enable_multi_layer_eagle (2026-07); vLLM MTP with draft_sample_method probabilistic "
      "(2026-08)";
  method.provenance.weights = "one module a position, that come with the target";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, hidden_chain(reporting_drawn(mtp_law(toy, 2))), "chain",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return expected_by_ratio(
        *hidden.target, hidden.prompt, kDraftCount, [&](const std::vector<Token>& drafted) {
          return module_row(toy, hidden, static_cast<Token>(drafted.size()), drafted);
        });
  };
  return method;
}

/// T6 behind a context: s' = (3 s + x + 1) mod 5, as its three bits.
Context bits_behind(const Context& context) {
  int state = 0;
  for (const Token token : context) state = (3 * state + token + 1) % 5;
  return {state >> 2 & 1, state >> 1 & 1, state & 1};
}

model::ToyModelPtr recomputed(const model::Toy& toy, std::size_t window) {
  return model::function_model(toy.target->vocab_size(), [&toy, window](const Context& context) {
    Context key(context.end() - static_cast<std::ptrdiff_t>(std::min(window, context.size())),
                context.end());
    const Context bits = bits_behind(context);
    key.insert(key.end(), bits.begin(), bits.end());
    return toy.target->row(key);
  });
}

using ScorerOf = std::shared_ptr<const law::Scorer> (*)(const model::Toy&);

/// The toy's draft as a chain in front of a recurrent target; the target's window is the number of
/// last tokens that its rows depend on besides the state.
Method recurrent(const char* name, const char* statement, TargetLayers layers, std::size_t window,
                 ScorerOf scorer) {
  Method method = hidden_method();
  method.name = name;
  method.statement = statement;
  method.citation =
      "Gu, Dao 2023 (Mamba, arXiv:2312.00752); Yang et al. 2024 (gated delta nets, "
      "arXiv:2412.06464)";
  method.reads = "tokens";
  method.conditions =
      "against the target as it is; the state is that behind the accepted tokens, "
      "convolution inputs and attention cells included";
  method.toys = {"recurrent", "full-memory", "near", "markov", "zeros"};
  method.provenance.weights = "a second model";
  method.make = [layers, scorer](const model::Toy& toy) {
    const model::ToyModelPtr target = recurrent_target(toy, layers);
    law::Decoding decoding = decoding_by(
        target, chain_functions(reporting_drawn([draft = toy.draft](const ChainPoint& point) {
          return draft->row(joined(point.context, point.drafted));
        })),
        "chain", kDraftCount, pending_prompt(toy));
    if (scorer) decoding.scorer = scorer(toy);
    return decoding;
  };
  method.expected_emitted = [window](const model::Toy& toy) {
    const Context prompt = pending_prompt(toy);
    return expected_by_ratio(
        *recomputed(toy, window), prompt, kDraftCount,
        [&](const std::vector<Token>& drafted) { return toy.draft->row(joined(prompt, drafted)); });
  };
  return method;
}

std::vector<Method> recurrent_methods() {
  Method slots =
      recurrent("recurrent-slots",
                "state and convolution inputs in a slot a position; slot num_accepted is "
                "kept",
                TargetLayers::kConvolution, 2, [](const model::Toy& toy) {
                  return function_scorer(slot_scorer(toy, TargetLayers::kConvolution));
                });
  slots.provenance.engines = "vLLM GDN and Mamba kernels, num_accepted_tokens (2026-08)";
  slots.provenance.state =
      "D + 1 candidate states and convolution windows; the one behind the last "
      "accepted token is kept";
  slots.provenance.cost_model = "E[N] / (1 + rho D), and D + 1 states of memory";
  Method replay = recurrent("recurrent-replay",
                            "a checkpoint before the iteration; accepted tokens are fed again",
                            TargetLayers::kRecurrent, 0, [](const model::Toy& toy) {
                              return function_scorer(replay_scorer(toy, TargetLayers::kRecurrent));
                            });
  replay.provenance.engines = "not known";
  replay.provenance.state = "one checkpoint, and the tokens to feed again";
  replay.provenance.cost_model = "E[N] / (1 + rho D + the replay of what was accepted)";
  Method recompute = recurrent("recurrent-recompute",
                               "the state is computed again from the first "
                               "token on",
                               TargetLayers::kRecurrent, 0, nullptr);
  recompute.provenance.engines = "not known";
  recompute.provenance.state = "none";
  recompute.provenance.cost_model = "E[N] / (1 + rho D + the whole context)";
  Method mixed = recurrent("recurrent-mixed",
                           "layers with attention cells and layers with a state, rolled back alike",
                           TargetLayers::kMixed, ~std::size_t{0}, [](const model::Toy& toy) {
                             return function_scorer(slot_scorer(toy, TargetLayers::kMixed));
                           });
  mixed.provenance.engines = "vLLM hybrid models, such as Qwen3-Next (2026-08)";
  mixed.provenance.state = "attention cells up to, and the state slot of, the last accepted token";
  return {slots, replay, recompute, mixed};
}

Method mtp_recurrent() {
  Method method = mtp();
  method.name = "mtp-recurrent";
  method.statement = "a prediction head that reads and carries the recurrent state; argmax";
  method.reads = "the target's recurrent state behind what was fed, and the pending token";
  method.citation = "vLLM qwen3_next_mtp (2026-08)";
  method.toys = {"recurrent", "full-memory", "near", "markov", "zeros"};
  method.provenance.engines = "vLLM qwen3_next_mtp, qwen3_5_mtp (2026-08)";
  method.provenance.state = "the target's state slots, and the head's own state";
  method.make = [](const model::Toy& toy) {
    law::Decoding decoding =
        decoding_by(recurrent_target(toy, TargetLayers::kRecurrent), recurrent_mtp(toy), "chain",
                    kDraftCount, pending_prompt(toy));
    decoding.scorer = function_scorer(slot_scorer(toy, TargetLayers::kRecurrent));
    return decoding;
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const Context prompt = pending_prompt(toy);
    const Token first = first_maximum(toy.draft->row(bits_behind(prompt)));
    Context behind = prompt;
    behind.push_back(first);
    const Token second = first_maximum(toy.draft->row(bits_behind(behind)));
    return expected_on_paths(*recomputed(toy, 0), prompt, {{first}, {first, second}});
  };
  return method;
}

}  // namespace

std::vector<Method> predicting_methods() {
  std::vector<Method> all = {mtp(), mtp_modules(), mtp_recurrent()};
  for (Method& method : recurrent_methods()) all.push_back(std::move(method));
  return all;
}

}  // namespace draftproof::reference::draft
