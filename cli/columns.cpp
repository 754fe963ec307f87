#include "cli/columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "neura/core/error.h"
#include "neura/ops/create/create.h"

namespace neura::cli {
namespace {

constexpr std::size_t kClassesOfNumbers = 20;  // a target with more of them is a quantity
constexpr std::size_t kValues = 100;           // a column of text with more of them is a name, not a kind

std::optional<double> as_number(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || stop != cell.data() + cell.size() || cell.empty() || !std::isfinite(value)) return {};
  return value;
}

struct ColumnSummary {  // of a column
  bool numeric = true, whole = true;
  std::size_t missing = 0;
  double mean = 0, deviation = 1;
  std::set<std::string> values;
};

ColumnSummary summarise(const data::Cells& cells, std::size_t column) {
  ColumnSummary s;
  double sum = 0, squares = 0;
  std::size_t n = 0;
  for (const auto& row : cells.rows) {
    const std::string& cell = row[column];
    if (is_missing(cell)) {
      ++s.missing;
      continue;
    }
    s.values.insert(cell);
    const auto value = as_number(cell);
    if (!value) s.numeric = false;
    else sum += *value, ++n, s.whole = s.whole && *value == std::floor(*value);
  }
  s.numeric = s.numeric && n > 0;
  if (!s.numeric) return s;
  s.mean = sum / double(n);
  for (const auto& row : cells.rows)
    if (const auto value = as_number(row[column])) squares += (*value - s.mean) * (*value - s.mean);
  s.deviation = squares > 0 ? std::sqrt(squares / double(n)) : 1;
  return s;
}

// Numbers by their size, so that class 10 comes after class 9.
std::vector<std::string> in_order(const ColumnSummary& s) {
  std::vector<std::string> all(s.values.begin(), s.values.end());
  if (s.numeric)
    std::stable_sort(all.begin(), all.end(),
                     [](const std::string& a, const std::string& b) { return *as_number(a) < *as_number(b); });
  return all;
}

void decide_target(Columns& c, const ColumnSummary& s, const std::string& as, std::vector<std::string>& notes) {
  const bool quantity = s.numeric && (!s.whole || s.values.size() > kClassesOfNumbers);
  check<ValueError>(as != "regression" || s.numeric, [&] {
    return "table: expected numbers in the column \"" + c.target +
           "\" for regression, got text; take --as classification";
  });
  check<ValueError>(s.values.size() >= 2, [&] {
    return "table: expected two values or more in the column \"" + c.target + "\", got " +
           std::to_string(s.values.size()) + "; there is nothing to learn";
  });
  const std::string why = !as.empty()  ? "as asked"
                          : !s.numeric ? "its cells are text"
                          : !s.whole   ? "its numbers have fractions"
                          : quantity
                              ? "it has more than " + std::to_string(kClassesOfNumbers) + " different numbers"
                              : "it has at most " + std::to_string(kClassesOfNumbers) + " different whole numbers";
  const bool regression = as.empty() ? quantity : as == "regression";
  if (regression) c.mean = s.mean, c.deviation = s.deviation;
  else c.classes = in_order(s);
  notes.push_back("\"" + c.target + "\" is " +
                  (regression ? "a number to predict (regression)"
                              : "one of " + std::to_string(c.classes.size()) + " classes (classification)") +
                  ": " + why);
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

bool is_missing(const std::string& cell) {
  std::string lower = cell;
  for (char& c : lower) c = char(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  static const std::set<std::string> none = {"", "na", "n/a", "nan", "null", "none", "?"};
  return none.contains(lower);
}

data::Cells read_table(const std::string& text, const std::string& name, char* delimiter) {
  const std::string header = text.substr(0, text.find('\n'));
  char best = ',';
  for (const char c : {';', '\t'})
    if (std::count(header.begin(), header.end(), c) > std::count(header.begin(), header.end(), best)) best = c;
  if (delimiter) *delimiter = best;
  data::Cells cells = data::parse_cells(text, {.delimiter = best, .header = true}, name);
  check<ValueError>(!cells.rows.empty(),
                    [&] { return name + ": expected a line of names and rows below it, got no rows"; });
  return cells;
}

std::size_t place_of(const data::Cells& cells, const std::string& column) {
  const auto at = std::find(cells.names.begin(), cells.names.end(), column);
  check<ValueError>(at != cells.names.end(),
                    [&] { return "table: expected a column \"" + column + "\", got " + listed(cells.names); });
  return std::size_t(at - cells.names.begin());
}

std::pair<double, double> column_statistics(const data::Cells& cells, const std::string& column) {
  const ColumnSummary s = summarise(cells, place_of(cells, column));
  return {s.mean, s.deviation};
}

Columns learn_columns(const data::Cells& cells, const std::string& target, const std::string& as,
                      std::vector<std::string>& notes) {
  Columns c;
  c.target = target;
  const std::size_t place = place_of(cells, target);
  decide_target(c, summarise(cells, place), as, notes);
  std::vector<std::string> numbers, kinds, left_out, missing;
  for (std::size_t i = 0; i < cells.names.size(); ++i) {
    if (i == place) continue;
    const ColumnSummary s = summarise(cells, i);
    Column column{.name = cells.names[i], .numeric = s.numeric, .mean = s.mean, .deviation = s.deviation};
    if (s.values.empty() || s.values.size() == 1) {
      left_out.push_back(column.name + " (one value)");
      continue;
    }
    if (!s.numeric && s.values.size() > kValues && s.values.size() * 2 > cells.rows.size()) {
      left_out.push_back(column.name + " (" + std::to_string(s.values.size()) + " different texts)");
      continue;
    }
    column.missing = s.missing > 0;
    if (s.missing > 0) missing.push_back(column.name + " " + std::to_string(s.missing));
    if (!s.numeric) column.values = in_order(s);
    if (!s.numeric && s.missing > 0) column.values.insert(column.values.begin(), "");
    (s.numeric ? numbers : kinds).push_back(column.name);
    c.inputs.push_back(std::move(column));
  }
  check<ValueError>(!c.inputs.empty(),
                    [&] { return "table: expected a column besides \"" + target + "\" to learn from, got none"; });
  if (!numbers.empty()) notes.push_back("numbers: " + listed(numbers));
  if (!kinds.empty()) notes.push_back("kinds: " + listed(kinds));
  if (!missing.empty()) notes.push_back("cells without a value: " + listed(missing));
  if (!left_out.empty()) notes.push_back("left out: " + listed(left_out));
  return c;
}

nlohmann::json Columns::save() const {
  nlohmann::json columns = nlohmann::json::array();
  for (const Column& c : inputs) {
    if (c.numeric)
      columns.push_back({{"name", c.name}, {"mean", c.mean}, {"deviation", c.deviation}, {"missing", c.missing}});
    else columns.push_back({{"name", c.name}, {"values", c.values}});
  }
  return {{"inputs", columns},      {"classes", classes}, {"mean", mean},
          {"deviation", deviation}, {"target", target},   {"delimiter", std::string(1, delimiter)}};
}

Columns Columns::load(const nlohmann::json& j) {
  Columns c;
  j.at("target").get_to(c.target), j.at("classes").get_to(c.classes);
  j.at("mean").get_to(c.mean), j.at("deviation").get_to(c.deviation);
  c.delimiter = j.at("delimiter").get<std::string>().at(0);
  for (const nlohmann::json& one : j.at("inputs")) {
    Column column{.name = one.at("name").get<std::string>(), .numeric = !one.contains("values")};
    if (column.numeric) {
      one.at("mean").get_to(column.mean), one.at("deviation").get_to(column.deviation);
      one.at("missing").get_to(column.missing);
    } else {
      one.at("values").get_to(column.values);
    }
    c.inputs.push_back(std::move(column));
  }
  return c;
}

std::int64_t Columns::width() const {
  std::int64_t all = 0;
  for (const Column& c : inputs) all += c.width();
  return all;
}

Tensor Columns::features(const data::Cells& cells) const {
  Tensor x = zeros({std::int64_t(cells.rows.size()), width()});
  std::int64_t first = 0;
  for (const Column& c : inputs) {
    const std::size_t place = place_of(cells, c.name);
    for (std::size_t r = 0; r < cells.rows.size(); ++r) {
      const std::string& cell = cells.rows[r][place];
      float* out = x.data<float>() + std::int64_t(r) * width() + first;
      const std::string value = is_missing(cell) ? "" : cell;
      if (!c.numeric) {  // a value that training never saw belongs to no class
        const auto at = std::find(c.values.begin(), c.values.end(), value);
        if (at != c.values.end()) out[at - c.values.begin()] = 1;
      } else if (value.empty()) {
        if (c.missing) out[1] = 1;
      } else {
        const auto number = as_number(value);
        check<ValueError>(number.has_value(), [&] {
          return "table: expected a number in column \"" + c.name + "\" of row " + std::to_string(r + 1) + ", got \"" +
                 cell + '"';
        });
        out[0] = float((*number - c.mean) / c.deviation);
      }
    }
    first += c.width();
  }
  return x;
}

Tensor Columns::targets(const data::Cells& cells) const {
  const std::size_t place = place_of(cells, target);
  const auto n = std::int64_t(cells.rows.size());
  Tensor y = classes.empty() ? zeros({n, 1}) : zeros({n}, {.dtype = int64});
  for (std::int64_t r = 0; r < n; ++r) {
    const std::string& cell = cells.rows[std::size_t(r)][place];
    const auto wrong = [&](const char* expected) {
      return std::string("table: expected ") + expected + " in column \"" + target + "\" of row " +
             std::to_string(r + 1) + ", got \"" + cell + '"';
    };
    if (classes.empty()) {
      const auto number = as_number(cell);
      check<ValueError>(number.has_value(), [&] { return wrong("a number"); });
      y.data<float>()[r] = float((*number - mean) / deviation);
    } else {
      const auto at = std::find(classes.begin(), classes.end(), cell);
      check<ValueError>(at != classes.end(), [&] { return wrong("a class that the run knows"); });
      y.data<std::int64_t>()[r] = at - classes.begin();
    }
  }
  return y;
}

}  // namespace neura::cli
