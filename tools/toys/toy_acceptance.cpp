#include "tools/toys/toy_acceptance.h"

#include <algorithm>

#include "reference/error.h"

namespace draftproof::tools::toys {
namespace {

using properties::SamplingRequest;
using properties::audits::KnownTarget;
using reference::Token;

class RenamedDraft final : public KnownTarget {
 public:
  RenamedDraft(std::unique_ptr<KnownTarget> inner, std::vector<Token> place)
      : inner_(std::move(inner)), place_(std::move(place)) {}

  int vocab_size() const override { return inner_->vocab_size(); }
  std::vector<double> next(const SamplingRequest& request,
                           std::span<const Token> emitted) const override {
    SamplingRequest own = request;
    for (Token& token : own.prompt) token = renamed(token);
    for (auto& [token, bias] : own.adjustments.logit_bias) token = renamed(token);
    std::vector<Token> tokens(emitted.begin(), emitted.end());
    for (Token& token : tokens) token = renamed(token);
    const std::vector<double> law = inner_->next(own, tokens);
    std::vector<double> back(law.size());
    for (std::size_t token = 0; token < law.size(); ++token)
      back[token] = law[static_cast<std::size_t>(place_[token])];
    return back;
  }

 private:
  /// An id that is none stays what it is, for the law to refuse.
  Token renamed(Token token) const {
    const bool is_known = token >= 0 && static_cast<std::size_t>(token) < place_.size();
    return is_known ? place_[static_cast<std::size_t>(token)] : token;
  }

  std::unique_ptr<KnownTarget> inner_;
  std::vector<Token> place_;
};

}  // namespace

std::unique_ptr<KnownTarget> known_draft(const ToySpec& draft, const std::string& contract) {
  auto own = known_target(draft, contract);
  if (!draft.permutes_vocabulary) return own;
  return std::make_unique<RenamedDraft>(std::move(own), vocabulary_map(draft));
}

double acceptance(std::span<const double> target, std::span<const double> draft) {
  DRAFTPROOF_CHECK(target.size() == draft.size());
  double kept = 0;
  for (std::size_t token = 0; token < target.size(); ++token)
    kept += std::min(target[token], draft[token]);
  return kept;
}

double acceptance(const KnownTarget& target, const KnownTarget& draft,
                  const SamplingRequest& request, std::span<const Token> emitted) {
  return acceptance(target.next(request, emitted), draft.next(request, emitted));
}

std::vector<double> acceptance_by_last_token(const ToySpec& draft) {
  DRAFTPROOF_CHECK(draft.kind == ToyKind::kBigram);
  const auto target = known_target(target_of(draft), "default");
  const auto own = known_draft(draft, "default");
  std::vector<double> kept;
  for (Token token = 0; token < draft.vocab_size; ++token) {
    SamplingRequest request;
    request.prompt = {token};
    kept.push_back(acceptance(*target, *own, request, {}));
  }
  return kept;
}

}  // namespace draftproof::tools::toys
