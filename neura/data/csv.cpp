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

void skip_mark(std::string_view& text) {  // UTF-8's byte order mark
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
}

// One cell after the other.
class CellReader {
 public:
  CellReader(std::string_view text, char delimiter, const std::string& name)
      : text_(text), delimiter_(delimiter), name_(name) {
    skip_mark(text_);
  }
  bool more() const { return at_ < text_.size(); }
  std::size_t line() const { return line_; }

  // The cells of a line; none of an empty one.
  std::vector<std::string> row() {
    std::vector<std::string> cells;
    bool quoted = false;
    do {
      cells.push_back(cell(quoted));
    } while (take(delimiter_));
    take('\n');
    if (cells.size() == 1 && cells[0].empty() && !quoted) cells.clear();
    return cells;
  }
  [[noreturn]] void fail(const std::string& what, std::size_t line) const {
    throw FormatError(name_ + ": line " + std::to_string(line) + ": " + what);
  }

 private:
  bool take(char c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    line_ += c == '\n';
    return true;
  }
  std::string cell(bool& quoted) {
    while (more() && (text_[at_] == ' ' || (text_[at_] == '\t' && delimiter_ != '\t'))) ++at_;
    if (more() && text_[at_] == '"') return quoted = true, in_quotes();
    const std::size_t begin = at_;
    while (more() && text_[at_] != delimiter_ && text_[at_] != '\n') ++at_;
    return std::string(trim(text_.substr(begin, at_ - begin)));
  }
  std::string in_quotes() {
    const std::size_t first = line_;
    std::string out;
    for (++at_; more(); ++at_) {
      if (text_[at_] != '"') {
        line_ += text_[at_] == '\n';
        out += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        out += text_[at_++];
      } else {
        ++at_;
        while (more() && (text_[at_] == ' ' || text_[at_] == '\r')) ++at_;
        if (more() && text_[at_] != delimiter_ && text_[at_] != '\n')
          fail("expected the end of a cell after its quotes, got \"" + std::string(1, text_[at_]) + '"', line_);
        return out;
      }
    }
    fail("expected a quote at the end of the cell, got the end of the text", first);
  }

  std::string_view text_;
  char delimiter_;
  const std::string& name_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace

Cells parse_cells(std::string_view text, CsvOptions o, const std::string& name) {
  CellReader reader(text, o.delimiter, name);
  Cells all;
  std::size_t columns = 0;
  while (reader.more()) {
    const std::size_t line = reader.line();
    std::vector<std::string> cells = reader.row();
    if (cells.empty()) continue;
    if (!columns) columns = cells.size();
    if (cells.size() != columns)
      reader.fail("expected " + std::to_string(columns) + " cells, got " + std::to_string(cells.size()), line);
    if (o.header && all.names.empty()) all.names = std::move(cells);
    else all.rows.push_back(std::move(cells));
  }
  return all;
}

Cells read_cells(const std::string& path, CsvOptions o) { return parse_cells(read_text(path), o, path); }

Table parse_csv(std::string_view text, CsvOptions o, const std::string& name) {
  skip_mark(text);
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
