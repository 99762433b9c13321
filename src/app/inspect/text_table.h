// Columns of text under their heads, as wide as their widest entry. Pure.
#pragma once
#include <string>
#include <vector>

namespace corisco::app {
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // A column of numbers is set to the right, any other to the left.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;   // the heads first
};
}  // namespace corisco::app
