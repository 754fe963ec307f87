// Pickling and copying. Bytes travel as an object of their own, one per storage, so that tensors that share bytes still
// do on the other side: pickle and deepcopy recognise an object that they have met.
#include <cstring>
#include <unordered_map>

#include "common.h"
#include "module_parts.h"
#include "new_type.h"
#include "neura/core/extension.h"
#include "neura/core/interpreter.h"
#include "neura/core/meta.h"
#include "neura/core/pending.h"

#include <structmember.h>

namespace neura::python {
namespace {

struct PyStorage {
  PyObject_HEAD Storage* storage;
  PyObject* weak;
};
PyTypeObject* storage_type;
PyObject* rebuild_storage;
PyObject* rebuild_tensor;

std::unordered_map<Storage*, PyObject*>& storages() {  // those that have an object
  static auto* m = new std::unordered_map<Storage*, PyObject*>;
  return *m;
}
Storage* storage_in(PyObject* o) { return reinterpret_cast<PyStorage*>(o)->storage; }
Storage* storage_of(nb::handle self) {  // of what a method is called on: UntypedStorage.nbytes(x)
  if (Py_TYPE(self.ptr()) != storage_type)
    throw nb::type_error(
        (std::string("UntypedStorage: expected a storage, got ") + Py_TYPE(self.ptr())->tp_name).c_str());
  return storage_in(self.ptr());
}
nb::object object_of(Storage* s) {
  if (!s->data) settle(s);
  PyObject*& known = storages()[s];
  if (known) return nb::borrow(known);
  PyStorage* o = PyObject_New(PyStorage, storage_type);
  if (!o) throw nb::python_error();
  o->storage = Ref<Storage>::share(s).leave(), o->weak = nullptr;
  known = reinterpret_cast<PyObject*>(o);
  return nb::steal(known);
}
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (reinterpret_cast<PyStorage*>(self)->weak) PyObject_ClearWeakRefs(self);
  storages().erase(storage_in(self));
  Ref<Storage>::drop(storage_in(self));
  type->tp_free(self);
  Py_DECREF(type);
}
int buffer(PyObject* self, Py_buffer* view, int flags) {
  const Storage* s = storage_in(self);
  if (s->device.is_cpu()) return PyBuffer_FillInfo(view, self, s->data, Py_ssize_t(s->bytes), 0, flags);
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, "buffer: expected a storage on the cpu");
  return -1;
}
Py_ssize_t length(PyObject* self) { return Py_ssize_t(storage_in(self)->bytes); }

Tensor bytes_of(Storage* s) {  // as a flat tensor
  return Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(
      Spec::dense(DType::uint8, Shape{std::int64_t(s->bytes)}, s->device), Ref<Storage>::share(s).leave())));
}
nb::object storage_from(nb::handle data, Device device) {
  if (is_meta(device)) {  // their number
    const Ref<Storage> none = Ref<Storage>::adopt(Storage::make(nb::cast<std::size_t>(data), device));
    return object_of(none.get());
  }
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE)) throw nb::python_error();
  const auto bytes = std::size_t(view.len);
  Storage* s;
  {
    GilRelease unlocked(bytes > 1 << 18);
    s = Storage::make(bytes);
    std::memcpy(s->data, view.buf, bytes);
  }
  PyBuffer_Release(&view);
  const Ref<Storage> held = Ref<Storage>::adopt(s);
  return object_of(device.is_cpu() ? s : bytes_of(s).to(device).impl()->storage);
}
nb::object reduce_storage(nb::handle self, int protocol) {
  Storage* s = storage_of(self);
  if (is_meta(s->device)) return nb::make_tuple(nb::handle(rebuild_storage), nb::make_tuple(s->bytes, s->device.str()));
  const Tensor here = bytes_of(s).to(Device());
  nb::object data = nb::borrow(self);
  if (!s->device.is_cpu()) data = object_of(here.impl()->storage);
  PyObject* raw = protocol >= 5 ? PyPickleBuffer_FromObject(data.ptr()) : PyBytes_FromObject(data.ptr());
  if (!raw) throw nb::python_error();
  return nb::make_tuple(nb::handle(rebuild_storage), nb::make_tuple(nb::steal(raw), s->device.str()));
}
nb::object deepcopy_storage(nb::handle self, nb::dict memo) {
  nb::object key = nb::steal(PyLong_FromVoidPtr(self.ptr()));
  if (memo.contains(key)) return memo[key];
  nb::object copy = object_of(bytes_of(storage_of(self)).clone().impl()->storage);
  memo[key] = copy;
  return copy;
}

