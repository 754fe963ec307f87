// The networks for pictures, as runs keep them: a name of neura/models and plain arguments, from which Python makes the
// same network (python/neura/hub/_runs.py).
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "neura/nn/container.h"

namespace neura::cli {

struct Architecture {
  std::string name;          // of neura/models and neura.models
  nlohmann::json arguments;  // of the function by that name
};

std::vector<const char*> picture_models();                          // that tell classes
std::int64_t side_for(const std::string& name, std::int64_t side);  // that or the next larger one that the model takes
// What tells `classes` apart in pictures of `side` pixels. ValueError where the model takes none of that side.
Architecture picture_model(const std::string& name, std::int64_t classes, std::int64_t side);
// FormatError for a name or arguments that picture_model does not give.
Ref<nn::Sequential> network_of(const Architecture&);

void to_json(nlohmann::json&, const Architecture&);
void from_json(const nlohmann::json&, Architecture&);

}  // namespace neura::cli
