// Commands: one function each, from settings to an exit code. They throw Error for what the user
// named wrongly; nothing here catches it.
#pragma once

#include "tools/draftproof/exit_code.h"
#include "tools/draftproof/explore_settings.h"
#include "tools/draftproof/serve_settings.h"
#include "tools/draftproof/settings.h"

namespace draftproof::tools {

/// One exact law, one violated claim with its witness, one certified kernel, three commands.
ExitCode demo(const DemoSettings& settings, const Streams& streams);
/// Holds the properties against a subject.
ExitCode check(const CheckSettings& settings, const Streams& streams);
/// Prints the exact output law of a tiny case step by step.
ExitCode law(const LawSettings& settings, const Streams& streams);
/// Judges one recorded case again, on another subject or device if asked.
ExitCode replay(const ReplaySettings& settings, const Streams& streams);
/// Says what is in PTX files and which instruction forms the emulator lacks.
ExitCode inspect(const InspectSettings& settings, const Streams& streams);
/// Prints what is known of all rules, methods and faults at once.
ExitCode table(const TableSettings& settings, const Streams& streams);
/// Serves a toy engine until SIGTERM (kUpheld) or SIGINT (kInterrupted).
ExitCode serve_command(const ServeSettings& settings, const Streams& streams);
/// Goes through every small history of the toy engine beside its twin, or soaks it.
ExitCode explore_command(const ExploreSettings& settings, const Streams& streams);
/// Prints a catalog, one line an entry.
ExitCode list(const ListSettings& settings, const Streams& streams);

}  // namespace draftproof::tools
