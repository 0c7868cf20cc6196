// The list of methods.
#include "reference/draft/method.h"

#include "reference/draft/method_parts.h"
#include "reference/draft/model.h"
#include "reference/error.h"

namespace draftproof::reference::draft {
namespace {

law::ModelCase chain_of(const model::Toy& toy, int draft_count) {
  return law::chain_case(toy.target, toy.draft, draft_count);
}

}  // namespace

std::vector<Method> model_methods() {
  Method chain;
  chain.name = "draft-model";
  chain.statement = "a smaller model drafts a chain of 2 tokens, each from its own row";
  chain.citation = "Leviathan, Kalman, Matias 2023; Chen et al. 2023";
  chain.reads = "tokens";
  chain.reported = "the row drawn from";
  chain.rule = "chain";
  chain.conditions = "the row reported is the row drawn from, dtype and filters included";
  chain.provenance = {
      "target and draft K/V behind the accepted prefix; the draft lacks its own last token when "
      "all are accepted",
      "vLLM draft_model (2026-08), SGLang STANDALONE (2026-07), TensorRT-LLM @051edeb, llama.cpp "
      "draft-simple (2026-04), transformers assistant_model (2026-02)",
      "a second model of the same vocabulary",
      "E[N] / (1 + rho D), rho = draft time per token / verify time",
      "not known",
      "not known"};
  chain.toys = {"full-memory", "near", "markov", "zeros", "equal"};
  chain.make = [](const model::Toy& toy) {
    law::Decoding decoding =
        law::decoding_of(chain_of(toy, kDraftCount), law::law_rule("chain").make({}));
    decoding.prompt = toy.prompt;
    return decoding;
  };
  // 1 + sum_x min(target, draft)(x) (1 + sum_y min(target, draft)(y | x)).
  chain.expected_emitted = [](const model::Toy& toy) {
    Exact sum = 1;
    for (Token x = 0; x < toy.target->vocab_size(); ++x) {
      Context behind_x = toy.prompt;
      behind_x.push_back(x);
      Exact second = 1;
      for (Token y = 0; y < toy.target->vocab_size(); ++y)
        second += std::min(toy.target->row(behind_x)[y], toy.draft->row(behind_x)[y]);
      sum += std::min(toy.target->row(toy.prompt)[x], toy.draft->row(toy.prompt)[x]) * second;
    }
    return sum;
  };
  return {chain};
}

const std::vector<Method>& methods() {
  static const std::vector<Method> list = [] {
    std::vector<Method> all;
    for (const auto part : {model_methods, lookup_methods, vocabulary_methods, hidden_state_methods,
                            self_methods, block_methods, composed_methods}) {
      std::vector<Method> more = part();
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return list;
}

const Method& method(std::string_view name) {
  std::string known;
  for (const Method& entry : methods()) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw Error(ErrorKind::kInput, "unknown method '" + std::string(name) + "'; known: " + known);
}

}  // namespace draftproof::reference::draft
