// The engine of several ranks: all draft, all decide, all commit, step by step.
#include "reference/decode/ranks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "reference/error.h"
#include "reference/verify/chain.h"
#include "reference/verify/verifiers.h"

namespace draftproof::reference::decode {
namespace {

std::uint64_t mixed_in(std::uint64_t hash, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (value >> 8 * byte & 0xff)) * 0x100000001b3;
  return hash;
}

std::uint64_t hash_of(const std::vector<Row>& rows) {
  std::uint64_t hash = mixed_in(0xcbf29ce484222325, rows.size());
  for (const Row& row : rows)
    for (float logit : row) hash = mixed_in(hash, std::bit_cast<std::uint32_t>(logit));
  return hash;
}

std::uint64_t hash_of(const Proposal& proposal) {
  std::uint64_t hash = mixed_in(hash_of(proposal.rows), proposal.tokens.size());
  for (Token token : proposal.tokens) hash = mixed_in(hash, static_cast<std::uint64_t>(token));
  for (int parent : proposal.parents) hash = mixed_in(hash, static_cast<std::uint64_t>(parent));
  return hash;
}

// Continues the latest (or first) earlier occurrence of the longest suffix of up to three tokens.
std::vector<Token> looked_up(std::span<const Token> history, std::size_t length, bool first) {
  const std::size_t count = history.size();
  for (std::size_t suffix = std::min<std::size_t>(3, count == 0 ? 0 : count - 1); suffix > 0;
       --suffix) {
    std::optional<std::size_t> end;
    for (std::size_t at = suffix; at < count; ++at) {
      const auto begins = history.subspan(at - suffix, suffix);
      if (!std::ranges::equal(begins, history.last(suffix))) continue;
      end = at;
      if (first) break;
    }
    if (!end) continue;
    const auto found = history.subspan(*end, std::min(length, count - *end));
    return {found.begin(), found.end()};
  }
  return {};
}

}  // namespace

/// One request as one rank sees it.
struct Ranks::State {
  std::vector<Token> history;
  std::size_t emitted_count = 0;
  std::uint32_t iteration = 0;
  int own_step = 0;
  bool is_redone = false;  ///< its step was preempted once
  bool sits_out = false;
  bool is_done = false;
};

/// What a rank has made of a request in this step.
struct Ranks::Progress {
  Proposal draft;
  RankWork work;
};

struct Ranks::Run {
  const ReplayRun& asked;
  std::uint64_t step = 0;
  std::vector<std::unique_ptr<Generator>> generators = {};
  std::vector<std::unique_ptr<GeneratorCoins>> coins = {};
  std::vector<std::vector<State>> states = {};  ///< per rank, per request
  std::vector<std::vector<std::optional<Progress>>> progress = {};
  RankRun answer = {};

  bool is_over() const {
    for (const auto& of_rank : states)
      if (!std::ranges::all_of(of_rank, &State::is_done)) return false;
    return true;
  }
};

Ranks::Ranks(RankSetup setup)
    : setup_(std::move(setup)), verifier_(verify::make_verifier(setup_.rule)) {
  DRAFTPROOF_CHECK(setup_.target != nullptr && setup_.vocab_size > 0, "no target rows");
  DRAFTPROOF_CHECK(setup_.rank_count > 0, "no rank");
  DRAFTPROOF_CHECK(setup_.entropies.empty() || setup_.entropies.size() == setup_.rank_count,
                   "one entropy a rank");
}

Ranks::~Ranks() = default;

RankRun Ranks::decode(const ReplayRun& asked) {
  Run run{asked};
  for (const ReplayRequest& request : asked.requests) {
    validate(request.sampling);
    DRAFTPROOF_CHECK(request.token_count > 0, "a request for no token");
  }
  for (std::size_t rank = 0; rank < setup_.rank_count; ++rank) {
    run.generators.push_back(setup_.generator ? setup_.generator()
                                              : std::make_unique<AddressedGenerator>());
    run.generators[rank]->begin_run(
        asked, setup_.entropies.empty() ? asked.entropy : setup_.entropies[rank]);
    run.coins.push_back(std::make_unique<GeneratorCoins>(*run.generators[rank]));
    run.states.emplace_back();
    for (const ReplayRequest& request : asked.requests) {
      State state;
      state.history = request.prompt;
      run.states[rank].push_back(std::move(state));
    }
  }
  run.answer.streams.assign(setup_.rank_count, std::vector<Stream>(asked.requests.size()));
  for (; !run.is_over(); ++run.step) {
    draft_all(run);
    if (is_refused(run)) break;
    decide_all(run);
    commit_all(run);
  }
  return std::move(run.answer);
}

