// Known target: the law that an engine's output must have, where it is known. Real models are not;
// a toy's rows are, and with the steps of a contract behind them every law of its tokens is exact.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "properties/engine.h"
#include "reference/contract.h"
#include "reference/decode/language_model.h"

namespace draftproof::properties::audits {

class KnownTarget {
 public:
  virtual ~KnownTarget() = default;
  virtual int vocab_size() const = 0;
  /// The law of the token behind the prompt and `emitted` tokens. 0 is exactly zero: a token
  /// outside the support.
  virtual std::vector<double> next(const SamplingRequest& request,
                                   std::span<const reference::Token> emitted) const = 0;
  /// How many last tokens of prompt and output next() reads under this request, so that laws can be
  /// kept; negative: it may be all of them, and where they stand.
  virtual int memory(const SamplingRequest& request) const {
    static_cast<void>(request);
    return -1;
  }
};

struct ToyTargetOptions {
  reference::decode::LanguageModelPtr model;
  std::string contract = "default";  ///< of reference::contracts()
  int window = 0;                    ///< so many last tokens are visible; 0: all of them
  int memory = -1;                   ///< so many last tokens are read; negative: not known
};

/// Reads the toy's rows directly: no cache, no scheduler, no draft.
std::unique_ptr<KnownTarget> toy_target(ToyTargetOptions options);

/// The law that `contract` makes of a row of logits: adjustments, then filters, on integer masses.
/// Throws Error(kInput) when the row has no law (NaN, all -inf).
std::vector<double> shaped_law(const reference::Contract& contract,
                               const std::vector<float>& logits, const SamplingRequest& request,
                               std::span<const reference::Token> emitted);

}  // namespace draftproof::properties::audits
