// Methods whose draft is the target itself, made cheaper; and targets that are sparse.
#include "reference/draft/expected.h"
#include "reference/draft/layers.h"
#include "reference/draft/method.h"
#include "reference/draft/method_parts.h"
#include "reference/draft/sparse.h"

namespace draftproof::reference::draft {
namespace {

const Exact kSure(1, 2);      // Kangaroo: largest probability below which nothing is drawn
const Exact kUnlikely(1, 4);  // Draft & Verify: probability of a token behind which it stops

/// Cells once more, for the formulas: what the early layers leave of the last two tokens.
Context last_cells(const Context& context, std::size_t count, int vocab_size, bool is_mixed_all,
                   bool is_mixed_even) {
  Context cells;
  for (std::size_t t = context.size() - std::min(count, context.size()); t < context.size(); ++t) {
    const bool is_mixed = is_mixed_all || (is_mixed_even && t % 2 == 0);
    const Token before = is_mixed && t > 0 ? context[t - 1] : 0;
    cells.push_back((before + context[t]) % vocab_size);
  }
  return cells;
}

Exact largest_of(const LawRow& row) {
  Exact most = 0;
  for (const Exact& probability : row) most = std::max(most, probability);
  return most;
}

Method self_method() {
  Method method;
  method.reported = "the row drawn from";
  method.rule = "chain";
  method.reads = "tokens, through the target's own weights";
  method.toys = {"full-memory", "near", "markov", "zeros", "two-tokens"};
  method.provenance.weights = "none";
  method.provenance.cost_model = "E[N] / (1 + rho D), rho = layers kept / layers";
  method.provenance.batch_kernel = "not known";
  method.provenance.graph_rollback = "not known";
  return method;
}

/// The row behind the prompt and what was drafted, for the formulas.
using DraftRow = LawRow (*)(const model::Toy&, const Context& prompt, const Context& behind);

Method layered(ChainLaws (*laws)(const model::Toy&), DraftRow row) {
  Method method = self_method();
  method.make = [laws](const model::Toy& toy) {
    law::Decoding decoding = decoding_by(layered_target(toy), chain_functions(laws(toy)), "chain",
                                         kDraftCount, pending_prompt(toy));
    decoding.scorer = function_scorer(cell_scorer(toy, shallow_cell));
    return decoding;
  };
  method.expected_emitted = [row](const model::Toy& toy) {
    const Context prompt = pending_prompt(toy);
    const auto target =
        model::function_model(toy.target->vocab_size(), [&](const Context& context) {
          return toy.target->row(
              last_cells(context, context.size(), toy.target->vocab_size(), true, false));
        });
    return expected_by_ratio(*target, prompt, kDraftCount, [&](const std::vector<Token>& drafted) {
      return row(toy, prompt, joined(prompt, drafted));
    });
  };
  return method;
}

Method layer_skip() {
  Method method = layered(
      [](const model::Toy& toy) { return reporting_drawn(early_exit_law(toy)); },
      [](const model::Toy& toy, const Context&, const Context& behind) {
        return LawRow(toy.draft->row(last_cells(behind, 2, toy.draft->vocab_size(), true, false)));
      });
  method.name = "layerskip";
  method.statement =
      "an exit behind the shallow layers drafts; verification keeps the cells that "
      "they wrote";
  method.citation = "Elhoushi et al. 2024 (LayerSkip, arXiv:2404.16710)";
  method.conditions =
      "against the target with its early-exit training; shared cells are the same "
      "bits only where kernels do not depend on the batch's shape";
  method.provenance.state =
      "cells of all layers behind the accepted prefix; shallow ones are "
      "shared by draft and target";
  method.provenance.engines = "transformers assistant_early_exit (2026-02)";
  method.provenance.weights = "training with layer dropout and an early-exit loss";
  return method;
}

Method kangaroo() {
  Method method = layered(
      [](const model::Toy& toy) {
        ChainLaws laws = reporting_drawn(adapter_law(toy));
        laws.stops = stops_unsure(adapter_law(toy), kSure);
        return laws;
      },
      [](const model::Toy& toy, const Context&, const Context& behind) {
        const LawRow row =
            toy.draft->row(last_cells(behind, 1, toy.draft->vocab_size(), true, false));
        return largest_of(row) < kSure ? LawRow{} : row;
      });
  method.name = "kangaroo";
  method.statement =
      "an adapter on the shallow layers drafts, and stops where its largest "
      "probability is below 1/2";
  method.citation = "Liu et al. 2024 (Kangaroo, arXiv:2404.18911)";
  method.conditions = "against the target as it is; it stops by the row, before a token is drawn";
  method.provenance.state =
      "shallow cells are shared; the adapter's own behind the accepted prefix";
  method.provenance.engines = "the paper's implementation (2024)";
  method.provenance.weights = "an adapter: one attention layer and two norms";
  return method;
}

/// For the formulas: stops behind a drafted token that was unlikely.
LawRow skipped_row(const model::Toy& toy, const Context& prompt, const Context& behind) {
  const auto row = [&](const Context& context) {
    return toy.draft->row(last_cells(context, 2, toy.draft->vocab_size(), false, false));
  };
  if (behind.size() > prompt.size()) {
    const Context before(behind.begin(), behind.end() - 1);
    if (row(before)[behind.back()] < kUnlikely) return {};
  }
  return row(behind);
}

Method draft_and_verify() {
  Method method = layered(
      [](const model::Toy& toy) {
        const PointLaw law = skipping_law(toy, [](const Context&) { return 0; });
        ChainLaws laws = reporting_drawn(law);
        laws.stops = stops_behind_unlikely(law, kUnlikely);
        return laws;
      },
      skipped_row);
  method.name = "draft-verify";
  method.statement =
      "the target with layers left out drafts, and stops behind a token of less than "
      "1/4, which stays";
  method.citation = "Zhang et al. 2024 (Draft & Verify, arXiv:2309.08168)";
  method.conditions =
      "against the target as it is; cells of skipped layers are written again by "
      "the verification, and the token that ends a draft stays in it";
  method.provenance.state = "target cells written by verification only; the draft's are dropped";
  method.provenance.engines = "the paper's implementation (2024)";
  return method;
}

Method swift() {
  Method method = layered(
      [](const model::Toy& toy) {
        return reporting_drawn(skipping_law(
            toy, [](const Context& context) { return static_cast<int>(context.size() % 2); }));
      },
      [](const model::Toy& toy, const Context& prompt, const Context& behind) {
        return LawRow(toy.draft->row(
            last_cells(behind, 2, toy.draft->vocab_size(), false, prompt.size() % 2 == 1)));
      });
  method.name = "swift";
  method.statement =
      "the target with layers left out drafts; which ones is chosen anew in every "
      "iteration, from the context";
  method.citation = "Xia et al. 2025 (SWIFT, arXiv:2410.06916)";
  method.conditions =
      "against the target as it is; the layers are chosen before a token is drawn, "
      "and cells of skipped layers are written again by the verification";
  method.provenance.state = "target cells written by verification only; statistics of the search";
  method.provenance.engines = "the paper's implementation (2025)";
  return method;
}

Method sparse_draft() {
  Method method = self_method();
  method.name = "sparse-draft";
  method.statement = "the target on its first and last token drafts; verification sees everything";
  method.citation =
      "Sadhukhan et al. 2025 (MagicDec, arXiv:2408.11049); Sun et al. 2024 (TriForce, "
      "arXiv:2404.11912)";
  method.conditions = "against the dense target";
  method.provenance.state = "dense cells behind the accepted prefix; the draft's window of them";
  method.provenance.engines = "the papers' implementations (2024, 2025)";
  method.provenance.cost_model =
      "E[N] / (1 + rho D), rho = (weights + window) / (weights + all cells) by bytes read";
  method.provenance.batch_kernel = "long contexts and large batches are what it is for (MagicDec)";
  method.make = [](const model::Toy& toy) {
    return decoding_by(toy.target, chain_functions(reporting_drawn(streaming_law(toy.target))),
                       "chain", kDraftCount, toy.prompt);
  };
  method.expected_emitted = [](const model::Toy& toy) {
    return expected_by_ratio(*toy.target, toy.prompt, kDraftCount,
                             [&](const std::vector<Token>& drafted) {
                               Context context = joined(toy.prompt, drafted);
                               for (std::size_t t = 1; t + 1 < context.size(); ++t) context[t] = 0;
                               return toy.target->row(context);
                             });
  };
  return method;
}

/// For the formulas: which tokens stand, seen from the token at `query`; all behind it do.
Context stands(Context context, std::size_t query) {
  for (std::size_t t = 0; t < query; ++t)
    if (context[t] != context[query]) context[t] = 0;
  return context;
}

Method sparse(bool is_shared) {
  Method method = self_method();
  method.reads = "tokens";
  method.citation = "SpecSA 2026 (arXiv:2605.19893)";
  method.provenance.state = "cells behind the accepted prefix, and the indices of their blocks";
  method.provenance.engines = "not known";
  method.provenance.weights = "a second model; the target is trained sparse";
  method.make = [is_shared](const model::Toy& toy) {
    law::Decoding decoding =
        decoding_by(sparse_target(toy),
                    chain_functions(reporting_drawn([draft = toy.draft](const ChainPoint& p) {
                      return draft->row(joined(p.context, p.drafted));
                    })),
                    "chain", kDraftCount, pending_prompt(toy));
    if (is_shared) decoding.scorer = shared_selection_scorer(toy);
    return decoding;
  };
  method.expected_emitted = [is_shared](const model::Toy& toy) {
    const Context prompt = pending_prompt(toy);
    const auto served =
        model::function_model(toy.target->vocab_size(), [&](const Context& context) {
          const std::size_t query = (is_shared ? prompt.size() : context.size()) - 1;
          return toy.target->row(stands(context, query));
        });
    return expected_by_ratio(*served, prompt, kDraftCount, [&](const std::vector<Token>& drafted) {
      return toy.draft->row(joined(prompt, drafted));
    });
  };
  return method;
}

std::vector<Method> sparse_targets() {
  Method own = sparse(false);
  own.name = "sparse-target";
  own.statement =
      "a target of sparse attention: every query of the verification selects for itself";
  own.conditions = "against the sparse target as served without speculation, not the dense one";
  Method shared = sparse(true);
  shared.name = "sparse-shared";
  shared.statement =
      "a target of sparse attention: all queries of a verification share the "
      "selection of the first";
  shared.kind = law::RuleKind::kLossy;
  shared.conditions =
      "lossy against the sparse target as served without speculation: which tokens "
      "are seen depends on where a draft began";
  return {own, shared};
}

}  // namespace

std::vector<Method> self_methods() {
  std::vector<Method> all = {layer_skip(), kangaroo(), draft_and_verify(), swift(), sparse_draft()};
  for (Method& method : sparse_targets()) all.push_back(std::move(method));
  return all;
}

}  // namespace draftproof::reference::draft
