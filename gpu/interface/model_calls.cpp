// The target forward, for the C interface.
#include "gpu/interface/call_definitions.h"
#include "gpu/launches/model.h"

DRAFTPROOF_DEFINE_CALLS(draftproof_embed)
DRAFTPROOF_DEFINE_CALLS(draftproof_rms_norm)
DRAFTPROOF_DEFINE_CALLS(draftproof_gemm)
DRAFTPROOF_DEFINE_CALLS(draftproof_rope_scatter)
DRAFTPROOF_DEFINE_CALLS(draftproof_attention)
DRAFTPROOF_DEFINE_CALLS(draftproof_swiglu)
DRAFTPROOF_DEFINE_CALLS(draftproof_residual_add)
