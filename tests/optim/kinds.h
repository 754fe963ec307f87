// Every optimizer of the table, made with its own defaults.
#pragma once
#include <memory>

#include "neura/optim/optimizers.h"

namespace neura::optim {

using Maker = std::unique_ptr<Optimizer> (*)(std::vector<ParamGroup>);
struct Kind {
  const char* name;
  Maker make;
};
#define OPTIMIZER(Name, ...) \
  {#Name, [](std::vector<ParamGroup> g) -> std::unique_ptr<Optimizer> { return std::make_unique<Name>(std::move(g)); }},
inline const Kind kKinds[] = {
#include "neura/tables/optimizers.def"
};

}  // namespace neura::optim
