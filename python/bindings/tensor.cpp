// neura.Tensor: a heap type of our own, so that one tensor is one object and `a + b` costs no argument parsing.
#include "collector.h"
#include "keywords.h"
#include "new_type.h"
#include "nodes.h"
#include "overrides.h"
#include "size.h"
#include "tensor_value.h"

#include <structmember.h>

namespace neura::python {

PyTypeObject* tensor_type;

namespace {

// Which object shows which tensor: open addressing, so that a new tensor pays a few nanoseconds. Used under the GIL.
class Table {
 public:
  Table() : slots_(1024) {}
  PyObject* find(const TensorImpl* key) const {
    for (std::size_t i = home(key);; i = next(i))
      if (slots_[i].key == key || !slots_[i].key) return slots_[i].object;
  }
  void add(const TensorImpl* key, PyObject* object) {
    if (++used_ * 2 > slots_.size()) grow();
    std::size_t i = home(key);
    while (slots_[i].key) i = next(i);
    slots_[i] = {key, object};
  }
  void remove(const TensorImpl* key) {
    std::size_t i = home(key);
    for (; slots_[i].key != key; i = next(i))
      if (!slots_[i].key) return;
    --used_;
    for (std::size_t j = next(i); slots_[j].key; j = next(j)) {  // those after move up, so that no search ends early
      const std::size_t h = home(slots_[j].key);
      if (((j - h) & (slots_.size() - 1)) >= ((j - i) & (slots_.size() - 1))) slots_[i] = slots_[j], i = j;
    }
    slots_[i] = {};
  }

 private:
  struct Slot {
    const TensorImpl* key = nullptr;
    PyObject* object = nullptr;
  };
  std::size_t home(const TensorImpl* key) const {
    return (std::size_t(reinterpret_cast<std::uintptr_t>(key) >> 4) * 0x9E3779B97F4A7C15u >> 20) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& s : old) {
      if (!s.key) continue;
      std::size_t i = home(s.key);
      while (slots_[i].key) i = next(i);
      slots_[i] = s;
    }
  }
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};
Table& objects() {
  static Table* table = new Table;  // outlives the interpreter
  return *table;
}

// While C++ still holds the tensor, the end of its object must not be seen: then C++ keeps the object.
bool must_stay(PyTensor* o) {
  return !o->kept && (o->dict || o->weak || Py_TYPE(o) != tensor_type) && !all_handles_known(o);
}
void finalize(PyObject* self) {
  auto* o = reinterpret_cast<PyTensor*>(self);
  if (!must_stay(o)) return;
  Py_INCREF(self);
  TensorImpl* t = o->t.impl();
  o->kept = true, t->hosted = true;
  Ref<TensorImpl>::drop(t);
}
// A kept object is as it was: its owner is whoever calls. It may be finalised again, which Python does only once.
void give_back(PyTensor* o) {
  o->kept = false;
#if !defined(Py_GIL_DISABLED)
  auto* self = reinterpret_cast<PyObject*>(o);
  if (PyObject_GC_IsFinalized(self)) {
    (reinterpret_cast<std::uintptr_t*>(self) - 1)[0] &= ~std::uintptr_t{1};
    NEURA_ASSERT(!PyObject_GC_IsFinalized(self));
  }
#endif
}
void dealloc(PyObject* self) {
  auto* o = reinterpret_cast<PyTensor*>(self);
  if (must_stay(o) && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  TensorImpl* t = o->t.impl();
  if (o->watched) forget_tensor(self);
  if (objects().find(t) == self) objects().remove(t);  // before anybody can meet it again
  if (o->weak) PyObject_ClearWeakRefs(self);
  Py_CLEAR(o->dict);
  if (!t->hosted) Ref<TensorImpl>::drop(t);
  else if (t->count.fetch_sub(1, std::memory_order_acq_rel) == 1) TensorImpl::free(t);
  type->tp_free(self);
  Py_DECREF(type);
}
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* o = reinterpret_cast<PyTensor*>(self);
  Py_VISIT(o->dict);
  if (const int stop = visit_held_by_cpp(self, visit, arg)) return stop;
  if (!all_handles_known(o)) return 0;  // what others hold too is not its own
  if (o->kept) Py_VISIT(self);          // by a handle, which the collector has counted elsewhere
  return visit_history(o->t, visit, arg);
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<PyTensor*>(self)->dict);
  return 0;
}
void track(PyObject* self) {
  if (reinterpret_cast<PyTensor*>(self)->dict) track_history(self);
}
int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  const int r = PyObject_GenericSetAttr(self, name, value);
  track(self);
  return r;
}
PyObject* get_dict(PyObject* self, void*) {
  PyObject* d = PyObject_GenericGetDict(self, nullptr);
  track(self);
  return d;
}
PyObject* create(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (type == tensor_type && keywords && PyDict_GET_SIZE(keywords))  // a subclass may take some of its own
      refuse_keyword("Tensor", nb::cast<std::string>(nb::list(nb::handle(keywords))[0]).c_str(), nb::list());
    PyObject* only = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : nullptr;
    Tensor t;
    if (PyTuple_GET_SIZE(args) == 0) t = empty({0});
    else if (only && is_tensor(only)) t = tensor_in(only).detach();
    else if (only && !means_sizes(only)) t = tensor_from(only).to(default_dtype()).to(default_device());
    else t = empty(sizes_of(nb::borrow<nb::args>(args)));
    return make_object(type, t);
  });
}

