// Optimizer: parameter groups, state per parameter, and the step. A user's own derives from it and writes update().
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <unordered_map>

#include "neura/nn/value.h"

namespace neura::optim {

using nn::Dict;
using nn::Value;
using Pair = std::array<double, 2>;  // betas, etas

// Parameters that share hyperparameters, which are held in double precision under PyTorch's names: "lr", "betas", ….
// Those that a group lacks are the optimizer's defaults.
struct ParamGroup {
  std::vector<Tensor> params;
  Dict options;

  ParamGroup() = default;
  ParamGroup(std::vector<Tensor> p, std::initializer_list<std::pair<std::string, Value>> o = {})
      : params(std::move(p)), options{o} {}
  double lr() const { return number("lr"); }
  void set_lr(double lr) { options["lr"] = lr; }
  double number(std::string_view name) const;  // ValueError if there is none
  bool flag(std::string_view name) const;
  Pair pair(std::string_view name) const;
  void numbers(std::string_view name, std::size_t n, double* to) const;  // exactly n
  const Value& option(std::string_view name) const;
};

class State {  // of one parameter: numbers and tensors by name, made when first asked for
 public:
  double& number(std::string_view name, double first = 0);
  // A state with the shape, dtype, device and strides of `like`, filled with `first`; it follows `like` if that was
  // moved.
  Tensor tensor(std::string_view name, const Tensor& like, double first = 0);
  bool has(std::string_view name) const { return values.find(name); }
  Dict values;
};

// PyTorch's layout: state by the number of the parameter, and groups that list those numbers. Numbers of the state are
// tensors without dimensions.
struct StateDict {
  std::vector<std::pair<std::int64_t, Dict>> state;
  struct Group {
    Dict options;
    std::vector<std::int64_t> params;
  };
  std::vector<Group> param_groups;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;

  // Updates every parameter that has a gradient, in place and unrecorded.
  void step();
  virtual Tensor step(
      const std::function<Tensor()>& closure);  // the closure computes loss and gradients again; its result
  void zero_grad(bool set_to_none = true);
  // ValueError for a parameter given twice, or one that is no leaf.
  virtual void add_param_group(ParamGroup);
  std::vector<ParamGroup>& param_groups() { return groups_; }
  const std::vector<ParamGroup>& param_groups() const { return groups_; }
  const Dict& defaults() const { return defaults_; }
  State& state(const Tensor& parameter) { return states_[parameter.impl()]; }
  std::weak_ptr<const void> alive() const { return alive_; }  // expired when the optimizer is destroyed

  StateDict state_dict() const;  // shares the state's tensors
  // Copies; dtype and device become the parameters'. ValueError, and nothing changed, where the groups do not fit.
  void load_state_dict(const StateDict&);
  virtual std::string type_name() const = 0;
  std::string str() const;

 protected:
  Optimizer(std::vector<ParamGroup> groups, Dict defaults);
  explicit Optimizer(Dict defaults) : defaults_(std::move(defaults)) {}
  // One step of a group's parameters, with recording off. The gradient may be missing.
  virtual void update(ParamGroup&) = 0;
  virtual void check_group(const ParamGroup&) const {}  // ValueError for hyperparameters out of range
  // True if a loaded state may have this shape.
  virtual bool may_have_shape(const Shape& state, const Shape& parameter) const { return state == parameter; }

 private:
  std::vector<ParamGroup> groups_;
  Dict defaults_;
  std::unordered_map<TensorImpl*, State> states_;
  std::shared_ptr<const void> alive_ = std::make_shared<char>();
};

std::vector<ParamGroup> one_group(std::vector<Tensor> params);  // with the optimizer's default options

}  // namespace neura::optim
