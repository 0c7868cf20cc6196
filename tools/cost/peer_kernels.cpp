#include "tools/cost/peer_kernels.h"

#include <algorithm>

#include "reference/error.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::cost {

const gpu::Module& PeerKernels::module(const std::string& file) {
  const auto known = modules_.find(file);
  if (known != modules_.end()) return *known->second;
  const std::string name = file + ".ptx";
  return *modules_.emplace(file, device_.load(store::read_file(folder_ / name), name))
              .first->second;
}

void PeerKernels::launch(const std::string& file, std::string_view entry,
                         const gpu::LaunchOptions& options, std::vector<gpu::Argument> arguments) {
  const gpu::Module& module = this->module(file);
  const gpu::EntryInfo* found = nullptr;
  for (const gpu::EntryInfo& each : module.entries()) {
    if (each.name.find(entry) == std::string::npos) continue;
    if (found != nullptr)
      throw Error(ErrorKind::kInput, "has more than one entry " + std::string(entry), file);
    found = &each;
  }
  if (found == nullptr)
    throw Error(ErrorKind::kInput,
                "has no entry " + std::string(entry) + "; fetch it again (tools/kernels/fetch.sh)",
                file + ".ptx");
  while (arguments.size() < found->parameters.size()) arguments.emplace_back(std::uint64_t{0});
  device_.launch(module, found->name, options, arguments);
}

std::vector<float> joined_target_rows(const reference::Batch& batch) {
  std::vector<float> joined;
  for (const reference::Request& request : batch.requests)
    for (const reference::Row& row : request.target_rows)
      joined.insert(joined.end(), row.begin(), row.end());
  return joined;
}

std::vector<float> joined_draft_rows(const reference::Batch& batch) {
  std::vector<float> joined;
  for (const reference::Request& request : batch.requests)
    for (const reference::Row& row : request.proposal.rows)
      joined.insert(joined.end(), row.begin(), row.end());
  return joined;
}

}  // namespace draftproof::tools::cost
