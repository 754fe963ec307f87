// Saved trees: dictionaries, lists, numbers, text and tensors within each other, such as a checkpoint.
//     save("run.safetensors", nn::Dict{{{"model", to_value(model.state_dict())}, {"epoch", 3}}});
//     nn::Value run = load_value("run.safetensors");
#pragma once
#include <string>

#include "neura/io/safetensors.h"
#include "neura/nn/value.h"

namespace neura {

// Tensors are the file's tensors, named by their path ("model.0.weight"); the rest is JSON in its metadata. The same
// promises as the save of a state dict. A tensor that occurs twice is written once and is one again when it is loaded.
// ValueError for what no file can hold: opaque objects, undefined tensors, more than 64 levels.
void save(const std::string& path, const nn::Value& value, const Metadata& metadata = {});
inline void save(const std::string& path, const nn::Dict& value, const Metadata& metadata = {}) {
  save(path, nn::Value(value), metadata);
}
// What save wrote; of another safetensors file, a dictionary of its tensors.
nn::Value load_value(const std::string& path, const MapLocation& map_location = {});

nn::Value to_value(const nn::StateDict&);
// ValueError if the value is anything but a dictionary of tensors; `what` is what the error calls it.
nn::StateDict to_state_dict(const nn::Value&, const char* what = "state dict");

}  // namespace neura