// One side of an operator; at most one of the two is an array, which becomes a tensor here.
bool to_side(PyObject* o, Operand& operand, Tensor& array) {
  if (o == Py_None) return false;
  if (to_operand(o, operand)) return true;
  if (!is_array(o)) return false;
  array = tensor_from(o);
  return operand = Operand(array), true;
}
template <const Row* row> PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Operand operands[2];
    Tensor array;
    PyObject* r = nullptr;
    if (overriding && operator_overridden(row->name, a, b, r)) [[unlikely]]
      return r;
    if (!to_side(a, operands[0], array) || !to_side(b, operands[1], array)) {
      if (operator_overridden(row->name, a, b, r)) return r;
      Py_RETURN_NOTIMPLEMENTED;
    }
    // A number over complex numbers is, as in torch, times their reciprocals: 1 / 0j is NaN, of both parts.
    if (row == &rows::div && operands[0].is_scalar() && is_complex(tensor_in(b).dtype()))
      return wrap(apply_row(rows::mul, nullptr, apply_row(rows::reciprocal, nullptr, tensor_in(b)), operands[0]));
    Tensor out;
    Call call{row, nullptr, operands, 2, &out};
    apply(call);
    return wrap(out);
  });
}
template <const Row* row> PyObject* in_place(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Operand operands[2] = {tensor_in(a), {}};
    Tensor array;
    PyObject* r = nullptr;
    if (overriding && operator_overridden((std::string(row->name) + '_').c_str(), a, b, r)) [[unlikely]]
      return r;
    if (!to_side(b, operands[1], array)) Py_RETURN_NOTIMPLEMENTED;
    Tensor self = tensor_in(a);
    Call call{row, nullptr, operands, 2, &self, Destination::in_place};
    apply(call);
    return Py_NewRef(a);
  });
}
template <const Row* row> PyObject* unary(PyObject* a) {
  return guarded([&] {
    PyObject* r = nullptr;
    if (overriding && operator_overridden(row->name, a, nullptr, r)) [[unlikely]]
      return r;
    return wrap(apply_row(*row, nullptr, tensor_in(a)));
  });
}
template <const Row* row> PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<row>(a, b);
}
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place<&rows::pow>(a, b);
}
PyObject* multiply_matrices(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    PyObject* r = nullptr;
    const bool fit = (is_tensor(a) || is_array(a)) && (is_tensor(b) || is_array(b));
    if ((overriding || !fit) && operator_overridden("matmul", a, b, r)) [[unlikely]]
      return r;
    if (!fit) Py_RETURN_NOTIMPLEMENTED;
    const auto side = [](PyObject* o) { return is_tensor(o) ? tensor_in(o) : tensor_from(o); };
    return wrap(matmul(side(a), side(b)));
  });
}
// An integer that int64 does not hold compares with floating numbers alone.
PyObject* compare(PyObject* a, PyObject* b, int op) {
  int beyond = 0;
  if (PyLong_Check(b)) PyLong_AsLongLongAndOverflow(b, &beyond);
  if (beyond) [[unlikely]] {
    if (is_integral(tensor_in(a).dtype())) {
      PyErr_SetString(PyExc_OverflowError, "compare: expected an integer that int64 holds, got a larger one");
      return nullptr;
    }
    const nb::object number = nb::steal(PyNumber_Float(b));
    return number.is_valid() ? compare(a, number.ptr(), op) : nullptr;
  }
  static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
  static constexpr PyObject* (*each[])(PyObject*, PyObject*) = {
      binary<&rows::lt>, binary<&rows::le>, binary<&rows::eq>, binary<&rows::ne>, binary<&rows::gt>, binary<&rows::ge>};
  return each[op](a, b);
}
Py_hash_t hash(PyObject* self) { return Py_hash_t(reinterpret_cast<std::uintptr_t>(tensor_in(self).impl()) >> 4); }

