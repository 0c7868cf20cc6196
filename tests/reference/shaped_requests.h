// Requests on flat targets, for tests of shaped targets and of their faults. Logits are whole and
// the scale is 1, so that laws are the rationals that they look like.
#pragma once

#include "reference/law/decoding.h"
#include "reference/law/shaped_target.h"

namespace draftproof::reference::law {

inline constexpr double kUnit = 0x1.71547652b82fep+0;

/// Equal logits for everything, under `contract`.
inline ShapedTarget flat(int vocab_size, std::string_view name, RowRequest request) {
  request.sampling.temperature = kUnit;
  ShapedTarget target;
  target.vocab_size = vocab_size;
  target.logits = [vocab_size](const Context&) {
    return std::vector<float>(static_cast<std::size_t>(vocab_size), 0.0F);
  };
  target.contract = contract(name);
  target.request = std::move(request);
  return target;
}

inline RowRequest with_frequency(double value) {
  RowRequest request;
  request.adjustments.penalties.frequency = value;
  return request;
}
inline RowRequest with_presence(double value) {
  RowRequest request;
  request.adjustments.penalties.presence = value;
  return request;
}

/// The chain rule on drafts from `row`, scored by `scorer`.
inline Decoding decoding(const ShapedTarget& target, const LawRow& row, int draft_count,
                         std::shared_ptr<const Scorer> scorer, const Context& prompt = {}) {
  const auto draft =
      model::function_model(target.vocab_size, [row](const Context&) { return row; });
  Decoding made =
      decoding_of(chain_case(serial_model(target), draft, draft_count), law_rule("chain").make({}));
  made.scorer = std::move(scorer);
  made.prompt = prompt;
  return made;
}

inline const LawRow kEven = {Exact(1, 2), Exact(1, 2)};

/// Token 0 may come once: state 0 allows everything, state 1 all but 0.
inline model::Grammar once_zero() {
  return model::Grammar({{1, 0}, {model::Grammar::kRefused, 1}});
}

inline ShapedTarget with_grammar(std::string_view name = "default") {
  ShapedTarget target = flat(2, name, {});
  target.grammar = once_zero();
  return target;
}

}  // namespace draftproof::reference::law
