#include "tools/draftproof/witness_keeper.h"

#include "reference/error.h"
#include "tools/store/case_store.h"

namespace draftproof::tools {

void WitnessKeeper::on(const report::Event& event) {
  const auto* finished = std::get_if<report::CheckFinished>(&event);
  if (finished == nullptr || !finished->result.verdict.witness ||
      finished->result.verdict.witness->case_json.empty()) {
    next_.on(event);
    return;
  }
  report::CheckFinished kept = *finished;
  oracle::Witness& witness = *kept.result.verdict.witness;
  try {
    const store::StoredCase stored = store::save_case(report_dir_, witness.case_json);
    witness.replay = "draftproof replay " + stored.id + arguments_;
  } catch (const Error& error) {
    next_.on(report::Warning{"the case of " + kept.result.id + " is not kept: " + error.what()});
  }
  next_.on(kept);
}

}  // namespace draftproof::tools
