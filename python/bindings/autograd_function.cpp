// neura.autograd.Function: the context, the node that holds it, and the call.
#include "neura/autograd/anomaly.h"
#include "neura/autograd/level.h"
#include "new_type.h"
#include "nodes.h"

#include <structmember.h>

namespace neura::python {

PyTypeObject* context_type;

namespace {

PyContext* context_in(PyObject* o) { return reinterpret_cast<PyContext*>(o); }

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) context_in(o)->materialize = true;
  return o;
}
void dealloc(PyObject* self) {
  PyContext* c = context_in(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (c->base.weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(c->base.dict);
  Py_CLEAR(c->to_save);
  Py_CLEAR(c->to_forward);
  Py_CLEAR(c->dirty);
  Py_CLEAR(c->plain);
  Py_CLEAR(c->needs);
  type->tp_free(self);
  Py_DECREF(type);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  PyContext* c = context_in(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(c->base.dict);
  Py_VISIT(c->to_save);
  Py_VISIT(c->to_forward);
  Py_VISIT(c->dirty);
  Py_VISIT(c->plain);
  return 0;
}
int clear(PyObject* self) {
  PyContext* c = context_in(self);
  Py_CLEAR(c->base.dict);
  Py_CLEAR(c->to_save);
  Py_CLEAR(c->to_forward);
  Py_CLEAR(c->dirty);
  Py_CLEAR(c->plain);
  return 0;
}

PyObject* keep(PyObject** place, PyObject* args) {
  Py_XDECREF(std::exchange(*place, Py_NewRef(args)));
  Py_RETURN_NONE;
}
PyObject* keep_tensors(PyObject** place, PyObject* args, const char* what) {
  return guarded([&] {
    for (nb::handle o : nb::borrow<nb::tuple>(args)) tensor_or_none(o, what);
    return keep(place, args);
  });
}
PyObject* save_for_backward(PyObject* self, PyObject* args) {
  return keep_tensors(&context_in(self)->to_save, args, "save_for_backward");
}
PyObject* save_for_forward(PyObject* self, PyObject* args) {
  return keep_tensors(&context_in(self)->to_forward, args, "save_for_forward");
}
PyObject* mark_dirty(PyObject* self, PyObject* args) { return keep(&context_in(self)->dirty, args); }
PyObject* mark_non_differentiable(PyObject* self, PyObject* args) { return keep(&context_in(self)->plain, args); }
PyObject* set_materialize_grads(PyObject* self, PyObject* value) {
  const int on = PyObject_IsTrue(value);
  if (on < 0) return nullptr;
  context_in(self)->materialize = on;
  Py_RETURN_NONE;
}
PyObject* saved_tensors(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    PyContext* c = context_in(self);
    if (c->to_forward) return Py_NewRef(c->to_forward);
    if (!c->recorded) return c->to_save ? Py_NewRef(c->to_save) : nb::tuple().release().ptr();
    auto* n = static_cast<PythonNode*>(c->base.node);
    check<AutogradError>(n && !n->released, [&] {
      return std::string(Py_TYPE(self)->tp_name) +
             ": expected its saved values, but an earlier backward released them; pass retain_graph to that one";
    });
    const Ref<Node> alive = Ref<Node>::share(n);  // an unpack hook may do anything
    nb::list l;
    for (std::size_t i = 0; i < n->saved.size(); ++i) l.append(nb::steal(wrap(n->saved[i].get(n->name(), i, n))));
    return nb::tuple(l).release().ptr();
  });
}
PyObject* needs_input_grad(PyObject* self, void*) {
  PyObject* needs = context_in(self)->needs;
  return needs ? Py_NewRef(needs) : PyTuple_New(0);
}
int set_needs(PyObject* self, PyObject* value, void*) {
  if (!value || !PyTuple_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "needs_input_grad: expected a tuple");
    return -1;
  }
  Py_XDECREF(std::exchange(context_in(self)->needs, Py_NewRef(value)));
  return 0;
}

PyMethodDef methods[] = {
    {"save_for_backward", save_for_backward, METH_VARARGS,
     "save_for_backward($self, *tensors)\n--\n\nKeeps tensors (or None) for backward, where saved_tensors gives them. "
     "Writing one in place in between is an error there."},
    {"save_for_forward", save_for_forward, METH_VARARGS,
     "save_for_forward($self, *tensors)\n--\n\nKeeps tensors (or None) for jvp, where saved_tensors gives them."},
    {"mark_dirty", mark_dirty, METH_VARARGS,
     "mark_dirty($self, *args)\n--\n\nSays in forward which inputs were written in place. They must be results too."},
    {"mark_non_differentiable", mark_non_differentiable, METH_VARARGS,
     "mark_non_differentiable($self, *args)\n--\n\nSays in forward which results have no gradient."},
    {"set_materialize_grads", set_materialize_grads, METH_O,
     "set_materialize_grads($self, value)\n--\n\nWhether a gradient that did not arrive is zeros (the default) or "
     "None."},
    {}};