// A tensor of the class `type` over the bytes of a storage.
nb::object tensor_over(nb::handle type, nb::handle storage, DType dtype, std::int64_t offset, const Shape& shape,
                       const Shape& strides, bool requires_grad) {
  if (!PyType_Check(type.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), tensor_type) ||
      Py_TYPE(storage.ptr()) != storage_type)
    throw nb::type_error("rebuild: expected a class of tensors and a storage");
  Storage* s = storage_in(storage.ptr());
  Spec spec = Spec::dense(dtype, shape, s->device);
  bool fits = shape.size() == strides.size() && offset >= 0;
  for (int i = 0; fits && i < strides.size(); ++i)
    fits = shape[i] >= 0 && strides[i] >= 0, spec.strides[i] = strides[i];
  if (fits) spec.offset = offset, spec.finish();
  std::int64_t last = 0, bytes = 0;
  for (int i = 0; fits && spec.numel && i < shape.size(); ++i) {
    std::int64_t step;
    fits = !__builtin_mul_overflow(shape[i] - 1, strides[i], &step) && !__builtin_add_overflow(last, step, &last);
  }
  fits =
      fits && !__builtin_add_overflow(last, offset + 1, &last) && !__builtin_mul_overflow(last, size_of(dtype), &bytes);
  check<FormatError>(fits && (spec.numel == 0 || bytes <= std::int64_t(s->bytes)), [&] {
    return "rebuild: expected sizes and strides within " + std::to_string(s->bytes) + " bytes, got " + shape.str() +
           " with strides " + strides.str() + " at offset " + std::to_string(offset);
  });
  Tensor t(Ref<TensorImpl>::adopt(TensorImpl::make(spec, Ref<Storage>::share(s).leave())));
  if (requires_grad) t.requires_grad_();
  return nb::steal(make_object(reinterpret_cast<PyTypeObject*>(type.ptr()), t));
}
nb::object over(nb::handle self, nb::handle storage) {
  const Tensor& t = tensor_in(self.ptr());
  return tensor_over(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self.ptr()))), storage, t.dtype(),
                     t.storage_offset(), t.shape(), t.strides(), t.requires_grad());
}

void expect_tensor(nb::handle self) {
  if (!is_tensor(self.ptr())) throw nb::type_error("copy: expected a tensor");
}
// What object.__getstate__ says, which Python 3.11 brought: None, the dict, or the dict and one of slots.
nb::object state_of(nb::handle self) {
  if (nb::hasattr(self, "__getstate__")) return self.attr("__getstate__")();
  nb::object own = nb::getattr(self, "__dict__", nb::none());
  if (!own.is_none() && nb::len(own) == 0) own = nb::none();
  nb::dict slots;
  for (nb::handle name : nb::module_::import_("copyreg").attr("_slotnames")(self.type()))
    if (nb::hasattr(self, name)) slots[name] = self.attr(name);
  return slots.empty() ? own : nb::object(nb::make_tuple(own, slots));
}
nb::object reduce(nb::handle self, nb::handle) {
  expect_tensor(self);
  const Tensor& t = tensor_in(self.ptr());
  if (extension(t.impl())) return nb::module_::import_("neura.sparse").attr("_reduce")(self);
  nb::tuple arguments =
      nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(self.ptr()))), object_of(t.impl()->storage),
                     t.dtype(), t.storage_offset(), t.shape(), t.strides(), t.requires_grad());
  return nb::make_tuple(nb::handle(rebuild_tensor), arguments, state_of(self));
}
void set_state(nb::handle self, nb::handle state) {  // as pickle does: a dict, or a dict and one of slots
  nb::object parts[2] = {nb::borrow(state), nb::none()};
  if (PyTuple_Check(state.ptr()) && PyTuple_GET_SIZE(state.ptr()) == 2) parts[0] = state[0], parts[1] = state[1];
  if (!parts[0].is_none()) self.attr("__dict__").attr("update")(parts[0]);
  if (!parts[1].is_none())
    for (auto [key, value] : nb::cast<nb::dict>(parts[1])) nb::setattr(self, key, value);
}
nb::object deepcopy(nb::handle self, nb::dict memo) {
  expect_tensor(self);
  nb::object key = nb::steal(PyLong_FromVoidPtr(self.ptr()));
  if (memo.contains(key)) return memo[key];
  const Tensor& t = tensor_in(self.ptr());
  check<AutogradError>(t.is_leaf(), [&] {
    return std::string("deepcopy: expected a leaf, got the result of ") + t.grad_fn() + "; use detach() or clone()";
  });
  nb::object deep = nb::module_::import_("copy").attr("deepcopy");
  nb::object copy = extension(t.impl()) ? nb::module_::import_("neura.sparse").attr("_copied")(self)
                                        : over(self, deep(object_of(t.impl()->storage), memo));
  memo[key] = copy;
  const Tensor g = is_parameter(self.ptr()) ? Tensor() : t.grad();  // a Parameter's copy has none, as in PyTorch
  if (g) tensor_in(copy.ptr()).set_grad(nb::cast<Tensor>(deep(g, memo)));
  nb::object state = state_of(self);
  if (nb::hasattr(self, "__setstate__")) copy.attr("__setstate__")(deep(state, memo));
  else if (!state.is_none()) set_state(copy, deep(state, memo));
  return copy;
}

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyStorage, weak), READONLY, ""}, {}};
PyType_Slot slots[] = {{Py_tp_dealloc, (void*)dealloc},
                       {Py_tp_members, members},
                       {Py_bf_getbuffer, (void*)buffer},
                       {Py_sq_length, (void*)length},
                       {Py_tp_doc, (void*)"The bytes that a tensor and its views share."},
                       {0, nullptr}};
