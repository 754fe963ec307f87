// What goes into models and comes out of them, on the command line.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "neura/core/tensor.h"

namespace neura::cli {

using Clock = std::chrono::steady_clock;
inline double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Progress of long work, on a terminal, on a line that is erased afterwards.
class Status {
 public:
  ~Status();
  void say(const std::string& text);

 private:
  bool drawn_ = false;
};

// NAME=VALUE; without a name, ("", VALUE).
std::pair<std::string, std::string> parted(const std::string& text);
// Which input a value is for: the one of that name, or without a name the next that has none. ValueError: there is
// none.
std::size_t place_of(const std::string& name, const std::vector<std::string>& names, const std::vector<Tensor>& all);
// One tensor for each name, from FILE.npy for the next name that has none, or NAME=FILE.npy; undefined where no file is
// given.
std::vector<Tensor> read_inputs(const std::vector<std::string>& names, const std::vector<std::string>& files);

// ValueError where one is undefined.
void check_given(const std::vector<std::string>& names, const std::vector<Tensor>& inputs);
// To run with where nothing is given: of floating-point numbers some from -1 to 1, else zeros.
Tensor sample(const Shape&, DType);

struct Output {
  std::string name, text;
  Tensor tensor;  // undefined: a value that no file can hold
};
std::string file_of(const std::string& folder, const std::string& output);  // FOLDER/NAME.npy
// One file for one output; else the outputs' names in a folder; nowhere: they are printed.
void write_outputs(const std::vector<Output>&, const std::string& to);

// Runs it once and `runs` times more, waits for devices, and prints what was measured.
void measure(std::int64_t runs, double load, const std::vector<std::pair<std::string, std::string>>& inputs,
             const std::function<std::vector<Tensor>()>& run);

}  // namespace neura::cli
