// Methods that draft from the target's hidden state: their list, and the family of EAGLE.
#include "reference/draft/eagle.h"
#include "reference/draft/eagle3.h"
#include "reference/draft/expected.h"
#include "reference/draft/hidden_formulas.h"
#include "reference/draft/method.h"
#include "reference/draft/method_parts.h"
#include "reference/draft/mtp.h"

namespace draftproof::reference::draft {
namespace {

constexpr auto kCapturedBySglang = "SGLang captures target verify and draft (issue 22930, 2026-04)";

/// The feature that EAGLE's head has behind the prompt and `drafted`, for the formulas: walked over
/// the older and the newer token.
Hidden walked_feature(const HiddenToy& toy, const std::vector<Token>& drafted) {
  const int vocab_size = toy.target->vocab_size();
  const Context known = before_pending(toy);
  std::vector<Token> steps = {toy.prompt.back()};
  steps.insert(steps.end(), drafted.begin(), drafted.end());
  Token older = kPlaceholder;
  Token newer = known.empty() ? kPlaceholder : known.back();
  if (known.size() >= 2) older = known[known.size() - 2];
  for (const Token token : steps) {
    older = older == kPlaceholder ? newer : (older + newer) % vocab_size;
    newer = token;
  }
  return older == kPlaceholder ? Hidden{newer} : Hidden{older, newer};
}

Method eagle() {
  Method method = hidden_method();
  method.name = "eagle";
  method.statement =
      "a head predicts features; two first tokens drawn without replacement, one "
      "behind each";
  method.citation = "Li et al. 2024 (EAGLE, arXiv:2401.15077)";
  method.rule = "without-replacement";
  method.conditions =
      "against the target as it is; siblings are reported with the row that is left "
      "of them and tested in the order of drawing";
  method.provenance.engines =
      "EAGLE-1 reference (2024); SGLang EAGLE verifies its trees "
      "target-only instead (2026-07)";
  method.provenance.graph_rollback = kCapturedBySglang;
  method.provenance.weights = "one decoder layer; the target's embedding and output layer";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, eagle_tree(hidden, law::tree_parents({2, 1})),
                       "without-replacement", kDraftCount, hidden.prompt);
  };
  // The rule's own closed form on the rows behind the prompt.
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    law::ModelCase tiny;
    const int vocab_size = hidden.target->vocab_size();
    tiny.target = model::function_model(vocab_size, [&](const Context& drafted) {
      return hidden.target->row(joined(hidden.prompt, drafted));
    });
    tiny.draft = model::function_model(vocab_size, [&](const Context& drafted) {
      return hidden.draft->row(walked_feature(hidden, drafted));
    });
    tiny.parents = law::tree_parents({2, 1});
    tiny.siblings = law::SiblingDraw::kWithoutReplacement;
    return law::law_rule("without-replacement").expected_emitted(tiny, {});
  };
  return method;
}

Method eagle_chain() {
  Method method = eagle();
  method.name = "eagle-chain";
  method.statement = "a head predicts features; a chain drawn from its rows";
  method.citation = "vLLM method eagle, draft_sample_method probabilistic (2026-08)";
  method.rule = "chain";
  method.conditions = "against the target as it is; the row reported is the row drawn from";
  method.provenance.engines =
      "vLLM eagle (2026-08); SGLang --speculative-use-rejection-sampling (2026-07)";
  method.provenance.graph_rollback = "vLLM V2 captures the draft (pull 37639, 2026-03)";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, hidden_chain(reporting_drawn(feature_law(hidden))), "chain",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return expected_by_ratio(*hidden.target, hidden.prompt, kDraftCount,
                             [&](const std::vector<Token>& drafted) {
                               return hidden.draft->row(walked_feature(hidden, drafted));
                             });
  };
  return method;
}

/// EAGLE-2's three nodes out of the six of two levels, by counting who comes before whom.
Exact dynamic_expected(const model::Toy& toy) {
  const HiddenToy hidden = hidden_toy(toy);
  const LawRow& first = hidden.draft->row(walked_feature(hidden, {}));
  std::vector<std::vector<Token>> paths;
  std::vector<Exact> scores;
  for (int rank = 0; rank < 2; ++rank) {
    paths.push_back({of_rank(first, rank)});
    scores.push_back(first[paths.back()[0]]);
  }
  for (int parent = 0; parent < 2; ++parent) {
    const LawRow& row = hidden.draft->row(walked_feature(hidden, paths[parent]));
    for (int rank = 0; rank < 2; ++rank) {
      const Token token = of_rank(row, rank);
      paths.push_back({paths[parent][0], token});
      scores.push_back(scores[parent] * row[token]);
    }
  }
  std::vector<std::vector<Token>> kept;
  for (int rank = 0; rank < 3; ++rank) kept.push_back(paths[of_rank(scores, rank)]);
  return expected_on_paths(*hidden.target, hidden.prompt, kept);
}