PyGetSetDef properties[] = {{"saved_tensors", saved_tensors, nullptr, "What save_for_backward kept.", nullptr},
                            {"needs_input_grad", needs_input_grad, set_needs,
                             "For each argument of forward: does it need a gradient?", nullptr},
                            {}};
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyNode, dict), READONLY, ""},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weak), READONLY, ""},
                         {}};
PyType_Slot slots[] = {
    {Py_tp_doc, (void*)"What forward and backward of a function share. Attributes may be set freely."},
    {Py_tp_new, (void*)create},
    {Py_tp_dealloc, (void*)dealloc},
    {Py_tp_traverse, (void*)traverse},
    {Py_tp_clear, (void*)clear},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {0, nullptr}};
PyType_Spec spec = {"neura.autograd.function.FunctionCtx", sizeof(PyContext), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

std::string type_of(nb::handle o) { return Py_TYPE(o.ptr())->tp_name; }

// What forward gave, as tensors (undefined: no tensor), and which of them it marked.
CustomNode::Results results_of(PyContext* c, nb::handle output, bool recorded) {
  CustomNode::Results r;
  const bool many = PyTuple_Check(output.ptr());
  const nb::tuple all = many ? nb::borrow<nb::tuple>(output) : nb::make_tuple(output);
  if (recorded && PyList_Check(output.ptr()))
    for (nb::handle e : nb::borrow<nb::list>(output))
      if (is_tensor(e.ptr()))
        throw nb::type_error(
            "Function: expected forward to give a tensor or a tuple, got a list; a tuple has gradients");
  for (nb::handle o : all) r.values.push_back(is_tensor(o.ptr()) ? tensor_in(o.ptr()) : Tensor());
  const auto mark = [&](PyObject* marked, std::vector<bool>& flags, const char* what) {
    flags.assign(r.values.size(), false);
    if (!marked) return;
    for (nb::handle o : nb::borrow<nb::tuple>(marked)) {
      if (!is_tensor(o.ptr()))
        throw nb::type_error((std::string(what) + ": expected tensors, got " + type_of(o)).c_str());
      bool found = false;
      for (std::size_t i = 0; i < r.values.size(); ++i)
        if (r.values[i] && r.values[i].is_same(tensor_in(o.ptr()))) flags[i] = found = true;
      check<AutogradError>(found || what != std::string("mark_dirty"), [&] {
        return std::string(
            "mark_dirty: expected each tensor written in place to be a result of forward too, got one "
            "that is not");
      });
    }
  };
  mark(c->dirty, r.dirty, "mark_dirty");
  mark(c->plain, r.plain, "mark_non_differentiable");
  return r;
}

nb::object call_forward(nb::handle cls, nb::handle context, const nb::tuple& args, const nb::object& given) {
  const NoGrad off;
  if (!nb::cast<bool>(cls.attr("_splits"))) return given.is_valid() ? given : cls.attr("forward")(context, *args);
  nb::object output = given.is_valid() ? given : nb::object(cls.attr("forward")(*args));
  cls.attr("setup_context")(context, args, output);
  return output;
}

// The results, with those of them as they are recorded.
nb::object recorded_output(const nb::object& output, const CustomNode::Results& r) {
  const bool many = PyTuple_Check(output.ptr());
  nb::list result;
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    if (!r.values[i]) {
      result.append(many ? nb::borrow(output[i]) : output);
      continue;
    }
    const nb::object o = nb::steal(wrap(r.values[i]));
    track_history(o.ptr());  // it may be an attribute of the context
    result.append(o);
  }
  return many ? nb::object(nb::tuple(result)) : nb::object(result[0]);
}

// The gradients that backward gave: one per input.
std::vector<Tensor> gradients_of(const PythonNode& n, nb::handle result) {
  const bool many = PyTuple_Check(result.ptr()) || PyList_Check(result.ptr());
  const nb::object all = many ? nb::borrow(result) : nb::object(nb::make_tuple(result));
  std::vector<Tensor> grads;
  for (nb::handle o : all) {
    if (!o.is_none() && !is_tensor(o.ptr()))
      throw nb::type_error((std::string(n.name()) + ": expected backward to give tensors or None, got " + type_of(o) +
                            " for input " + std::to_string(grads.size()))
                               .c_str());
    grads.push_back(tensor_or_none(o, n.name()));
  }
  while (grads.size() > n.edge.size() && !grads.back()) grads.pop_back();  // as in torch
  return grads;
}

}  // namespace

