// A network tried on pictures whose classes are known.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/models.h"
#include "neura/data/mnist.h"

namespace neura::cli {

struct Guess {
  std::int64_t picture = 0;
  int is = 0, guessed = 0;
  double probability = 0;  // that the network gives its guess
};
struct TestResult {
  double loss = 0, accuracy = 0, seconds = 0;
  std::vector<std::vector<std::int64_t>> confusion;  // [is][guessed]
  std::vector<Guess> guesses;                        // of every picture
};
// The model comes back in the mode it had. ValueError if the pictures are not of the size in `settings`.
TestResult test(nn::Sequential& model, const Settings& settings, const data::MNIST& set);

void check_pictures(const Settings& settings, const data::MNIST& set);
// Probabilities of the classes, most likely first.
std::vector<std::pair<int, double>> ranking(nn::Sequential& model, const Tensor& picture);
std::string percent(double part);  // "91.5 %"

}  // namespace neura::cli
