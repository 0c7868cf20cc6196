// Plans of a benchmark matrix: the whole product, or a greedy cover of all pairs.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "reference/error.h"
#include "tools/draftproof/speed_matrix.h"

namespace draftproof::tools {
namespace {

bool is_excluded(const BenchmarkMatrix& matrix, const MatrixRun& run) {
  return std::any_of(
      matrix.exclusions.begin(), matrix.exclusions.end(), [&](const MatrixExclusion& exclusion) {
        return std::all_of(exclusion.where.begin(), exclusion.where.end(), [&](const auto& part) {
          const auto& [axis, values] = part;
          return std::find(values.begin(), values.end(), run[axis]) != values.end();
        });
      });
}

/// The next run of the product, the last axis turning first; false behind the last one.
bool advance(const BenchmarkMatrix& matrix, MatrixRun& run) {
  for (std::size_t axis = run.size(); axis-- > 0;) {
    if (++run[axis] < matrix.axes[axis].values.size()) return true;
    run[axis] = 0;
  }
  return false;
}

/// Values of two axes as one number; pairs (a, i, b, j) with a < b.
class Pairs {
 public:
  explicit Pairs(const BenchmarkMatrix& matrix) {
    for (const MatrixAxis& axis : matrix.axes) {
      offsets_.push_back(values_);
      values_ += axis.values.size();
    }
    open_.assign(values_ * values_, false);
  }
  std::size_t key(const MatrixRun& run, std::size_t a, std::size_t b) const {
    return (offsets_[a] + run[a]) * values_ + offsets_[b] + run[b];
  }
  void open(const MatrixRun& run) {
    for_each(run, [&](std::size_t at) {
      if (!open_[at]) ++left_;
      open_[at] = true;
    });
  }
  void close(const MatrixRun& run) {
    for_each(run, [&](std::size_t at) {
      if (open_[at]) --left_;
      open_[at] = false;
    });
  }
  std::size_t gain(const MatrixRun& run) const {
    std::size_t count = 0;
    for_each(run, [&](std::size_t at) { count += open_[at] ? 1 : 0; });
    return count;
  }
  std::size_t left() const { return left_; }

 private:
  template <typename Visit>
  void for_each(const MatrixRun& run, const Visit& visit) const {
    for (std::size_t a = 0; a < run.size(); ++a)
      for (std::size_t b = a + 1; b < run.size(); ++b) visit(key(run, a, b));
  }

  std::size_t values_ = 0;
  std::size_t left_ = 0;
  std::vector<std::size_t> offsets_;
  std::vector<bool> open_;
};

/// A run that is allowed and meets as many open pairs as changing one axis at a time can reach from
/// `run`: the product is too large to look at all of it for every run of the cover.
MatrixRun improved(const BenchmarkMatrix& matrix, const Pairs& pairs, MatrixRun run) {
  std::size_t best = pairs.gain(run);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t axis = 0; axis < run.size(); ++axis) {
      MatrixRun candidate = run;
      for (std::size_t value = 0; value < matrix.axes[axis].values.size(); ++value) {
        candidate[axis] = value;
        const std::size_t gain = pairs.gain(candidate);
        if (gain <= best || is_excluded(matrix, candidate)) continue;
        best = gain;
        run = candidate;
        has_changed = true;
      }
    }
  }
  return run;
}

/// Every pair that an allowed run has is in one of the result's: what no allowed run has is not
/// due.
std::vector<MatrixRun> covering_runs(const BenchmarkMatrix& matrix,
                                     const std::vector<MatrixRun>& allowed) {
  Pairs pairs(matrix);
  for (const MatrixRun& run : allowed) pairs.open(run);
  std::vector<MatrixRun> runs;
  // One pass is enough: behind it every allowed run has met all of its own pairs.
  for (const MatrixRun& seed : allowed) {
    while (pairs.gain(seed) > 0) {
      const MatrixRun run = improved(matrix, pairs, seed);
      pairs.close(run);
      runs.push_back(run);
    }
    if (pairs.left() == 0) break;
  }
  return runs;
}

}  // namespace

MatrixPlan plan_of(const BenchmarkMatrix& matrix, const std::string& file) {
  MatrixPlan plan;
  std::vector<MatrixRun> allowed;
  MatrixRun run(matrix.axes.size(), 0);
  do {
    plan.product += 1;
    if (is_excluded(matrix, run)) {
      plan.excluded += 1;
    } else {
      allowed.push_back(run);
    }
  } while (advance(matrix, run));
  if (allowed.empty())
    throw Error(ErrorKind::kInput, "the exclusions leave no run; take one of them out", file);
  const bool is_whole = matrix.cover == MatrixCover::kAll || matrix.axes.size() < 2;
  plan.runs = is_whole ? allowed : covering_runs(matrix, allowed);
  return plan;
}

}  // namespace draftproof::tools