void Ranks::draft_all(Run& run) {
  const std::size_t request_count = run.asked.requests.size();
  run.progress.assign(setup_.rank_count, std::vector<std::optional<Progress>>(request_count));
  if (setup_.ledger != nullptr) setup_.ledger->begin_step(run.step);
  for (std::size_t rank = 0; rank < setup_.rank_count; ++rank) {
    std::vector<Seat> seats;
    for (std::uint32_t i = 0; i < request_count; ++i) {
      State& state = run.states[rank][i];
      if (state.is_done) continue;
      if (!std::exchange(state.sits_out, false)) {
        const ReplayRequest& asked = run.asked.requests[i];
        const auto& lengths = asked.draft_lengths;
        int length = lengths.empty() ? 0 : lengths[state.history.size() % lengths.size()];
        for (int stop : asked.stops) {
          const int left = stop - static_cast<int>(state.emitted_count);
          if (!asked.drafts_past_stops && left > 0) length = std::min(length, left - 1);
        }
        seats.push_back({i, static_cast<std::uint32_t>(state.history.size()),
                         static_cast<std::size_t>(length)});
      }
      if (run.asked.serial) break;
    }
    run.generators[rank]->begin_step(seats);
    for (const Seat& seat : seats) {
      const RankSources own{rank, rank, rank};
      Progress progress;
      RecordingCoins coins(*run.coins[rank]);
      const Request place = judged(run, rank, seat.request, own, {});
      progress.draft =
          draft(coins, own, place, run.states[rank][seat.request].history, seat.draft_count);
      if (rank == 0 && setup_.ledger != nullptr)
        for (const CoinAddress& address : coins.reads()) setup_.ledger->read(address);
      run.progress[rank][seat.request] = std::move(progress);
    }
  }
  for (std::size_t rank = 0; rank < setup_.rank_count; ++rank)
    for (std::uint32_t i = 0; i < request_count; ++i) {
      std::optional<Progress>& own = run.progress[rank][i];
      if (!own) continue;
      const Progress& lead = run.progress[0][i] ? *run.progress[0][i] : *own;
      own->work.judged =
          judged(run, rank, i, {rank, rank, rank}, agreed_draft(rank, own->draft, lead.draft));
    }
}

// Rank 0's decision is taken once more for the addresses that it reads: coins that are asked twice
// give the same number, and whoever breaks that is no candidate for this agreement.
bool Ranks::is_refused(Run& run) {
  if (setup_.agreement != Agreement::kProvablyIdentical) return false;
  for (std::uint32_t i = 0; i < run.asked.requests.size(); ++i) {
    if (!run.progress[0][i]) continue;
    const Request& lead = run.progress[0][i]->work.judged;
    RecordingCoins record(*run.coins[0]);
    Batch batch = batch_of(lead);
    verifier_->verify(batch, record, {});
    const auto values = [&](std::size_t rank) {
      std::uint64_t hash = mixed_in(0xcbf29ce484222325, record.reads().size());
      for (const CoinAddress& address : record.reads())
        hash = mixed_in(hash, run.coins[rank]->coin(address));
      return hash;
    };
    for (std::size_t rank = 1; rank < setup_.rank_count; ++rank) {
      DRAFTPROOF_CHECK(run.progress[rank][i].has_value(), "ranks that agreed run the same steps");
      const Request& other = run.progress[rank][i]->work.judged;
      const auto refused = [&](RankSource differs) {
        run.answer.refusal = RankRefusal{run.step, i, rank, differs};
        return true;
      };
      if (hash_of(lead.proposal) != hash_of(other.proposal)) return refused(RankSource::kDrafter);
      if (hash_of(lead.target_rows) != hash_of(other.target_rows))
        return refused(RankSource::kRows);
      if (values(0) != values(rank)) return refused(RankSource::kCoins);
    }
  }
  return false;
}

