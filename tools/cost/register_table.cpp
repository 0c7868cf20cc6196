#include "tools/cost/register_table.h"

#include <sstream>
#include <vector>

#include "gpu/kernels/embedded.h"
#include "tools/store/atomic_file.h"

namespace draftproof::tools::cost {

RegisterTable::RegisterTable(const std::filesystem::path& third_party) {
  add(gpu::kernels::register_table());
  if (!std::filesystem::is_directory(third_party)) return;
  for (const auto& folder : std::filesystem::directory_iterator(third_party)) {
    const std::filesystem::path file = folder.path() / "registers.csv";
    if (std::filesystem::exists(file)) add(store::read_file(file));
  }
}

/// "chain,draftproof_verify_chain_f32,sm_90,64,0,0,528", as gpu/kernels/ptxas_check.sh writes it.
void RegisterTable::add(std::string_view table) {
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, ',');) cells.push_back(cell);
    if (cells.size() != 7 || !cells[2].starts_with("sm_90")) continue;
    lines_[{cells[0], cells[1]}] = {std::stoull(cells[3]), std::stoull(cells[4]),
                                    std::stoull(cells[6])};
  }
}

std::optional<Registers> RegisterTable::of(const std::string& module,
                                           const std::string& entry) const {
  const auto found = lines_.find({module, entry});
  if (found == lines_.end()) return std::nullopt;
  return found->second;
}

}  // namespace draftproof::tools::cost
