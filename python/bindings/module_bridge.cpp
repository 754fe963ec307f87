// Between C++ modules and Python classes: which class stands for which, what a class overrides, and how C++ asks.
#include <mutex>
#include <unordered_map>

#include "module_parts.h"

namespace neura::python {
namespace {

std::unordered_map<std::type_index, NativeType*>& natives() {
  static auto* map = new std::unordered_map<std::type_index, NativeType*>;  // outlives the interpreter
  return *map;
}
std::unordered_map<PyTypeObject*, NativeType*>& natives_by_type() {
  static auto* map = new std::unordered_map<PyTypeObject*, NativeType*>;
  return *map;
}

// ---- References from C++

std::mutex later_mutex;
std::vector<PyObject*>& later() {
  static auto* list = new std::vector<PyObject*>;
  return *list;
}
int release_later(void*) {
  std::vector<PyObject*> due;
  {
    const std::lock_guard lock(later_mutex);
    due.swap(later());
  }
  for (PyObject* o : due) Py_DECREF(o);
  return 0;
}
void acquire(void* object) {
  if (PyGILState_Check()) {
    Py_INCREF(static_cast<PyObject*>(object));
  } else if (Py_IsInitialized()) {
    const nb::gil_scoped_acquire gil;
    Py_INCREF(static_cast<PyObject*>(object));
  }
}
// A thread without the GIL never waits for it to let go of something: the next one that has it does that.
void release(void* object) {
  if (!Py_IsInitialized()) return;
  if (PyGILState_Check()) {
    Py_DECREF(static_cast<PyObject*>(object));
    return;
  }
  const std::lock_guard lock(later_mutex);
  later().push_back(static_cast<PyObject*>(object));
  if (later().size() == 1) Py_AddPendingCall(release_later, nullptr);
}

// ---- Overrides

PyObject* class_attributes[5];  // what Module itself has, in the order of nn::Override after kForward, and __call__
const char* const kOverridable[5] = {"train", "extra_repr", "_get_name", "__repr__", "__call__"};

PyObject* forward_name() {
  static PyObject* name = PyUnicode_InternFromString("forward");
  return name;
}
unsigned version_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030D0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}
bool is_current(PyModule* o) {
  const unsigned version = version_of(Py_TYPE(o));
  return version && version == o->version;
}

std::uint8_t overrides_of(const nn::Module& m) {  // for C++, with or without the GIL
  PyModule* o = py_module(object_of(m));
  if (!is_current(o)) {
    const nb::gil_scoped_acquire gil;
    refresh_overrides(o);
  }
  const bool indirect = o->instance || o->mask & kCall || has_call_hooks(o) || m.has_removed();
  return std::uint8_t(o->mask | (indirect ? nn::kForward : 0));
}

std::string call_for_text(const nn::Module& m, const char* method) {
  const nb::gil_scoped_acquire gil;
  return nb::cast<std::string>(nb::handle(object_of(m)).attr(method)());
}

}  // namespace

const NativeType* native_of(const nn::Module& m) {
  const auto found = natives().find(typeid(m));
  return found == natives().end() ? nullptr : found->second;
}
const NativeType& native_of(const std::type_info& cpp) { return *natives().at(cpp); }
const NativeType& native_of(PyTypeObject* type) {
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    const auto found = natives_by_type().find(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i)));
    if (found != natives_by_type().end()) return *found->second;
  }
  return *natives_by_type().at(module_type);
}

std::uint8_t overrides(PyModule* o) {
  if (!is_current(o)) [[unlikely]]
    refresh_overrides(o);
  return o->mask;
}

void refresh_overrides(PyModule* o) {
  PyTypeObject* type = Py_TYPE(o);
  const nb::handle cls(reinterpret_cast<PyObject*>(type));
  const NativeType* native = o->m ? native_of(*o->m) : nullptr;
  PyObject* forward = _PyType_Lookup(type, forward_name());  // as it stands there: a staticmethod is no function yet
  // A class without a binding appears as its base, with the forward of its own.
  PyObject* own = native ? native->forward : native_of(type).forward;
  std::uint8_t mask = forward == own ? 0 : nn::kForward;
  constexpr std::uint8_t kMasks[5] = {nn::kTrain, nn::kExtraRepr, nn::kTypeName, nn::kRepr, kCall};
  for (int i = 0; i < 5; ++i)
    if (!nb::object(cls.attr(kOverridable[i])).is(nb::handle(class_attributes[i]))) mask |= kMasks[i];
  if (native ? native->type != type : type != module_type) mask |= nn::kTypeName;
  o->mask = mask;
  o->forward = forward;  // the class keeps it as long as its version is this one
  o->version = version_of(type);
}

void connect_bridge() {
  nn::foreign = {acquire, release};
  nn::bridge.overrides = overrides_of;
  nn::bridge.call = call_from_cpp;
  nn::bridge.train = [](nn::Module& m, bool on) {
    const nb::gil_scoped_acquire gil;
    nb::handle(object_of(m)).attr("train")(on);
  };
  nn::bridge.repr = [](const nn::Module& m) { return call_for_text(m, "__repr__"); };
  nn::bridge.extra_repr = [](const nn::Module& m) { return call_for_text(m, "extra_repr"); };
  nn::bridge.type_name = [](const nn::Module& m) { return call_for_text(m, "_get_name"); };
  nn::bridge.clone = [](const nn::Module& m) {
    const nb::gil_scoped_acquire gil;
    nb::object self = nb::steal(wrap(const_cast<nn::Module*>(&m)));
    nb::object copy = nb::module_::import_("copy").attr("deepcopy")(self);
    return Ref<nn::Module>::share(&module_in(copy.ptr()));
  };
}

void remember_natives() {
  const nb::handle cls(reinterpret_cast<PyObject*>(module_type));
  for (int i = 0; i < 5; ++i) class_attributes[i] = nb::object(cls.attr(kOverridable[i])).release().ptr();
  PyType_Modified(module_type);
}

void bind_native(const std::type_info& cpp, PyTypeObject* type, Ref<nn::Module> (*blank)()) {
  nb::object forward = nb::handle(reinterpret_cast<PyObject*>(type)).attr("forward");
  auto* native = new NativeType{type, blank, forward.release().ptr()};
  natives()[cpp] = natives_by_type()[type] = native;
}

}  // namespace neura::python
