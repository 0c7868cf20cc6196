// Chains: the sources that draft one token behind the other (Leviathan, Kalman, Matias 2023; Chen
// et al. 2023), and the two that need no model. A row that cannot be judged ends a draft where it
// is, as the verifier would end there too; so a draft is shortened by what is known before its next
// token is drawn, which no law can notice (theorem B of reference/README.md).
#include "reference/decode/draft_source.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "reference/decode/draft_path.h"
#include "reference/error.h"
#include "reference/verify/chain.h"

namespace draftproof::reference::decode {
namespace {

Draft empty_draft(const DraftTask& task, RowKind kind) {
  DRAFTPROOF_CHECK(task.draft_count_max > 0, "a draft of no tokens is not asked for");
  Draft draft;
  draft.kind = kind;
  draft.context_length = static_cast<int>(task.tokens.size());
  return draft;
}

class ModelSource final : public DraftSource {
 public:
  ModelSource(LanguageModelPtr model, RowKind kind) : model_(std::move(model)), kind_(kind) {
    DRAFTPROOF_CHECK(model_ != nullptr, "a model is needed");
  }

  std::string name() const override { return kind_ == RowKind::kLogits ? "model" : "greedy-model"; }
  LanguageModelPtr model() const override { return model_; }
  bool draws() const override { return kind_ == RowKind::kLogits; }

  Draft draft(const DraftTask& task, law::Memory&, law::Memory&) const override {
    Draft draft = empty_draft(task, kind_);
    DraftPath path(task, *model_);
    for (int i = 0; i < task.draft_count_max; ++i) {
      if (i > 0) {
        path.feed(draft.proposal.tokens.back(), i - 1);
        draft.fed_nodes.push_back(i - 1);
      }
      const Row row = path.row();
      const std::optional<Token> token = next_token(task, row, i + 1);
      if (!token) break;
      draft.proposal.tokens.push_back(*token);
      if (kind_ == RowKind::kLogits) draft.proposal.rows.push_back(row);
    }
    return draft;
  }

 private:
  /// None: the row cannot be judged.
  std::optional<Token> next_token(const DraftTask& task, const Row& row, int depth) const {
    if (kind_ == RowKind::kOneHot) {
      if (logit_status(row) != Status::kOk) return std::nullopt;
      return static_cast<Token>(greedy_token(row));
    }
    const MassRow law = shape(row, task.sampling, task.preset);
    if (law.status != Status::kOk) return std::nullopt;
    return verify::draw(draft_coin(task, depth, 0), law);
  }

  LanguageModelPtr model_;
  RowKind kind_;
};

class LookupSource final : public DraftSource {
 public:
  explicit LookupSource(int match_size) : match_size_(match_size) {
    if (match_size < 1)
      throw Error(ErrorKind::kInput,
                  "match_size " + std::to_string(match_size) + ": look up at least 1 token");
  }

  std::string name() const override { return "lookup-" + std::to_string(match_size_); }
  bool draws() const override { return false; }

  Draft draft(const DraftTask& task, law::Memory&, law::Memory&) const override {
    Draft draft = empty_draft(task, RowKind::kOneHot);
    const std::span<const Token> tokens = task.tokens;
    const auto size = static_cast<std::size_t>(match_size_);
    if (tokens.size() <= size) return draft;
    const auto tail = tokens.last(size);
    // The last match that something follows; it may overlap the tail itself.
    const auto searched = tokens.first(tokens.size() - 1);
    const auto found = std::find_end(searched.begin(), searched.end(), tail.begin(), tail.end());
    if (found == searched.end()) return draft;
    const auto start = static_cast<std::size_t>(found - searched.begin()) + size;
    const std::size_t count =
        std::min(tokens.size() - start, static_cast<std::size_t>(task.draft_count_max));
    const auto followed = tokens.subspan(start, count);
    draft.proposal.tokens.assign(followed.begin(), followed.end());
    return draft;
  }

 private:
  int match_size_;
};

class ScriptedSource final : public DraftSource {
 public:
  ScriptedSource(DraftScript script, LanguageModelPtr model)
      : script_(std::move(script)), model_(std::move(model)) {
    DRAFTPROOF_CHECK(script_ != nullptr, "a script is needed");
  }

