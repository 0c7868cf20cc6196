// Scripted drafts (scripted_drafts.h).
#include "properties/state/scripted_drafts.h"

#include <algorithm>

#include "reference/decode/draft_path.h"
#include "reference/error.h"
#include "reference/verify/verifiers.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using reference::Token;

namespace {

std::shared_ptr<const decode::EngineConfig> without_drafts(decode::EngineConfig config) {
  config.drafts = nullptr;
  return std::make_shared<const decode::EngineConfig>(std::move(config));
}

}  // namespace

ScriptedDrafts::ScriptedDrafts(const World& world)
    : serial_(without_drafts(world.config)),
      requests_(world.requests),
      parents_(world.parents),
      model_(world.config.drafts ? world.config.drafts->model() : nullptr),
      verifier_(reference::verify::make_verifier(world.config.rule)) {}

Token ScriptedDrafts::serial_next(int number, RequestId id,
                                  const std::vector<Token>& tokens) const {
  const std::uint64_t key = reference::kv::history_behind(
      reference::kv::history_of(tokens), static_cast<Token>(id), static_cast<std::int32_t>(number));
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const decode::RequestSpec& spec = requests_.at(static_cast<std::size_t>(number));
  const std::vector<Token> emitted(tokens.begin() + static_cast<std::ptrdiff_t>(spec.prompt.size()),
                                   tokens.end());
  reference::Batch batch;
  batch.vocab_size = static_cast<std::size_t>(serial_.config().target->vocab_size());
  batch.preset = serial_.preset(spec);
  reference::Request request;
  request.position = static_cast<std::uint32_t>(tokens.size());
  request.sampling = spec.sampling;
  request.target_rows = {serial_.adjusted_row(spec, serial_.raw_row(spec, tokens), emitted, {})};
  batch.requests.push_back(std::move(request));
  const reference::PhiloxCoins coins(serial_.seed(spec, id));
  const reference::RequestOutcome outcome =
      verifier_->verify(batch, coins, reference::Execution{}).requests.front();
  const Token next = outcome.emitted.empty() ? 0 : outcome.emitted.front().token;
  known_.emplace(key, next);
  return next;
}

decode::Draft ScriptedDrafts::draft(const decode::DraftTask& task, reference::law::Memory&,
                                    reference::law::Memory&) const {
  DRAFTPROOF_CHECK(plans_ != nullptr && numbers_ != nullptr, "nothing is to be drafted");
  const int number = numbers_->at(task.coin_request);
  const std::size_t planned = std::min(static_cast<std::size_t>(number) + 1, plans_->size());
  const DraftPlan plan =
      planned == 0 ? DraftPlan{task.draft_count_max, task.draft_count_max} : (*plans_)[planned - 1];
  int count = std::min(plan.count, task.draft_count_max);
  if (!parents_.empty()) count = std::min(count, static_cast<int>(parents_.size()));
  const int right = std::min(plan.right, count);
  const auto parent_of = [&](int node) {
    return parents_.empty() ? node - 1 : parents_[static_cast<std::size_t>(node)];
  };
  std::vector<bool> is_right(static_cast<std::size_t>(count), false);
  for (int node = right - 1; node >= 0; node = parent_of(node))
    is_right[static_cast<std::size_t>(node)] = true;

  decode::Draft draft;
  draft.kind = reference::RowKind::kOneHot;
  draft.context_length = static_cast<int>(task.tokens.size());
  const Token vocab_size = serial_.config().target->vocab_size();
  std::vector<Token> base(task.tokens.begin(), task.tokens.end());
  std::map<int, std::vector<Token>> paths = {{-1, base}};  // of right nodes
  std::map<int, Token> siblings;                           // so far, by parent
  for (int node = 0; node < count; ++node) {
    const int parent = parent_of(node);
    const auto path = paths.find(parent);
    Token token = path != paths.end() ? serial_next(number, task.coin_request, path->second)
                                      : draft.proposal.tokens[static_cast<std::size_t>(parent)];
    if (is_right[static_cast<std::size_t>(node)]) {
      std::vector<Token> longer = path->second;
      longer.push_back(token);
      paths.emplace(node, std::move(longer));
    } else {
      token = (token + ++siblings[parent]) % vocab_size;
    }
    draft.proposal.tokens.push_back(token);
  }
  if (!parents_.empty()) draft.proposal.parents.assign(parents_.begin(), parents_.begin() + count);
  if (model_ && count > 0) decode::feed_inner_nodes(task, *model_, draft);
  return draft;
}

}  // namespace draftproof::properties::state
