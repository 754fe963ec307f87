// Tables of numbers in text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::data {

struct CsvOptions {
  char delimiter = ',';
  bool header = false;  // the first line has names
};
struct Table {
  Tensor values;  // float64 [rows, columns]
  std::vector<std::string> names;
};
// Lines of equally many numbers; empty lines are skipped. IoError; FormatError with line and column.
Table read_csv(const std::string& path, CsvOptions = {});
Table parse_csv(std::string_view text, CsvOptions = {}, const std::string& name = "csv");

}  // namespace neura::data
