// Methods that draft a block at once.
#include <algorithm>

#include "reference/draft/block_rows.h"
#include "reference/draft/diffusion.h"
#include "reference/draft/expected.h"
#include "reference/draft/method.h"
#include "reference/draft/method_parts.h"

namespace draftproof::reference::draft {
namespace {

constexpr int kLargestCount = 2;  // vLLM dspark_draft_topk
const Exact kConfident(1, 2);     // DSpark: confidence below which nothing more is drafted

/// For the formulas: what the block sees of the prompt, its last three tokens.
Context anchored(const HiddenToy& hidden) {
  const std::size_t count = std::min<std::size_t>(3, hidden.prompt.size());
  return {hidden.prompt.end() - static_cast<std::ptrdiff_t>(count), hidden.prompt.end()};
}

LawRow base_row(const model::Toy& toy, const HiddenToy& hidden, std::size_t offset) {
  Context seen = anchored(hidden);
  seen.insert(seen.end(), offset + 1, 0);
  return toy.draft->row(seen);
}

LawRow raised(const LawRow& row, const LawRow& by) {
  LawRow result;
  Exact sum = 0;
  for (std::size_t t = 0; t < row.size(); ++t) {
    result.push_back(row[t] + row[t] * by[t]);
    sum += result.back();
  }
  for (Exact& probability : result) probability /= sum;
  return result;
}

LawRow markov_row(const model::Toy& toy, const HiddenToy& hidden,
                  const std::vector<Token>& drafted) {
  const Token before = drafted.empty() ? hidden.prompt.back() : drafted.back();
  return raised(base_row(toy, hidden, drafted.size()), toy.draft->row({before}));
}

/// How a method's row follows from what was drafted, for the formulas.
using BlockRow = LawRow (*)(const model::Toy&, const HiddenToy&, const std::vector<Token>&);

Exact by_ratio(const model::Toy& toy, BlockRow row) {
  const HiddenToy hidden = hidden_toy(toy);
  return expected_by_ratio(
      *hidden.target, hidden.prompt, kDraftCount,
      [&](const std::vector<Token>& drafted) { return row(toy, hidden, drafted); });
}

Exact by_argmax(const model::Toy& toy, BlockRow row) {
  const HiddenToy hidden = hidden_toy(toy);
  const Token first = first_maximum(row(toy, hidden, {}));
  const Token second = first_maximum(row(toy, hidden, {first}));
  return expected_on_paths(*hidden.target, hidden.prompt, {{first}, {first, second}});
}

LawRow product_row(const model::Toy& toy, const HiddenToy& hidden,
                   const std::vector<Token>& drafted) {
  return base_row(toy, hidden, drafted.size());
}

/// A method over hidden states with these laws.
Method block_method(ChainLaws (*laws)(const model::Toy&)) {
  Method method = hidden_method();
  method.provenance.state =
      "target K/V behind the accepted prefix; the drafter's K/V is injected "
      "from the target's features";
  method.provenance.weights = "a block drafter over several tapped layers";
  method.provenance.cost_model = "E[N] / (1 + rho): one draft pass whatever D is";
  method.make = [laws](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, hidden_chain(laws(toy)), "chain", kDraftCount, hidden.prompt);
  };
  return method;
}

Method dflash() {
  Method method = block_method([](const model::Toy& toy) { return greedy_drawn(base_law(toy)); });
  method.name = "dflash";
  method.statement = "a block of masks denoised in one pass; the largest token of each row";
  method.citation = "Chen et al. 2026 (DFlash, arXiv:2602.06036); z-lab/dflash (2026-04)";
  method.reported = "one-hot";
  method.conditions = "against the target as it is, sampled or greedy";
  method.provenance.engines =
      "z-lab/dflash (2026-04); SGLang DFLASH (2026-07); vLLM dflash "
      "(2026-08); llama.cpp draft-dflash (build 11434)";
  method.expected_emitted = [](const model::Toy& toy) { return by_argmax(toy, product_row); };
  return method;
}

Method dflash_drawn() {
  Method method =
      block_method([](const model::Toy& toy) { return reporting_drawn(base_law(toy)); });
  method.name = "dflash-drawn";
  method.statement = "a block of masks denoised in one pass; drawn from each row on its own";
  method.citation = "vLLM dflash with draft_sample_method probabilistic (2026-08)";
  method.conditions = "against the target as it is; a product is its own left-to-right law";
  method.provenance.engines = "vLLM dflash (2026-08)";
  method.expected_emitted = [](const model::Toy& toy) { return by_ratio(toy, product_row); };
  return method;
}

Method dspark() {
  Method method = block_method([](const model::Toy& toy) {
    ChainLaws laws = reporting_drawn(markov_law(toy));
    laws.stops = stops_unconfident(toy, kConfident);
    return laws;
  });
  method.name = "dspark";
  method.statement =
      "a block's base rows, each corrected by the token drawn before it; ends at the "
      "first confidence below 1/2";
  method.citation = "deepseek-ai/DeepSpec (2026-06)";
  method.conditions =
      "against the target as it is; the corrected row is reported, and a confidence "
      "sees the tokens before its own only";
  method.provenance.engines =
      "DeepSpec (2026-06); vLLM dspark (2026-08); llama.cpp draft-dspark (build 11434)";
  method.provenance.weights = "a block drafter, a Markov head, a confidence head";
  method.provenance.graph_rollback =
      "vLLM captures the drafter's pass; the whole draft step is a pull (57632, open 2026-09)";
  method.expected_emitted = [](const model::Toy& toy) {
    return by_ratio(
        toy, [](const model::Toy& toy, const HiddenToy& hidden, const std::vector<Token>& drafted) {
          Context seen(hidden.prompt.begin(), hidden.prompt.end() - 1);
          if (seen.size() > 2) seen.erase(seen.begin(), seen.end() - 2);
          seen.push_back(drafted.empty() ? hidden.prompt.back() : drafted.back());
          Exact most = 0;
          for (const Exact& probability : toy.draft->row(seen)) most = std::max(most, probability);
          return most < kConfident ? LawRow{} : markov_row(toy, hidden, drafted);
        });
  };
  return method;
}

Method dspark_largest() {
  Method method = block_method([](const model::Toy& toy) {
    return reporting_drawn(largest_only(markov_law(toy), kLargestCount));
  });
  method.name = "dspark-topk";
  method.statement = "the corrected row cut to its two largest tokens, drawn from and reported cut";
  method.citation = "vLLM dspark_draft_topk (2026-08)";
  method.conditions = "against the target as it is; the cut row is reported, not the whole one";
  method.provenance.engines = "vLLM dspark (2026-08)";
  method.provenance.weights = "a block drafter, a Markov head";
  method.expected_emitted = [](const model::Toy& toy) {
    return by_ratio(
        toy, [](const model::Toy& toy, const HiddenToy& hidden, const std::vector<Token>& drafted) {
          const LawRow row = markov_row(toy, hidden, drafted);
          LawRow cut(row.size());
          Exact sum = 0;
          for (int kept = 0; kept < kLargestCount; ++kept) {
            std::size_t best = row.size();
            for (std::size_t t = 0; t < row.size(); ++t)
              if (cut[t] == 0 && (best == row.size() || row[t] > row[best])) best = t;
            cut[best] = row[best];
            sum += row[best];
          }
          for (Exact& probability : cut) probability /= sum;
          return cut;
        });
  };
  return method;
}

Method domino() {
  Method method = block_method([](const model::Toy& toy) { return greedy_drawn(causal_law(toy)); });
  method.name = "domino";
  method.statement =
      "a block's base rows, corrected by a recurrent state of what was drafted; "
      "argmax";
  method.citation = "TensorRT-LLM domino.py, commit 10ea199";
  method.reported = "one-hot";
  method.conditions = "against the target as it is";
  method.provenance.engines = "TensorRT-LLM (domino.py @10ea199: date not known)";
  method.provenance.weights = "a block drafter, a recurrent head";
  method.expected_emitted = [](const model::Toy& toy) {
    return by_argmax(
        toy, [](const model::Toy& toy, const HiddenToy& hidden, const std::vector<Token>& drafted) {
          int state = 0;
          for (const Token token : drafted) state = (3 * state + token + 1) % 5;
          return raised(base_row(toy, hidden, drafted.size()),
                        toy.draft->row({state >> 2 & 1, state >> 1 & 1, state & 1}));
        });
  };
  return method;
}

Method pard() {
  Method method =
      block_method([](const model::Toy& toy) { return reporting_drawn(parallel_model_law(toy)); });
  method.name = "pard";
  method.statement = "a draft model that predicts all positions in one pass over mask tokens";
  method.citation = "An et al. 2025 (PARD, arXiv:2504.18583)";
  method.reads = "tokens";
  method.conditions = "against the target as it is; a product is its own left-to-right law";
  method.provenance.state = "target and draft K/V behind the accepted prefix, masks dropped";
  method.provenance.engines = "vLLM parallel_drafting with draft_model (2026-08)";
  method.provenance.weights = "a second model, adapted to mask tokens";
  method.expected_emitted = [](const model::Toy& toy) {
    return by_ratio(
        toy, [](const model::Toy& toy, const HiddenToy& hidden, const std::vector<Token>& drafted) {
          Context seen = hidden.prompt;
          seen.insert(seen.end(), drafted.size() + 1, 0);
          return LawRow(toy.draft->row(seen));
        });
  };
  return method;
}

/// For the formulas: the joint law of both tokens, [first][second].
std::vector<LawRow> joint_table(const model::Toy& toy, const HiddenToy& hidden) {
  const int vocab_size = toy.draft->vocab_size();
  const Context seen = anchored(hidden);
  std::vector<LawRow> joint(vocab_size, LawRow(vocab_size));
  const LawRow& second_row = toy.draft->row(joined(seen, {0, 0}));
  for (Token first = 0; first < vocab_size; ++first)
    for (Token second = 0; second < vocab_size; ++second)
      joint[first][second] =
          second_row[second] * toy.draft->row(joined(seen, {0, second, second}))[first];
  return joint;
}

Method diffusion() {
  Method method = block_method(nullptr);
  method.name = "diffusion";
  method.statement = "a block denoised in two steps, the second token before the first";
  method.citation = "Christopher et al. 2024 (SpecDiff, arXiv:2408.05636), for the kind of drafter";
  method.reported = "one-hot";
  method.conditions =
      "against the target as it is; rows of denoising steps are no left-to-right "
      "law and must not be reported";
  method.provenance.engines = "not known";
  method.provenance.weights = "a diffusion language model";
  method.provenance.cost_model = "E[N] / (1 + rho x steps)";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, diffusion_functions(toy, reports_one_hot), "chain",
                       kDraftCount, hidden.prompt);
  };
  // 1 + sum over first, second of joint x target(first) (1 + target(second | first)).
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    const auto joint = joint_table(toy, hidden);
    Exact sum = 1;
    for (Token first = 0; first < toy.draft->vocab_size(); ++first)
      for (Token second = 0; second < toy.draft->vocab_size(); ++second)
        sum += joint[first][second] * hidden.target->row(hidden.prompt)[first] *
               (1 + hidden.target->row(joined(hidden.prompt, {first}))[second]);
    return sum;
  };
  return method;
}

Method diffusion_conditionals() {
  Method method = diffusion();
  method.name = "diffusion-conditionals";
  method.statement = "the same, reported by the conditionals of the joint law from left to right";
  method.reported = "the law given what was drafted before";
  method.conditions =
      "against the target as it is; where coins are keyed by position, all of a block's noise has "
      "to sit at its first position, as its first token depends on all of it";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, diffusion_functions(toy, reports_conditionals), "chain",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    return by_ratio(
        toy, [](const model::Toy& toy, const HiddenToy& hidden, const std::vector<Token>& drafted) {
          const auto joint = joint_table(toy, hidden);
          LawRow row(joint.size());
          if (!drafted.empty()) return over_sum(joint[drafted[0]]);
          for (std::size_t first = 0; first < joint.size(); ++first)
            for (const Exact& part : joint[first]) row[first] += part;
          return row;
        });
  };
  return method;
}

}  // namespace

std::vector<Method> block_methods() {
  return {dflash(), dflash_drawn(), dspark(),    dspark_largest(),
          domino(), pard(),         diffusion(), diffusion_conditionals()};
}

}  // namespace draftproof::reference::draft
