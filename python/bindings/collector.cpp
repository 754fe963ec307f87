#include "collector.h"

#include <unordered_map>
#include <unordered_set>

#include "module_parts.h"

namespace neura::python {
namespace {

using Objects = std::unordered_set<PyObject*>;
Objects& watched() {
  static auto* set = new Objects;  // outlives the interpreter
  return *set;
}
Objects& modules() {
  static auto* set = new Objects;
  return *set;
}

// One run of the collector, from its first callback to its last. Its references keep every object there until the end.
struct Run {
  std::unordered_map<PyObject*, std::uint32_t> handles;        // of a tensor, that Python objects answer for
  std::unordered_map<PyObject*, std::vector<PyObject*>> held;  // by a module or tensor: objects of tensors
  struct Unseen {
    std::uint32_t handles = 0;
    PyObject* gradient;
  };
  std::unordered_map<const TensorImpl*, Unseen> unseen;  // tensors without an object whose gradients have one
  std::vector<PyObject*> references;

  void keep(PyObject* o) { references.push_back(Py_NewRef(o)); }
  void hold(PyObject* holder, PyObject* tensor) {
    keep(tensor);
    held[holder].push_back(tensor);
  }
};
Run* run;

void look_at_gradient(PyObject* module, const Tensor& t, PyObject* object, PyObject* gradient) {
  if (!object) {
    run->hold(module, gradient);
    Run::Unseen& u = run->unseen[t.impl()];
    ++u.handles, u.gradient = gradient, run->handles[gradient] = 1;
    return;
  }
  if (run->handles.emplace(gradient, 1).second) run->hold(object, gradient);
  if (!PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
}
void look_at_member(PyObject* module, const Tensor& t) {
  PyObject *object = known_object(t), *gradient = known_object(t.grad());
  if (gradient && !watched().contains(gradient)) gradient = nullptr;
  if (gradient) look_at_gradient(module, t, object, gradient);
  if (!object || !(gradient || watched().contains(object))) return;
  ++run->handles[object];
  run->hold(module, object);
}

void start(int generation) {
  if (watched().empty()) return;
  run = new Run;
  // The young generations leave alone what C++ holds: to look at every module takes too long to do it often.
  if (generation == 2)
    for (PyObject* module : modules())
      if (nn::Module* m = py_module(module)->m; m && !m->count.owner())
        visit_own_tensors(m, [&](const Tensor& t) { look_at_member(module, t); });
  std::vector<PyObject*> in_use;
  for (PyObject* o : watched())
    if (!all_handles_known(reinterpret_cast<PyTensor*>(o))) in_use.push_back(o);
  for (const auto& [o, handles] : run->handles)
    if (!all_handles_known(reinterpret_cast<PyTensor*>(o))) in_use.push_back(o);
  for (const auto& [t, u] : run->unseen)
    if (t->count.load(std::memory_order_acquire) != u.handles) in_use.push_back(u.gradient);
  for (PyObject* o : in_use) run->keep(o);
}
void stop() {
  const std::unique_ptr<Run> done(std::exchange(run, nullptr));
  if (!done) return;
  for (PyObject* o : done->references) Py_DECREF(o);
}

}  // namespace

void watch_tensor(PyObject* o) { watched().insert(o); }
void forget_tensor(PyObject* o) { watched().erase(o); }
void watch_module(PyObject* o) { modules().insert(o); }
void forget_module(PyObject* o) {
  modules().erase(o);
  if (run) run->held.erase(o);
}

bool all_handles_known(PyTensor* o) {
  std::uint32_t known = o->kept ? 0 : 1;
  if (run)
    if (const auto found = run->handles.find(reinterpret_cast<PyObject*>(o)); found != run->handles.end())
      known += found->second;
  return o->t.impl()->count.load(std::memory_order_acquire) == known;
}

int visit_held_by_cpp(PyObject* holder, visitproc visit, void* arg) {
  if (!run) return 0;
  const auto found = run->held.find(holder);
  if (found == run->held.end()) return 0;
  for (PyObject* o : found->second) Py_VISIT(o);
  return 0;
}

void bind_collector(nb::module_& m) {
  m.def("_collector", [](const nb::str& phase, const nb::dict& facts) {
    if (nb::cast<std::string>(phase) == "start") start(nb::cast<int>(facts["generation"]));
    else stop();
  });
  nb::module_::import_("gc").attr("callbacks").attr("append")(m.attr("_collector"));
}

}  // namespace neura::python
