// CSV: tables of numbers, or of any text.
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

struct Cells {
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> rows;
};
// The same of any text, without the spaces around a cell. One in double quotes may hold delimiters, ends of lines,
// spaces, and quotes written twice (RFC 4180). A byte order mark is left out. IoError; FormatError with the line.
Cells read_cells(const std::string& path, CsvOptions = {.header = true});
Cells parse_cells(std::string_view text, CsvOptions = {.header = true}, const std::string& name = "csv");

}  // namespace neura::data
