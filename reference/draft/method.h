// Methods: the ways to draft, each over toys on which its own structure (tree shape, reported law,
// cache, hidden state) is what is tested; with what it keeps, what it reports, and its own formula
// for the expected length. The law says whether a method is lossless; the formula is the second
// truth, because faults on the drafter's side never show in a law (theorem D of
// reference/README.md).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/law/decoding.h"
#include "reference/law/provenance.h"
#include "reference/model/toys.h"

namespace draftproof::reference::draft {

struct Method {
  std::string name;        ///< "ngram-vllm", "medusa", ...
  std::string statement;   ///< one line: how it drafts
  std::string citation;    ///< paper, or engine with version and date
  std::string reads;       ///< what the drafter looks at: tokens, hidden state, target rows, ...
  std::string reported;    ///< the law it reports: "the row drawn from", "one-hot"
  std::string rule;        ///< the rule of reference/law that engines verify it with
  std::string conditions;  ///< when it is lossless, and against which model
  law::RuleKind kind = law::RuleKind::kLossless;
  law::DecodedLaw decoded = law::DecodedLaw::kSampling;
  law::Provenance provenance;
  /// Five toys it is shown on, names of model::toys(), the clearest first.
  std::vector<std::string> toys;
  /// The method over a toy, right in every detail. A method that needs structure of its own in the
  /// target (a hidden state, layers, a second vocabulary) derives it from the toy and says so in
  /// `statement`; Decoding::target is then that model. Throws Error(kInput) when the toy does not
  /// fit.
  std::function<law::Decoding(const model::Toy&)> make;
  /// The method's own formula for the expected number of tokens that its first iteration emits;
  /// written apart from drafter and rule.
  std::function<Exact(const model::Toy&)> expected_emitted;
};

/// All methods, in the order in which they are listed.
const std::vector<Method>& methods();
/// Throws Error(kInput) that lists the known methods.
const Method& method(std::string_view name);

// The list's parts, each beside the drafters that it is about.
std::vector<Method> model_methods();
std::vector<Method> lookup_methods();
std::vector<Method> vocabulary_methods();
std::vector<Method> hidden_state_methods();
std::vector<Method> self_methods();
std::vector<Method> block_methods();
std::vector<Method> composed_methods();

}  // namespace draftproof::reference::draft