PyObject* show(PyObject* self) {
  return guarded([&] {
    std::string text = repr(tensor_in(self), get_printoptions(), "neura.");
    if (overriding && overrides_calls(Py_TYPE(self))) text = under_name_of(self, text);
    return PyUnicode_FromStringAndSize(text.data(), Py_ssize_t(text.size()));
  });
}
Py_ssize_t length(PyObject* self) {
  const Tensor& t = tensor_in(self);
  if (t.dim() > 0) return Py_ssize_t(t.spec().shape[0]);
  PyErr_SetString(PyExc_TypeError, "len: expected a tensor with dimensions, got one of none");
  return -1;
}
PyObject* iterate(PyObject* self) {
  if (tensor_in(self).dim() == 0) {
    PyErr_SetString(PyExc_TypeError, "iter: expected a tensor with dimensions, got one of none");
    return nullptr;
  }
  return guarded([&] {
    PyObject* r = nullptr;
    const nb::object parts = overriding && operator_overridden("unbind", self, nullptr, r)
                                 ? nb::steal(r)
                                 : nb::object(tuple_of(unbind(tensor_in(self))));
    return parts.is_valid() ? PyObject_GetIter(parts.ptr()) : nullptr;
  });
}
int contains(PyObject* self, PyObject* value) {
  nb::object same = nb::steal(binary<&rows::eq>(self, value));
  if (!same.is_valid()) return -1;
  try {
    if (same.ptr() == Py_NotImplemented)
      throw DTypeError(std::string("in: expected a tensor or a number, got ") + Py_TYPE(value)->tp_name);
    return any(tensor_in(same.ptr())).item<bool>();
  } catch (...) {
    set_python_error(std::current_exception());
    return -1;
  }
}

const char kDoc[] =
    "Tensor(*sizes) or Tensor(data)\n--\n\n"
    "An array of numbers of one dtype on one device, with a gradient if that is wanted. One tensor is one object: it\n"
    "keeps its attributes and its class as long as anything holds it. What an operation makes of a subclass is of\n"
    "that class, too; see neura.overrides.";

// clang-format off: one line per slot
PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, ""},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, ""},
                         {}};
