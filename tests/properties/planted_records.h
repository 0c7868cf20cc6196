// What an engine hands to its observer, made wrong.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tests/properties/planted.h"

namespace draftproof::properties::state {

using decode::VerificationRecord;

inline bool has_draft(const VerificationRecord& record) {
  return !record.draft.proposal.tokens.empty();
}

inline Planted in_record(std::string name, StateCheck check,
                         std::function<bool(VerificationRecord&)> what) {
  return {std::move(name), check, {}, std::move(what)};
}

inline std::vector<Planted> planted_in_rows() {
  std::vector<Planted> list;
  list.push_back(in_record("an ulp in a row", StateCheck::kRows, [](VerificationRecord& record) {
    float& logit = record.rows.back().front();
    logit = std::nextafter(logit, 100.0f);
    return true;
  }));
  list.push_back(
      in_record("rows in another order", StateCheck::kRows, [](VerificationRecord& record) {
        if (record.rows.size() < 2 || record.rows[0] == record.rows[1]) return false;
        std::swap(record.rows[0], record.rows[1]);
        return true;
      }));
  list.push_back(
      in_record("a row that is not adjusted", StateCheck::kRows, [](VerificationRecord& record) {
        if (record.rows.back() == record.judged.target_rows.back()) return false;
        record.judged.target_rows.back() = record.rows.back();
        return true;
      }));
  list.push_back(in_record("a row too many", StateCheck::kRows, [](VerificationRecord& record) {
    record.rows.push_back(record.rows.back());
    return true;
  }));
  return list;
}

inline std::vector<Planted> planted_in_decisions() {
  std::vector<Planted> list;
  list.push_back(in_record("another context", StateCheck::kOutput, [](VerificationRecord& record) {
    record.context.back() = (record.context.back() + 1) % kRunVocab;
    return true;
  }));
  list.push_back(in_record("a draft cut before it was judged", StateCheck::kProposal,
                           [](VerificationRecord& record) {
                             if (!has_draft(record)) return false;
                             record.judged.proposal.tokens.pop_back();
                             return true;
                           }));
  list.push_back(in_record("a stale draft", StateCheck::kProposal, [](VerificationRecord& record) {
    --record.draft.context_length;
    return has_draft(record);
  }));
  list.push_back(in_record("the sampling of another request", StateCheck::kProposal,
                           [](VerificationRecord& record) {
                             record.judged.sampling.top_k += 1;
                             return true;
                           }));
  list.push_back(in_record(
      "a law that nothing was drawn from", StateCheck::kProposal, [](VerificationRecord& record) {
        if (!has_draft(record) || record.draft.kind != reference::RowKind::kLogits) return false;
        reference::Row& row = record.draft.proposal.rows.front();
        row[static_cast<std::size_t>(record.draft.proposal.tokens.front())] = -100;
        record.judged.proposal = record.draft.proposal;
        return true;
      }));
  list.push_back(
      in_record("another token decided", StateCheck::kDecision, [](VerificationRecord& record) {
        if (record.outcome.emitted.empty()) return false;
        reference::Token& token = record.outcome.emitted.back().token;
        token = (token + 1) % kRunVocab;
        return true;
      }));
  list.push_back(
      in_record("one accepted less", StateCheck::kDecision,
                [](VerificationRecord& record) { return record.outcome.accepted_count-- > 0; }));
  list.push_back(in_record("another seed", StateCheck::kCoins, [](VerificationRecord& record) {
    ++record.seed;
    return true;
  }));
  list.push_back(
      in_record("coins of another position", StateCheck::kCoins, [](VerificationRecord& record) {
        ++record.judged.position;
        return true;
      }));
  return list;
}

/// All of them: at least one for every check.
inline std::vector<Planted> planted_differences() {
  std::vector<Planted> all;
  for (std::vector<Planted> part :
       {planted_in_caches(), planted_in_cells(), planted_in_rows(), planted_in_decisions(),
        planted_on_the_device(), planted_on_the_host(), planted_in_accounts()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace draftproof::properties::state
