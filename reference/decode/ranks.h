// Ranks: several copies of one engine that each hold all logits and must commit the same tokens
// (tensor parallelism). A rank has its own arithmetic (sums in another order move logits by an
// ulp), its own generator and its own drafter, so that ranks which each decide alone part sooner or
// later; then drafts, lengths and positions part as well, and collective operations hang or mix
// histories (vllm-project/vllm#17498, sgl-project/sglang#40246, vllm-project/vllm#31154). Two
// agreements are sound:
//   broadcast             rank 0 drafts and decides, all commit that.
//   provably identical    each rank decides alone, if drafted tokens with their laws, target rows
//                         and coins are bitwise equal to rank 0's, by hash; otherwise the step is
//                         refused. Of the coins those that rank 0's decision read are compared: a
//                         rule is a deterministic function, so that equal answers lead along the
//                         same path, to the same next question.
//
// The engine is small and every step of it is open, so that broken engines are this one with a step
// replaced. Its requests are those of a ReplayRun; a run on one rank is a ReplayDecoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/decode/generator.h"
#include "reference/decode/ledger.h"
#include "reference/decode/replay_run.h"
#include "reference/outcome.h"
#include "reference/proposal.h"
#include "reference/verifier.h"

namespace draftproof::reference::decode {

/// Every finite logit moved by -1, 0 or +1 ulp, as a function of (seed, rank, row number, token);
/// a move that would leave the finite numbers is not made. Rank 0 is the truth and moves nothing.
Row nudged(Row logits, std::uint64_t seed, std::size_t rank, std::uint64_t row);

enum class Agreement : std::uint8_t { kBroadcast, kProvablyIdentical };

/// Logits behind a history.
using RowsBehind = std::function<Row(std::span<const Token>)>;

/// Logits 0, -1/2, .. -(level_count - 1)/2, by a hash of salt, history and token: so coarse that
/// maxima and cut-offs tie all the time, as in bf16. No token is likelier than
/// 1 / (1 + (vocab_size - 1) exp(-(level_count - 1)/2)) at temperature 1.
RowsBehind coarse_rows(std::size_t vocab_size, std::uint64_t salt, int level_count);

struct RankSetup {
  std::string rule = "chain";  ///< of reference/verify
  Agreement agreement = Agreement::kBroadcast;
  std::size_t rank_count = 2;
  std::size_t vocab_size = 0;
  RowsBehind target;
  RowsBehind draft;  ///< the law to sample drafts from; none: drafts are looked up in the history
  std::function<std::unique_ptr<Generator>()> generator;  ///< one per rank; none: addressed
  std::vector<std::uint64_t> entropies;   ///< of each rank; empty: the run's for all of them
  std::optional<std::uint64_t> ulp_seed;  ///< set: ranks behind 0 compute nudged target rows
  bool lookup_ties_by_rank = false;       ///< odd ranks look up the first of equal matches
  Ledger* ledger = nullptr;               ///< keeps the reads of rank 0; not owned
};

/// Whose drafter, arithmetic and coins a rank works with. In an engine: its own.
struct RankSources {
  std::size_t drafter = 0;
  std::size_t rows = 0;
  std::size_t coins = 0;
};
enum class RankSource : std::uint8_t { kDrafter, kRows, kCoins };
std::string to_string(RankSource source);

/// What one rank made of one request in one step, before anything is agreed on.
struct RankWork {
  Request judged;          ///< with its own rows behind the agreed drafts
  RequestOutcome outcome;  ///< its own decision
};

/// What one rank makes part of the request.
struct RankCommit {
  std::vector<Token> drafts;
  int accepted_count = 0;
  std::vector<Token> tokens;

  friend bool operator==(const RankCommit&, const RankCommit&) = default;
};
/// FNV-1a of accepted count and tokens: what ranks exchange to find out that they have parted.
std::uint64_t committed_hash(const RankCommit& commit);

struct RankStep {
  std::uint64_t step = 0;
  std::uint32_t request = 0;
  std::vector<std::optional<RankCommit>> commits;  ///< per rank; none: the request was not in it
};

/// A step that provably identical ranks did not take.
struct RankRefusal {
  std::uint64_t step = 0;
  std::uint32_t request = 0;
  std::size_t rank = 0;
  RankSource differs = RankSource::kRows;
};

struct RankDivergence {
  std::uint64_t step = 0;
  std::uint32_t request = 0;
  std::size_t rank = 0;  ///< the first that differs from rank 0
  std::optional<RankCommit> lead;
  std::optional<RankCommit> other;
  /// The fewest sources that, if they were rank 0's, let the rank commit what rank 0 does. Empty:
  /// none do, the rank decides or commits otherwise from the same inputs.
  std::vector<RankSource> least_cause;
};
/// Two lines, what each rank drafted and committed, and one with the cause.
std::string to_string(const RankDivergence& divergence);

struct RankRun {
  std::vector<RankStep> steps;
  std::vector<std::vector<Stream>> streams;  ///< per rank, per request
  std::optional<RankRefusal> refusal;        ///< the run ends with it
  std::optional<RankDivergence> divergence;  ///< the first; the run goes on behind it
};

/// The first step whose hashes or drafted tokens differ between ranks, from the record alone
/// (without a cause).
std::optional<RankDivergence> first_divergence(const std::vector<RankStep>& steps);

class Ranks {
 public:
  /// Throws Error(kInput) for an unknown rule, BrokenInvariant for a setup without target rows.
  explicit Ranks(RankSetup setup);
  virtual ~Ranks();

  /// Serves the run from a fresh start.
  RankRun decode(const ReplayRun& run);
  const RankSetup& setup() const { return setup_; }

 protected:
  /// Draws or looks up at most `length` tokens behind `history`.
  virtual Proposal draft(const Coins& coins, const RankSources& sources, const Request& place,
                         std::span<const Token> history, std::size_t length);
  /// The drafts that a rank works on, of its own and rank 0's.
  virtual Proposal agreed_draft(std::size_t rank, const Proposal& own, const Proposal& lead);
  virtual RequestOutcome decide(std::size_t rank, const Request& request, const Coins& coins);
  /// What a rank commits, before stops and limits cut it.
  virtual RankCommit commit(std::size_t rank, const RankWork& own, const RankWork& lead,
                            const Coins& coins);

  RankCommit committed_outcome(const RankWork& work) const;

 private:
  struct State;
  struct Progress;
  struct Run;

  void draft_all(Run& run);
  void decide_all(Run& run);
  void commit_all(Run& run);
  bool is_refused(Run& run);
  RankCommit apart(Run& run, std::size_t rank, std::uint32_t request, const RankSources& sources);
  std::vector<RankSource> least_cause(Run& run, std::size_t rank, std::uint32_t request,
                                      const RankCommit& lead);
  Request judged(Run& run, std::size_t rank, std::uint32_t request, const RankSources& sources,
                 Proposal proposal) const;
  void settle(Run& run, std::size_t rank, std::uint32_t request, RankCommit& commit);
  Batch batch_of(Request request) const;

  RankSetup setup_;
  std::unique_ptr<Verifier> verifier_;
};

/// Rank 0's streams of the engine.
ReplayDecoder replay_decoder(std::shared_ptr<Ranks> ranks);

}  // namespace draftproof::reference::decode
