// KV caches, for the C interface.
#include "gpu/interface/call_definitions.h"
#include "gpu/launches/kv.h"

DRAFTPROOF_DEFINE_CALLS(draftproof_kv_copy_pages)
DRAFTPROOF_DEFINE_CALLS(draftproof_kv_map_slots)
DRAFTPROOF_DEFINE_CALLS(draftproof_kv_append)
DRAFTPROOF_DEFINE_CALLS(draftproof_kv_commit)
DRAFTPROOF_DEFINE_CALLS(draftproof_kv_gather_rows)
DRAFTPROOF_DEFINE_CALLS(draftproof_kv_select_states)
DRAFTPROOF_DEFINE_CALLS(draftproof_kv_release_pages)
DRAFTPROOF_DEFINE_CALLS(draftproof_kv_poison)
