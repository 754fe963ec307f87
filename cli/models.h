// The networks that the program trains, and how a file says which one it holds.
#pragma once
#include <string>
#include <vector>

#include "neura/nn/container.h"
#include "neura/nn/value.h"

namespace neura::cli {

struct Settings {  // of a run; they stand in its checkpoint
  std::string model = "cnn";
  std::int64_t epochs = 4, batch_size = 128;
  double lr = 3e-3;
  std::uint64_t seed = 0;
  std::int64_t height = 28, width = 28;  // of the pictures
  std::vector<std::string> classes;

  nn::Dict save() const;
  static Settings load(const std::string& file, const nn::Dict&);  // FormatError if it is not what save made
};

// cnn: two convolutions and two linear layers; mlp: three linear layers. ValueError for pictures below 4 x 4.
Ref<nn::Sequential> make_model(const Settings&);

// uint8 pictures as the networks take them: float32, the training set's mean 0 and deviation 1.
Tensor network_input(const Tensor& pictures);

struct Trained {
  Settings settings;
  Ref<nn::Sequential> model;  // in evaluation mode
};
// IoError, FormatError, ValueError if the file is no checkpoint of `neura train`, wherever that ran.
Trained load_trained(const std::string& file, Device device = {});

}  // namespace neura::cli
