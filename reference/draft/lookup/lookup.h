// Lookups: drafts found in what was said before. A lookup is a pure function of the token history
// and of when it was asked, so that an engine's exact rule can be tested on literal strings without
// any model. It never draws: every drafted token is reported as one-hot, which is lossless whatever
// the table holds, stale, colliding or shared with other requests (theorem E of
// reference/README.md). What a wrong lookup costs is the expected length, nothing else.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reference/draft/drafter.h"

namespace draftproof::reference::draft {

/// Something that a table learned from, in the order in which it happened.
struct LookupEvent {
  enum class Kind : std::uint8_t {
    kAsked,     ///< a draft was asked for behind `history`
    kVerified,  ///< `accepted_count` tokens of it were kept and `history` is what followed
  };
  Kind kind = Kind::kAsked;
  int request = 0;
  int accepted_count = 0;
  Context history;

  friend bool operator==(const LookupEvent&, const LookupEvent&) = default;
};
using LookupEvents = std::vector<LookupEvent>;

/// What a lookup is a function of. The last event is this very question: kAsked, with `history`.
struct Question {
  const LookupEvents& events;
  int draft_count;

  const Context& history() const { return events.back().history; }
  int request() const { return events.back().request; }
};

using ChainLookup = std::function<std::vector<Token>(const Question&)>;
using TreeLookup = std::function<law::DraftTree(const Question&)>;

/// What of the past a lookup is told about.
enum class Remembers : std::uint8_t {
  kNothing,   ///< the question alone: a function of the history
  kOwn,       ///< the events of its own request
  kEveryone,  ///< the events of all requests of the batch: a shared pool
};

/// Drafts what the lookup finds, at most draft_count tokens deep. Its memory is the list of events
/// themselves, so that two states are equal iff everything that was ever learned is.
std::shared_ptr<const Drafter> lookup_drafter(TreeLookup lookup, Remembers remembers);
std::shared_ptr<const Drafter> lookup_drafter(ChainLookup lookup, Remembers remembers);

/// Events as plain numbers and back.
law::Memory memory_of(const LookupEvents& events);
LookupEvents events_of(const law::Memory& memory);

/// A one-hot chain.
law::DraftTree chain_of(const std::vector<Token>& tokens);
/// The first `count` tokens, fewer where there are not so many.
std::vector<Token> first_tokens(std::vector<Token> tokens, int count);
/// True iff `pattern` stands in `history` at `position`.
bool stands_at(const Context& history, std::size_t position, const std::vector<Token>& pattern);

}  // namespace draftproof::reference::draft
