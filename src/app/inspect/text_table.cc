#include "app/inspect/text_table.h"

#include <algorithm>

namespace corisco::app {
namespace {
struct Column {
  std::size_t width = 0;
  bool is_numeric = true;
};

// Characters, of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789.-+e") == std::string::npos; }
}  // namespace

std::string TextTable::text() const {
  std::vector<Column> columns(rows_.front().size());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].width = std::max(columns[i].width, width_of(rows_[row][i]));
      if (row > 0) columns[i].is_numeric &= is_number(rows_[row][i]);
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string blanks(columns[i].width - width_of(row[i]), ' ');
      line += columns[i].is_numeric ? "  " + blanks + row[i] : "  " + row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}
}  // namespace corisco::app
