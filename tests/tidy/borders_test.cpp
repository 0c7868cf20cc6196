// The borders between folders: who includes whom, which library is used where, what must share no
// code, and where a namespace and a kernel's twin lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace draftproof::tests {
namespace {

namespace fs = std::filesystem;

// reference -> { gpu, oracle, fixtures } -> properties -> tools -> tests; the three in braces do
// not see each other, properties sees neither gpu nor fixtures.
const std::map<std::string, std::set<std::string>>& visible_folders() {
  static const std::map<std::string, std::set<std::string>> visible = {
      {"reference", {"reference"}},
      {"gpu", {"reference", "gpu"}},
      {"oracle", {"reference", "oracle"}},
      {"fixtures", {"reference", "fixtures"}},
      {"properties", {"reference", "oracle", "properties"}},
      {"tools", {"reference", "gpu", "oracle", "fixtures", "properties", "tools"}},
      {"tests", {"reference", "gpu", "oracle", "fixtures", "properties", "tools", "tests"}},
  };
  return visible;
}

Complaints include_rule(const SourceFile& file) {
  static const std::regex include(R"rx(^\s*#\s*include\s+"([a-z]+)/)rx");
  Complaints complaints;
  const auto visible = visible_folders().find(folder_of(file.path));
  if (!is_code(file.path) || visible == visible_folders().end()) return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(file.lines[i], match, include)) continue;
    const std::string target = match[1];
    if (visible_folders().contains(target) && !visible->second.contains(target))
      complaints.push_back(at(file, i) + ": " + visible->first + " may not include " + target);
  }
  return complaints;
}

// Third-party headers are per folder too, so that a library's reach is known.
Complaints third_party_rule(const SourceFile& file) {
  static const std::vector<std::pair<std::regex, std::regex>> allowed = {
      {std::regex("<boost/multiprecision/"), std::regex("^(reference/scalar\\.h|tests/.*)")},
      {std::regex("<boost/math/"), std::regex("^(oracle|tests)/.*")},
      {std::regex("<Random123/"), std::regex("^(reference/coin\\.cpp|tests/.*)")},
      {std::regex("<Eigen/"), std::regex("^(reference/model/toy_llama\\.cpp|tests/.*)")},
      {std::regex("<rapidcheck"), std::regex("^(properties|tests)/.*")},
      {std::regex("<nlohmann/"), std::regex("^(properties|tools|tests)/.*")},
      {std::regex("<(CLI|fmt|toml\\+\\+|pugixml)"), std::regex("^(tools|tests)/.*")},
      {std::regex("<httplib"), std::regex("^(tools/engines/http\\.cpp|tests/.*)")},
      {std::regex("<sqlite3\\.h>"), std::regex("^(tools/store|tests)/.*")},
      {std::regex("<cub/cub\\.cuh>"), std::regex("^$")},
  };
  Complaints complaints;
  if (!is_code(file.path)) return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (file.lines[i].find("#include <") == std::string::npos) continue;
    for (const auto& [header, places] : allowed)
      if (std::regex_search(file.lines[i], header) && !std::regex_match(file.path, places))
        complaints.push_back(at(file, i) + ": " + file.lines[i] + " does not belong here");
  }
  return complaints;
}

