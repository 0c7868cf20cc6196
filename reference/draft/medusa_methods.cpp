// Methods of Medusa: heads on a frozen backbone or a trained one, as a tree or a chain.
#include "reference/draft/expected.h"
#include "reference/draft/hidden_formulas.h"
#include "reference/draft/medusa.h"
#include "reference/draft/method.h"
#include "reference/draft/method_parts.h"

namespace draftproof::reference::draft {
namespace {

Exact medusa_expected(const HiddenToy& toy, const model::ToyModel& target) {
  std::vector<std::vector<Token>> paths;
  for (const std::vector<int>& choice : sparse_choices()) {
    std::vector<Token> path;
    for (std::size_t head = 0; head < choice.size(); ++head)
      path.push_back(of_rank(carried(*toy.draft, before_pending(toy), static_cast<int>(head) + 1),
                             choice[head]));
    paths.push_back(path);
  }
  return expected_on_paths(target, toy.prompt, paths);
}

Method medusa() {
  Method method = hidden_method();
  method.name = "medusa";
  method.statement =
      "heads guess the tokens 1 and 2 places ahead; a fixed sparse tree of their "
      "largest tokens";
  method.citation = "Cai et al. 2024 (arXiv:2401.10774); FasterDecoding/Medusa (2024-04)";
  method.reported = "one-hot";
  method.rule = "target-only";
  method.conditions =
      "Medusa-1, against the frozen backbone, by a lossless rule; the reference's "
      "typical and nucleus modes are other rules, and lossy";
  method.provenance.engines =
      "Medusa (2024-04), with further acceptance modes; TensorRT-LLM Medusa: date not known";
  method.provenance.weights = "one head a position, trained on the frozen backbone";
  method.provenance.cost_model = "E[N] / (1 + rho of all heads + slope x nodes)";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, medusa_functions(head_rows(hidden), sparse_choices()),
                       "target-only", kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return medusa_expected(hidden, *hidden.target);
  };
  return method;
}

Method medusa_2() {
  Method method = medusa();
  method.name = "medusa-2";
  method.statement =
      "the same on a backbone that was trained with its heads: three quarters the "
      "target, a quarter the draft";
  method.conditions = "against its own trained model only, which is another law than the original";
  method.provenance.weights = "heads and the backbone itself";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(trained_backbone(hidden),
                       medusa_functions(head_rows(hidden), sparse_choices()), "target-only",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    const auto trained =
        model::function_model(hidden.target->vocab_size(), [&](const Context& context) {
          LawRow row = hidden.target->row(context);
          for (std::size_t t = 0; t < row.size(); ++t)
            row[t] = (3 * row[t] + hidden.draft->row(context)[t]) / 4;
          return row;
        });
    return medusa_expected(hidden, *trained);
  };
  return method;
}

Method medusa_chain() {
  Method method = medusa();
  method.name = "medusa-chain";
  method.statement = "each head's largest token, as a chain";
  method.citation = "vLLM method medusa, medusa.py (2026-08)";
  method.rule = "chain";
  method.conditions = "Medusa-1, against the frozen backbone";
  method.provenance.engines = "vLLM medusa (2026-08)";
  method.provenance.cost_model = "E[N] / (1 + slope x D)";
  method.make = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    return decoding_by(hidden.target, medusa_functions(head_rows(hidden), {{0}, {0, 0}}), "chain",
                       kDraftCount, hidden.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const HiddenToy hidden = hidden_toy(toy);
    const Token first = of_rank(carried(*hidden.draft, before_pending(hidden), 1), 0);
    const Token second = of_rank(carried(*hidden.draft, before_pending(hidden), 2), 0);
    return expected_on_paths(*hidden.target, hidden.prompt, {{first}, {first, second}});
  };
  return method;
}

}  // namespace

std::vector<Method> medusa_methods() { return {medusa(), medusa_chain(), medusa_2()}; }

}  // namespace draftproof::reference::draft
