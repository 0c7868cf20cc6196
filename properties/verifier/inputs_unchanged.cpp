// Inputs: rows, tokens, parameters and coins are the same bits afterwards. A verifier that
// scratches in its inputs spoils the next request that shares them: vllm-project/vllm-ascend#2881.
#include <cstring>

#include "properties/verifier/properties.h"
#include "properties/verifier/variants.h"

namespace draftproof::properties::verifier {
namespace {

using reference::Batch;
using reference::Request;
using reference::Row;

/// Compares bits, since a NaN that stays in place is unchanged.
std::optional<std::string> change(const std::vector<Row>& before, const std::vector<Row>& after,
                                  const std::string& what) {
  if (before.size() != after.size()) return "the number of " + what + "s";
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].size() != after[i].size())
      return "the length of " + what + " " + std::to_string(i);
    for (std::size_t v = 0; v < before[i].size(); ++v)
      if (std::memcmp(&before[i][v], &after[i][v], sizeof(float)) != 0)
        return what + " " + std::to_string(i) + " at id " + std::to_string(v) + " (" +
               std::to_string(before[i][v]) + " became " + std::to_string(after[i][v]) + ")";
  }
  return std::nullopt;
}

std::optional<std::string> change(const Request& before, const Request& after) {
  if (before.id != after.id || before.position != after.position ||
      before.iteration != after.iteration)
    return "its coin address";
  if (!(before.sampling == after.sampling)) return "its sampling, or its coins";
  if (before.proposal.tokens != after.proposal.tokens) return "its drafted tokens";
  if (before.proposal.parents != after.proposal.parents) return "its parents";
  if (auto found = change(before.target_rows, after.target_rows, "target row")) return found;
  return change(before.proposal.rows, after.proposal.rows, "draft row");
}

std::optional<Complaint> judge(const Subject& subject, const Case& value) {
  Batch after;
  run(*subject.verifier, value, &after);
  const Batch& before = value.batch;
  std::optional<std::string> what;
  std::string whose = "the batch";
  if (before.vocab_size != after.vocab_size || before.requests.size() != after.requests.size() ||
      !(before.preset == after.preset) || before.draft_kind != after.draft_kind ||
      before.target_kind != after.target_kind || before.format != after.format)
    what = "its shape";
  for (std::size_t r = 0; !what && r < before.requests.size(); ++r) {
    what = change(before.requests[r], after.requests[r]);
    whose = "request " + std::to_string(before.requests[r].id);
  }
  if (!what) return std::nullopt;
  return Complaint{whose + " is the same bits before and after",
                   *what + " changed",
                   "rows are shared with the engine, which goes on using them",
                   {}};
}

void course(Course& course, std::uint64_t seed) {
  CaseShape shape = shape_for(course.traits(), "inputs_unchanged");
  shape.with_trees = course.traits().takes_trees;
  shape.with_unjudgeable = course.traits().declares_masses;
  try_nasty_cases(course, seed, shape, course.by_battery(30, 250, 10000));
}

}  // namespace

Property inputs_unchanged() {
  return built({
      .id = "inputs_unchanged",
      .statement = "Rows and drafted tokens are the same bits after the run as before.",
      .citation = "vllm-project/vllm-ascend#2881",
      .claim = oracle::Claim::kInputsUnchanged,
      .smallest_visible_effect = "one bit of any input",
      .exemption = [](const reference::VerifierTraits&) { return std::string(); },
      .judge = judge,
      .course = course,
  });
}

}  // namespace draftproof::properties::verifier
