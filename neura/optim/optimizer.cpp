#include "neura/optim/optimizer.h"

#include <unordered_set>

#include "neura/autograd/grad_mode.h"
#include "neura/op/launch.h"
#include "neura/ops/create/copy.h"
#include "neura/optim/step_batch.h"

namespace neura::optim {
namespace {

bool is_number(const Value& v) { return v.is<double>() || v.is<std::int64_t>() || v.is<bool>(); }
Tensor scalar(double value, DType dtype) {
  Tensor t = Tensor::empty(Spec::dense(dtype, Shape()));
  t.fill_(value);
  return t;
}

}  // namespace

const Value& ParamGroup::option(std::string_view name) const {
  const Value* v = options.find(name);
  check<ValueError>(v, [&] { return "param group: expected an option \"" + std::string(name) + "\", got none"; });
  return *v;
}
double ParamGroup::number(std::string_view name) const { return option(name).number(); }
bool ParamGroup::flag(std::string_view name) const { return option(name).number() != 0; }
void ParamGroup::numbers(std::string_view name, std::size_t n, double* to) const {
  const Value& v = option(name);
  const nn::List* l = v.get<nn::List>();
  check<ValueError>(l && l->items.size() == n, [&] {
    return "param group: expected " +
           std::string(n == 2   ? "two"
                       : n == 3 ? "three"
                                : std::to_string(n)) +
           " numbers for \"" + std::string(name) + "\", got " + v.type_name();
  });
  for (std::size_t i = 0; i < n; ++i) to[i] = l->items[i].number();
}
Pair ParamGroup::pair(std::string_view name) const {
  Pair out;
  numbers(name, 2, out.data());
  return out;
}

// In a loaded state, numbers are 0-d tensors.
double& State::number(std::string_view name, double first) {
  Value* v = values.find(name);
  if (!v) v = &(values[name] = first);
  if (const Tensor* t = v->get<Tensor>()) *v = t->item<double>();
  else if (!v->is<double>()) *v = v->number();
  return *v->get<double>();
}

Tensor State::tensor(std::string_view name, const Tensor& like, double first) {
  Value& v = values[name];
  if (v.is_none()) v = detail::full_with_strides_of(like, first);
  Tensor& t = *v.get<Tensor>();
  if (!detail::same_strides(t, like)) t = detail::copy_with_strides_of(t, like);
  return t;
}

std::vector<ParamGroup> one_group(std::vector<Tensor> params) {
  std::vector<ParamGroup> groups;
  groups.emplace_back(std::move(params));
  return groups;
}

Optimizer::Optimizer(std::vector<ParamGroup> groups, Dict defaults) : defaults_(std::move(defaults)) {
  check<ValueError>(!groups.empty() && !(groups.size() == 1 && groups[0].params.empty()),
                    [] { return std::string("optimizer: expected parameters, got an empty list"); });
  for (ParamGroup& g : groups) add_param_group(std::move(g));
}

void Optimizer::add_param_group(ParamGroup group) {
  std::unordered_set<TensorImpl*> known;
  for (const ParamGroup& g : groups_)
    for (const Tensor& p : g.params) known.insert(p.impl());
  for (const Tensor& p : group.params) {
    check<ValueError>(p.defined(), [] { return std::string("optimizer: expected tensors, got an undefined one"); });
    check<ValueError>(p.is_leaf(),
                      [] { return std::string("optimizer: expected leaf tensors, got a result; detach() it"); });
    check<ValueError>(known.insert(p.impl()).second, [] {
      return std::string("optimizer: expected every parameter once, got one that is in a group already");
    });
  }
  for (const auto& [name, value] : defaults_.items)
    if (!group.options.find(name)) group.options[name] = value;
  groups_.push_back(std::move(group));
}

void Optimizer::step() {
  NoGrad guard;
  for (ParamGroup& g : groups_) {
    check_group(g);
    update(g);
  }
  launch_boundary();
}

Tensor Optimizer::step(const std::function<Tensor()>& closure) {
  Tensor loss;
  {
    EnableGrad guard;
    loss = closure();
  }
  step();
  return loss;
}

void Optimizer::zero_grad(bool set_to_none) {
  for (ParamGroup& g : groups_)
    for (Tensor& p : g.params) {
      const Tensor grad = p.grad();
      if (!grad) continue;
      if (set_to_none) p.set_grad({});
      else grad.detach().zero_();
    }
}

StateDict Optimizer::state_dict() const {
  StateDict out;
  std::int64_t number = 0;
  for (const ParamGroup& g : groups_) {
    StateDict::Group& to = out.param_groups.emplace_back();
    to.options = g.options;
    for (const Tensor& p : g.params) {
      if (const auto found = states_.find(p.impl()); found != states_.end() && !found->second.values.items.empty()) {
        Dict d;
        // As in torch: the step is float32. The other numbers keep all their digits.
        for (const auto& [name, v] : found->second.values.items)
          d[name] = is_number(v) ? Value(scalar(v.number(), name == "step" ? DType::float32 : DType::float64)) : v;
        out.state.emplace_back(number, std::move(d));
      }
      to.params.push_back(number++);
    }
  }
  return out;
}

void Optimizer::load_state_dict(const StateDict& from) {
  bool fits = from.param_groups.size() == groups_.size();
  for (std::size_t i = 0; fits && i < groups_.size(); ++i)
    fits = from.param_groups[i].params.size() == groups_[i].params.size();
  check<ValueError>(fits, [] {
    return std::string("load_state_dict: expected as many groups and parameters as the optimizer has, got others");
  });
  std::unordered_map<std::int64_t, Tensor> parameter;
  for (std::size_t i = 0; i < groups_.size(); ++i)
    for (std::size_t j = 0; j < groups_[i].params.size(); ++j)
      parameter[from.param_groups[i].params[j]] = groups_[i].params[j];

  std::unordered_map<TensorImpl*, State> fresh;
  for (const auto& [number, values] : from.state) {
    const auto found = parameter.find(number);
    if (found == parameter.end()) continue;
    const Tensor& p = found->second;
    State& state = fresh[p.impl()];
    for (const auto& [name, value] : values.items) {
      const Tensor* t = value.get<Tensor>();
      if (!t) {
        state.values[name] = value;
      } else if (t->dim() == 0 && (name == "step" || p.dim() != 0)) {
        state.values[name] = t->item<double>();
      } else {
        check<ValueError>(may_have_shape(t->shape(), p.shape()), [&, &what = name] {
          return "load_state_dict: expected state \"" + what + "\" of shape " + p.shape().str() + ", got " +
                 t->shape().str();
        });
        const bool master = values.find(detail::kMaster);  // the whole formula is float32
        if (t->shape() != p.shape()) {
          const DType dtype = master ? DType::float32 : is_complex(p.dtype()) ? t->dtype() : p.dtype();
          state.values[name] = clone(t->detach().to(dtype).to(p.device()));
        } else if (master) {
          state.values[name] = detail::master_with_strides_of(*t, p);
        } else {
          Tensor own = detail::empty_with_strides_of(p);
          own.copy_(t->detach().to(p.device()));
          state.values[name] = own;
        }
      }
    }
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Dict options = from.param_groups[i].options;
    for (const auto& [name, value] : defaults_.items)
      if (!options.find(name)) options[name] = value;
    groups_[i].options = std::move(options);
  }
  states_ = std::move(fresh);
}

static std::string text_of(const Value& v) {
  if (const bool* b = v.get<bool>()) return *b ? "True" : "False";
  if (const nn::List* l = v.get<nn::List>()) {
    std::string out;
    for (const Value& e : l->items) out += (out.empty() ? "" : ", ") + text_of(e);
    return '(' + out + ')';
  }
  if (const std::int64_t* i = v.get<std::int64_t>()) return std::to_string(*i);
  if (v.is<double>()) return Scalar(v.number()).str();
  return v.is<std::string>() ? *v.get<std::string>() : v.type_name();
}

std::string Optimizer::str() const {
  std::string out = type_name() + " (";
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    out += "\nParameter Group " + std::to_string(i);
    for (const auto& [name, v] : groups_[i].options.items) out += "\n    " + name + ": " + text_of(v);
  }
  return out + "\n)";
}

}  // namespace neura::optim
