// Methods whose draft has another vocabulary than the target.
#include "reference/draft/expected.h"
#include "reference/draft/method.h"
#include "reference/draft/method_parts.h"
#include "reference/draft/reencoding.h"
#include "reference/draft/vocabulary_map.h"

namespace draftproof::reference::draft {
namespace {

/// The intersection once more, for the formulas: by comparing what ids spell.
LawRow common_row(const Spelling& spelling, const LawRow& draft_row) {
  LawRow row(spelling.target.size());
  Exact sum = 0;
  for (std::size_t t = 0; t < row.size(); ++t)
    for (std::size_t d = 0; d < draft_row.size(); ++d)
      if (spelling.target[t] == spelling.draft[d]) {
        row[t] = draft_row[d];
        sum += draft_row[d];
      }
  if (sum == 0) return {};
  for (Exact& probability : row) probability /= sum;
  return row;
}

Context behind(const model::Toy& toy, const std::vector<Token>& drafted) {
  return joined(toy.prompt, drafted);
}

Method part_of_vocabulary() {
  Method method;
  method.reads = "tokens, mapped into its own vocabulary";
  method.reported = "the row drawn from, over target ids";
  method.rule = "chain";
  method.toys = {"full-memory", "near", "markov", "zeros", "two-tokens"};
  method.provenance.state =
      "target and draft K/V behind the accepted prefix, each in its own tokens";
  method.provenance.weights = "a second model; no training";
  method.provenance.cost_model = "E[N] / (1 + rho D), and the mapping on the host or device";
  method.provenance.batch_kernel = "not known";
  method.provenance.graph_rollback = "not known";
  return method;
}

Method intersection() {
  Method method = part_of_vocabulary();
  method.name = "tli";
  method.statement =
      "a draft of another vocabulary, its rows cut to the common tokens and over "
      "their sum; contexts mapped id by id";
  method.citation = "Timor et al. 2025 (arXiv:2502.05202), TLI";
  method.conditions =
      "against the target as it is; the cut row is put over its sum, and no id stands for two";
  method.provenance.engines = "the paper's implementation in transformers (2026-02)";
  method.make = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    return decoding_by(
        toy.target,
        chain_functions(reporting_drawn(intersection_law(spelling, toy.draft, mapped_by_id))),
        "chain", kDraftCount, toy.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    return expected_by_ratio(*toy.target, toy.prompt, kDraftCount,
                             [&](const std::vector<Token>& drafted) {
                               Context seen;
                               for (const Token token : behind(toy, drafted)) {
                                 Token id = kUnknown;
                                 for (std::size_t d = 0; d < spelling.draft.size(); ++d)
                                   if (spelling.draft[d] == spelling.target[token])
                                     id = static_cast<Token>(d);
                                 seen.push_back(id);
                               }
                               return common_row(spelling, toy.draft->row(seen));
                             });
  };
  return method;
}

Method greedy_intersection() {
  Method method = intersection();
  method.name = "tli-greedy";
  method.statement = "the largest common token of a draft of another vocabulary, reported one-hot";
  method.citation = "vLLM use_heterogeneous_vocab, vocab_mapping.py (2026-08)";
  method.reported = "one-hot";
  method.conditions = "against the target as it is; any draft at all keeps the law";
  method.provenance.engines = "vLLM use_heterogeneous_vocab (2026-08), greedy drafts only";
  method.make = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    return decoding_by(
        toy.target,
        chain_functions(greedy_drawn(intersection_law(spelling, toy.draft, mapped_by_id))), "chain",
        kDraftCount, toy.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    std::vector<Token> path;
    std::vector<std::vector<Token>> paths;
    for (int depth = 0; depth < kDraftCount; ++depth) {
      const LawRow& row = toy.draft->row(mapped_by_id(spelling, behind(toy, path)));
      Token best = kPlaceholder;
      Exact most = 0;
      for (Token t = 0; t < toy.target->vocab_size(); ++t) {
        const auto id = spelling.draft_id(t);
        if (!id || row[*id] <= most) continue;
        most = row[*id];
        best = t;
      }
      if (best == kPlaceholder) break;
      path.push_back(best);
      paths.push_back(path);
    }
    return expected_on_paths(*toy.target, toy.prompt, paths);
  };
  return method;
}

Method universal() {
  Method method = intersection();
  method.name = "usd";
  method.statement = "token-level intersection with contexts encoded again by their text";
  method.citation = "transformers UniversalSpeculativeDecodingGenerator (2026-02)";
  method.provenance.engines = "transformers assistant_tokenizer with sampling (2026-02)";
  method.make = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    return decoding_by(
        toy.target,
        chain_functions(reporting_drawn(intersection_law(spelling, toy.draft, mapped_by_text))),
        "chain", kDraftCount, toy.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    return expected_by_ratio(
        *toy.target, toy.prompt, kDraftCount, [&](const std::vector<Token>& drafted) {
          const std::string text = spelled(spelling.target, behind(toy, drafted));
          return common_row(spelling, toy.draft->row(encoded(spelling.draft, text)));
        });
  };
  return method;
}

Method reencoding() {
  Method method = part_of_vocabulary();
  method.name = "uag";
  method.statement = "a draft of another vocabulary writes text, which is encoded in target tokens";
  method.citation = "transformers universal assisted generation (2026-02); SLEM, Timor et al. 2025";
  method.reads = "the text of the context";
  method.reported = "one-hot";
  method.conditions =
      "against the target's law of tokens, not of strings; emitted tokens are fed "
      "as they are, never encoded again";
  method.provenance.engines =
      "transformers assistant_tokenizer, lookbehind 10 (2026-02); llama.cpp (2026-04)";
  method.make = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    return decoding_by(toy.target, reencoding_functions(spelling, toy.draft), "chain", kDraftCount,
                       toy.prompt);
  };
  // Over every text that two tokens of the draft can write: its probability times the expected
  // length of the one chain that it becomes.
  method.expected_emitted = [](const model::Toy& toy) {
    const Spelling spelling = toy_spelling(toy.target->vocab_size());
    const Context seen = encoded(spelling.draft, spelled(spelling.target, toy.prompt));
    Exact sum = 0;
    for (Token first = 0; first < toy.draft->vocab_size(); ++first) {
      for (Token second = 0; second < toy.draft->vocab_size(); ++second) {
        const Exact reach =
            toy.draft->row(seen)[first] * toy.draft->row(joined(seen, {first}))[second];
        const std::string text = spelling.draft[first] + spelling.draft[second];
        std::vector<std::vector<Token>> paths;
        std::vector<Token> path;
        for (const Token token : aligned(spelling, toy.prompt, text)) {
          if (static_cast<int>(path.size()) == kDraftCount) break;
          path.push_back(token);
          paths.push_back(path);
        }
        sum += reach * expected_on_paths(*toy.target, toy.prompt, paths);
      }
    }
    return sum;
  };
  return method;
}

using VocabularyOf = MappedVocabulary (*)(const model::Toy&);
/// For the formulas: the law of the next token in target ids behind a context.
using TargetLaw = LawRow (*)(const model::Toy&, const Context&);

Method mapped(const char* name, const char* statement, VocabularyOf vocabulary, TargetLaw law) {
  Method method = part_of_vocabulary();
  method.name = name;
  method.statement = statement;
  method.conditions =
      "against the target as it is; the row goes through the same map as the ids, and is over its "
      "sum";
  method.make = [vocabulary](const model::Toy& toy) {
    return decoding_by(
        toy.target,
        chain_functions(reporting_drawn(mapped_law(vocabulary(toy), toy.target->vocab_size()))),
        "chain", kDraftCount, toy.prompt);
  };
  method.expected_emitted = [law](const model::Toy& toy) {
    return expected_by_ratio(
        *toy.target, toy.prompt, kDraftCount,
        [&](const std::vector<Token>& drafted) { return law(toy, behind(toy, drafted)); });
  };
  return method;
}

/// Permuting, splitting and padding a row and taking it back leaves the row.
LawRow unchanged(const model::Toy& toy, const Context& context) { return toy.draft->row(context); }

/// (row + 1/4) over its sum on every token but 1; on token 1 of two.
LawRow without_one(const model::Toy& toy, const Context& context) {
  LawRow row = toy.draft->row(context);
  const std::size_t left_out = row.size() == 2 ? 0 : 1;
  const Exact sum = 1 - row[left_out] + Exact(static_cast<int>(row.size()) - 1, 4);
  for (Exact& probability : row) probability = (probability + Exact(1, 4)) / sum;
  row[left_out] = 0;
  return row;
}

std::vector<Method> mapped_methods() {
  Method permuted = mapped("permuted-vocabulary", "a draft whose ids are the target's, permuted",
                           permuted_vocabulary, unchanged);
  permuted.citation = "alibaba/rtp-llm#1311 (2026-08): a permuted map of equal widths";
  permuted.provenance.engines = "rtp-llm MTP with a draft-to-target map (2026-08)";
  Method doubled = mapped("many-to-one",
                          "a draft with two ids for one token of the target; their "
                          "probabilities are added",
                          doubled_vocabulary, unchanged);
  doubled.citation = "alibaba/rtp-llm#1311 (2026-08): scatter by adding";
  doubled.provenance.engines = "rtp-llm (2026-08)";
  Method padded = mapped("padded-tail",
                         "a draft whose table is padded; padding is cut before the "
                         "row is over its sum and drawn from",
                         padded_vocabulary, unchanged);
  padded.citation = "ggml-org/llama.cpp#3812; vllm-project/vllm#10913 (2023-2026)";
  padded.provenance.engines = "vLLM and llama.cpp allow sizes that differ by padding (2026)";
  Method reduced = mapped("reduced-vocabulary",
                          "a head over part of the vocabulary, target id = "
                          "draft id + offset (d2t)",
                          reduced_vocabulary, without_one);
  reduced.citation = "Li et al. 2025 (EAGLE-3, arXiv:2503.01840); SafeAILab/EAGLE (2026-02)";
  reduced.provenance.engines =
      "EAGLE (2026-02); SGLang --speculative-token-map (2026-07); vLLM eagle3 (2026-08)";
  reduced.provenance.weights = "a head over the frequent tokens, and its table of offsets";
  return {permuted, doubled, padded, reduced};
}

}  // namespace

std::vector<Method> vocabulary_methods() {
  std::vector<Method> all = {intersection(), greedy_intersection(), universal(), reencoding()};
  for (Method& method : mapped_methods()) all.push_back(std::move(method));
  return all;
}

}  // namespace draftproof::reference::draft
