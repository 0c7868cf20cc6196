// The rules, one a file of the same name: each answers with what it is called, where it is from,
// its function and its closed form.
#pragma once

#include "reference/law/rule.h"

namespace draftproof::reference::law::rules {

LawRule chain_rule();
LawRule greedy_rule();

}  // namespace draftproof::reference::law::rules
