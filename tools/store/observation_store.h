// Observation store: the transcripts of a run in one append-only SQLite file, RUN/run.sqlite.
// Rows are keyed by (arm, case, trial, repeat) and never change; a crash loses at most the rows of
// the last uncommitted batch, never the file (write-ahead log). Merging is the union of rows.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "properties/audits/evidence.h"

namespace draftproof::tools::store {

class ObservationStore {
 public:
  enum class Mode { kCreate, kAppend, kRead };
  /// Throws Error(kEnvironment) at the path: not there, not ours (another schema), locked by a
  /// running audit, no room.
  ObservationStore(const std::filesystem::path& path, Mode mode);
  ObservationStore(const ObservationStore&) = delete;
  ~ObservationStore();

  /// What identifies the run (config as judged, seed, matrix, facts of both arms), as JSON by name.
  /// set() of a name that is here with another value throws Error(kInput): another run.
  void set(const std::string& name, const std::string& json);
  std::string get(const std::string& name) const;  ///< empty: none

  /// All of them or none, in one transaction. The same row twice is no error.
  void append(const std::vector<properties::Transcript>& transcripts);
  properties::audits::Evidence read() const;
  /// Adds all rows; of stores of one run their union. Throws as Evidence::add, at the path.
  void read_into(properties::audits::Evidence& evidence) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace draftproof::tools::store
