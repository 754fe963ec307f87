// The optimizers of tables/optimizers.def:
//
//   optim::AdamW optimizer(net.parameters(), {.lr = 3e-4, .weight_decay = 0.1});
//   optim::SGD optimizer({{weights, {{"lr", 0.1}}}, {biases, {{"lr", 0.01}}}}, {.momentum = 0.9});
#pragma once
#include "neura/optim/optimizer.h"

namespace neura::optim {

using Triple = std::array<double, 3>;
using Epsilons = std::pair<std::optional<double>, double>;

#define OPTION(type, name, ...) type name = __VA_ARGS__;
#define OPTIMIZER(Name, options, ...) \
  struct Name##Options {              \
    options                           \
  };
#define MATRIX_OPTIMIZER OPTIMIZER
#define CLOSURE_OPTIMIZER OPTIMIZER
#include "neura/tables/optimizers.def"

#define OPTIMIZER(Name, ...)                                                        \
  class Name : public Optimizer {                                                   \
   public:                                                                          \
    explicit Name(std::vector<Tensor> params, const Name##Options& = {});           \
    explicit Name(std::vector<ParamGroup> groups, const Name##Options& = {});       \
    std::string type_name() const override { return #Name; }                        \
                                                                                    \
   protected:                                                                       \
    void update(ParamGroup&) override;                                              \
    void check_group(const ParamGroup&) const override;                             \
    bool may_have_shape(const Shape& state, const Shape& parameter) const override; \
  };
#define MATRIX_OPTIMIZER OPTIMIZER
#include "neura/tables/optimizers.def"

}  // namespace neura::optim
