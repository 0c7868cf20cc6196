// Names of the enumerators that case files spell out and that have no name of their own elsewhere.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "reference/coin.h"
#include "reference/outcome.h"
#include "reference/shaping.h"
#include "reference/status.h"
#include "reference/verifier.h"

namespace draftproof::properties {

template <class Value>
using Names = std::vector<std::pair<Value, std::string_view>>;

const Names<reference::Purpose>& purpose_names();
const Names<reference::ScheduleKind>& schedule_names();
const Names<reference::ShapingStep>& step_names();
const Names<reference::TieRule>& tie_names();
const Names<reference::Reason>& reason_names();
const Names<reference::Status>& status_names();
const Names<reference::RowKind>& row_kind_names();
const Names<reference::LogitFormat>& format_names();

/// Precondition: `value` is in the list.
template <class Value>
std::string_view name_of(const Names<Value>& names, Value value) {
  for (const auto& [each, name] : names)
    if (each == value) return name;
  return "";
}

}  // namespace draftproof::properties
