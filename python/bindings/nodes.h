// Nodes of the graph as Python objects, and the Python objects that nodes hold.
#pragma once
#include "common.h"
#include "neura/autograd/function_node.h"
#include "neura/autograd/run.h"

namespace neura::python {

struct PyNode {
  PyObject_HEAD Node* node;  // a context's is not counted, and null once the node is gone
  bool counted;
  PyObject *dict, *weak;
};
struct PyContext {  // what forward and backward of a function get; the node holds it, not it the node
  PyNode base;
  PyObject *to_save, *to_forward, *dirty, *plain, *needs;
  bool materialize, recorded;
};
extern PyTypeObject *node_type, *context_type;

struct PythonNode final : CustomNode {  // a call of a Python Function
  PyContext* context;                   // owned
  std::vector<SavedValue> saved;
  std::vector<bool> is_tensor_output;
  bool released = false;

  explicit PythonNode(PyObject* context);
  ~PythonNode() override;
  const char* name() const override { return Py_TYPE(reinterpret_cast<PyObject*>(context))->tp_name; }
  std::vector<Tensor> derive(std::vector<Tensor>& grads, bool retain) override;
};

// Hooks as objects of a type, so that the garbage collector can find the callable in a std::function.
struct PythonHook {
  std::shared_ptr<PyObject> callable;
  std::shared_ptr<PyObject> subject;  // a weak reference to the tensor, for hooks that want it
  bool last_first = false;            // results are shown beginning with the last: see shown_last_first
  Tensor operator()(const Tensor& g) const;
  void operator()(Tensor& grad) const;                                              // accumulated
  void operator()(Tensor* grads, int n) const;                                      // before a node
  void operator()(Tensor* results, int n, const Tensor* grads, int grads_n) const;  // after it
};

std::shared_ptr<PyObject> held(nb::handle);  // may be dropped by any thread
nb::object object_of(const Ref<Node>&);      // the one object of a node; None for none
bool is_edge(nb::handle);                    // a GradientEdge: (node, output, ...)
Tensor at_edge(nb::handle);              // stands for that result: of its sizes, with its history, without its values
PyObject* object_at(const TensorImpl*);  // borrowed; null if no object shows a tensor that is there (tensor.cpp)
nb::object tuple_from(const Tensor* tensors, int n);
Tensor tensor_or_none(nb::handle, const char* what);  // TypeError
void track_history(PyObject* tensor);                 // the garbage collector is to look at it
// Visits the Python objects that this tensor alone holds, through its history.
int visit_history(const Tensor&, visitproc, void* arg);
int visit_node(const Node&, visitproc, void* arg, int depth = 0);

// A call of a Function: what it gives, and its context. keeps: with what it saved for forward mode.
struct Applied {
  nb::object output, context;
};
Applied apply_function(nb::handle cls, const nb::tuple& args, bool keeps = false);
// Does a level, whose tensors are among inputs, compute the call by a rule of the Function? It then gives the result.
// records: the call is recorded above, for which forward may not see the context.
nb::object by_rule(nb::handle cls, const nb::tuple& args, std::span<const Tensor> inputs, bool records);

void bind_nodes(const Names&);
void bind_functions(const Names&);
void bind_hooks(const Names&);

}  // namespace neura::python
