// The twin's verifications: every row computed from the tokens alone, every decision made again.
#include <algorithm>
#include <map>

#include "properties/state/twin.h"
#include "properties/state/words.h"
#include "reference/decode/ledger.h"
#include "reference/verify/chain.h"

namespace draftproof::properties::state {

namespace decode = reference::decode;
using decode::VerificationRecord;
using reference::Row;
using reference::Token;

namespace {

int parent_of(const reference::Proposal& proposal, int node) {
  return proposal.parents.empty() ? node - 1 : proposal.parents[static_cast<std::size_t>(node)];
}

/// The tokens that lead to `node`, itself last; -1: none.
std::vector<Token> path_to(const reference::Proposal& proposal, int node) {
  if (node < 0) return {};
  std::vector<Token> path = path_to(proposal, parent_of(proposal, node));
  path.push_back(proposal.tokens[static_cast<std::size_t>(node)]);
  return path;
}

int depth_of(const reference::Proposal& proposal, int node) {
  return node < 0 ? 0 : 1 + depth_of(proposal, parent_of(proposal, node));
}

bool is_path(const std::vector<Token>& path, int vocab_size) {
  return std::all_of(path.begin(), path.end(),
                     [&](Token token) { return token >= 0 && token < vocab_size; });
}

std::vector<Token> behind(std::vector<Token> tokens, const std::vector<Token>& path) {
  tokens.insert(tokens.end(), path.begin(), path.end());
  return tokens;
}

/// What keeps a proposal from being a tree with a row a token; empty: nothing.
std::string malformation(const reference::Proposal& proposal) {
  const std::size_t count = proposal.tokens.size();
  const auto fits = [&](std::size_t size) { return size == 0 || size == count; };
  if (!fits(proposal.parents.size()))
    return std::to_string(proposal.parents.size()) + " parents of " + std::to_string(count);
  if (!fits(proposal.rows.size()))
    return std::to_string(proposal.rows.size()) + " rows of " + std::to_string(count);
  for (std::size_t node = 0; node < proposal.parents.size(); ++node)
    if (proposal.parents[node] < -1 || proposal.parents[node] >= static_cast<int>(node))
      return "node " + std::to_string(node) + " behind " + std::to_string(proposal.parents[node]);
  return {};
}

/// What keeps an outcome from being one on `count` drafted tokens; empty: nothing.
std::string malformation(const reference::RequestOutcome& outcome, std::size_t count) {
  const auto accepted = static_cast<std::size_t>(std::max(outcome.accepted_count, 0));
  if (outcome.accepted_count < 0 || accepted > count || accepted > outcome.emitted.size())
    return std::to_string(outcome.accepted_count) + " accepted of " + std::to_string(count);
  if (!outcome.accepted_nodes.empty() && outcome.accepted_nodes.size() != accepted)
    return std::to_string(outcome.accepted_nodes.size()) + " accepted nodes of " +
           std::to_string(accepted);
  for (const int node : outcome.accepted_nodes)
    if (node < 0 || node >= static_cast<int>(count))
      return "node " + std::to_string(node) + " accepted";
  return {};
}

/// The rule's coins are addressed as request 0, whatever number the request has.
constexpr std::uint32_t kCoinRequest = 0;

}  // namespace

void Twin::judge(const Handed& handed) {
  const VerificationRecord& record = handed.record;
  const auto found = tracks_.find(record.id);
  if (found == tracks_.end()) {
    found_ = differs(StateCheck::kPhases, record.id, "a verification of a request that is there",
                     "one of a request that is not");
    return;
  }
  for (const auto* proposal : {&record.draft.proposal, &record.judged.proposal})
    if (const std::string fault = malformation(*proposal); !fault.empty()) {
      found_ = differs(StateCheck::kProposal, record.id, "a tree with a row a token", fault);
      return;
    }
  const std::size_t count = record.draft.proposal.tokens.size();
  if (const std::string fault = malformation(record.outcome, count); !fault.empty()) {
    found_ = differs(StateCheck::kDecision, record.id, "an outcome on the tokens drafted", fault);
    return;
  }
  Track& track = found->second;
  if (record.epoch != track.epoch) begin_epoch(track, record.epoch);
  Judged judged;
  judged.frame = record.frame;
  judged.epoch = record.epoch;
  judged.request = record.id;
  judged.iteration = record.judged.iteration;
  judged.position = static_cast<std::uint32_t>(track.tokens.size());
  judged.drafted_count = static_cast<int>(record.draft.proposal.tokens.size());
  if (handed.is_whole) {
    found_ = replay(record, track, judged);
    if (found_) return;
    ++replayed_count_;
  } else {
    judged.accepted_count = record.outcome.accepted_count;
    judged.has_status = record.outcome.status != reference::Status::kOk;
    for (const reference::EmittedToken& out : record.outcome.emitted)
      judged.emitted.push_back({out.token});
  }
  recount(record, track);
  track.judged_length = static_cast<int>(track.tokens.size());
  if (judged.drafted_count > 0) {
    ++track.drafted_verifications;
    const std::vector<int>& fed = record.draft.fed_nodes;
    int kept = 0;
    for (int i = 0; i < judged.accepted_count; ++i) {
      const std::vector<int>& nodes = record.outcome.accepted_nodes;
      const int node = nodes.empty() ? i : nodes[static_cast<std::size_t>(i)];
      if (std::find(fed.begin(), fed.end(), node) == fed.end()) break;
      ++kept;
    }
    track.draft_length_due = track.judged_length + kept;
  }
  track.waiting = {};
  track.was_judged = true;
  // A verification feeds what was pending and keeps what was accepted; a prefill feeds everything.
  track.pending_count = static_cast<int>(judged.emitted.size()) - judged.accepted_count;
  take(track, judged.emitted);
  track.in_flight.push_back(std::move(judged));
}

Twin::Finding Twin::replay(const VerificationRecord& record, Track& track, Judged& judged) {
  std::vector<Row> raw, adjusted;
  if (Finding finding = context_of(record, track)) return finding;
  if (Finding finding = rows_of(record, track, raw, adjusted)) return finding;
  if (Finding finding = proposal_of(record, track)) return finding;
  const std::uint64_t seed = serial_.seed(track.spec, record.id);
  const reference::PhiloxCoins coins(seed);
  if (Finding finding = draws_of(record, track, coins)) return finding;
  if (Finding finding = addresses_of(record, track)) return finding;

  reference::Batch batch;
  batch.vocab_size = static_cast<std::size_t>(serial_.config().target->vocab_size());
  batch.preset = serial_.preset(track.spec);
  if (judged.drafted_count > 0) batch.draft_kind = record.draft.kind;
  batch.requests.push_back({kCoinRequest, judged.position, record.judged.iteration,
                            track.spec.sampling, record.draft.proposal, adjusted});
  const decode::RecordingCoins recorded(coins);
  const reference::RequestOutcome due =
      verifier_->verify(batch, recorded, reference::Execution{}).requests.front();
  if (due != record.outcome)
    return differs(StateCheck::kDecision, record.id, words(due), words(record.outcome));
  if (Finding finding = ledger_of(record, recorded.reads())) return finding;

  judged.accepted_count = due.accepted_count;
  judged.has_status = due.status != reference::Status::kOk;
  for (std::size_t i = 0; i < due.emitted.size(); ++i) {
    const std::vector<int>& nodes = due.accepted_nodes;
    const int node = i == 0 ? -1 : nodes.empty() ? static_cast<int>(i) - 1 : nodes[i - 1];
    const auto row = static_cast<std::size_t>(node + 1);
    judged.emitted.push_back(
        serial_.logprobs(track.spec, raw[row], adjusted[row], due.emitted[i].token));
  }
  // What was drafted and not kept must not be found again.
  for (int node = 0; node < judged.drafted_count; ++node) {
    const std::vector<Token> path = path_to(record.draft.proposal, node);
    if (is_path(path, static_cast<int>(batch.vocab_size)))
      probes_.emplace_back(record.id, behind(track.tokens, path));
  }
  return std::nullopt;
}

Twin::Finding Twin::context_of(const VerificationRecord& record, const Track& track) const {
  if (record.context == track.tokens) return std::nullopt;
  return differs(StateCheck::kOutput, record.id, "a verification behind " + words(track.tokens),
                 words(record.context));
}

Twin::Finding Twin::rows_of(const VerificationRecord& record, const Track& track,
                            std::vector<Row>& raw, std::vector<Row>& adjusted) const {
  const reference::Proposal& proposal = record.draft.proposal;
  const auto count = proposal.tokens.size() + 1;
  if (record.rows.size() != count || record.judged.target_rows.size() != count)
    return differs(StateCheck::kRows, record.id, std::to_string(count) + " rows",
                   std::to_string(record.rows.size()) + " of the model and " +
                       std::to_string(record.judged.target_rows.size()) + " judged");
  const std::vector<Token> emitted = track.emitted_tokens();
  for (std::size_t row = 0; row < count; ++row) {
    const std::vector<Token> path = path_to(proposal, static_cast<int>(row) - 1);
    const std::string name = "row " + std::to_string(row) + " behind " + words(track.tokens) +
                             (path.empty() ? "" : " and drafted " + words(path));
    if (!is_path(path, serial_.config().target->vocab_size())) {
      // Behind a token that is none nothing is judged.
      raw.push_back(record.rows[row]);
      adjusted.push_back(record.judged.target_rows[row]);
      continue;
    }
    raw.push_back(serial_.raw_row(track.spec, behind(track.tokens, path)));
    if (!is_same(raw.back(), record.rows[row]))
      return differs(StateCheck::kRows, record.id, "the model's " + name + ": " + words(raw.back()),
                     words(record.rows[row]));
    adjusted.push_back(serial_.adjusted_row(track.spec, raw.back(), emitted, path));
    if (!is_same(adjusted.back(), record.judged.target_rows[row]))
      return differs(StateCheck::kRows, record.id,
                     "the adjusted " + name + ": " + words(adjusted.back()),
                     words(record.judged.target_rows[row]));
  }
  return std::nullopt;
}

Twin::Finding Twin::proposal_of(const VerificationRecord& record, const Track& track) const {
  const decode::Draft& draft = record.draft;
  const auto wrong = [&](std::string expected, std::string observed) {
    return differs(StateCheck::kProposal, record.id, std::move(expected), std::move(observed));
  };
  if (record.judged.proposal != draft.proposal)
    return wrong("the draft that was made, " + words(draft.proposal),
                 words(record.judged.proposal));
  if (record.judged.sampling != track.spec.sampling)
    return wrong("the request's own sampling", "another one");
  if (draft.proposal.tokens.empty()) return std::nullopt;
  if (record.is_prefill) return wrong("no draft in a prefill", words(draft.proposal));
  if (draft.context_length != static_cast<int>(track.tokens.size()))
    return wrong("a draft behind " + std::to_string(track.tokens.size()) + " tokens",
                 "one made behind " + std::to_string(draft.context_length));
  if (!track.waiting.proposal.tokens.empty() && track.waiting != draft)
    return wrong("the draft that waited, " + words(track.waiting.proposal), words(draft.proposal));
  if (static_cast<int>(draft.proposal.tokens.size()) > serial_.config().draft_count)
    return wrong("at most " + std::to_string(serial_.config().draft_count) + " drafted tokens",
                 words(draft.proposal));
  return std::nullopt;
}

Twin::Finding Twin::draws_of(const VerificationRecord& record, const Track& track,
                             const reference::Coins& coins) const {
  const decode::Draft& draft = record.draft;
  if (draft.kind == reference::RowKind::kOneHot) return std::nullopt;
  const reference::Proposal& proposal = draft.proposal;
  std::map<int, std::uint32_t> numbers;              ///< nodes so far, by depth
  std::map<int, std::vector<std::size_t>> siblings;  ///< tokens so far, by parent
  for (std::size_t node = 0; node < proposal.tokens.size(); ++node) {
    const auto token = static_cast<std::size_t>(proposal.tokens[node]);
    const int depth = depth_of(proposal, static_cast<int>(node));
    const std::uint32_t slot = numbers[depth]++;
    std::vector<std::size_t>& before = siblings[parent_of(proposal, static_cast<int>(node))];
    const bool is_logits = draft.kind == reference::RowKind::kLogits;
    reference::MassRow law = is_logits ? reference::shape(proposal.rows[node], track.spec.sampling,
                                                          serial_.preset(track.spec))
                                       : reference::from_probabilities(proposal.rows[node]);
    const auto name = [&] {
      return "drafted token " + std::to_string(node) + " of " + words(proposal);
    };
    if (law.status != reference::Status::kOk)
      return differs(StateCheck::kProposal, record.id, "a law for " + name(),
                     std::string(reference::to_string(law.status)));
    if (!is_logits) {
      // How a method draws is its own; what has no mass was not drawn.
      if (token >= law.mass.size() || law.mass[token] == 0)
        return differs(StateCheck::kProposal, record.id, name() + " in the support of its law",
                       "one that has no probability there");
      continue;
    }
    for (const std::size_t sibling : before) {
      law.total -= law.mass[sibling];
      law.mass[sibling] = 0;
    }
    const auto position =
        static_cast<std::uint32_t>(track.tokens.size()) + static_cast<std::uint32_t>(depth - 1);
    const Token due =
        reference::verify::draw(coins.coin({kCoinRequest, position, reference::Purpose::kDraft,
                                            slot, record.judged.iteration}),
                                law);
    if (due != proposal.tokens[node])
      return differs(StateCheck::kProposal, record.id,
                     name() + " drawn as " + std::to_string(due) + " from the row it reports",
                     std::to_string(proposal.tokens[node]));
    before.push_back(token);
  }
  return std::nullopt;
}

Twin::Finding Twin::addresses_of(const VerificationRecord& record, Track& track) const {
  const std::uint64_t seed = serial_.seed(track.spec, record.id);
  if (record.seed != seed)
    return differs(StateCheck::kCoins, record.id, "the seed " + std::to_string(seed),
                   std::to_string(record.seed));
  if (record.judged.position != track.tokens.size())
    return differs(StateCheck::kCoins, record.id,
                   "coins of position " + std::to_string(track.tokens.size()),
                   "of " + std::to_string(record.judged.position));
  if (!track.iterations.insert(record.judged.iteration).second)
    return differs(StateCheck::kCoins, record.id, "an iteration of its own for every verification",
                   std::to_string(record.judged.iteration) + " once more");
  return std::nullopt;
}

Twin::Finding Twin::ledger_of(const VerificationRecord& record,
                              const std::vector<reference::CoinAddress>& reads) {
  ledger_.begin_step(static_cast<std::uint64_t>(record.frame));
  const auto read = [&](reference::CoinAddress address) {
    address.request = record.id;
    ledger_.read(address);
  };
  std::map<int, std::uint32_t> numbers;
  if (record.draft.kind != reference::RowKind::kOneHot)
    for (std::size_t node = 0; node < record.draft.proposal.tokens.size(); ++node) {
      const int depth = depth_of(record.draft.proposal, static_cast<int>(node));
      read({0, record.judged.position + static_cast<std::uint32_t>(depth - 1),
            reference::Purpose::kDraft, numbers[depth]++, record.judged.iteration});
    }
  for (const reference::CoinAddress& address : reads) read(address);
  if (!ledger_.fault()) return std::nullopt;
  return differs(StateCheck::kCoins, record.id, "no address to decide twice", ledger_.fault()->why);
}

}  // namespace draftproof::properties::state
