// Changed arm: a client that answers as another one does, but for what a test alters.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tools/engines/client.h"

namespace draftproof::tests {

class ChangedArm final : public tools::engines::ArmClient {
 public:
  using Completion = properties::Completion;
  using Facts = tools::engines::ArmFacts;
  using Request = properties::SamplingRequest;
  using Scores = std::vector<std::vector<properties::TokenLogprob>>;

  std::function<void(const Request&, Completion&)> change = [](const auto&, auto&) {};
  std::function<void(Facts&)> change_facts = [](auto&) {};
  std::function<Request(Request)> forget = [](Request request) { return request; };
  std::function<void(Scores&)> change_scores = [](auto&) {};

  explicit ChangedArm(std::shared_ptr<ArmClient> inner) : inner_(std::move(inner)) {}
  properties::Capabilities capabilities() const override { return inner_->capabilities(); }
  Facts facts() override {
    Facts facts = inner_->facts();
    change_facts(facts);
    return facts;
  }
  Completion complete(const Request& request) override {
    Completion completion = inner_->complete(forget(request));
    change(request, completion);
    return completion;
  }
  Scores score(const std::vector<reference::Token>& tokens, int count) override {
    Scores scores = inner_->score(tokens, count);
    change_scores(scores);
    return scores;
  }
  std::string curl_of(const Request& request) const override { return inner_->curl_of(request); }

 private:
  std::shared_ptr<ArmClient> inner_;
};

}  // namespace draftproof::tests