Applied apply_function(nb::handle cls, const nb::tuple& args, bool keeps) {
  const nb::object context = cls.attr("_backward_cls")();
  PyContext* c = context_in(context.ptr());
  const auto node = Ref<PythonNode>::adopt(new PythonNode(context.ptr()));
  std::vector<Tensor> inputs;
  nb::list needs;
  bool inside = false;  // of a transform
  for (nb::handle o : args) {
    inputs.push_back(is_tensor(o.ptr()) ? tensor_in(o.ptr()) : Tensor());
    needs.append(inputs.back() && inputs.back().requires_grad());
    inside |= is_wrapped(inputs.back());
  }
  c->needs = nb::tuple(needs).release().ptr();
  const bool recorded = node->take(inputs);
  const nb::object given = inside ? by_rule(cls, args, inputs, recorded) : nb::object();
  if (!given.is_valid()) check_own_function(node->name(), inputs);
  nb::object output = call_forward(cls, context, args, given);
  if (!keeps) Py_CLEAR(c->to_forward);
  CustomNode::Results r = results_of(c, output, recorded);
  if (!recorded) return {output, context};
  for (const Tensor& t : r.values) node->is_tensor_output.push_back(t.defined());
  node->give(r, inputs);
  if (c->to_save)
    for (nb::handle o : nb::borrow<nb::tuple>(c->to_save))
      node->saved.emplace_back(tensor_or_none(o, "save_for_backward"), node.get());
  c->recorded = true;
  Py_CLEAR(c->to_save);
  Py_CLEAR(c->dirty);
  Py_CLEAR(c->plain);
  return {recorded_output(output, r), context};
}

PythonNode::PythonNode(PyObject* o) : context(context_in(Py_NewRef(o))) { context->base.node = this; }
PythonNode::~PythonNode() {
  if (!Py_IsInitialized()) return;
  nb::gil_scoped_acquire gil;
  context->base.node = nullptr;
  PyObject *type, *value, *trace;  // no caller could receive an error of the code that runs here
  PyErr_Fetch(&type, &value, &trace);
  Py_DECREF(reinterpret_cast<PyObject*>(context));
  PyErr_Restore(type, value, trace);
}

std::vector<Tensor> PythonNode::derive(std::vector<Tensor>& grads, bool retain) {
  nb::gil_scoped_acquire gil;
  const nb::object self = nb::borrow(reinterpret_cast<PyObject*>(context));
  nb::list arguments;
  arguments.append(self);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    Tensor g = std::move(grads[i]);
    if (!g && is_tensor_output[i] && context->materialize)
      g = zeros(metas[i].sizes(), {.dtype = metas[i].dtype, .device = metas[i].device});
    arguments.append(nb::steal(wrap(g)));
  }
  try {
    const nb::object result = self.attr("_forward_cls").attr("_derivative")(*nb::tuple(arguments));
    if (!retain) released = !saved.empty(), saved.clear();
    return gradients_of(*this, result);
  } catch (nb::python_error& e) {
    if (trace() && is_anomaly_enabled() && nb::hasattr(e.value(), "add_note"))
      e.value().attr("add_note")((std::string("the forward call was ") + trace()).c_str());
    throw;
  }
}

void bind_functions(const Names& n) {
  context_type = new_type(spec, node_type);
  n.functions.attr("_FunctionCtx") = nb::handle(reinterpret_cast<PyObject*>(context_type));
  n.function(
      "_apply", [](nb::handle cls, const nb::tuple& args) { return apply_function(cls, args).output; }, "cls"_a,
      "args"_a);
  n.function(
      "_refuse_twice",
      [](nb::handle context, nb::handle outputs, nb::handle arguments) {
        if (!PyObject_TypeCheck(context.ptr(), context_type))
          throw nb::type_error(("once_differentiable: expected the context of a Function first, got " +
                                type_of(context) + "; it decorates the backward of a Function")
                                   .c_str());
        std::vector<Edge> from;
        if (Node* node = context_in(context.ptr())->base.node)
          for (int i = 0; i < node->inputs; ++i) from.push_back(node->edges[i]);
        for (nb::handle o : nb::iter(arguments))
          if (is_tensor(o.ptr())) from.push_back(edge_of(tensor_in(o.ptr()).impl()));
        std::vector<Tensor> values;
        for (nb::handle o : nb::iter(outputs)) values.push_back(tensor_or_none(o, "once_differentiable"));
        return tuple_of(refuse_derivative(values, std::move(from),
                                          type_of(context) +
                                              ": expected to be differentiated once, got a second time; its "
                                              "backward is marked with once_differentiable"));
      },
      "context"_a.none(), "outputs"_a, "arguments"_a);
}

}  // namespace neura::python
