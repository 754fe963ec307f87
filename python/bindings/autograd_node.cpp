// neura.autograd.graph.Node: what grad_fn gives.
#include <unordered_map>

#include "collector.h"
#include "new_type.h"
#include "nodes.h"

#include "neura/op/node_name.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"

#include <structmember.h>

namespace neura::python {

PyTypeObject* node_type;

namespace {

// Which object shows which node; used under the lock.
std::unordered_map<const Node*, PyObject*>& objects() {
  static auto* map = new std::unordered_map<const Node*, PyObject*>;  // outlives the interpreter
  return *map;
}
Node& node_in(PyObject* self) {
  Node* n = reinterpret_cast<PyNode*>(self)->node;
  check<AutogradError>(n, [] {
    return std::string(
        "grad_fn: expected a node of a graph that exists, got one whose tensors are gone; keep a result "
        "of the function");
  });
  return *n;
}

std::string name_of(const Node& n) { return backward_name(node_name(n), n.outputs() ? int(n.meta(0).rank) : 0); }

// A linear layer's node is PyTorch's addmm, whose bias comes first.
bool shown_last_first(const Node& n) {
  return n.inputs == 3 && std::string_view(node_name(n)) == "linear" && name_of(n) == "AddmmBackward0";
}

// The leaf whose gradient a node accumulates, if a Python program holds it.
nb::object variable(nb::handle self) {
  Node& n = node_in(self.ptr());
  const TensorImpl* t = n.leaf ? static_cast<Leaf&>(n).tensor : nullptr;
  PyObject* known = t ? object_at(t) : nullptr;
  if (!known || tensor_in(known).impl()->history != &n)
    throw nb::attribute_error("variable: expected a leaf that the program still holds, got one that it dropped");
  const Tensor held = tensor_in(known);  // next to the object, so that it is found
  return nb::steal(wrap(held));
}
// A type per operation, so that type(y.grad_fn).__name__ is MulBackward0.
nb::object type_named(const std::string& name) {
  static PyObject* types = PyDict_New();
  if (PyObject* known = PyDict_GetItemString(types, name.c_str())) return nb::borrow(known);
  nb::dict body;
  body["__slots__"] = nb::tuple();
  body["__module__"] = "neura.autograd.graph";
  if (name == "AccumulateGrad")
    body["variable"] = nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(nb::cpp_function(&variable));
  nb::object type = nb::handle(reinterpret_cast<PyObject*>(&PyType_Type))(
      name.c_str(), nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(node_type))), body);
  if (PyDict_SetItemString(types, name.c_str(), type.ptr())) throw nb::python_error();
  return type;
}

void dealloc(PyObject* self) {
  auto* o = reinterpret_cast<PyNode*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (o->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  if (o->counted) {
    objects().erase(o->node);
    Ref<Node>::adopt(std::exchange(o->node, nullptr));
  }
  type->tp_free(self);
  Py_DECREF(type);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* o = reinterpret_cast<PyNode*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(o->dict);
  if (o->counted && o->node->count.load(std::memory_order_relaxed) == 1) return visit_node(*o->node, visit, arg);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<PyNode*>(self)->dict);
  return 0;
}
PyObject* show(PyObject* self) { return PyUnicode_FromFormat("<%s object at %p>", Py_TYPE(self)->tp_name, self); }
PyObject* name(PyObject* self, PyObject*) {
  return guarded([&] {  // PyTorch's nodes of no operation are named as their C++ class; programs compare the name
    const std::string s = name_of(node_in(self));
    return PyUnicode_FromString(
        (s == "AccumulateGrad" || s == "CopySlices" || s == "CopyBackwards" ? "torch::autograd::" + s : s).c_str());
  });
}
PyObject* sequence(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(node_in(self).sequence); });
}
PyObject* next_functions(PyObject* self, void*) {
  return guarded([&] {
    const Node& n = node_in(self);
    nb::list l;
    const int first = shown_last_first(n) ? n.inputs - 1 : 0;
    for (int k = 0; k < n.inputs; ++k) {
      const Edge& e = n.edges[(first + k) % n.inputs];
      l.append(nb::make_tuple(object_of(e.node), e.output));
    }
    return nb::tuple(l).release().ptr();
  });
}
PyObject* metadata(PyObject* self, void*) {
  return guarded([&] {
    std::shared_ptr<void>& user = node_in(self).hook().user;
    if (!user) user = held(nb::dict());
    return Py_NewRef(static_cast<PyObject*>(user.get()));
  });
}
PyObject* handle(HookHandle h) { return nb::cast(std::move(h)).release().ptr(); }
PyObject* register_hook(PyObject* self, PyObject* f) {
  return guarded([&] {
    Node& n = node_in(self);
    return handle(register_node_hook(n, PythonHook{held(f), {}, shown_last_first(n)}));
  });
}
PyObject* register_prehook(PyObject* self, PyObject* f) {
  return guarded([&] { return handle(register_node_prehook(node_in(self), PythonHook{held(f), {}})); });
}

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyNode, dict), READONLY, ""},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weak), READONLY, ""},
                         {}};
