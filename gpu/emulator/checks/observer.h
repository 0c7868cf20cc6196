// Observer: gathers the observations of a launch. The same finding (check, both lines) is kept once
// and counted; there is a cap on distinct findings, so that a broken kernel gives a report, not a
// flood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gpu/emulator/code/program.h"
#include "reference/observation.h"

namespace draftproof::gpu::emulator {

/// Where a party stands: turned into a reference::Place when the finding is new.
struct Party {
  const Instruction* instruction = nullptr;  ///< null: there is no such party
  std::uint32_t block = 0;
  std::uint32_t warp = 0;
  LaneMask lanes = 0;
};

class Observer {
 public:
  static constexpr std::size_t kDistinctMax = 100;

  /// `source_files` is indexed by Instruction::source_file; it may be empty.
  Observer(const Program& program, const std::vector<std::string>& source_files,
           std::string schedule)
      : program_(program), source_files_(source_files), schedule_(std::move(schedule)) {}

  /// `message` is asked only when the finding is new.
  void add(std::string_view check, const Party& party, const std::function<std::string()>& message,
           const Party& other = {}, reference::Severity severity = reference::Severity::kUnsafe);

  bool empty() const { return observations_.empty(); }
  /// What was seen, in order; a last note counts what the cap cut off.
  std::vector<reference::Observation> take();

 private:
  reference::Place place(const Party& party) const;

  const Program& program_;
  const std::vector<std::string>& source_files_;
  std::string schedule_;
  using Key = std::tuple<std::string, const Instruction*, const Instruction*>;
  std::map<Key, std::size_t, std::less<>> known_;
  std::vector<reference::Observation> observations_;
  std::uint64_t beyond_cap_ = 0;
};

}  // namespace draftproof::gpu::emulator
