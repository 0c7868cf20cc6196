// Evidence: the transcripts of a run, by case and arm, in the order of their trials, whatever the
// order they came in. What a run says is a function of this set, so an audit that was killed and
// resumed, or merged from shards, says the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "properties/transcript.h"

namespace draftproof::properties::audits {

class Evidence {
 public:
  /// The same transcript twice counts once. Throws Error(kInput) that names the trial when another
  /// one with its key is here already: two runs were mixed.
  void add(Transcript transcript);

  /// In the order of trials; empty for none.
  const std::map<std::uint64_t, Transcript>& of(const std::string& case_id, Arm arm,
                                                std::uint32_t repeat = 0) const;
  bool has(const TrialKey& key) const;
  std::size_t size() const { return size_; }
  std::vector<std::string> case_ids() const;

 private:
  struct Place {
    std::string case_id;
    Arm arm = Arm::kBaseline;
    std::uint32_t repeat = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  std::map<Place, std::map<std::uint64_t, Transcript>> by_place_;
  std::size_t size_ = 0;
};

}  // namespace draftproof::properties::audits
