// Interrupt: Ctrl-C as a question that work asks now and then. A second Ctrl-C ends at once.
#pragma once

namespace draftproof::tools {

/// From here on SIGINT and SIGTERM set a flag; the second one has its usual effect.
void catch_interrupts();
bool is_interrupted();

}  // namespace draftproof::tools
