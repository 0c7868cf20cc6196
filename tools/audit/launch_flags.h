// Launch flags: which speculative options an engine's command line has, by snapshot of the engine
// that was read: present, gone with what it is spelt now, or never there. What no snapshot says is
// not known here; nothing is called wrong for being unknown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace draftproof::tools::audit {

enum class FlagState : std::uint8_t {
  kPresent,
  kGone,      ///< an engine of this version has no such option
  kInEngine,  ///< moved into a JSON option: `now` says where
};

struct LaunchFlag {
  std::vector<std::string> names;  ///< "--draft-max", "--draft-n", ...
  FlagState state = FlagState::kPresent;
  std::string now = {};           ///< the present spelling, of what is gone
  std::string note = {};          ///< what it does to the law or to drafts, when that must be said
  bool is_lossy = false;          ///< gives the target's law up (where `lossy_unless` is not met)
  std::string lossy_unless = {};  ///< the value at which it does not: "1.0"
  bool has_value = true;
};

/// One state of one engine, as it was read.
struct EngineSnapshot {
  std::string engine;     ///< a dialect's name
  std::string version;    ///< "11434", "0.32.0"; "0": before any that is known
  std::string source;     ///< what was read, for the reader
  std::string otherwise;  ///< what an engine does with an option that it lacks
  std::vector<LaunchFlag> flags;
};

/// In the order of engines, older snapshots first.
const std::vector<EngineSnapshot>& engine_snapshots();

}  // namespace draftproof::tools::audit