PyGetSetDef dictionary[] = {{"__dict__", get_dict, PyObject_GenericSetDict, "", nullptr}, {}};
#define SLOT(slot, function) \
  { Py_##slot, (void*)(function) }
PyType_Slot slots[] = {SLOT(tp_new, create),
                       SLOT(tp_doc, kDoc),
                       SLOT(tp_dealloc, dealloc),
                       SLOT(tp_finalize, finalize),
                       SLOT(tp_traverse, traverse),
                       SLOT(tp_clear, clear),
                       SLOT(tp_setattro, set_attribute),
                       SLOT(tp_members, members),
                       SLOT(tp_getset, dictionary),
                       SLOT(tp_repr, show),
                       SLOT(tp_hash, hash),
                       SLOT(tp_richcompare, compare),
                       SLOT(tp_iter, iterate),
                       SLOT(nb_add, binary<&rows::add>),
                       SLOT(nb_inplace_add, in_place<&rows::add>),
                       SLOT(nb_subtract, binary<&rows::sub>),
                       SLOT(nb_inplace_subtract, in_place<&rows::sub>),
                       SLOT(nb_multiply, binary<&rows::mul>),
                       SLOT(nb_inplace_multiply, in_place<&rows::mul>),
                       SLOT(nb_true_divide, binary<&rows::div>),
                       SLOT(nb_inplace_true_divide, in_place<&rows::div>),
                       SLOT(nb_floor_divide, binary<&rows::floor_divide>),
                       SLOT(nb_inplace_floor_divide, in_place<&rows::floor_divide>),
                       SLOT(nb_remainder, binary<&rows::remainder>),
                       SLOT(nb_inplace_remainder, in_place<&rows::remainder>),
                       SLOT(nb_power, power<&rows::pow>),
                       SLOT(nb_inplace_power, power_in_place),
                       SLOT(nb_and, binary<&rows::bitwise_and>),
                       SLOT(nb_inplace_and, in_place<&rows::bitwise_and>),
                       SLOT(nb_or, binary<&rows::bitwise_or>),
                       SLOT(nb_inplace_or, in_place<&rows::bitwise_or>),
                       SLOT(nb_xor, binary<&rows::bitwise_xor>),
                       SLOT(nb_inplace_xor, in_place<&rows::bitwise_xor>),
                       SLOT(nb_lshift, binary<&rows::bitwise_left_shift>),
                       SLOT(nb_inplace_lshift, in_place<&rows::bitwise_left_shift>),
                       SLOT(nb_rshift, binary<&rows::bitwise_right_shift>),
                       SLOT(nb_inplace_rshift, in_place<&rows::bitwise_right_shift>),
                       SLOT(nb_negative, unary<&rows::neg>),
                       SLOT(nb_positive, Py_NewRef),
                       SLOT(nb_absolute, unary<&rows::abs>),
                       SLOT(nb_invert, unary<&rows::bitwise_not>),
                       SLOT(nb_matrix_multiply, multiply_matrices),
                       SLOT(nb_bool, truth),
                       SLOT(nb_int, to_int),
                       SLOT(nb_float, to_float),
                       SLOT(nb_index, to_index),
                       SLOT(mp_length, length),
                       SLOT(mp_subscript, subscript),
                       SLOT(mp_ass_subscript, assign_subscript),
                       SLOT(sq_contains, contains),
                       SLOT(bf_getbuffer, tensor_buffer),
                       SLOT(bf_releasebuffer, drop_buffer),
                       {0, nullptr}};
#undef SLOT
// clang-format on
PyType_Spec spec = {"neura.Tensor", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                    slots};

}  // namespace

PyObject* make_object(PyTypeObject* type, const Tensor& t) {
  if (released_waits()) [[unlikely]]
    drain_released();
  // Ours is tracked once it has attributes; a subclass may have slots, which want zeros.
  auto* o =
      type == tensor_type ? PyObject_GC_New(PyTensor, type) : reinterpret_cast<PyTensor*>(type->tp_alloc(type, 0));
  if (!o) throw nb::python_error();
  new (&o->t) Tensor(t);
  o->dict = o->weak = nullptr, o->kept = o->watched = false;
  objects().add(t.impl(), reinterpret_cast<PyObject*>(o));
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap(const Tensor& t) {
  if (!t) Py_RETURN_NONE;
  TensorImpl* p = t.impl();
  // Without other references no object can expose it, unless C++ keeps that object.
  if (p->count.load(std::memory_order_relaxed) > 1 || p->hosted)
    if (PyObject* o = objects().find(p)) {
      if (!reinterpret_cast<PyTensor*>(o)->kept) return Py_NewRef(o);
      p->count.fetch_add(1, std::memory_order_relaxed);
      give_back(reinterpret_cast<PyTensor*>(o));
      return o;  // the reference was C++'s
    }
  return make_object(tensor_type, t);
}

PyObject* known_object(const Tensor& t) { return t ? objects().find(t.impl()) : nullptr; }
PyObject* object_at(const TensorImpl* t) { return objects().find(t); }

// The handle is still counted: it becomes the object's. Where the object is gone, or holds the tensor again, it is one
// handle less.
void take_last_handle(TensorImpl* t) {
  PyObject* o = objects().find(t);
  if (o && reinterpret_cast<PyTensor*>(o)->kept) {
    give_back(reinterpret_cast<PyTensor*>(o));
    Py_DECREF(o);
  } else if (t->count.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    TensorImpl::free(t);
  }
}

void bind_tensor(nb::module_& m) {
  tensor_type = new_type(spec);
  m.attr("Tensor") = nb::handle(reinterpret_cast<PyObject*>(tensor_type));
  m.attr("Tensor").attr("__array_priority__") = 1000;  // NumPy leaves operators with its numbers and arrays to us
  bind_overrides(m);
}

}  // namespace neura::python
