// Draft trees, for the C interface.
#include "gpu/interface/call_definitions.h"
#include "gpu/launches/tree.h"

DRAFTPROOF_DEFINE_CALLS(draftproof_tree_layout)
DRAFTPROOF_DEFINE_CALLS(draftproof_tree_selection)