  std::string name() const override { return "scripted"; }
  bool draws() const override { return false; }
  LanguageModelPtr model() const override { return model_; }

  Draft draft(const DraftTask& task, law::Memory&, law::Memory&) const override {
    Draft draft = empty_draft(task, RowKind::kOneHot);
    draft.proposal = script_(task.tokens, task.draft_count_max);
    const std::size_t count = draft.proposal.tokens.size();
    DRAFTPROOF_CHECK(count <= static_cast<std::size_t>(task.draft_count_max),
                     std::to_string(count) + " scripted tokens");
    DRAFTPROOF_CHECK(draft.proposal.rows.empty(), "scripted drafts are one-hot");
    if (model_) feed_inner_nodes(task, *model_, draft);
    return draft;
  }

 private:
  DraftScript script_;
  LanguageModelPtr model_;
};

}  // namespace

DraftPath::DraftPath(const DraftTask& task, const LanguageModel& model)
    : task_(&task), model_(&model), sight_([&]() -> const Sight& {
        DRAFTPROOF_CHECK(task.cache != nullptr && task.visible != nullptr, "no draft cache");
        return *task.visible;
      }()) {}

Row DraftPath::row() const {
  if (sight_.has_poison())
    return Row(static_cast<std::size_t>(model_->vocab_size()),
               std::numeric_limits<float>::quiet_NaN());
  return model_->row({.tokens = sight_.tokens(), .first_position = sight_.first_position()});
}

void DraftPath::feed(Token token, int offset) {
  const std::int32_t position = task_->cell_position + depth_;
  const int length = task_->cache->sequence(task_->sequence).length;
  const int slot = length + offset;
  const std::uint64_t history = kv::history_behind(sight_.history(), token, position);
  task_->cache->write(task_->sequence, slot, {token, position, history});
  // What it should have been told, whatever it was.
  sight_.add(task_->cache->read(task_->sequence, slot), length + depth_);
  if (const int window = task_->cache->config().window; window > 0) sight_.slide(window);
  ++depth_;
}

std::uint64_t draft_coin(const DraftTask& task, int depth, std::uint32_t slot) {
  DRAFTPROOF_CHECK(task.coins != nullptr, "no coins");
  return task.coins->coin({task.coin_request, task.position + static_cast<std::uint32_t>(depth - 1),
                           Purpose::kDraft, slot, task.iteration});
}

void feed_inner_nodes(const DraftTask& task, const LanguageModel& model, Draft& draft) {
  const Proposal& proposal = draft.proposal;
  const int count = static_cast<int>(proposal.tokens.size());
  const auto parent_of = [&](int node) {
    return proposal.parents.empty() ? node - 1 : proposal.parents[static_cast<std::size_t>(node)];
  };
  std::vector<bool> is_inner(static_cast<std::size_t>(count), false);
  for (int node = 0; node < count; ++node)
    if (parent_of(node) >= 0) is_inner[static_cast<std::size_t>(parent_of(node))] = true;
  std::map<int, DraftPath> fed;
  fed.emplace(-1, DraftPath(task, model));
  for (int node = 0; node < count; ++node) {
    const Token token = proposal.tokens[static_cast<std::size_t>(node)];
    const auto before = fed.find(parent_of(node));
    if (!is_inner[static_cast<std::size_t>(node)] || before == fed.end()) continue;
    if (token < 0 || token >= model.vocab_size()) continue;
    DraftPath path = before->second;
    path.feed(token, static_cast<int>(draft.fed_nodes.size()));
    fed.emplace(node, std::move(path));
    draft.fed_nodes.push_back(node);
  }
}

DraftSourcePtr model_source(LanguageModelPtr model) {
  return std::make_shared<ModelSource>(std::move(model), RowKind::kLogits);
}

DraftSourcePtr greedy_model_source(LanguageModelPtr model) {
  return std::make_shared<ModelSource>(std::move(model), RowKind::kOneHot);
}

DraftSourcePtr lookup_source(int match_size) { return std::make_shared<LookupSource>(match_size); }

DraftSourcePtr scripted_source(DraftScript script, LanguageModelPtr model) {
  return std::make_shared<ScriptedSource>(std::move(script), std::move(model));
}

}  // namespace draftproof::reference::decode
