// Scripted drafts: as many right tokens as a plan says, others around them, so that an explorer
// chooses every accept count instead of waiting for it.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "properties/state/serial_decoder.h"
#include "properties/state/world.h"
#include "reference/decode/draft_source.h"
#include "reference/verifier.h"

namespace draftproof::properties::state {

/// A source of one world. Engines and their copies share it; whoever lets one of them draft says
/// before what is to be drafted. Not for several threads at a time.
class ScriptedDrafts final : public reference::decode::DraftSource {
 public:
  using RequestId = reference::decode::RequestId;
  using Token = reference::Token;

  explicit ScriptedDrafts(const World& world);

  /// Of the next calls of draft(): what is to be drafted, and which request of the world an id is.
  void expect(const std::vector<DraftPlan>& plans, const std::map<RequestId, int>& numbers) {
    plans_ = &plans;
    numbers_ = &numbers;
  }

  std::string name() const override { return "scripted"; }
  bool draws() const override { return false; }
  reference::decode::LanguageModelPtr model() const override { return model_; }
  reference::decode::Draft draft(const reference::decode::DraftTask& task,
                                 reference::law::Memory& own,
                                 reference::law::Memory& shared) const override;

  /// What request `number`, with this id, emits behind `tokens` without a draft; 0 where its row
  /// cannot be judged.
  Token serial_next(int number, RequestId id, const std::vector<Token>& tokens) const;

 private:
  SerialDecoder serial_;
  std::vector<reference::decode::RequestSpec> requests_;
  std::vector<int> parents_;
  reference::decode::LanguageModelPtr model_;
  std::shared_ptr<reference::Verifier> verifier_;
  const std::vector<DraftPlan>* plans_ = nullptr;
  const std::map<RequestId, int>* numbers_ = nullptr;
  mutable std::unordered_map<std::uint64_t, Token> known_;  ///< by request and tokens
};

}  // namespace draftproof::properties::state
