// What every binding file includes: the Python type of a tensor, all type casters, and how functions become methods.
// All casters are defined here: two files with different casters for one type would violate the one definition rule.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <vector>

#include "neura/autograd/autograd.h"
#include "neura/autograd/grad_mode.h"
#include "neura/core/print.h"
#include "neura/core/random.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/attention.h"
#include "neura/ops/nn/embedding.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/einsum.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/random/dropout.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/reduce/scan.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/sort/sort.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/pool.h"

namespace nb = nanobind;
using namespace nb::literals;

#if PY_VERSION_HEX < 0x030A0000  // Python 3.10 brought it
inline PyObject* Py_NewRef(PyObject* o) { return Py_INCREF(o), o; }
#endif

namespace neura::python {

struct PyTensor {  // the Python object; `t` is never undefined
  PyObject_HEAD Tensor t;
  PyObject *dict, *weak;
  bool kept;     // C++ holds the object instead of the object holding the tensor: `t` is not counted
  bool watched;  // by collector.h
};
extern PyTypeObject* tensor_type;
inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type); }
inline Tensor& tensor_in(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->t; }
PyObject* wrap(const Tensor&);  // a new reference to the one object of this tensor; None if it is undefined
PyObject* make_object(PyTypeObject*, const Tensor&);  // the same for a tensor that has no object yet
PyObject* known_object(const Tensor&);                // borrowed; null if this tensor has none

// References to Python objects that C++ holds. Any thread may drop one: without the lock, it waits for the lock.
void drop_reference(PyObject*);
void when_locked(void (*act)(void*), void* what);
inline std::shared_ptr<PyObject> shared(nb::handle o) { return {o.inc_ref().ptr(), drop_reference}; }
void drain_released();  // what waits, now
bool released_waits();
void take_last_handle(TensorImpl*);

// Python to C++. False, without a Python error, where the object is something else.
bool to_scalar(PyObject*, Scalar&);                         // numbers, and tensors of one element
bool to_operand(PyObject*, Operand&);                       // tensors and numbers; None is absent
bool to_shape(PyObject*, Shape&, bool none_keeps = false);  // an integer or a sequence of integers
bool to_integers(PyObject*, std::vector<std::int64_t>&);
bool to_tensors(PyObject*, std::vector<Tensor>&);  // a list or tuple of tensors
bool to_dtype(PyObject*, DType&);
bool to_device(PyObject*, Device&);
Shape sizes_of(const nb::args&);  // f(2, 3) or f((2, 3)); TypeError
PyObject* from_dtype(DType);
PyObject* from_device(Device);
PyObject* from_scalar(Scalar);
PyObject* size_of_shape(const Shape&);  // a neura.Size
bool is_array(PyObject*);               // has the buffer protocol, and is no text or tensor
bool to_number(PyObject*, Scalar&);     // a number of NumPy
Tensor copy_of_array(nb::handle, const char* op);
Tensor tensor_from(nb::handle data, std::optional<DType> = {});  // numbers, nested sequences, arrays
nb::object to_python(const Tensor&);                             // nested lists of numbers
Tensor pinned(bool pin_memory, const Tensor& made);              // what a function makes with pin_memory=True
std::vector<Index> to_indices(PyObject* key);

int tensor_buffer(PyObject*, Py_buffer*, int flags);
void drop_buffer(PyObject*, Py_buffer*);
PyObject* subscript(PyObject* self, PyObject* key);
int assign_subscript(PyObject* self, PyObject* key, PyObject* value);
extern PyObject* stop_recomputation;        // the Python type of StopRecomputation
void set_python_error(std::exception_ptr);  // inside a slot, where nanobind does not translate

// A Python error raised on our behalf becomes a C++ exception.
template <class F> PyObject* guarded(F&& f) {
  try {
    return f();
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

// Results with names.
nb::object named_pair(const char* type, const char* first, const char* second, const Tensor& a, const Tensor& b);
template <class T> nb::tuple tuple_of(const T& tensors) {
  nb::list l;
  for (const Tensor& t : tensors) l.append(nb::steal(wrap(t)));
  return nb::tuple(l);
}

template <class T> nb::list listed(const T& all) {  // of numbers or texts
  nb::list l;
  for (const auto& x : all) l.append(x);
  return l;
}

// x.name(…) is neura.name(x, …): the same callable, bound as a method.
void add_method(const char* name, nb::handle callable);
std::string text_of(const std::string& name);  // for help(); empty if there is none
struct Names {
  nb::module_ functions, methods;
  template <class F, class... E> const Names& function(const char* name, F&& f, const E&... e) const {
    nb::module_(functions).def(name, f, text_of(name).c_str(), e...);
    return *this;
  }
  template <class F, class... E> const Names& method(const char* name, F&& f, const E&... e) const {
    nb::module_(methods).def(name, f, text_of(name).c_str(), e...);
    add_method(name, methods.attr(name));
    return *this;
  }
  const Names& alias(const char* name, const char* of) const {
    functions.attr(name) = functions.attr(of);
    add_method(name, functions.attr(of));
    return *this;
  }
};

void bind_lock();
void bind_types(nb::module_&);
void bind_print(const Names&);
void bind_size(nb::module_&);
void bind_tensor(nb::module_&);
void bind_errors(nb::module_&);
void bind_optim(nb::module_&);
void bind_files(nb::module_&);
void bind_data(const Names&);
void bind_arrays(const Names&);
void bind_dlpack(const Names&);
void bind_pickle(const Names&);
void bind_rows(const Names&);
void bind_create(const Names&);
void bind_random(const Names&);
void bind_loading(const Names&);  // of neura.utils.data and neura.data
void bind_image_files(nb::module_&);
void bind_image_transforms(nb::module_&);
void bind_sort(const Names&);
void bind_autograd(const Names&);
void bind_nodes(const Names&);
void bind_functions(const Names&);
void bind_hooks(const Names&);
void bind_texts(const Names&);
void bind_init(const Names& init, const Names& utils);
void bind_packed(const Names& utils);

}  // namespace neura::python

#include "casters.h"
