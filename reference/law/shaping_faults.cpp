// Shaping faults: each is one change to what a row is told about its history (shaping_faults.h).
#include "reference/law/shaping_faults.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::reference::law {
namespace {

/// One row before its law is taken: what a fault may change.
struct RowView {
  ShapedTarget target;
  reference::History history;
  std::vector<bool> mask;  ///< empty without a grammar
};

/// Where a row stands in its verification.
struct RowPlace {
  const DraftTree& draft;
  int node;                         ///< -1: behind the base context
  const std::vector<LawRow>& rows;  ///< those of smaller nodes, as they came out
  const Memory& memory;

  bool is_bonus() const { return node >= 0 && draft.children(node).empty(); }
};

/// The greedy tokens of the rows on the way down to `place`: what a matcher sees that is advanced
/// along the argmax instead of the draft.
std::vector<Token> argmax_path(const RowPlace& place) {
  std::vector<Token> tokens;
  for (const int node : place.draft.path(place.node)) {
    const int parent = place.draft.nodes[static_cast<std::size_t>(node)].parent;
    tokens.push_back(first_maximum(place.rows[static_cast<std::size_t>(parent + 1)]));
  }
  return tokens;
}

std::vector<bool> mask_from(const model::Grammar& grammar, model::Grammar::State state,
                            const std::vector<Token>& tokens) {
  const auto behind = grammar.behind(state, tokens);
  return behind ? grammar.allowed(*behind) : std::vector<bool>(grammar.vocab_size(), true);
}

void change(RowView& view, ShapingFault fault, const RowPlace& place) {
  reference::History& history = view.history;
  switch (fault) {
    case ShapingFault::kFrozenCounts:
      view.target.contract.adjustments.penalties.drafts = DraftCount::kFrozen;
      break;
    case ShapingFault::kCountedTwice:
      if (place.node >= 0 && !history.committed.empty())
        history.drafted.insert(history.drafted.begin(), history.committed.back());
      break;
    case ShapingFault::kRejectedCounted:
      for (const std::int64_t token : place.memory)
        history.committed.insert(history.committed.begin(), static_cast<Token>(token));
      break;
    case ShapingFault::kPenaltiesOnBonusOnly:
      if (!place.is_bonus() && place.draft.size() > 0)
        view.target.request.adjustments.penalties = {};
      break;
    case ShapingFault::kMinPOnBonusOnly:
      if (!place.is_bonus() && place.draft.size() > 0) view.target.request.sampling.min_p = 0;
      break;
    case ShapingFault::kFirstMask:
      view.mask = view.target.grammar->mask_behind(history.committed);
      break;
    case ShapingFault::kArgmaxMask: {
      std::vector<Token> seen = history.committed;
      for (const Token token : argmax_path(place)) seen.push_back(token);
      view.mask = view.target.grammar->mask_behind(seen);
      break;
    }
    case ShapingFault::kNoRollback:
      view.mask =
          mask_from(*view.target.grammar, static_cast<int>(place.memory.at(0)), history.drafted);
      break;
    case ShapingFault::kUnmaskedBonus:
      if (place.is_bonus()) view.mask.clear();
      break;
  }
}

class FaultyScorer final : public Scorer {
 public:
  FaultyScorer(ShapedTarget target, ShapingFault fault)
      : target_(std::move(target)), fault_(fault) {
    DRAFTPROOF_CHECK(target_.grammar || note_of(fault).area != "grammar", "needs a grammar");
  }

  Memory initial(const Context&) const override {
    if (fault_ != ShapingFault::kNoRollback) return {};
    return {target_.grammar->start()};
  }

  std::vector<LawRow> rows(const Context& context, const DraftTree& draft,
                           const Memory& memory) const override {
    std::vector<LawRow> rows;
    for (int node = -1; node < draft.size(); ++node)
      rows.push_back(row(context, {draft, node, rows, memory}));
    return rows;
  }

  void commit(const StepEnd& end, Memory& memory) const override {
    if (fault_ == ShapingFault::kRejectedCounted)
      for (const DraftNode& node : end.draft.nodes) memory.push_back(node.token);
    if (fault_ != ShapingFault::kNoRollback) return;
    // The matcher takes every drafted token that it can, then the last one if it still can.
    auto state = static_cast<model::Grammar::State>(memory.at(0));
    const auto take = [&](Token token) {
      if (target_.grammar->allows(state, token)) state = target_.grammar->next(state, token);
    };
    for (const DraftNode& node : end.draft.nodes) take(node.token);
    if (end.decision.last) take(*end.decision.last);
    memory = {state};
  }

