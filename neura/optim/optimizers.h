// The optimizers of optimizers.def:
//
//   optim::AdamW optimizer(net.parameters(), {.lr = 3e-4, .weight_decay = 0.1});
//   optim::SGD optimizer({{weights, {{"lr", 0.1}}}, {biases, {{"lr", 0.01}}}}, {.momentum = 0.9});
#pragma once
#include "neura/optim/optimizer.h"

namespace neura::optim {

#define OPTION(type, name, ...) type name = __VA_ARGS__;
#define OPTIMIZER(Name, options) \
  struct Name##Options {         \
    options                      \
  };
#include "neura/optim/optimizers.def"
#undef OPTION
#undef OPTIMIZER

#define OPTIMIZER(Name, options)                                              \
  class Name : public Optimizer {                                             \
   public:                                                                    \
    explicit Name(std::vector<Tensor> params, const Name##Options& = {});     \
    explicit Name(std::vector<ParamGroup> groups, const Name##Options& = {}); \
    std::string type_name() const override { return #Name; }                  \
                                                                              \
   protected:                                                                 \
    void update(ParamGroup&) override;                                        \
    void check_group(const ParamGroup&) const override;                       \
  };
#include "neura/optim/optimizers.def"
#undef OPTIMIZER

}  // namespace neura::optim