void Ranks::decide_all(Run& run) {
  for (std::size_t rank = 0; rank < setup_.rank_count; ++rank)
    for (std::optional<Progress>& progress : run.progress[rank]) {
      if (!progress) continue;
      RecordingCoins coins(*run.coins[rank]);
      progress->work.outcome = decide(rank, progress->work.judged, coins);
      if (rank == 0 && setup_.ledger != nullptr)
        for (const CoinAddress& address : coins.reads()) setup_.ledger->read(address);
    }
}

void Ranks::commit_all(Run& run) {
  for (std::uint32_t i = 0; i < run.asked.requests.size(); ++i) {
    RankStep record{run.step, i, {}};
    bool is_in = false;
    for (std::size_t rank = 0; rank < setup_.rank_count; ++rank) {
      record.commits.emplace_back();
      const std::optional<Progress>& own = run.progress[rank][i];
      if (!own) continue;
      is_in = true;
      const Progress& lead = run.progress[0][i] ? *run.progress[0][i] : *own;
      record.commits[rank] = commit(rank, own->work, lead.work, *run.coins[rank]);
    }
    if (!is_in) continue;
    if (!run.answer.divergence) {
      run.answer.divergence = first_divergence({record});
      if (run.answer.divergence && run.answer.divergence->other && run.answer.divergence->lead)
        run.answer.divergence->least_cause =
            least_cause(run, run.answer.divergence->rank, i, *run.answer.divergence->lead);
    }
    for (std::size_t rank = 0; rank < setup_.rank_count; ++rank)
      if (record.commits[rank]) settle(run, rank, i, *record.commits[rank]);
    run.answer.steps.push_back(std::move(record));
  }
}

RankCommit Ranks::apart(Run& run, std::size_t rank, std::uint32_t request,
                        const RankSources& sources) {
  const std::vector<Token>& history = run.states[rank][request].history;
  const std::size_t length = run.progress[rank][request]->draft.tokens.size();
  const auto drafted = [&](const RankSources& of) {
    return draft(*run.coins[of.coins], of, judged(run, rank, request, of, {}), history, length);
  };
  const RankWork& lead = run.progress[0][request]->work;
  RankWork own;
  own.judged = judged(run, rank, request, sources,
                      agreed_draft(rank, drafted(sources), run.progress[0][request]->draft));
  const Coins& coins = *run.coins[sources.coins];
  own.outcome = decide(rank, own.judged, coins);
  return commit(rank, own, lead, coins);
}

std::vector<RankSource> Ranks::least_cause(Run& run, std::size_t rank, std::uint32_t request,
                                           const RankCommit& lead) {
  using enum RankSource;
  static const std::vector<std::vector<RankSource>> subsets = {{kDrafter},
                                                               {kRows},
                                                               {kCoins},
                                                               {kDrafter, kRows},
                                                               {kRows, kCoins},
                                                               {kDrafter, kCoins},
                                                               {kDrafter, kRows, kCoins}};
  for (const std::vector<RankSource>& subset : subsets) {
    const auto source = [&](RankSource which) {
      return std::ranges::find(subset, which) != subset.end() ? 0 : rank;
    };
    if (apart(run, rank, request, {source(kDrafter), source(kRows), source(kCoins)}) == lead)
      return subset;
  }
  return {};
}

Request Ranks::judged(Run& run, std::size_t rank, std::uint32_t request, const RankSources& sources,
                      Proposal proposal) const {
  const State& state = run.states[rank][request];
  Request judged;
  judged.id = request;
  judged.position = static_cast<std::uint32_t>(state.history.size());
  judged.iteration = looks_ahead(setup_.rule) ? state.iteration : 0;
  judged.sampling = run.asked.requests[request].sampling;
  judged.proposal = std::move(proposal);
  std::vector<Token> history = state.history;
  for (std::size_t i = 0; i <= judged.proposal.tokens.size(); ++i) {
    if (i > 0) history.push_back(judged.proposal.tokens[i - 1]);
    Row row = setup_.target(history);
    if (setup_.ulp_seed)
      row = nudged(std::move(row), *setup_.ulp_seed, sources.rows, history.size());
    judged.target_rows.push_back(std::move(row));
  }
  return judged;
}

