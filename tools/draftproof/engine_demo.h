// Engine demo: the part of the demonstration about whole engines. The same served toy is audited
// twice, once right and once with one fault in its state, and both results are explained.
#pragma once

#include <string>
#include <vector>

#include "fixtures/state_faults/state_fault.h"
#include "tools/draftproof/engine_trial.h"
#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// "2048 requests" and a line or two a verdict; the first witness is told in full, indented.
std::string trial_text(const EngineTrial& trial);

/// What to make of a trial of `fault`, beside that of the right engine: which sentence is false,
/// or that drafts got worse, or that nothing is seen from outside and why.
std::string trial_meaning(const fixtures::StateFault& fault, const EngineTrial& right,
                          const EngineTrial& wrong);

/// kUpheld when it came out as it should: a fault that is lossy or unsafe violates a claim, one
/// that is inefficient or harmless violates none. kInconclusive when a lossy or unsafe fault does
/// not show from outside. `number` is the heading's.
ExitCode show_engine(int number, const fixtures::StateFault& fault, const Streams& streams);

}  // namespace draftproof::tools
