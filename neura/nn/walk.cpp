// Walks over the tree of modules: what it has, and what is done to all of it.
#include <unordered_set>

#include "neura/nn/recursion_guard.h"

namespace neura::nn {

thread_local int RecursionGuard::depth_ = 0;
void RecursionGuard::fail(const Module& m) {
  throw ValueError(m.type_name() + ": expected modules at most " + std::to_string(kMost) +
                   " deep, got more; does one of them contain itself?");
}

namespace {

std::string join(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + '.' + std::string(name);
}

template <class F>
void walk(const Module& m, const std::string& prefix, std::unordered_set<const Module*>& seen, const F& f) {
  if (!seen.insert(&m).second) return;
  const RecursionGuard depth(m);
  f(prefix, const_cast<Module&>(m));
  m.visit([&](Member& member) {
    if (member.child) walk(*member.child, join(prefix, member.name), seen, f);
  });
}
template <class F> void walk(const Module& m, const std::string& prefix, const F& f) {
  std::unordered_set<const Module*> seen;
  walk(m, prefix, seen, f);
}

std::vector<Tensor> values(const NamedTensors& named) {
  std::vector<Tensor> out;
  for (const auto& [name, t] : named) out.push_back(t);
  return out;
}

}  // namespace

void Module::collect(Member::Kind kind, NamedTensors& out, const std::string& prefix, bool recurse, bool once) const {
  std::unordered_set<TensorImpl*> seen;
  auto own = [&](const std::string& path, Module& m) {
    m.visit([&](Member& member) {
      if (member.kind != kind || !*member.tensor) return;
      if (!once || seen.insert(member.tensor->impl()).second) out.emplace_back(join(path, member.name), *member.tensor);
    });
  };
  if (recurse) walk(*this, prefix, own);
  else own(prefix, const_cast<Module&>(*this));
}

NamedTensors Module::named_parameters(const std::string& prefix, bool recurse, bool remove_duplicate) const {
  NamedTensors out;
  collect(Member::parameter, out, prefix, recurse, remove_duplicate);
  return out;
}
NamedTensors Module::named_buffers(const std::string& prefix, bool recurse, bool remove_duplicate) const {
  NamedTensors out;
  collect(Member::buffer, out, prefix, recurse, remove_duplicate);
  return out;
}
std::vector<Tensor> Module::parameters(bool recurse) const { return values(named_parameters("", recurse)); }
std::vector<Tensor> Module::buffers(bool recurse) const { return values(named_buffers("", recurse)); }

NamedModules Module::named_children() const {
  NamedModules out;
  std::unordered_set<Module*> seen;
  visit([&](Member& m) {
    if (m.child && seen.insert(m.child).second) out.emplace_back(m.name, Ref<Module>::share(m.child));
  });
  return out;
}
std::vector<Ref<Module>> Module::children() const {
  std::vector<Ref<Module>> out;
  for (auto& [name, m] : named_children()) out.push_back(m);
  return out;
}
NamedModules Module::named_modules(const std::string& prefix) const {
  NamedModules out;
  walk(*this, prefix, [&](const std::string& path, Module& m) { out.emplace_back(path, Ref<Module>::share(&m)); });
  return out;
}
std::vector<Ref<Module>> Module::modules() const {
  std::vector<Ref<Module>> out;
  walk(*this, "", [&](const std::string&, Module& m) { out.push_back(Ref<Module>::share(&m)); });
  return out;
}

Ref<Module> Module::get_submodule(std::string_view path) const {
  const Module* at = this;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find('.'));
    const Module* next = nullptr;
    at->find(name, [&](Member& m) { next = m.child; });
    check<IndexError>(next, [&] {
      return "get_submodule: expected a module \"" + std::string(path) + "\", got none of that name in " + type_name();
    });
    at = next;
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
  }
  return Ref<Module>::share(const_cast<Module*>(at));
}

Tensor Module::get_parameter(std::string_view path) const {
  const std::size_t dot = path.rfind('.');
  const Ref<Module> m = get_submodule(dot == path.npos ? "" : path.substr(0, dot));
  Tensor found;
  m->find(dot == path.npos ? path : path.substr(dot + 1), [&](Member& member) {
    if (member.kind == Member::parameter) found = *member.tensor;
  });
  check<IndexError>(found.defined(), [&] {
    return "get_parameter: expected a parameter \"" + std::string(path) + "\", got none of that name in " + type_name();
  });
  return found;
}

// ---- What is done to all of it

Module& Module::apply(const std::function<void(Module&)>& f) {
  const RecursionGuard depth(*this);
  for (const Ref<Module>& m : children()) m->apply(f);
  f(*this);
  return *this;
}

void Module::train(bool mode) {
  if (overrides() & kTrain) bridge.train(*this, mode);
  else set_training(mode);
}
void Module::set_training(bool mode) {
  const RecursionGuard depth(*this);
  training = mode;
  visit([&](Member& m) {
    if (m.child) m.child->train(mode);
  });
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& p : parameters()) {
    const Tensor g = p.grad();
    if (!g) continue;
    if (set_to_none) Tensor(p).set_grad({});
    else g.detach().zero_();
  }
}

Module& Module::requires_grad_(bool on) {
  for (Tensor& p : parameters()) p.requires_grad_(on);
  return *this;
}

void Module::convert(const Device* device, const DType* dtype) {
  check<DTypeError>(!dtype || differentiable(*dtype), [&] {
    return std::string("to: expected a floating or complex dtype for a module, got ") + name(*dtype);
  });
  auto moved = [&](const Tensor& t) {
    Tensor out = t.detach();
    // A complex tensor stays complex: float64 makes complex64 complex128.
    if (dtype && differentiable(t.dtype()))
      out = out.to(is_complex(t.dtype()) && !is_complex(*dtype) ? to_complex(*dtype) : *dtype);
    return device ? out.to(*device) : out;
  };
  NamedTensors all = named_parameters();
  collect(Member::buffer, all, "", true, true);
  for (auto& [name, t] : all) {
    const Tensor data = moved(t), g = t.grad();
    if (data.dtype() != t.dtype() || data.device() != t.device()) {
      t.set_grad({});
      set_data(t, data);
      if (g) t.set_grad(moved(g));
    }
  }
}

Module& Module::to(Device device) {
  convert(&device, nullptr);
  return *this;
}
Module& Module::to(DType dtype) {
  convert(nullptr, &dtype);
  return *this;
}
Module& Module::to(Device device, DType dtype) {
  convert(&device, &dtype);
  return *this;
}

Device Module::device() const {
  Device found;
  bool any = false;
  walk(*this, "", [&](const std::string&, Module& m) {
    m.visit([&](Member& member) {
      if (!any && member.tensor && *member.tensor) found = member.tensor->device(), any = true;
    });
  });
  return found;
}

}  // namespace neura::nn