// What checks something shares no code with it. Types that cross seams (rows of masses, proposals,
// outcomes) are shared; whoever decides is not.
Complaints independence(const SourceFile& file) {
  struct Border {
    std::regex files;
    std::regex out_of_bounds;
  };
  static const std::vector<Border> borders = {
      {std::regex("gpu/kernels/.*"), std::regex("(reference|gpu/(?!kernels/)).*")},
      // The weights of the toy model cross the seam; whoever computes with them does not.
      {std::regex("gpu/.*"), std::regex("reference/(mass|scalar|distribution|shaping|verify/|law/|"
                                        "model/(toy_llama|certified_error)\\.).*")},
      {std::regex("oracle/.*"), std::regex("reference/(coin|distribution|shaping|verify/|law/).*")},
      // The twin judges what an engine handed to its rule, and so asks the rule once more; what it
      // must not share is the engine's hand-overs.
      {std::regex("properties/(?!state/).*"), std::regex("reference/(verify|law)/.*")},
      {std::regex("properties/state/.*"),
       std::regex("reference/(law/|decode/engine_steps|decode/request_coins).*")},
      // The coin laws count the coins of the very functions in verify; they are held against
      // law/rules.
      {std::regex("reference/law/(?!([a-z]+_)?coin_(law|count)\\.).*"),
       std::regex("reference/verify/.*")},
      // Drafters hand trees of laws to the rules of law/, and know nothing of masses.
      {std::regex("reference/draft/.*"), std::regex("reference/verify/.*")},
      // Draft sources put the drafters of draft/ to work in engines, which decide by verify/.
      {std::regex("reference/(?!law/|draft/|decode/(draft|method)_source\\.).*"),
       std::regex("reference/law/.*")},
      // The catalog asks for the names of the rules, and decides nothing.
      {std::regex("fixtures/(?!mutants/catalog\\.|faults/).*"),
       std::regex("reference/(verify|law)/.*")},
      // Faults are exchanged steps of decoders of law/; they are no subject that law/ judges.
      {std::regex("fixtures/faults/.*"), std::regex("reference/verify/.*")},
  };
  static const std::regex include(R"rx(^\s*#\s*include\s+"([^"]+)")rx");
  Complaints complaints;
  for (std::size_t i = 0; is_code(file.path) && i < file.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(file.lines[i], match, include)) continue;
    const std::string target = match[1];
    for (const auto& [files, out_of_bounds] : borders)
      if (std::regex_match(file.path, files) && std::regex_match(target, out_of_bounds))
        complaints.push_back(at(file, i) + ": shares " + target +
                             " with what it is checked against");
  }
  return complaints;
}

// A namespace names folders on the way to its file, outermost first, or the file itself.
Complaints strange_namespaces(const SourceFile& file) {
  static const std::regex opened(R"(^namespace draftproof((::[a-z_]+)*) \{.*)");
  Complaints complaints;
  if (!is_code(file.path) || file.path == "reference/error.h" || folder_of(file.path) == "tests")
    return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_match(file.lines[i], match, opened)) continue;
    const std::string names = match[1];
    fs::path path = fs::path(file.path).replace_extension();
    auto folder = path.begin();
    bool is_on_the_way = names.starts_with("::" + folder_of(file.path));
    std::istringstream words(std::regex_replace(names, std::regex("::"), " "));
    for (std::string word; words >> word;) {
      folder = std::find(folder, path.end(), fs::path(word));
      is_on_the_way = is_on_the_way && folder != path.end();
    }
    if (!is_on_the_way)
      complaints.push_back(at(file, i) + ": draftproof" + names + " is not where the file lies");
  }
  return complaints;
}

// Same name, two places: a reader finds the truth for a kernel by changing one word of the path.
Complaints kernels_without_twin(const std::vector<SourceFile>& files) {
  static const std::regex kernel(R"(^gpu/kernels/(.*/)?([a-z_]+)\.cu$)");
  std::set<std::string> paths;
  for (const auto& file : files) paths.insert(file.path);
  Complaints complaints;
  for (const auto& path : paths) {
    std::smatch match;
    if (!std::regex_match(path, match, kernel)) continue;
    const auto has_twin = [&](const std::string& stem) {
      return paths.contains("reference/" + match[1].str() + stem + ".cpp") ||
             paths.contains("reference/" + stem + ".cpp");
    };
    // A variant has its twin's name and a word of its own behind it: chain_fused, of chain.
    std::string stem = match[2];
    while (!has_twin(stem) && stem.find('_') != std::string::npos) stem.resize(stem.rfind('_'));
    if (!has_twin(stem)) complaints.push_back(path + ": no file of that name in reference/");
  }
  return complaints;
}