 private:
  LawRow row(const Context& context, const RowPlace& place) const {
    const std::vector<Token> drafted = place.draft.tokens_to(place.node);
    RowView view = {target_, history_behind(target_, context, drafted), {}};
    if (target_.grammar) view.mask = target_.grammar->mask_behind(output_of(view.history));
    change(view, fault_, place);
    RowRequest request = view.target.request;
    if (!view.mask.empty()) request.adjustments.grammar_mask = view.mask;
    Context all = context;
    all.insert(all.end(), drafted.begin(), drafted.end());
    return law_of_row(view.target.contract, target_.logits(all), request, view.history)
        .probabilities();
  }

  ShapedTarget target_;
  ShapingFault fault_;
};

/// Token 0 may come once.
model::Grammar once_zero(int vocab_size) {
  const auto size = static_cast<std::size_t>(vocab_size);
  std::vector<std::vector<int>> next = {std::vector<int>(size, 0), std::vector<int>(size, 1)};
  next[0][0] = 1;
  next[1][0] = model::Grammar::kRefused;
  return model::Grammar(std::move(next));
}

}  // namespace

const std::vector<ShapingFaultNote>& shaping_faults() {
  using enum ShapingFault;
  static const std::vector<ShapingFaultNote> list = {
      {kFrozenCounts, "frozen_counts", "penalties",
       "every row of a draft counts what was committed before it, and no drafted token",
       "SGLang's relaxed penalties; TGI passes the same ids to every position",
       "1 drafted token that may come again at a later row, horizon 2"},
      {kCountedTwice, "last_token_counted_twice", "penalties",
       "rows behind a drafted token count the last committed token once more",
       "vllm-project/vllm#33251", "a committed token that may come again, frequency penalty"},
      {kRejectedCounted, "rejected_drafts_counted", "penalties",
       "the real counts record every proposed token, accepted ones twice",
       "osaurus-ai/vmlx-swift#361", "2 iterations, frequency penalty"},
      {kPenaltiesOnBonusOnly, "penalties_on_the_bonus_row_only", "penalties",
       "rows of the draft are not penalised, the bonus row is", "sgl-project/sglang#28242 (review)",
       "a counted token before the iteration"},
      {kMinPOnBonusOnly, "min_p_on_the_bonus_row_only", "filters",
       "the verifier skips min-p, the bonus row goes through the ordinary sampler",
       "vllm-project/vllm#42744", "1 drafted token, a token below min-p"},
      {kFirstMask, "first_mask_for_all_rows", "grammar",
       "every row of a draft is masked by the state before it",
       "vllm-project/vllm#9423 (masks not applied per draft row)",
       "1 drafted token that changes what is allowed, horizon 2"},
      {kArgmaxMask, "mask_along_the_argmax", "grammar",
       "the matcher advances along the rows' maxima instead of the drafted tokens",
       "InternLM/lmdeploy#4559 (review)", "a drafted token that is no maximum, horizon 2"},
      {kNoRollback, "grammar_not_rolled_back", "grammar",
       "the matcher keeps the state behind rejected tokens",
       "guided decoding with drafts, several engines; derived", "1 rejection, 2 iterations"},
      {kUnmaskedBonus, "unmasked_bonus_row", "grammar", "the bonus row has no mask",
       "vllm-project/vllm#31858, #34650 (tokens behind a marker in the block)",
       "1 drafted token that is accepted, horizon 2"},
  };
  return list;
}

const ShapingFaultNote& note_of(ShapingFault fault) {
  const auto& list = shaping_faults();
  const auto found = std::find_if(
      list.begin(), list.end(), [&](const ShapingFaultNote& note) { return note.fault == fault; });
  DRAFTPROOF_CHECK(found != list.end(), "a fault without a note");
  return *found;
}

std::shared_ptr<const Scorer> faulty_scorer(const ShapedTarget& target, ShapingFault fault) {
  return std::make_shared<FaultyScorer>(target, fault);
}

Decoding shaped_decoding(const model::Toy& toy, ShapingFault about, bool is_faulty,
                         int draft_count) {
  ShapedTarget target;
  target.vocab_size = toy.target->vocab_size();
  target.logits = logarithms_of(toy.target);
  target.contract = contract("default");
  target.prompt_length = toy.prompt.size();
  const std::string& area = note_of(about).area;
  if (area == "penalties") target.request.adjustments.penalties.frequency = 1;
  if (area == "filters") target.request.sampling.min_p = 0.25;
  if (area == "grammar") target.grammar = once_zero(target.vocab_size);
  Decoding decoding = decoding_of(chain_case(serial_model(target), toy.draft, draft_count),
                                  law_rule("chain").make({}));
  decoding.prompt = toy.prompt;
  decoding.scorer = is_faulty ? faulty_scorer(target, about) : shaped_scorer(target);
  return decoding;
}

}  // namespace draftproof::reference::law
