// Batches for tests of rules: small logit rows made from weights, and coins that keep a record.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "reference/decode/ledger.h"
#include "reference/proposal.h"

namespace draftproof::reference {

/// log2(e): the scale becomes exactly 1, so that whole logits weigh powers of two.
inline const double kUnitTemperature = 0x1.71547652b82fep+0;

/// A batch of one request with `target` and `draft` logit rows, at scale 1.
inline Batch one_request(std::vector<Token> tokens, std::vector<Row> target,
                         std::vector<Row> draft) {
  Batch batch;
  batch.vocab_size = target[0].size();
  batch.preset = preset("default");
  batch.requests.resize(1);
  Request& request = batch.requests[0];
  request.sampling.temperature = kUnitTemperature;
  request.proposal.tokens = std::move(tokens);
  request.proposal.rows = std::move(draft);
  request.target_rows = std::move(target);
  return batch;
}

using decode::RecordingCoins;

}  // namespace draftproof::reference
