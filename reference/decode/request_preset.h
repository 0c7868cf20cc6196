// Request preset: the shaping steps of a request under a contract. Some engines have a path of
// their own where min-p is set (`Contract::with_min_p`).
#pragma once

#include "reference/contract.h"
#include "reference/decode/request.h"

namespace draftproof::reference::decode {

inline const Preset& preset_of(const Contract& contract, const RequestSpec& spec) {
  return contract.with_min_p && spec.sampling.min_p > 0 ? *contract.with_min_p : contract.preset;
}

}  // namespace draftproof::reference::decode
