// explore: every small history of the toy engine beside its twin, or a soak.
#include <ostream>

#include "tools/draftproof/commands/commands.h"
#include "tools/draftproof/explore_result.h"
#include "tools/draftproof/interrupt.h"

namespace draftproof::tools {

ExitCode explore_command(const ExploreSettings& settings, const Streams& streams) {
  catch_interrupts();
  const ExploreResult result = explore_result(settings, [] { return is_interrupted(); });
  streams.out << (settings.output == "json" ? explore_json(result) : explore_page(result));
  return result.exit_code();
}

}  // namespace draftproof::tools
