// Observer: see the header.
#include "gpu/emulator/checks/observer.h"

#include <utility>

namespace draftproof::gpu::emulator {

reference::Place Observer::place(const Party& party) const {
  reference::Place place;
  if (party.instruction == nullptr) return place;
  place.kernel = program_.info.name;
  place.ptx_line = party.instruction->ptx_line;
  const int file = party.instruction->source_file;
  if (file > 0 && static_cast<std::size_t>(file) < source_files_.size()) {
    place.source_file = source_files_[static_cast<std::size_t>(file)];
    place.source_line = party.instruction->source_line;
  }
  place.block = party.block;
  place.warp = party.warp;
  place.lanes = party.lanes;
  return place;
}

void Observer::add(std::string_view check, const Party& party,
                   const std::function<std::string()>& message, const Party& other,
                   reference::Severity severity) {
  const Key key{std::string(check), party.instruction, other.instruction};
  const auto known = known_.find(key);
  if (known != known_.end()) {
    ++observations_[known->second].count;
    return;
  }
  if (observations_.size() >= kDistinctMax) {
    ++beyond_cap_;
    return;
  }
  known_.emplace(key, observations_.size());
  reference::Observation observation;
  observation.check = std::string(check);
  observation.message = message();
  observation.place = place(party);
  observation.other = place(other);
  observation.severity = severity;
  observation.schedule = schedule_;
  observations_.push_back(std::move(observation));
}

std::vector<reference::Observation> Observer::take() {
  if (beyond_cap_ != 0) {
    reference::Observation rest;
    rest.check = "limit";
    rest.message = "further distinct findings were counted, not kept";
    rest.place.kernel = program_.info.name;
    rest.schedule = schedule_;
    rest.count = beyond_cap_;
    observations_.push_back(std::move(rest));
  }
  known_.clear();
  return std::move(observations_);
}

}  // namespace draftproof::gpu::emulator
