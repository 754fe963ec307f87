// How the rows of a table become numbers for a network, learned from those that it is trained with.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "neura/core/tensor.h"
#include "neura/data/csv.h"

namespace neura::cli {

struct Column {
  std::string name;
  bool numeric = true;
  double mean = 0, deviation = 1;        // of a numeric one: it goes in as (x - mean) / deviation
  bool missing = false;                  // some cells had no value: the mean goes in, and a further input says so
  std::vector<std::string> values = {};  // of another one: an input for each, 1 where the cell is that; "": no value
  std::int64_t width() const { return numeric ? 1 + missing : std::int64_t(values.size()); }
};

struct Columns {
  std::vector<Column> inputs;
  std::string target;
  std::vector<std::string> classes;  // empty: a number is predicted
  double mean = 0, deviation = 1;    // of that number
  char delimiter = ',';

  nlohmann::json save() const;
  static Columns load(const nlohmann::json&);
  std::int64_t width() const;
  Tensor features(const data::Cells&) const;  // [rows, width]; ValueError where a column is not there, or no number
  Tensor targets(const data::Cells&) const;   // classes [rows], or numbers [rows, 1] in deviations from the mean
};

std::string listed(const std::vector<std::string>& names);  // a, b, c
bool is_missing(const std::string& cell);                   // "", NA, N/A, NaN, null, ?
// The delimiter is the one of comma, semicolon and tabulator that stands most often in the header.
data::Cells read_table(const std::string& text, const std::string& name, char* delimiter);
// Learns the columns from the rows. as: "classification", "regression", or empty, and the target's values decide: they
// are a number to be predicted if they have fractions or more than 20 different values. notes: what was decided and
// found.
Columns learn_columns(const data::Cells&, const std::string& target, const std::string& as,
                      std::vector<std::string>& notes);
std::pair<double, double> column_statistics(const data::Cells&, const std::string& column);  // mean, deviation
std::size_t place_of(const data::Cells&, const std::string& column);  // ValueError with the columns that there are

}  // namespace neura::cli
