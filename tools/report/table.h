// Table: rows of cells laid out for a terminal or as Markdown that can be pasted into an issue.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace draftproof::tools::report {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  std::size_t wrap_at = 0;  ///< longer cells continue on the next line; 0: never
};

/// Number of code points of a UTF-8 text: its width in a terminal for the texts we print.
std::size_t width_of(std::string_view text);

/// `text` broken at spaces so that no line is wider than `width`; words longer than it stay whole.
/// Lines keep their indent, also where they continue.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// "18 432": digits in groups of three.
std::string grouped(std::uint64_t number);

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Precondition: one cell per column.
  void add(std::vector<std::string> cells);

  /// `paint` may wrap a padded cell in escape codes: (column, the cell's own text, padded) -> text.
  using Paint =
      std::function<std::string(std::size_t, const std::string&, const std::string& padded)>;
  std::string text(const Paint& paint = nullptr) const;
  /// One line a row whatever its length; pipes are escaped.
  std::string markdown() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace draftproof::tools::report