Method eagle_2() {
  Method method = eagle();
  method.name = "eagle-2";
  method.statement =
      "a head predicts features; of two levels, two wide, the three nodes of the "
      "largest products of its probabilities";
  method.citation = "Li et al. 2024 (EAGLE-2, arXiv:2406.16858); cnets.topK_genrate (2026-02)";
  method.reported = "one-hot";
  method.rule = "target-only";
  method.conditions =
      "against the target as it is; products are scores, never reported as a law; "
      "equal ones are kept in a stable order";
  method.provenance.engines =
      "EAGLE (2026-02, depth 7, width 10, 60 nodes); SGLang EAGLE "
      "--speculative-eagle-topk (2026-07); TensorRT-LLM dynamic tree (2026)";
  method.provenance.cost_model = "E[N] / (1 + D rho + slope x nodes)";
  method.provenance.batch_kernel = "SGLang tree_speculative_sampling_target_only (2026-07)";
  method.provenance.graph_rollback = kCapturedBySglang;
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, dynamic_tree(hidden, {}), "target-only", kDraftCount,
                       hidden.prompt);
  };
  method.expected_emitted = dynamic_expected;
  return method;
}

/// EAGLE-3's head once more, for the formula: three inputs, shifted.
LawRow fused_row(const model::Toy& toy, const HiddenToy& hidden,
                 const std::vector<Token>& drafted) {
  const int vocab_size = toy.target->vocab_size();
  Context input = last_tokens(before_pending(hidden), 2);
  if (input.size() == 2) input.insert(input.begin() + 1, (input[0] + input[1]) % vocab_size);
  std::vector<Token> steps = {hidden.prompt.back()};
  steps.insert(steps.end(), drafted.begin(), drafted.end());
  for (const Token token : steps) {
    if (input.size() == 3)
      input = {input[2], (input[1] + token) % vocab_size, token};
    else
      input.push_back(token);
  }
  LawRow row = toy.draft->row(input);
  row[vocab_size == 2 ? 0 : 1] = 0;
  Exact sum = 0;
  for (Token t = 0; t < vocab_size; ++t) {
    if (t != (vocab_size == 2 ? 0 : 1)) row[t] += Exact(1, 4);
    sum += row[t];
  }
  for (Exact& probability : row) probability /= sum;
  return row;
}

Method eagle_3() {
  Method method = hidden_method();
  method.name = "eagle-3";
  method.statement = "a head on three fused layers drafts a chain over a reduced vocabulary";
  method.citation = "Li et al. 2025 (EAGLE-3, arXiv:2503.01840); SafeAILab/EAGLE (2026-02)";
  method.conditions = "against the target as it is; the row goes through d2t once, as the ids do";
  method.provenance.engines =
      "vLLM eagle3 (2026-08); SGLang EAGLE3 (2026-07, trees, target-only); "
      "TensorRT-LLM eagle3 (2026); llama.cpp draft-eagle3 (build 11434)";
  method.provenance.graph_rollback = kCapturedBySglang;
  method.provenance.weights = "one layer, a projection of three layers, a reduced output layer";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, hidden_chain(reporting_drawn(reduced_head_law(toy))), "chain",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return expected_by_ratio(
        *hidden.target, hidden.prompt, kDraftCount,
        [&](const std::vector<Token>& drafted) { return fused_row(toy, hidden, drafted); });
  };
  return method;
}

Method p_eagle() {
  Method method = hidden_method();
  method.name = "p-eagle";
  method.statement =
      "one pass over mask tokens: every row knows the hidden state only, tokens are "
      "drawn independently";
  method.citation = "Hui et al. 2026 (P-EAGLE, arXiv:2602.01469)";
  method.conditions = "against the target as it is; a product is its own left-to-right law";
  method.provenance.engines = "vLLM parallel_drafting with eagle and draft_model (2026-08)";
  method.provenance.weights = "a head trained on mask tokens";
  method.provenance.cost_model = "E[N] / (1 + rho): one draft pass whatever D is";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, hidden_chain(reporting_drawn(parallel_law(hidden))), "chain",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return expected_by_ratio(*hidden.target, hidden.prompt, kDraftCount,
                             [&](const std::vector<Token>& drafted) {
                               return carried(*hidden.draft, before_pending(hidden),
                                              static_cast<int>(drafted.size()) + 1);
                             });
  };
  return method;
}

}  // namespace

Method hidden_method() {
  Method method;
  method.reads = "the target's hidden state behind what was fed, and the pending token";
  method.reported = "the row drawn from";
  method.rule = "chain";
  method.toys = {"full-memory", "near", "markov", "copying", "zeros"};
  method.provenance.state =
      "target K/V behind the accepted path; the head's K/V rebuilt from the "
      "target's states; the state row of the deepest accepted node";
  method.provenance.cost_model = "E[N] / (1 + rho D)";
  method.provenance.batch_kernel = "not known";
  method.provenance.graph_rollback = "not known";
  return method;
}

std::vector<Method> hidden_state_methods() {
  std::vector<Method> all = medusa_methods();
  for (Method& method : std::vector{eagle(), eagle_chain(), eagle_2(), eagle_3(), p_eagle()})
    all.push_back(std::move(method));
  for (Method& method : predicting_methods()) all.push_back(std::move(method));
  return all;
}

}  // namespace draftproof::reference::draft