PyType_Spec spec = {"neura.UntypedStorage", sizeof(PyStorage), 0, Py_TPFLAGS_DEFAULT, slots};

template <class F, class... E> void method_of_storage(const Names& n, const char* name, F&& f, const E&... e) {
  const std::string own = std::string("_storage_") + name;
  nb::module_(n.methods).def(own.c_str(), f, e...);
  nb::object method = nb::steal(PyInstanceMethod_New(nb::object(n.methods.attr(own.c_str())).ptr()));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(storage_type), name, method.ptr())) throw nb::python_error();
}
PyObject* name_of_function(PyObject* f, PyObject*) { return PyObject_GetAttrString(f, "__name__"); }

}  // namespace

void bind_pickle(const Names& n) {
  storage_type = sealed_type(spec);
  n.functions.attr("UntypedStorage") = nb::handle(reinterpret_cast<PyObject*>(storage_type));
  method_of_storage(n, "__reduce_ex__", &reduce_storage);
  method_of_storage(n, "__deepcopy__", &deepcopy_storage);
  method_of_storage(
      n, "nbytes", [](nb::handle self) { return storage_of(self)->bytes; }, "Its bytes.");
  method_of_storage(
      n, "size", [](nb::handle self) { return storage_of(self)->bytes; }, "Its bytes.");
  method_of_storage(
      n, "data_ptr",
      [](nb::handle self) {
        const Storage* s = storage_of(self);
        return is_meta(s->device) ? 0 : reinterpret_cast<std::uintptr_t>(s->data);
      },
      "The address of the first byte; 0 on meta.");
  n.method("untyped_storage", [](const Tensor& t) {
    check_dense("untyped_storage", t);
    return object_of(t.impl()->storage);
  });
  n.method("__reduce_ex__", &reduce, "self"_a, "protocol"_a);
  n.method("__deepcopy__", &deepcopy, "self"_a, "memo"_a);
  n.method(
      "as_subclass",
      [](const Tensor& t, nb::handle type) {
        if (!PyType_Check(type.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type.ptr()), tensor_type))
          throw nb::type_error("as_subclass: expected a class that derives from neura.Tensor");
        return nb::steal(make_object(reinterpret_cast<PyTypeObject*>(type.ptr()), view(t, t.shape())));
      },
      "self"_a, "cls"_a, "This tensor, seen as an object of a class that derives from Tensor.");
  n.function("_rebuild_storage",
             [](nb::handle data, const std::string& device) { return storage_from(data, Device(device)); });
  n.function("_rebuild_tensor", &tensor_over);
  rebuild_storage = nb::object(n.functions.attr("_rebuild_storage")).release().ptr();
  rebuild_tensor = nb::object(n.functions.attr("_rebuild_tensor")).release().ptr();
  // Functions of ours pickle by their names.
  static PyMethodDef by_name = {"__reduce__", name_of_function, METH_NOARGS, ""};
  PyTypeObject* type = Py_TYPE(rebuild_tensor);
  const nb::object method = nb::steal(PyDescr_NewMethod(type, &by_name));
  if (!method.is_valid() || PyDict_SetItemString(type->tp_dict, by_name.ml_name, method.ptr()))
    throw nb::python_error();
  PyType_Modified(type);
}

}  // namespace neura::python
