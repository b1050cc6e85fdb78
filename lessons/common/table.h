// Tables of text with aligned columns, also when cells hold Chinese or coloured text.
#pragma once

#include <string>
#include <vector>

#include "lessons/common/terminal.h"

namespace gradus {

// "0.4452", "-1.0000", "inf", "nan"; never "-0.0000".
std::string fixed(double value, int digits = 4);
// "99.6 %"
std::string percent(double share);

enum class Align { left, right };

class Table {
 public:
  // One heading per column; columns align left unless `aligns` says otherwise (fewer are padded with left).
  explicit Table(std::vector<std::string> headings, std::vector<Align> aligns = {});

  // Throws std::invalid_argument unless there is a cell for each column.
  void add_row(std::vector<std::string> cells);

  // Lines of at most min(terminal.width, 80) columns: the widest left column is wrapped where there is not room for
  // all; where even that is not enough, the cells of a row stand below each other. Newline at the end.
  std::string text(const Terminal& terminal) const;

 private:
  std::string stacked(const Terminal& terminal, int room) const;

  std::vector<std::string> headings_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gradus
