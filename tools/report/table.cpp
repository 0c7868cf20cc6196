#include "tools/report/table.h"

#include <algorithm>
#include <cstdint>

#include "reference/error.h"

namespace draftproof::tools::report {
namespace {

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::size_t have = width_of(text);
  const std::string space(width > have ? width - have : 0, ' ');
  return align == Align::kLeft ? text + space : space + text;
}

std::string separator(const std::vector<Column>& columns, const std::vector<std::size_t>& widths) {
  std::string line = "|";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool is_right = columns[i].align == Align::kRight;
    line += std::string(widths[i] + (is_right ? 1 : 2), '-');
    line += is_right ? ":|" : "|";
  }
  return line + "\n";
}

void wrap_line(std::string_view text, std::size_t width, std::vector<std::string>& lines) {
  const std::size_t indent = std::min(text.find_first_not_of(' '), text.size());
  std::string line(indent, ' ');
  for (std::size_t begin = indent; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const bool is_first = line.size() == indent;
    if (!is_first && width_of(line) + 1 + width_of(word) > width) {
      lines.push_back(line);
      line.assign(indent, ' ');
    } else if (!is_first && !word.empty()) {
      line += ' ';
    }
    line += word;
    begin = end + 1;
  }
  lines.push_back(line);
}

std::string escaped(const std::string& cell) {
  std::string out;
  for (const char c : cell) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    wrap_line(text.substr(begin, end - begin), width, lines);
    begin = end + 1;
  }
  return lines;
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ' ';
    out += digits[i];
  }
  return out;
}

void Table::add(std::vector<std::string> cells) {
  DRAFTPROOF_CHECK(cells.size() == columns_.size(), std::to_string(cells.size()));
  rows_.push_back(std::move(cells));
}

std::string Table::text(const Paint& paint) const {
  std::vector<std::vector<std::vector<std::string>>> lines;  // [row][column][line]
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_) {
    auto& cells = lines.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t limit = columns_[i].wrap_at;
      cells.push_back(limit == 0 ? std::vector{row[i]} : wrapped(row[i], limit));
      for (const auto& line : cells.back()) widths[i] = std::max(widths[i], width_of(line));
    }
  }
  std::string out = "|";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    out += " " + padded(columns_[i].title, widths[i], columns_[i].align) + " |";
  }
  out += "\n" + separator(columns_, widths);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::size_t height = 1;
    for (const auto& cell : lines[r]) height = std::max(height, cell.size());
    for (std::size_t h = 0; h < height; ++h) {
      out += "|";
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::string part = h < lines[r][i].size() ? lines[r][i][h] : "";
        const std::string cell = padded(part, widths[i], columns_[i].align);
        out += " " + (paint ? paint(i, part, cell) : cell) + " |";
      }
      out += "\n";
    }
  }
  return out;
}

std::string Table::markdown() const {
  const std::vector<std::size_t> widths(columns_.size(), 3);
  std::string out = "|";
  for (const Column& column : columns_) out += " " + escaped(column.title) + " |";
  out += "\n" + separator(columns_, widths);
  for (const auto& row : rows_) {
    out += "|";
    for (const auto& cell : row) out += " " + escaped(cell) + " |";
    out += "\n";
  }
  return out;
}

}  // namespace draftproof::tools::report
