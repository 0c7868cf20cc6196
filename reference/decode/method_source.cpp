// Methods as draft sources: every drafter of reference/draft is a program that asks a Chooser about
// coins, and here the answers come from an engine's coins instead of an enumerator.
//
// What is drawn is what is reported. A row is handed to the verifier as fp32 probabilities, so a
// drafter that asks for a draw gets one from the row as it would be reported: rounded, as masses,
// by the declared draw. Where a drafter reports a row that it asked about, both laws are then one
// row of masses, exactly. Where the law of a token is made of several questions (hierarchical
// drafts are verified by an inner rule, diffusion draws the second token first) they are roundings
// of one rational law: a row is off by 2^-24 of each probability and by 2^-45 for each mass at
// most, which is 2^-23 + vocab_size 2^-44 in total variation for each question and for the report.
#include "reference/decode/method_source.h"

#include <algorithm>
#include <utility>

#include "reference/error.h"
#include "reference/verify/chain.h"
#include "reference/verify/verifiers.h"

namespace draftproof::reference::decode {
namespace {

Row rounded(const LawRow& law) {
  Row row;
  for (const Exact& probability : law)
    row.push_back(static_cast<float>(probability.convert_to<double>()));
  return row;
}

class CoinChooser final : public law::Chooser {
 public:
  explicit CoinChooser(const DraftTask& task) : task_(task) {
    DRAFTPROOF_CHECK(task.coins != nullptr, "no coins");
  }

  bool accept(const Exact& probability, const law::CoinUse& use) override {
    // coin / 2^64 < probability, in integers.
    const BigInteger coin = coin_of(use);
    return coin * denominator(probability) < numerator(probability) << 64;
  }

  Token draw(const LawRow& row, const law::CoinUse& use) override {
    const MassRow law = from_probabilities(rounded(row));
    DRAFTPROOF_CHECK(law.status == Status::kOk, "a draw from a row that is no law");
    return verify::draw(coin_of(use), law);
  }

 private:
  std::uint64_t coin_of(const law::CoinUse& use) const {
    DRAFTPROOF_CHECK(use.purpose == Purpose::kDraft && use.offset >= 0 && use.slot >= 0,
                     "a drafter asks for coins of its own only");
    return task_.coins->coin({task_.coin_request,
                              task_.position + static_cast<std::uint32_t>(use.offset), use.purpose,
                              static_cast<std::uint32_t>(use.slot), task_.iteration});
  }

  const DraftTask& task_;
};

/// A request's memory in an engine: what the drafter keeps, behind what tells whether it has
/// followed the request. Nothing before the first draft.
struct OwnMemory {
  std::int64_t told_count = 0;    ///< tokens that the drafter has been told of
  std::int64_t request = 0;       ///< as the drafter knows it
  std::int64_t is_unsettled = 0;  ///< 1: it has drafted, and was not told what was kept
  law::Memory kept = {};

  static OwnMemory in(const law::Memory& memory) {
    if (memory.empty()) return {};
    return {memory.at(0), memory.at(1), memory.at(2), {memory.begin() + 3, memory.end()}};
  }
  law::Memory written() const {
    law::Memory memory = {told_count, request, is_unsettled};
    memory.insert(memory.end(), kept.begin(), kept.end());
    return memory;
  }
};

Draft draft_of(law::DraftTree tree, int vocab_size, std::size_t node_count_max) {
  Draft draft;
  // A prefix of the nodes is a tree, and which ones it has depends on no token of those left out.
  if (tree.nodes.size() > node_count_max) tree.nodes.resize(node_count_max);
  const bool has_rows = std::any_of(tree.nodes.begin(), tree.nodes.end(),
                                    [](const auto& node) { return !node.reported.empty(); });
  draft.kind = has_rows ? RowKind::kProbabilities : RowKind::kOneHot;
  for (int node = 0; node < tree.size(); ++node) {
    draft.proposal.tokens.push_back(tree.nodes[node].token);
    if (has_rows) draft.proposal.rows.push_back(rounded(tree.reported_row(node, vocab_size)));
    if (!tree.is_chain()) draft.proposal.parents.push_back(tree.nodes[node].parent);
  }
  return draft;
}

/// The tree that a drafter is told of: what was verified, rows as they were reported.
law::DraftTree tree_of(const Draft& draft) {
  law::DraftTree tree;
  for (std::size_t i = 0; i < draft.proposal.tokens.size(); ++i) {
    LawRow reported;
    if (draft.kind == RowKind::kProbabilities)
      for (const float probability : draft.proposal.rows[i])
        reported.push_back(exact_from_double(probability));
    const int parent =
        draft.proposal.parents.empty() ? static_cast<int>(i) - 1 : draft.proposal.parents[i];
    tree.nodes.push_back({parent, draft.proposal.tokens[i], std::move(reported)});
  }
  return tree;
}

class MethodSource final : public DraftSource {
 public:
  MethodSource(const law::Decoding& method, std::string name)
      : drafter_(method.drafter),
        vocab_size_(method.target->vocab_size()),
        draft_count_(method.draft_count),
        name_(std::move(name)) {
    DRAFTPROOF_CHECK(drafter_ != nullptr, "a drafter is needed");
  }