void Ranks::settle(Run& run, std::size_t rank, std::uint32_t request, RankCommit& commit) {
  const ReplayRequest& asked = run.asked.requests[request];
  State& state = run.states[rank][request];
  const bool is_preempted =
      !state.is_redone &&
      std::ranges::find(asked.preempted_steps, state.own_step) != asked.preempted_steps.end();
  std::size_t kept = asked.token_count - state.emitted_count;
  for (int stop : asked.stops)
    if (static_cast<std::size_t>(stop) > state.emitted_count)
      kept = std::min(kept, stop - state.emitted_count);
  kept = is_preempted ? 0 : std::min(kept, commit.tokens.size());
  const Fate fate = is_preempted ? Fate::kDiscardedBlindly : Fate::kKept;
  run.generators[rank]->settle({request, fate, commit.tokens.size(), kept});
  if (rank == 0 && setup_.ledger != nullptr) {
    const auto position = static_cast<std::uint32_t>(state.history.size());
    setup_.ledger->settle(run.step, request, fate, influence_end(setup_.rule, position, kept));
  }
  state.sits_out = state.is_redone = is_preempted;
  if (is_preempted) return;
  commit.tokens.resize(kept);
  Stream& stream = run.answer.streams[rank][request];
  stream.insert(stream.end(), commit.tokens.begin(), commit.tokens.end());
  state.history.insert(state.history.end(), commit.tokens.begin(), commit.tokens.end());
  state.emitted_count += kept;
  ++state.iteration;
  ++state.own_step;
  state.is_done = state.emitted_count == static_cast<std::size_t>(asked.token_count);
}

Batch Ranks::batch_of(Request request) const {
  Batch batch;
  batch.vocab_size = setup_.vocab_size;
  batch.preset = preset("default");
  batch.draft_kind = setup_.draft ? RowKind::kLogits : RowKind::kOneHot;
  batch.requests.push_back(std::move(request));
  return batch;
}

Proposal Ranks::draft(const Coins& coins, const RankSources& sources, const Request& place,
                      std::span<const Token> history, std::size_t length) {
  Proposal proposal;
  if (!setup_.draft) {
    proposal.tokens =
        looked_up(history, length, setup_.lookup_ties_by_rank && sources.drafter % 2 == 1);
    return proposal;
  }
  std::vector<Token> so_far(history.begin(), history.end());
  for (std::size_t i = 0; i < length; ++i) {
    Row row = setup_.draft(so_far);
    const MassRow law = shape(row, place.sampling, preset("default"));
    DRAFTPROOF_CHECK(law.status == Status::kOk, std::string(reference::to_string(law.status)));
    const auto position = static_cast<std::uint32_t>(place.position + i);
    const std::uint64_t coin =
        coins.coin({place.id, position, Purpose::kDraft, 0, place.iteration});
    proposal.tokens.push_back(verify::draw(coin, law));
    proposal.rows.push_back(std::move(row));
    so_far.push_back(proposal.tokens.back());
  }
  return proposal;
}

Proposal Ranks::agreed_draft(std::size_t, const Proposal& own, const Proposal& lead) {
  return setup_.agreement == Agreement::kBroadcast ? lead : own;
}

RequestOutcome Ranks::decide(std::size_t, const Request& request, const Coins& coins) {
  Batch batch = batch_of(request);
  RequestOutcome outcome = verifier_->verify(batch, coins, {}).requests[0];
  DRAFTPROOF_CHECK(outcome.status == Status::kOk,
                   std::string(reference::to_string(outcome.status)));
  return outcome;
}

RankCommit Ranks::commit(std::size_t, const RankWork& own, const RankWork& lead, const Coins&) {
  return committed_outcome(setup_.agreement == Agreement::kBroadcast ? lead : own);
}

RankCommit Ranks::committed_outcome(const RankWork& work) const {
  RankCommit commit{work.judged.proposal.tokens, work.outcome.accepted_count, {}};
  for (const EmittedToken& emitted : work.outcome.emitted) commit.tokens.push_back(emitted.token);
  return commit;
}

}  // namespace draftproof::reference::decode
