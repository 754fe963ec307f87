// PyTorch's stored steps of every optimizer: each of its cases has other options.
#pragma once
#include <memory>
#include <string>

#include "neura/autograd/grad_mode.h"
#include "neura/op/pointwise/rows.h"
#include "neura/optim/optim.h"
#include "tests/support/close.h"
#include "tests/support/conformance.h"

namespace neura::optim {

inline const char* const kStored[] = {"SGD",    "Adam",  "AdamW", "RMSprop", "Adagrad", "Adadelta",
                                      "Adamax", "NAdam", "RAdam", "ASGD",    "Rprop"};

// Options of the stored call, as entries of a group.
inline nn::Value boxed(const test::Value& v) {
  switch (v.kind) {
    case test::Value::boolean:
      return v.scalar.integer() != 0;
    case test::Value::integer:
      return v.scalar.integer();
    case test::Value::real:
      return v.scalar.real();
    case test::Value::text:
      return v.word;
    case test::Value::list:
    case test::Value::tuple: {
      nn::List l;
      for (const test::Value& e : v.items) l.items.push_back(boxed(e));
      return l;
    }
    default:
      return {};
  }
}

inline std::unique_ptr<Optimizer> make_optimizer(const std::string& name, ParamGroup group) {
  std::vector<ParamGroup> groups;
  groups.push_back(std::move(group));
#define OPTIMIZER(Name, ...) \
  if (name == #Name) return std::make_unique<Name>(std::move(groups));
#include "neura/tables/optimizers.def"
  return nullptr;
}

inline void expect_stored_steps(const char* name, Device device) {
  const auto cases = test::read_cases(name, "optimizers");
  ASSERT_FALSE(cases.empty());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const test::Value& c = cases[i];
    ParamGroup group;
    for (const test::Value& p : c["params"].items) group.params.push_back(p.data.to(device).clone().requires_grad_());
    for (std::size_t k = 0; k < c["kwargs"].keys.size(); ++k)
      group.options[c["kwargs"].keys[k]] = boxed(c["kwargs"].items[k]);
    std::vector<Tensor> params = group.params;
    auto optimizer = make_optimizer(name, std::move(group));
    ASSERT_TRUE(optimizer);
    for (const test::Value& step : c["steps"].items) {
      for (std::size_t k = 0; k < params.size(); ++k)
        params[k].set_grad(step["grads"].items[k].data.to(device) + params[k].detach() * 0.1);
      optimizer->step();
      for (std::size_t k = 0; k < params.size(); ++k) {
        EXPECT_EQ(params[k].device(), device);
        test::expect_close(params[k].detach().to(Device()), step["params"].items[k].data, {1e-7, 1e-6});
      }
    }
  }
}

}  // namespace neura::optim
