// Speculation ahead: SSD, "speculative speculative decoding" with Saguaro sampling
// (arXiv:2603.03251; reference code @6ed3022, 2026-03). While a draft is verified, the drafter
// already drafts for several outcomes, keyed by (number kept, last token). When the verified
// outcome is among them, that speculation is the next draft; when not, another drafter answers. It
// is lossless because a speculation is drawn with noise of its own, is chosen by its key alone, and
// is reported with the row it was drawn from.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "reference/draft/compose/combined.h"
#include "reference/model/toy_model.h"

namespace draftproof::reference::draft {

struct AheadOptions {
  int speculated_count = 1;  ///< tokens of a speculation, and of a draft
  int fan_out = 1;           ///< outcomes per number kept: the draft model's most probable tokens
  /// Saguaro sampling: the fan_out largest probabilities of every row are multiplied by this, in
  /// [0, 1], before the row is renormalised, so that what is recovered falls on cached outcomes.
  std::optional<Exact> damping;
};

/// A pre-drafted continuation of one outcome.
struct Speculation {
  int kept = 0;
  Token last = 0;
  std::vector<Token> tokens;
  friend bool operator==(const Speculation&, const Speculation&) = default;
};

/// The row that is drawn from and reported: `row`, damped if asked for; as it is where damping
/// leaves nothing.
LawRow drawn_row(const LawRow& row, const AheadOptions& options);
/// The outcomes that are speculated for behind `kept` tokens of a draft: the draft model's most
/// probable tokens there, without the drafted one, which cannot be the last token.
std::vector<Token> expected_last(const LawRow& row, std::optional<Token> drafted, int fan_out);

/// Between draft and verification the memory is all speculations, behind it the one that hit.
/// On a miss `fallback` drafts; without one the draft model does. Precondition: 0 <= damping <= 1.
DrafterPtr ahead_drafter(model::ToyModelPtr draft, const AheadOptions& options,
                         DrafterPtr fallback = nullptr);

law::Memory memory_of(const std::vector<Speculation>& speculations);
std::vector<Speculation> speculations_of(const law::Memory& memory);

}  // namespace draftproof::reference::draft
