// The commands of the program neura, apart from how their arguments are read. Each returns the exit code.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cli/graph.h"

namespace neura::cli {

inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kInterrupted = 130;  // 128 + SIGINT, as shells have it

struct TrainOptions {  // what is absent comes from the checkpoint that is resumed, or is the default of `Settings`
  std::optional<std::string> model;
  std::optional<std::int64_t> epochs, batch_size;
  std::optional<double> lr;
  std::optional<std::uint64_t> seed;
  std::string device = "cpu";
  GraphMode graph = GraphMode::automatic;
  std::string data;     // the folder with the four files; empty: Debian's package
  std::string save;     // empty: fashion-mnist-MODEL.safetensors
  std::string resume;   // a checkpoint
  std::string report;   // an HTML page
  std::string compare;  // a checkpoint whose run the page shows, too
};
struct EvalOptions {
  std::string file, data, report, compare;
  std::string device = "cpu";
};
struct PredictOptions {
  std::string picture;  // a PNG file, or a number: that picture of the test set
  std::string model, data;
  std::string device = "cpu";
  bool invert = false;
};

int info();
int train(const TrainOptions&);
int evaluate(const EvalOptions&);
int predict(const PredictOptions&);

}  // namespace neura::cli
