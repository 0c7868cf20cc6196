#include "properties/audits/law_cache.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::properties::audits {

using reference::Token;

void ContextLaw::add(oracle::ConditionalEvidence& evidence, Token token, double coin) {
  const oracle::PositionLaws laws{target, draft};
  if (!was_used_) {
    was_used_ = true;
    evidence.add(laws, token, coin);
    return;
  }
  if (!prepared_) prepared_ = std::make_unique<oracle::PreparedLaws>(laws);
  evidence.add(*prepared_, token, coin);
}

LawCache::LawCache(const KnownTarget& target, const KnownTarget* draft, std::size_t kept_bytes_max)
    : target_(target),
      draft_(draft),
      vocab_size_(static_cast<std::size_t>(target.vocab_size())),
      kept_bytes_max_(kept_bytes_max) {}

ContextLaw& LawCache::start(const AuditCase& audit_case) {
  if (kept_bytes_ > kept_bytes_max_) {
    contexts_.clear();
    steps_.clear();
    kept_bytes_ = 0;
  }
  const auto memory_of = [&](const KnownTarget* known) {
    return known == nullptr ? 0 : known->memory(audit_case.request);
  };
  const int target_memory = memory_of(&target_), draft_memory = memory_of(draft_);
  case_ = &audit_case;
  memory_ = target_memory < 0 || draft_memory < 0 ? -1 : std::max(target_memory, draft_memory);
  emitted_.clear();
  const auto next_place = static_cast<Token>(case_places_.size());
  std::vector<Token> key = {memory_ < 0
                                ? case_places_.try_emplace(audit_case.id, next_place).first->second
                                : reference::kPlaceholder};
  if (memory_ >= 0) {
    const Prompt& prompt = audit_case.request.prompt;
    const auto seen = std::min(prompt.size(), static_cast<std::size_t>(memory_));
    key.insert(key.end(), prompt.end() - static_cast<std::ptrdiff_t>(seen), prompt.end());
  }
  return find(std::move(key));
}

ContextLaw& LawCache::behind(const ContextLaw& context, Token token) {
  emitted_.push_back(token);
  const std::uint64_t step = context.id * vocab_size_ + static_cast<std::uint64_t>(token);
  ContextLaw*& known = steps_[step];
  if (known != nullptr) return *known;
  std::vector<Token> key = context.key_;
  key.push_back(token);
  if (memory_ >= 0 && key.size() > static_cast<std::size_t>(memory_) + 1)
    key.erase(key.begin() + 1);
  return *(known = &find(std::move(key)));
}

ContextLaw& LawCache::find(std::vector<Token> key) {
  const auto [at, is_added] = contexts_.try_emplace(std::move(key));
  ContextLaw& context = at->second;
  if (!is_added) return context;
  context.id = id_count_++;
  context.key_ = at->first;
  context.target = target_.next(case_->request, emitted_);
  DRAFTPROOF_CHECK(context.target.size() == vocab_size_);
  if (draft_ != nullptr) context.draft = draft_->next(case_->request, emitted_);
  if (context.draft.size() != vocab_size_) context.draft.clear();
  kept_bytes_ += 170 * vocab_size_;
  return context;
}

}  // namespace draftproof::properties::audits
