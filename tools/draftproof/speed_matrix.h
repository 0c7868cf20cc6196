// Benchmark matrix: the runs that a claim of speed needs, as a configuration. Axes are lists; their
// Cartesian product, less what is excluded, is the plan, or a smaller one in which every two values
// of two axes still meet (a covering array of strength two, built greedily). Every run has both
// arms: the same prompts at the same arrival times, with and without drafts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::tools {

enum class MatrixCover { kAll, kPairs };

struct MatrixAxis {
  std::string name;
  std::vector<std::string> values;
};

/// A run is excluded when it has one of the values on every axis that the exclusion names.
struct MatrixExclusion {
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> where;  ///< axis, its values
  std::string reason;
};

struct BenchmarkMatrix {
  std::string name;
  MatrixCover cover = MatrixCover::kAll;
  std::vector<MatrixAxis> axes;
  std::vector<MatrixExclusion> exclusions;
};

/// One value's index an axis.
using MatrixRun = std::vector<std::size_t>;

struct MatrixPlan {
  std::vector<MatrixRun> runs;
  std::size_t product = 0;   ///< without exclusions
  std::size_t excluded = 0;  ///< of the product
};

/// Most runs that a plan is written out for.
inline constexpr std::size_t kMostRuns = 500'000;

/// Throws Error(kInput) "FILE:LINE: ..." for malformed TOML, an unknown key, an axis that is empty
/// or names a value twice, an exclusion that names no axis or value there is, too many runs.
BenchmarkMatrix matrix_from_toml(std::string_view text, const std::string& file);

/// Runs in the order of the axes, the last one turning first; of the pairs, in the order found.
/// Throws Error(kInput) that names `file` when the exclusions leave nothing.
MatrixPlan plan_of(const BenchmarkMatrix& matrix, const std::string& file);

/// `format` as of `draftproof speed -o`: text and md tell how many there are before the table.
std::string matrix_page(const BenchmarkMatrix& matrix, const MatrixPlan& plan,
                        const std::string& format);

}  // namespace draftproof::tools
