#include "properties/names.h"

namespace draftproof::properties {
namespace {

/// Pairs each enumerator with the name that the reference gives it.
template <class Value>
Names<Value> named(std::initializer_list<Value> values) {
  Names<Value> names;
  for (Value value : values) names.emplace_back(value, to_string(value));
  return names;
}

}  // namespace

const Names<reference::Purpose>& purpose_names() {
  using enum reference::Purpose;
  static const Names<reference::Purpose> names = {
      {kDraft, "draft"}, {kAccept, "accept"},        {kRecovered, "recovered"},
      {kBonus, "bonus"}, {kTreeLevel, "tree-level"}, {kTreeSecond, "tree-second"}};
  return names;
}

const Names<reference::ScheduleKind>& schedule_names() {
  using enum reference::ScheduleKind;
  static const Names<reference::ScheduleKind> names = {{kRandom, "random"},
                                                       {kFirstWarpFirst, "first-warp-first"},
                                                       {kLastWarpFirst, "last-warp-first"}};
  return names;
}

const Names<reference::ShapingStep>& step_names() {
  using enum reference::ShapingStep;
  static const Names<reference::ShapingStep> names = {{kTemperature, "temperature"},
                                                      {kTopK, "top_k"},
                                                      {kTopP, "top_p"},
                                                      {kMinP, "min_p"},
                                                      {kJointTopKTopP, "joint_top_k_top_p"}};
  return names;
}

const Names<reference::TieRule>& tie_names() {
  using enum reference::TieRule;
  static const Names<reference::TieRule> names = {{kKeepAll, "keep-all"},
                                                  {kLowestIdsFirst, "lowest-ids-first"}};
  return names;
}

const Names<reference::Reason>& reason_names() {
  using enum reference::Reason;
  static const Names<reference::Reason> names = named({kAccepted, kRecovered, kBonus});
  return names;
}

const Names<reference::Status>& status_names() {
  using enum reference::Status;
  static const Names<reference::Status> names =
      named({kOk, kNan, kPositiveInfinity, kEmptyRow, kRange, kBadProbability, kDraftTokenRange,
             kDraftMassZero, kMalformedTree});
  return names;
}

const Names<reference::RowKind>& row_kind_names() {
  using enum reference::RowKind;
  static const Names<reference::RowKind> names = named({kLogits, kProbabilities, kOneHot});
  return names;
}

const Names<reference::LogitFormat>& format_names() {
  using enum reference::LogitFormat;
  static const Names<reference::LogitFormat> names = named({kFloat32, kBfloat16, kFloat16});
  return names;
}

}  // namespace draftproof::properties
