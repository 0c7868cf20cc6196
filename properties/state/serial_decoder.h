// The decoder that never drafted: what it would hold and answer behind given tokens, each a plain
// function of the request and its tokens. Nothing here is taken from the engine; what both use are
// the model's rows, the steps of a contract, and what a cache makes of a cell.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "reference/decode/engine_config.h"
#include "reference/decode/request.h"

namespace draftproof::properties::state {

class SerialDecoder {
 public:
  using Row = reference::Row;
  using Token = reference::Token;
  using RequestSpec = reference::decode::RequestSpec;

  explicit SerialDecoder(std::shared_ptr<const reference::decode::EngineConfig> config)
      : config_(std::move(config)) {}

  const reference::decode::EngineConfig& config() const { return *config_; }
  /// The steps by which the request's rows become laws.
  const reference::Preset& preset(const RequestSpec& spec) const;
  /// The seed of the request's coins: its own, or the hash of the engine's seed and its number.
  std::uint64_t seed(const RequestSpec& spec, reference::decode::RequestId id) const;

  /// The model's row behind `tokens`, prompt included. Precondition: ids are in range, not empty.
  Row raw_row(const RequestSpec& spec, std::span<const Token> tokens) const;
  /// `raw` as it is judged behind `emitted` tokens and the drafted ones of `path`.
  Row adjusted_row(const RequestSpec& spec, Row raw, std::span<const Token> emitted,
                   std::span<const Token> path) const;

  struct GrammarPlace {
    bool is_on = false;
    std::optional<reference::model::Grammar::State> state;  ///< none: a token was refused
  };
  /// Where the grammar is behind `emitted` tokens, from its start.
  GrammarPlace grammar_place(const RequestSpec& spec, std::span<const Token> emitted) const;

  struct Ending {
    std::size_t count = 0;  ///< tokens that the request emits
    reference::decode::FinishReason finish = reference::decode::FinishReason::kNone;
  };
  /// Where a request ends that would go on with `emitted`: at the first token at which anything
  /// does; at one token the end token comes before a stop, that before the length and the context.
  Ending ending(const RequestSpec& spec, std::span<const Token> emitted) const;

  /// The logprobs of `token` where `raw` is the model's row and `adjusted` the judged one.
  reference::decode::OutputToken logprobs(const RequestSpec& spec, const Row& raw,
                                          const Row& adjusted, Token token) const;
  /// How far two right computations of a logprob may be apart, see the definition.
  double logprob_tolerance(double logprob) const;

 private:
  std::shared_ptr<const reference::decode::EngineConfig> config_;
};

/// The cells of `tokens` at positions 0, 1, ... as `cache` reads them back: each one's history is
/// computed from the one before as it was read.
std::vector<reference::kv::Cell> serial_cells(const reference::kv::PagedCache& cache,
                                              std::span<const reference::Token> tokens);

}  // namespace draftproof::properties::state