PyGetSetDef properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, "", nullptr},
    {"next_functions", next_functions, nullptr,
     "For each input: the node its gradient goes to (None: it needs none), and which result of that node it is.",
     nullptr},
    {"metadata", metadata, nullptr, "A dict that stays with the node.", nullptr},
    {}};
PyMethodDef methods[] = {
    {"name", name, METH_NOARGS,
     "name($self)\n--\n\nThe name of the derivative, such as 'MulBackward0'; a leaf's is PyTorch's "
     "'torch::autograd::AccumulateGrad'."},
    {"_sequence_nr", sequence, METH_NOARGS, "_sequence_nr($self)\n--\n\nBackward runs nodes from high to low."},
    {"register_hook", register_hook, METH_O,
     "register_hook($self, fn, /)\n--\n\nCalls fn(grad_inputs, grad_outputs) after the derivative ran; a tuple it "
     "gives "
     "replaces grad_inputs. Returns a handle with remove()."},
    {"register_prehook", register_prehook, METH_O,
     "register_prehook($self, fn, /)\n--\n\nCalls fn(grad_outputs) before the derivative runs; a tuple it gives "
     "replaces "
     "grad_outputs. Returns a handle with remove()."},
    {}};
PyType_Slot slots[] = {{Py_tp_doc, (void*)"A recorded operation, as the graph of gradients knows it."},
                       {Py_tp_dealloc, (void*)dealloc},
                       {Py_tp_traverse, (void*)traverse},
                       {Py_tp_clear, (void*)clear},
                       {Py_tp_repr, (void*)show},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {0, nullptr}};
PyType_Spec spec = {"neura.autograd.graph.Node", sizeof(PyNode), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

template <class F> int visit_hook(const std::shared_ptr<F>& hook, const auto& function, visitproc visit, void* arg) {
  const PythonHook* h = hook.use_count() == 1 ? function.template target<PythonHook>() : nullptr;
  if (h && h->callable.use_count() == 1) Py_VISIT(h->callable.get());
  return 0;
}

}  // namespace

nb::object object_of(const Ref<Node>& n) {
  if (!n) return nb::none();
  if (auto* f = dynamic_cast<PythonNode*>(n.get())) return nb::borrow(reinterpret_cast<PyObject*>(f->context));
  if (const auto it = objects().find(n.get()); it != objects().end()) return nb::borrow(it->second);
  const nb::object named = type_named(name_of(*n));
  auto* type = reinterpret_cast<PyTypeObject*>(named.ptr());
  auto* o = reinterpret_cast<PyNode*>(type->tp_alloc(type, 0));
  if (!o) throw nb::python_error();
  o->node = Ref<Node>(n).leave(), o->counted = true;
  objects()[n.get()] = reinterpret_cast<PyObject*>(o);
  return nb::steal(reinterpret_cast<PyObject*>(o));
}

