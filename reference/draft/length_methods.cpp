// Methods that decide how long a draft is: by confidence, from the past, or not at all. The same
// draft model and rule throughout; what differs is when a draft ends.
#include <cmath>

#include "reference/draft/expected.h"
#include "reference/draft/length/confidence.h"
#include "reference/draft/length/gates.h"
#include "reference/draft/length/past_length.h"
#include "reference/draft/method_parts.h"

namespace draftproof::reference::draft {
namespace {

/// A first iteration's end, in the words of its closed form: whether the draft ends before a row,
/// and whether behind a token of it.
using EndsBefore = std::function<bool(const LawRow& row)>;
using EndsBehind = std::function<bool(const LawRow& row, Token token)>;

Exact expected_until(const model::Toy& toy, int draft_count, const EndsBefore& before,
                     const EndsBehind& behind) {
  const PathLaw path_law = [&](const std::vector<Token>& drafted) -> LawRow {
    Context context = toy.prompt;
    for (const Token token : drafted) {
      if (behind && behind(toy.draft->row(context), token)) return {};
      context.push_back(token);
    }
    const LawRow& row = toy.draft->row(context);
    if (before && before(row)) return {};
    return row;
  };
  return expected_by_ratio(*toy.target, toy.prompt, draft_count, path_law);
}

Method length_method(std::string name, std::string statement, std::string citation) {
  Method method;
  method.name = std::move(name);
  method.statement = std::move(statement);
  method.citation = std::move(citation);
  method.reads = "tokens; the draft model's rows";
  method.reported = "the row drawn from";
  method.rule = "chain";
  method.conditions = "the decision reads nothing of a token that it leaves out";
  method.provenance.state = "as of the draft model";
  method.provenance.engines = "not known";
  method.provenance.weights = "as of the draft model";
  method.provenance.cost_model = "E[N] / (1 + rho E[D])";
  method.provenance.batch_kernel = "not needed";
  method.provenance.graph_rollback = "a captured graph per length: not known";
  method.toys = {"near", "full-memory", "markov", "zeros", "recurrent"};
  return method;
}

law::Decoding policed(const model::Toy& toy, const LengthPolicy& policy, int draft_count) {
  law::Decoding decoding;
  decoding.target = toy.target;
  decoding.scorer = law::model_scorer(toy.target);
  decoding.drafter = policed_drafter(toy.draft, policy);
  decoding.rule = law::law_rule("chain").make({});
  decoding.draft_count = draft_count;
  decoding.coins = law::coin_scheme("position-keyed");
  decoding.prompt = toy.prompt;
  return decoding;
}

Method by_policy(Method method, std::function<LengthPolicy()> policy, int draft_count,
                 EndsBefore before = {}, EndsBehind behind = {}) {
  method.make = [=](const model::Toy& toy) { return policed(toy, policy(), draft_count); };
  method.expected_emitted = [=](const model::Toy& toy) {
    return expected_until(toy, draft_count, before, behind);
  };
  return method;
}

Exact largest(const LawRow& row) { return row[static_cast<std::size_t>(first_maximum(row))]; }

std::vector<Method> confidence_methods() {
  const Exact sure(11, 24);
  std::vector<Method> list;
  list.push_back(by_policy(
      length_method("stop-unsure", "no token is drawn where no probability reaches 11/24",
                    "Liu et al., Kangaroo, NeurIPS 2024"),
      [sure] { return stop_before_unsure(sure); }, kDraftCount,
      [sure](const LawRow& row) { return largest(row) < sure; }));
  list.back().provenance.engines = "the paper's implementation (2024)";

  list.push_back(by_policy(
      length_method("stop-close-call", "no token is drawn where the two largest are within 1/4",
                    "margin criterion; derived"),
      [] { return stop_before_close_call(Exact(1, 4)); }, kDraftCount,
      [](const LawRow& row) {
        // Some other token is closer than 1/4 to the first maximum.
        for (std::size_t x = 0; x < row.size(); ++x)
          if (static_cast<Token>(x) != first_maximum(row) && largest(row) - row[x] < Exact(1, 4))
            return true;
        return false;
      }));

  // sqrt(H) > .95 iff H > .9025, with H in nats: ln prod p^-p.
  list.push_back(by_policy(
      length_method("stop-entropy", "no token is drawn where the root of the entropy exceeds .95",
                    "Zhang et al., SVIP, arXiv:2411.18462 (2024)"),
      [] { return stop_before_entropy(0.95); }, kDraftCount,
      [](const LawRow& row) {
        double product = 1;
        for (const Exact& probability : row) {
          const auto part = static_cast<double>(probability);
          product *= std::pow(part, -part);
        }
        return product > std::exp(0.95 * 0.95);
      }));
  list.back().provenance.engines = "SVIP (2024)";

  list.push_back(by_policy(
      length_method("kept-unsure", "a token of probability below 1/3 is the last one, and stays",
                    "transformers assistant_confidence_threshold (2026-02)"),
      [] { return stop_behind_unsure(Exact(1, 3)); }, kDraftCount, {},
      [](const LawRow& row, Token token) { return 3 * row[static_cast<std::size_t>(token)] < 1; }));
  list.back().provenance.engines = "transformers, default .4 (2026-02)";
  return list;
}

/// llama.cpp: argmax drafts, pushed first and tested then, verified by sample-and-match.
Method p_min_method() {
  Method method = length_method("p-min", "argmax drafts; one of probability below 1/2 is the last",
                                "llama.cpp common/speculative.cpp, p_min (2026-04)");
  method.reported = "one-hot";
  method.rule = "match";
  method.provenance.engines = "llama.cpp draft-simple, p_min .75, n_max 16 (2026-04)";
  method.make = [](const model::Toy& toy) {
    law::Decoding decoding = policed(toy, {}, 3);
    decoding.drafter =
        policed_drafter(toy.draft, stop_behind_unsure(Exact(1, 2)), ChainDraw::kLargest);
    decoding.rule = law::law_rule("match").make({});
    return decoding;
  };
  method.expected_emitted = [](const model::Toy& toy) {
    Context context = toy.prompt;
    Exact sum = 1;
    Exact reach = 1;
    for (int i = 0; i < 3; ++i) {
      const Token token = first_maximum(toy.draft->row(context));
      const bool is_last = largest(toy.draft->row(context)) < Exact(1, 2);
      reach *= toy.target->row(context)[static_cast<std::size_t>(token)];
      sum += reach;
      if (is_last) break;
      context.push_back(token);
    }
    return sum;
  };
  return method;
}

std::vector<Method> past_methods() {
  std::vector<Method> list;
  list.push_back(by_policy(
      length_method("heuristic-length", "2 more when all were kept, else 1 fewer, from 1 on",
                    "transformers num_assistant_tokens_schedule heuristic (2026-02)"),
      [] { return heuristic_length(1); }, 1));
  list.back().make = [](const model::Toy& toy) { return policed(toy, heuristic_length(1), 3); };
  list.back().provenance.engines =
      "transformers, from 20 on; \"constant\" is the default (2026-02)";
  list.back().provenance.state = "the length";

  AverageLengthOptions options;
  options.candidates = {0, 1, 3};
  options.initial = 1;
  options.warmup = 0;
  options.interval = 1;
  options.weight = Exact(1, 2);
  list.push_back(by_policy(
      length_method("average-length", "0, 1 or 3 tokens by an average of accepted lengths",
                    "SGLang adaptive_spec_params.py @015c8726"),
      [options] { return average_length(options); }, 1));
  list.back().make = [options](const model::Toy& toy) {
    return policed(toy, average_length(options), 3);
  };
  list.back().provenance.engines =
      "SGLang --speculative-adaptive, EAGLE topk 1, weight .2, every 5 after 10 (2026)";
  list.back().provenance.state = "the length, the average, the count of iterations";

  list.push_back(by_policy(
      length_method("acceptance-gate", "off for good once an iteration keeps less than 1 token",
                    "TensorRT-LLM SpeculationGate"),
      [] { return acceptance_gate(1, 1); }, kDraftCount));
  list.back().provenance.engines =
      "TensorRT-LLM acceptance_rate_threshold / window (1.4.0rc docs): date not known";
  list.back().provenance.state = "accepted lengths of the window, and whether it is off";

  list.push_back(by_policy(
      length_method("length-schedule", "2 tokens alone, 1 from 4 running requests on; here 5 run",
                    "vLLM num_speculative_tokens_per_batch_size (2026-08)"),
      [] {
        return scheduled_length({{1, 2}, {4, 1}, {8, 0}}, 5);
      },
      1));
  list.back().provenance.engines =
      "vLLM num_speculative_tokens_per_batch_size (2026-08); TensorRT-LLM draft_len_schedule "
      "(1.4.0rc docs)";
  list.back().provenance.graph_rollback = "vLLM captures a graph per length (issue 48494, 2026-09)";

  list.push_back(by_policy(
      length_method("shared-budget", "all requests of a round share a budget of 2 drafted tokens",
                    "vLLM enable_adaptive_verification, budget over requests (2026-08); derived"),
      [] { return shared_budget(2, stop_behind_unsure(Exact(1, 3))); }, kDraftCount, {},
      [](const LawRow& row, Token token) { return 3 * row[static_cast<std::size_t>(token)] < 1; }));
  list.back().provenance.engines = "vLLM DSpark adaptive verification (2026-08)";
  list.back().provenance.state = "tokens left of the round's budget, shared";
  return list;
}

}  // namespace

std::vector<Method> length_methods() {
  std::vector<Method> list = confidence_methods();
  list.push_back(p_min_method());
  for (Method& method : past_methods()) list.push_back(std::move(method));
  return list;
}

}  // namespace draftproof::reference::draft
