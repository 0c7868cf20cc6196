// The house rules that a program can check, checked: reviewers never argue about them. Each rule is
// a function from a file to complaints, and has a sibling test that feeds it a file it must reject.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;  // relative to the root, with '/'
  std::vector<std::string> lines;
};
using Complaints = std::vector<std::string>;

std::string at(const SourceFile& file, std::size_t index) {
  return file.path + ":" + std::to_string(index + 1);
}

bool has_extension(const std::string& path, const std::set<std::string>& extensions) {
  return extensions.contains(fs::path(path).extension().string());
}

bool is_code(const std::string& path) { return has_extension(path, {".h", ".cpp", ".cuh", ".cu"}); }

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

SourceFile read_file(const std::string& path, const fs::path& file) {
  SourceFile source{path, {}};
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) source.lines.push_back(line);
  return source;
}

// Everything that is committed or could be: build outputs and reports are not ours to judge.
std::vector<SourceFile> all_files() {
  const fs::path root = DRAFTPROOF_SOURCE_DIR;
  const std::set<std::string> top = {"reference", "gpu",   "oracle", "properties",
                                     "fixtures",  "tools", "tests",  ".ci"};
  std::vector<SourceFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string path = fs::relative(entry.path(), root).generic_string();
    if (!entry.is_regular_file()) continue;
    if (!top.contains(folder_of(path)) && path.find('/') != std::string::npos) continue;
    if (path.find("__pycache__") != std::string::npos) continue;
    files.push_back(read_file(path, entry.path()));
  }
  return files;
}

Complaints long_lines(const SourceFile& file) {
  Complaints complaints;
  if (!is_code(file.path)) return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    // Columns, not bytes: continuation bytes of UTF-8 do not count.
    const auto columns = std::count_if(file.lines[i].begin(), file.lines[i].end(),
                                       [](unsigned char byte) { return (byte & 0xc0) != 0x80; });
    if (columns > 100) complaints.push_back(at(file, i) + ": longer than 100 columns");
  }
  return complaints;
}

Complaints long_files(const SourceFile& file) {
  if (!is_code(file.path) || file.lines.size() <= 400) return {};
  return {file.path + ": " + std::to_string(file.lines.size()) +
          " lines, limit 400: split by noun"};
}

// A function starts at column 0 with a line that ends in '{' and ends with '}' at column 0.
Complaints long_functions(const SourceFile& file) {
  static const std::regex not_a_function(
      R"(^(namespace|class|struct|enum|union|extern|template<|constexpr|const|static const|)"
      R"(inline constexpr|\}|#).*)");
  Complaints complaints;
  if (!is_code(file.path)) return complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    const bool opens = !line.empty() && line.back() == '{' && line[0] != ' ' && line[0] != '/';
    if (!opens || std::regex_match(line, not_a_function)) continue;
    std::size_t end = i + 1;
    while (end < file.lines.size() && (file.lines[end].empty() || file.lines[end][0] != '}')) ++end;
    if (end - i + 1 > 70)
      complaints.push_back(at(file, i) + ": function of " + std::to_string(end - i + 1) +
                           " lines, limit 70");
    i = end;
  }
  return complaints;
}

Complaints markers(const SourceFile& file) {
  // Spelt apart so that this file does not complain about itself.
  static const std::regex marker(std::string(R"(\b(TO)") + "DO|FIX" + "ME|XX" + "X|HA" +
                                 R"(CK)\b)");
  Complaints complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (std::regex_search(file.lines[i], marker))
      complaints.push_back(at(file, i) + ": a marker for later work");
  return complaints;
}

Complaints outside_paths(const SourceFile& file) {
  static const std::regex outside(std::string(R"(\.\./sha)") + "red|/wo" + "rk/|/ho" + "me/|/ro" +
                                  "ot/");
  Complaints complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (std::regex_search(file.lines[i], outside))
      complaints.push_back(at(file, i) + ": a path outside the project");
  return complaints;
}

Complaints vague_names(const SourceFile& file) {
  static const std::regex vague(
      R"((^|[_/])(util|utils|helper|helpers|manager|misc|common|fast|new)(_|\.|$))");
  const std::string name = fs::path(file.path).filename().string();
  if (is_code(file.path) && std::regex_search(name, vague))
    return {file.path + ": a name that says nothing"};
  return {};
}

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
      {std::regex("<Random123/"),
       std::regex("^(reference/coin\\.cpp|gpu/kernels/coin\\.cuh|tests/.*)")},
      {std::regex("<Eigen/"), std::regex("^(reference/model|oracle|tests)/.*")},
      {std::regex("<rapidcheck"), std::regex("^(properties|tests)/.*")},
      {std::regex("<nlohmann/"), std::regex("^(properties|tools|tests)/.*")},
      {std::regex("<(CLI|fmt|toml\\+\\+|pugixml)"), std::regex("^(tools|tests)/.*")},
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

