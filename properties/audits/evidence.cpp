#include "properties/audits/evidence.h"

#include <utility>

#include "reference/error.h"

namespace draftproof::properties::audits {
namespace {

std::string words_of(const TrialKey& key) {
  return "trial " + std::to_string(key.trial) + " of case '" + key.case_id + "', " +
         to_string(key.arm) +
         (key.repeat == kScoreRepeat ? ", its score"
          : key.repeat > 0           ? ", repeat " + std::to_string(key.repeat)
                                     : "");
}

}  // namespace

void Evidence::add(Transcript transcript) {
  const TrialKey key = transcript.key;
  auto& trials = by_place_[{key.case_id, key.arm, key.repeat}];
  const auto [at, is_added] = trials.try_emplace(key.trial, std::move(transcript));
  if (is_added) {
    ++size_;
    return;
  }
  // try_emplace has not moved from it.
  if (at->second == transcript) return;
  throw Error(ErrorKind::kInput,
              "two answers to one request: transcripts of two runs are mixed; judge them apart",
              words_of(key));
}

const std::map<std::uint64_t, Transcript>& Evidence::of(const std::string& case_id, Arm arm,
                                                        std::uint32_t repeat) const {
  static const std::map<std::uint64_t, Transcript> none;
  const auto at = by_place_.find({case_id, arm, repeat});
  return at == by_place_.end() ? none : at->second;
}

bool Evidence::has(const TrialKey& key) const {
  return of(key.case_id, key.arm, key.repeat).contains(key.trial);
}

std::vector<std::string> Evidence::case_ids() const {
  std::vector<std::string> ids;
  for (const auto& [place, trials] : by_place_)
    if (!trials.empty() && (ids.empty() || ids.back() != place.case_id))
      ids.push_back(place.case_id);
  return ids;
}

}  // namespace draftproof::properties::audits
