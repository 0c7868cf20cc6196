// Arm change: what is no longer as it was when a run began.
#pragma once

#include <string>

namespace draftproof::tools::audit {

struct ArmChange {
  /// Another one answers in its place, so that nothing tells whose the latest answers were; false:
  /// it is gone.
  bool is_another = false;
  std::string what;  ///< one line that names the arm
};

}  // namespace draftproof::tools::audit