  std::string name() const override { return name_; }

  Draft draft(const DraftTask& task, law::Memory& own, law::Memory& shared) const override {
    DRAFTPROOF_CHECK(task.draft_count_max > 0, "a draft of no tokens is not asked for");
    const Context context(task.tokens.begin(), task.tokens.end());
    const auto count = static_cast<std::int64_t>(context.size());
    OwnMemory memory = OwnMemory::in(own);
    // A drafter whose last draft was dropped, or past which tokens were emitted, starts anew: what
    // it keeps may hold tokens that were drawn for another context (a wrong law), or be behind (a
    // poor draft).
    if (memory.told_count != count || memory.is_unsettled != 0)
      memory.kept = drafter_->initial(context);
    memory.told_count = count;
    memory.request = task.coin_request;
    memory.is_unsettled = 1;
    CoinChooser chooser(task);
    const law::StepBegin begin{context, std::min(draft_count_, task.draft_count_max),
                               static_cast<int>(task.coin_request)};
    law::DraftTree tree = drafter_->draft(begin, memory.kept, shared, chooser);
    own = memory.written();
    Draft draft =
        draft_of(std::move(tree), vocab_size_, static_cast<std::size_t>(task.draft_count_max));
    draft.context_length = static_cast<int>(context.size());
    return draft;
  }

  void commit(const Draft& draft, std::span<const int> accepted_nodes,
              std::span<const Token> tokens, law::Memory& own, law::Memory& shared) const override {
    OwnMemory memory = OwnMemory::in(own);
    const int before_count = draft.context_length;
    const int after_count = static_cast<int>(tokens.size());
    if (memory.is_unsettled == 0 || memory.told_count != before_count) return;
    if (after_count <= before_count) return;
    const Context before(tokens.begin(), tokens.begin() + before_count);
    const Context after(tokens.begin(), tokens.end());
    law::Decision decision;
    // Emitted tokens behind the request's end were cut.
    const int accepted =
        std::min(static_cast<int>(accepted_nodes.size()), after_count - before_count);
    decision.accepted.assign(accepted_nodes.begin(), accepted_nodes.begin() + accepted);
    if (before_count + accepted < after_count)
      decision.last = after[static_cast<std::size_t>(before_count + accepted)];
    const law::DraftTree tree = tree_of(draft);
    drafter_->commit({before, tree, decision, after, static_cast<int>(memory.request)}, memory.kept,
                     shared);
    memory.told_count = after_count;
    memory.is_unsettled = 0;
    own = memory.written();
  }

 private:
  std::shared_ptr<const draft::Drafter> drafter_;
  int vocab_size_;
  int draft_count_;
  std::string name_;
};

/// Nodes of the largest draft behind the prompt, over all coins.
int node_count_max(const law::Decoding& decoding) {
  int count = 0;
  const law::AddressOf address_of = [](const law::CoinUse& use) {
    return CoinAddress{0, static_cast<std::uint32_t>(use.offset), use.purpose,
                       static_cast<std::uint32_t>(use.slot)};
  };
  const law::StepBegin begin{decoding.prompt, decoding.draft_count, 0};
  law::for_each_branch(
      {}, address_of,
      [&](law::Chooser& chooser) {
        law::Memory own = decoding.drafter->initial(decoding.prompt);
        law::Memory shared;
        count = std::max(count, decoding.drafter->draft(begin, own, shared, chooser).size());
      },
      [](const Exact&, const law::RevealedCoins&) {});
  return count;
}

}  // namespace

DraftSourcePtr method_source(const law::Decoding& method, std::string name) {
  return std::make_shared<MethodSource>(method, std::move(name));
}

MethodParts method_engine_parts(const draft::Method& method, const model::Toy& toy) {
  const std::vector<std::string>& rules = verify::rules();
  if (std::find(rules.begin(), rules.end(), method.rule) == rules.end()) {
    std::string known;
    for (const std::string& rule : rules) known += (known.empty() ? "" : ", ") + rule;
    throw Error(ErrorKind::kInput,
                "its rule '" + method.rule +
                    "' has no verifier of integer masses, and an engine needs "
                    "one; known: " +
                    known,
                "method '" + method.name + "'");
  }
  const law::Decoding decoding = method.make(toy);
  MethodParts parts;
  parts.target = toy_language_model(decoding.target);
  parts.drafts = method_source(decoding, method.name);
  parts.rule = method.rule;
  parts.draft_count = std::max(decoding.draft_count, node_count_max(decoding));
  parts.prompt = decoding.prompt;
  return parts;
}

}  // namespace draftproof::reference::decode
