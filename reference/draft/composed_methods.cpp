// Methods made of methods: drafters combined, drafts made ahead of time, and control of length.
#include "reference/draft/compose/combined.h"
#include "reference/draft/compose/hierarchical.h"
#include "reference/draft/compose/parallel_draft.h"
#include "reference/draft/compose/speculation_ahead.h"
#include "reference/draft/expected.h"
#include "reference/draft/length/length_policy.h"
#include "reference/draft/lookup/ngram_simple.h"
#include "reference/draft/lookup/suffix_match.h"
#include "reference/draft/method_parts.h"

namespace draftproof::reference::draft {
namespace {

PathLaw model_law(const model::ToyModel& draft, const Context& prompt) {
  return [&draft, prompt](const std::vector<Token>& drafted) {
    Context context = prompt;
    for (const Token token : drafted) context.push_back(token);
    return draft.row(context);
  };
}

law::Decoding decoding_of(const model::Toy& toy, DrafterPtr drafter, std::string_view rule,
                          const Context& prompt) {
  law::Decoding decoding;
  decoding.target = toy.target;
  decoding.scorer = law::model_scorer(toy.target);
  decoding.drafter = std::move(drafter);
  decoding.rule = law::law_rule(rule).make({});
  decoding.draft_count = kDraftCount;
  decoding.coins = law::coin_scheme("position-keyed");
  decoding.prompt = prompt;
  return decoding;
}

Method composed_method(std::string name, std::string statement, std::string citation,
                       std::string rule) {
  Method method;
  method.name = std::move(name);
  method.statement = std::move(statement);
  method.citation = std::move(citation);
  method.rule = std::move(rule);
  method.reads = "tokens; the draft model's rows";
  method.reported = "the row drawn from";
  method.provenance = {"as of its parts", "not known",
                       "as of its parts", "E[N] / (1 + draft time), the part that drafted",
                       "not needed",      "not known"};
  method.toys = {"copying", "near", "markov", "full-memory", "two-tokens"};
  return method;
}

/// Tokens that a lookup drafts behind the prompt, or else the model's largest.
Exact expected_of_tokens(const model::Toy& toy, const std::vector<Token>& tokens) {
  std::vector<std::vector<Token>> paths;
  for (std::size_t length = 1; length <= tokens.size(); ++length)
    paths.emplace_back(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(length));
  return expected_on_paths(*toy.target, prompt_of(toy), paths);
}

std::vector<Token> largest_tokens(const model::Toy& toy) {
  Context context = prompt_of(toy);
  std::vector<Token> tokens;
  for (int i = 0; i < kDraftCount; ++i) {
    tokens.push_back(first_maximum(toy.draft->row(context)));
    context.push_back(tokens.back());
  }
  return tokens;
}

Method ngram_then_model() {
  Method method = composed_method(
      "ngram-then-model", "ngram-simple with keys of 2, and where it finds nothing argmax drafts",
      "llama.cpp common/speculative.cpp, implementations in fixed order (2026-04)", "match");
  method.reported = "one-hot";
  method.conditions = "any choice: all report one-hot";
  method.provenance.engines = "llama.cpp --spec-type with several kinds (2026-04)";
  method.make = [](const model::Toy& toy) {
    const DrafterPtr ngram = lookup_drafter(ChainLookup([](const Question& question) {
                                              return ngram_simple(question.history(), {2, 2});
                                            }),
                                            Remembers::kNothing);
    return decoding_of(toy,
                       first_nonempty({ngram, policed_drafter(toy.draft, {}, ChainDraw::kLargest)}),
                       "match", prompt_of(toy));
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const std::vector<Token> found = ngram_simple(prompt_of(toy), {2, 2});
    return expected_of_tokens(toy, found.empty() ? largest_tokens(toy) : found);
  };
  return method;
}

Method match_or_model() {
  Method method = composed_method(
      "match-or-model", "a suffix match where 2 tokens match, else a sampled draft of the model",
      "TensorRT-LLM sa_config (1.4.0rc docs); SpecDecode-Bench, arXiv:2601.11580", "chain");
  method.reported = "the match one-hot, the model's row";
  method.conditions = "the choice reads the context only";
  method.provenance.engines = "TensorRT-LLM sa_config over MTP: date not known";
  constexpr std::size_t kLongEnough = 2;
  method.make = [](const model::Toy& toy) {
    const SuffixMatchOptions options{kLongEnough, kLongEnough, {}};
    const DrafterPtr ngram =
        lookup_drafter(ChainLookup([options](const Question& question) {
                         return suffix_match(question.history(), options, question.draft_count);
                       }),
                       Remembers::kNothing);
    const DrafterChoice choice = [options](const law::StepBegin& begin) -> std::size_t {
      return suffix_match(begin.context, options, 1).empty() ? 1 : 0;
    };
    return decoding_of(toy, chosen_drafter({ngram, policed_drafter(toy.draft, {})}, choice),
                       "chain", prompt_of(toy));
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const Context prompt = prompt_of(toy);
    const auto found = suffix_match(prompt, {kLongEnough, kLongEnough, {}}, kDraftCount);
    if (!found.empty()) return expected_of_tokens(toy, found);
    return expected_by_ratio(*toy.target, prompt, kDraftCount, model_law(*toy.draft, prompt));
  };
  return method;
}

Method ahead(bool is_damped) {
  AheadOptions options;
  if (is_damped) options.damping = Exact(1, 2);
  Method method = composed_method(
      is_damped ? "saguaro" : "ssd",
      is_damped ? "ssd with the largest probability of every drafted row halved"
                : "drafts of 1 token, and 1 more for the likeliest outcome of each number kept",
      "SSD / Saguaro, arXiv:2603.03251; reference code @6ed3022 (2026-03)", "chain");
  method.conditions =
      "speculations have noise of their own, are chosen by key, and report the row drawn from";
  method.provenance = {"speculations by (number kept, last token); all but the one that hit go",
                       "SSD reference code (2026-03)",
                       "a second model, on a device of its own",
                       "(h E_hit + (1-h) E_miss) / (h max(1, T) + (1-h)(1 + T_backup))",
                       "not known",
                       "not known"};
  method.toys = {"near", "full-memory", "textbook", "markov", "two-tokens"};
  method.make = [options](const model::Toy& toy) {
    law::Decoding decoding =
        decoding_of(toy, ahead_drafter(toy.draft, options), "chain", toy.prompt);
    decoding.draft_count = options.speculated_count;
    return decoding;
  };
  // 1 + sum_x min(target, damped draft)(x): the first draft has nothing cached.
  method.expected_emitted = [is_damped](const model::Toy& toy) {
    LawRow row = toy.draft->row(toy.prompt);
    const auto top = static_cast<std::size_t>(first_maximum(row));
    const Exact taken = is_damped ? Exact(row[top] / 2) : Exact(0);
    row[top] -= taken;
    Exact sum = 1;
    for (std::size_t x = 0; x < row.size(); ++x)
      sum += std::min(Exact(row[x] / (1 - taken)), toy.target->row(toy.prompt)[x]);
    return sum;
  };
  return method;
}

Method parallel_method() {
  const int draft_count = parallel_draft_count(Exact(2), Exact(1));
  Method method = composed_method(
      "pearl", "argmax drafts of 2 tokens, made while the 2 before them are verified; no bonus",
      "Liu et al., PEARL, ICLR 2025; TensorRT-LLM pearl.py @0935b08", "greedy");
  method.decoded = law::DecodedLaw::kGreedy;
  method.reported = "one-hot";
  method.conditions = "against greedy decoding; the greedy rule without its bonus";
  method.provenance = {"what was drafted ahead; dropped when anything is rejected",
                       "TensorRT-LLM PEARL @0935b08: date not known",
                       "a second model, on a device of its own",
                       "E[N] / max(1, D T_draft): drafting is hidden, gamma = speed ratio",
                       "not known",
                       "not known"};
  method.make = [draft_count](const model::Toy& toy) {
    law::Decoding decoding = decoding_of(toy, parallel_drafter(toy.draft), "greedy", toy.prompt);
    decoding.target = model::greedy_model(toy.target);
    decoding.rule = greedy_without_bonus();
    decoding.draft_count = draft_count;
    return decoding;
  };
  // 1 + sum over all but the last position of "all drafts so far are the target's argmax".
  method.expected_emitted = [draft_count](const model::Toy& toy) {
    Context context = toy.prompt;
    Exact sum = 1;
    for (int i = 1; i < draft_count; ++i) {
      const Token best = first_maximum(toy.target->row(context));
      if (first_maximum(toy.draft->row(context)) != best) break;
      sum += 1;
      context.push_back(best);
    }
    return sum;
  };
  return method;
}

}  // namespace

std::vector<Method> composed_methods() {
  std::vector<Method> list = {ngram_then_model(), match_or_model(),  ahead(false),
                              ahead(true),        parallel_method(), hierarchical_method()};
  for (const auto part : {length_methods, gate_methods})
    for (Method& method : part()) list.push_back(std::move(method));
  return list;
}

}  // namespace draftproof::reference::draft
