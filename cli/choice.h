// What training on pictures takes where nobody says it: by how many there are, and how large.
#pragma once
#include <string>

#include "cli/config.h"

namespace neura::cli {

struct PictureSet {  // to train with
  std::int64_t count, classes, side;
};
std::int64_t largest_side(std::int64_t count);  // of as many pictures, where nobody says it
// Gives what is open in the config (model, epochs, batch size, learning rate, crop) its value, and says which and why;
// empty where nothing was open.
std::string settle(Config&, const PictureSet&);

}  // namespace neura::cli