// Same name, two places: a reader finds the truth for a kernel by changing one word of the path.
Complaints kernels_without_twin(const std::vector<SourceFile>& files) {
  static const std::regex kernel(R"(^gpu/kernels/(.*/)?([a-z_]+)\.cu$)");
  std::set<std::string> paths;
  for (const auto& file : files) paths.insert(file.path);
  Complaints complaints;
  for (const auto& path : paths) {
    std::smatch match;
    if (!std::regex_match(path, match, kernel)) continue;
    const std::string stem = match[2];
    const bool twin = paths.contains("reference/" + match[1].str() + stem + ".cpp") ||
                      paths.contains("reference/" + stem + ".cpp");
    if (!twin) complaints.push_back(path + ": no file of that name in reference/");
  }
  return complaints;
}

Complaints unsafe_floating_point(const SourceFile& file) {
  static const std::regex flag(std::string("-ffast") + "-math|--use_fast" + "_math|-use_fast" +
                               "_math|-Ofa" + "st");
  // A card states how somebody else's kernel is compiled, and fetch.sh does as it says.
  static const std::regex theirs(R"(.*\.md$|fixtures/kernels/.*|tools/kernels/.*)");
  const bool is_ours = !std::regex_match(file.path, theirs);
  Complaints complaints;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (is_ours && std::regex_search(file.lines[i], flag))
      complaints.push_back(at(file, i) + ": floating point that decides is never relaxed");
  return complaints;
}

using Rule = Complaints (*)(const SourceFile&);

void expect_clean(Rule rule) {
  for (const auto& file : all_files())
    for (const auto& complaint : rule(file)) ADD_FAILURE() << complaint;
}

TEST(Tidy, ReadsTheTreeItJudges) { EXPECT_GT(all_files().size(), 50u); }

TEST(Tidy, LinesAreAtMostAHundredColumns) {
  expect_clean(long_lines);
  EXPECT_EQ(long_lines({"a.h", {std::string(101, 'x')}}).size(), 1u);
  EXPECT_TRUE(long_lines({"a.h", {std::string(100, 'x')}}).empty());
}

TEST(Tidy, FilesAreAtMostFourHundredLines) {
  expect_clean(long_files);
  EXPECT_EQ(long_files({"a.h", std::vector<std::string>(401)}).size(), 1u);
}

TEST(Tidy, FunctionsAreAtMostSeventyLines) {
  expect_clean(long_functions);
  SourceFile file{"a.cpp", {"void f() {"}};
  file.lines.resize(70, "  ;");
  file.lines.push_back("}");
  EXPECT_EQ(long_functions(file).size(), 1u);
}

TEST(Tidy, NothingIsLeftForLater) {
  expect_clean(markers);
  EXPECT_EQ(markers({"a.h", {std::string("// TO") + "DO: x"}}).size(), 1u);
}

TEST(Tidy, NoPathLeavesTheProject) {
  expect_clean(outside_paths);
  EXPECT_EQ(outside_paths({"a.h", {std::string("// see ../sha") + "red/x"}}).size(), 1u);
}

TEST(Tidy, NamesSaySomething) {
  expect_clean(vague_names);
  EXPECT_EQ(vague_names({"gpu/string_utils.h", {}}).size(), 1u);
  EXPECT_TRUE(vague_names({"gpu/renewal.h", {}}).empty());
}

TEST(Tidy, FoldersIncludeOnlyWhatTheySee) {
  expect_clean(include_rule);
  EXPECT_EQ(include_rule({"oracle/a.cpp", {"#include \"gpu/device.h\""}}).size(), 1u);
  EXPECT_EQ(include_rule({"properties/a.cpp", {"#include \"fixtures/x.h\""}}).size(), 1u);
  EXPECT_TRUE(include_rule({"tools/a.cpp", {"#include \"gpu/device.h\""}}).empty());
}

TEST(Tidy, LibrariesStayInTheirFolders) {
  expect_clean(third_party_rule);
  EXPECT_EQ(third_party_rule({"gpu/a.cpp", {"#include <CLI/CLI.hpp>"}}).size(), 1u);
}

TEST(Tidy, EveryKernelHasATwinInTheReference) {
  for (const auto& complaint : kernels_without_twin(all_files())) ADD_FAILURE() << complaint;
  EXPECT_EQ(kernels_without_twin({{"gpu/kernels/verify/lonely.cu", {}}}).size(), 1u);
}

TEST(Tidy, FloatingPointIsNeverRelaxed) {
  expect_clean(unsafe_floating_point);
  EXPECT_EQ(unsafe_floating_point({"x.cmake", {std::string("-ffast") + "-math"}}).size(), 1u);
}

}  // namespace