TEST(Borders, FoldersIncludeOnlyWhatTheySee) {
  expect_clean(include_rule);
  EXPECT_EQ(include_rule({"oracle/a.cpp", {"#include \"gpu/device.h\""}}).size(), 1u);
  EXPECT_EQ(include_rule({"properties/a.cpp", {"#include \"fixtures/x.h\""}}).size(), 1u);
  EXPECT_TRUE(include_rule({"tools/a.cpp", {"#include \"gpu/device.h\""}}).empty());
}

TEST(Borders, LibrariesStayInTheirFolders) {
  expect_clean(third_party_rule);
  EXPECT_EQ(third_party_rule({"gpu/a.cpp", {"#include <CLI/CLI.hpp>"}}).size(), 1u);
  EXPECT_EQ(third_party_rule({"tools/a.cpp", {"#include <httplib.h>"}}).size(), 1u);
  EXPECT_EQ(third_party_rule({"reference/model/a.cpp", {"#include <Eigen/Core>"}}).size(), 1u);
  EXPECT_EQ(third_party_rule({"tools/audit/a.cpp", {"#include <sqlite3.h>"}}).size(), 1u);
  EXPECT_TRUE(third_party_rule({"tools/store/a.cpp", {"#include <sqlite3.h>"}}).empty());
}

TEST(Borders, WhatChecksSharesNoCodeWithWhatItChecks) {
  expect_clean(independence);
  const auto complaints = [](const char* path, const std::string& target) {
    return independence({path, {"#include \"" + target + "\""}}).size();
  };
  EXPECT_EQ(complaints("oracle/threshold.cpp", "reference/verify/chain.h"), 1u);
  EXPECT_EQ(complaints("gpu/packed_batch.cpp", "reference/mass.h"), 1u);
  EXPECT_EQ(complaints("gpu/kernels/mass.cuh", "reference/status.h"), 1u);
  EXPECT_EQ(complaints("reference/law/chain.cpp", "reference/verify/chain.h"), 1u);
  EXPECT_EQ(complaints("reference/verify/chain.cpp", "reference/law/chain.h"), 1u);
  EXPECT_EQ(complaints("fixtures/chain_skeleton.cpp", "reference/verify/chain.h"), 1u);
  EXPECT_EQ(complaints("properties/laws.cpp", "reference/verify/rows.h"), 1u);
  EXPECT_EQ(complaints("oracle/threshold.cpp", "reference/mass.h"), 0u);
  EXPECT_EQ(complaints("gpu/target_forward.cpp", "reference/model/toy_llama.h"), 1u);
  EXPECT_EQ(complaints("gpu/target_forward.cpp", "reference/model/toy_llama_weights.h"), 0u);
}

TEST(Borders, NamespacesAreFolders) {
  expect_clean(strange_namespaces);
  const auto complaints = [](const char* path, const char* line) {
    return strange_namespaces({path, {line}}).size();
  };
  EXPECT_EQ(complaints("gpu/emulator/isa/a.h", "namespace draftproof::gpu::emulator::isa {"), 0u);
  EXPECT_EQ(complaints("tools/draftproof/a.h", "namespace draftproof::tools {"), 0u);
  EXPECT_EQ(complaints("gpu/kernels/anchor.cuh", "namespace draftproof::gpu::kernels::anchor {"),
            0u);
  EXPECT_EQ(complaints("gpu/a.h", "namespace draftproof::oracle {"), 1u);
  EXPECT_EQ(complaints("gpu/a.h", "namespace draftproof::gpu::detail {"), 1u);
  EXPECT_EQ(complaints("gpu/emulator/a.h", "namespace draftproof::emulator {"), 1u);
  EXPECT_EQ(complaints("gpu/a.h", "namespace draftproof {"), 1u);
}

TEST(Borders, EveryKernelHasATwinInTheReference) {
  for (const auto& complaint : kernels_without_twin(all_files())) ADD_FAILURE() << complaint;
  EXPECT_EQ(kernels_without_twin({{"gpu/kernels/verify/lonely.cu", {}}}).size(), 1u);
}

}  // namespace
}  // namespace draftproof::tests