int visit_node(const Node& n, visitproc visit, void* arg, int depth) {
  if (const auto* f = dynamic_cast<const PythonNode*>(&n)) Py_VISIT(reinterpret_cast<PyObject*>(f->context));
  if (const Hooks* h = n.hooks) {
    for (const auto& p : h->before)
      if (const int r = visit_hook(p, p->call, visit, arg)) return r;
    for (const auto& p : h->enter)
      if (const int r = visit_hook(p, *p, visit, arg)) return r;
    for (const auto& p : h->after)
      if (const int r = visit_hook(p, *p, visit, arg)) return r;
    for (const auto& p : h->accumulated)
      if (const int r = visit_hook(p, *p, visit, arg)) return r;
    if (h->user && h->user.use_count() == 1) Py_VISIT(static_cast<PyObject*>(h->user.get()));
  }
  constexpr int deepest =
      32;  // a chain of plain operations; beyond, what is a cycle is found when the chain gets shorter
  for (int i = 0; i < n.inputs && depth < deepest; ++i)
    if (const Node* next = n.edges[i].node.get(); next && next->count.load(std::memory_order_relaxed) == 1)
      if (const int r = visit_node(*next, visit, arg, depth + 1)) return r;
  return 0;
}
int visit_history(const Tensor& t, visitproc visit, void* arg) {
  const History* h = t.impl()->history;
  if (!h || h->count.load(std::memory_order_relaxed) != 1) return 0;
  return visit_node(*static_cast<const Node*>(h), visit, arg);
}
void track_history(PyObject* tensor) {
  auto* o = reinterpret_cast<PyTensor*>(tensor);
  if (!PyObject_GC_IsTracked(tensor)) PyObject_GC_Track(tensor);
  if (!std::exchange(o->watched, true)) watch_tensor(tensor);
}

bool is_edge(nb::handle h) {
  return PyTuple_Check(h.ptr()) && !PyTuple_CheckExact(h.ptr()) && PyTuple_GET_SIZE(h.ptr()) >= 2 &&
         PyObject_TypeCheck(PyTuple_GET_ITEM(h.ptr(), 0), node_type) && PyLong_Check(PyTuple_GET_ITEM(h.ptr(), 1));
}
Tensor at_edge(nb::handle h) {
  Node& n = node_in(PyTuple_GET_ITEM(h.ptr(), 0));
  const auto output = nb::cast<std::int64_t>(nb::handle(PyTuple_GET_ITEM(h.ptr(), 1)));
  check<IndexError>(output >= 0 && output < std::int64_t(n.outputs()), [&] {
    return "GradientEdge: expected an output_nr below " + std::to_string(n.outputs()) + ", got " +
           std::to_string(output);
  });
  const GradientSpec& m = n.meta(unsigned(output));
  const Tensor whole = expand(zeros({}, {.dtype = m.dtype, .device = m.device}), m.sizes());
  Tensor t(whole.impl()->alias());
  adopt_history(t.impl(), Ref<Node>::share(&n), int(output));
  return t;
}

void bind_nodes(const Names& n) {
  node_type = new_type(spec);
  n.functions.attr("_Node") = nb::handle(reinterpret_cast<PyObject*>(node_type));
  n.function("_gradient_edge", [](const Tensor& t) {
    const Edge e = may_need_gradient(t.impl()) ? edge_of(t.impl()) : Edge();
    check<AutogradError>(bool(e.node), [&] {
      return "get_gradient_edge: expected a tensor that requires a gradient, got " + t.spec().str();
    });
    return nb::make_tuple(object_of(e.node), e.output);
  });
  n.function("_will_run", [](nb::handle node) {
    if (!PyObject_TypeCheck(node.ptr(), node_type)) throw nb::type_error("_will_run: expected a node");
    return will_run(node_in(node.ptr()));
  });
  n.function("_current_backward", &current_backward);
  n.function("_increment_version", [](const Tensor& t) { t.impl()->storage->written(nullptr); });
}

}  // namespace neura::python
