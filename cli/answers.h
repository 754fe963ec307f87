// How results and answers look on a terminal.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "neura/nn/container.h"

namespace neura::cli {

std::string percent(double part);                             // "91.5 %"
std::string bar(double part);                                 // of blocks, 30 for all
std::vector<std::size_t> ranked(const std::vector<double>&);  // places, the largest number's first

// In one line. Bytes that are no UTF-8, as names of files may have, become U+FFFD.
std::string json_line(const nlohmann::ordered_json&);

// What the network gives the classes, for one item without the dimension of the batch.
std::vector<double> probabilities(nn::Sequential& model, const Tensor& item);
// What `name` is taken for: a line of JSON, the five most likely classes where it is alone, or the first.
void say_classes(const std::string& name, const std::vector<std::string>& classes, const std::vector<double>& p,
                 bool json, bool alone);

}  // namespace neura::cli
