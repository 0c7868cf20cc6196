// Contracts: what an engine promises on one of its paths, as data: the order of all its steps, its
// tie rules (through a `Preset`), its penalties, its defaults, what it refuses and what it silently
// lacks. "The same request" names different target laws under different contracts; a verdict about
// speculation is about one of them, and where an engine's path with speculation and its path
// without are two contracts with two laws, no acceptance rule can make that engine lossless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/adjustments.h"
#include "reference/distribution.h"
#include "reference/shaping.h"

namespace draftproof::reference {

/// Everything one request may set that changes a row's law.
enum class Parameter : std::uint8_t {
  kTemperature,
  kTopK,
  kTopP,
  kMinP,
  kRepetition,
  kFrequency,
  kPresence,
  kLastN,
  kLogitBias,
  kAllowedIds,
  kBadWords,
  kMinTokens,
  kGrammarMask
};

/// In the order above.
const std::vector<Parameter>& all_parameters();
/// "temperature", "top-k", "repetition penalty", ...
std::string_view to_string(Parameter parameter);

/// One request on one row.
struct RowRequest {
  Sampling sampling = {};
  Adjustments adjustments = {};

  friend bool operator==(const RowRequest&, const RowRequest&) = default;
};

/// False when `request` leaves `parameter` where it changes nothing.
bool is_set(const RowRequest& request, Parameter parameter);
/// `request` with `parameter` where it changes nothing.
RowRequest without(RowRequest request, Parameter parameter);

/// kMask: the grammar's mask is a step. kDrawThenCheck (llama.cpp): a token is drawn from the chain
/// without the grammar; one that the grammar refuses is drawn again from the chain behind the mask:
///   law = chain(row) on the allowed tokens + chain(row)(refused tokens) * chain(masked row).
enum class GrammarUse : std::uint8_t { kMask, kDrawThenCheck };

struct Contract {
  std::string name;
  std::string engine;  ///< engine and path
  std::string source;  ///< version and date that the data was read in
  AdjustmentRule adjustments;
  Preset preset;
  /// The steps where min-p is set, if the engine has a path of its own for that.
  std::optional<Preset> with_min_p;
  Sampling defaults;  ///< what a request that says nothing gets
  GrammarUse grammar = GrammarUse::kMask;
  std::vector<Parameter> refuses;  ///< the engine answers with an error
  std::vector<Parameter> lacks;    ///< the engine takes no notice
  std::string bonus_row;           ///< the contract of the bonus row where it is another one
  /// Steps that the engine has, off by default, and other deviations that are not modelled.
  std::vector<std::string> not_modelled;
};

/// All contracts; each preset has one of its name. "default" is this project's.
const std::vector<Contract>& contracts();
/// Throws Error(kInput) that lists the known names.
const Contract& contract(std::string_view name);

/// The first parameter of `request` that the engine refuses.
std::optional<Parameter> refused(const Contract& contract, const RowRequest& request);
/// The set parameters of `request` that the engine takes no notice of.
std::vector<Parameter> ignored(const Contract& contract, const RowRequest& request);

/// The law of one row, or the status that it has instead.
struct RowLaw {
  Status status = Status::kOk;
  std::optional<Distribution> law;
};

/// The law of the token behind `history` when the target model's row is `logits`: adjustments, then
/// the preset's steps on integer masses, exact. Throws Error(kInput) when the request is not valid,
/// or refused by the engine (the message says which parameter), or ids are out of range.
RowLaw row_law(const Contract& contract, const std::vector<float>& logits,
               const RowRequest& request, const History& history);
/// The same; a row with a status is an Error(kInput) as well.
Distribution law_of_row(const Contract& contract, const std::vector<float>& logits,
                        const RowRequest& request, const History& history);

/// A row behind one of its steps, all later ones off.
struct StepLaw {
  std::string step;
  std::vector<float> logits;  ///< adjusted so far
  RowLaw row;
};

/// The row itself, then behind every step that the request sets, in the contract's order; a greedy
/// request has one step "greedy" for its sampling. Throws as row_law().
std::vector<StepLaw> steps_of_row(const Contract& contract, const std::vector<float>& logits,
                                  const RowRequest& request, const History& history);

/// The parameters in the order in which the contract applies them, then all others.
std::vector<Parameter> parameters_in_order(const Contract& contract);

/// "temperature", "top-k", "top-k and top-p together", ...
std::string_view to_string(ShapingStep step);

}  // namespace draftproof::reference
