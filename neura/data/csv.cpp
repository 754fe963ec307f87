#include "neura/data/csv.h"

#include <algorithm>
#include <charconv>

#include "neura/data/text.h"

namespace neura::data {
namespace {

std::string_view trim(std::string_view s) {
  const std::size_t begin = s.find_first_not_of(" \t\r"), end = s.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : s.substr(begin, end - begin + 1);
}

std::vector<std::string_view> fields(std::string_view line, char delimiter) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    const std::size_t end = line.find(delimiter, at);
    out.push_back(trim(line.substr(at, end == std::string_view::npos ? end : end - at)));
    if (end == std::string_view::npos) return out;
    at = end + 1;
  }
}

}  // namespace

Table parse_csv(std::string_view text, CsvOptions o, const std::string& name) {
  Table table;
  std::vector<double> values;
  std::size_t columns = 0, rows = 0, number = 0;
  bool header = o.header;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1, ++number;
    if (trim(line).empty()) continue;
    const auto cells = fields(line, o.delimiter);
    if (header) {
      table.names.assign(cells.begin(), cells.end());
      columns = cells.size(), header = false;
      continue;
    }
    if (!columns) columns = cells.size();
    const auto where = [&] { return name + ": line " + std::to_string(number) + ": "; };
    check<FormatError>(cells.size() == columns, [&] {
      return where() + "expected " + std::to_string(columns) + " numbers, got " + std::to_string(cells.size());
    });
    for (std::size_t c = 0; c < columns; ++c) {
      std::string_view cell = cells[c];
      if (cell.starts_with('+')) cell.remove_prefix(1);
      double value = 0;
      const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      check<FormatError>(error == std::errc() && stop == cell.data() + cell.size() && !cell.empty(), [&, c] {
        return where() + "expected a number in column " + std::to_string(c + 1) + ", got \"" +
               std::string(cells[c].substr(0, 40)) + "\"";
      });
      values.push_back(value);
    }
    ++rows;
  }
  table.values = Tensor::empty(Spec::dense(float64, Shape{std::int64_t(rows), std::int64_t(columns)}));
  std::copy(values.begin(), values.end(), table.values.data<double>());
  return table;
}

Table read_csv(const std::string& path, CsvOptions o) { return parse_csv(read_text(path), o, path); }

}  // namespace neura::data
