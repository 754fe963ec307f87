// What the Python side of Module builds on: members by kind, read and written without the rules of assignment.
#include <algorithm>

#include "module_parts.h"

namespace neura::python {
namespace {

using Kind = nn::Member::Kind;

nn::Module& module_of(nb::handle h) {
  if (!is_module(h.ptr())) throw nb::type_error("expected a module");
  return module_in(h.ptr());
}
std::string text_of(nb::handle name) {
  if (!PyUnicode_Check(name.ptr())) throw nb::type_error("the name of a member is a string");
  return nb::cast<std::string>(name);
}

// Adds (name, value) of those that `wanted` picks.
template <class F> void add_members(nb::handle self, nb::list& out, F&& wanted) {
  std::vector<std::string> names;
  module_of(self).visit([&](nn::Member& member) {
    if (wanted(member)) names.emplace_back(member.name);
  });
  for (const std::string& name : names) {
    nb::str key(name.data(), name.size());
    if (Attribute* a = find_attribute(py_module(self.ptr()), key.ptr()))
      out.append(nb::make_tuple(key, nb::steal(get_value(py_module(self.ptr()), *a))));
  }
}
nb::list members(nb::handle self, int kind) {
  nn::Module& m = module_of(self);
  nb::list out;
  add_members(self, out, [&](const nn::Member& member) {
    if (member.kind != Kind(kind)) return false;
    check<NotImplementedError>(kind != nn::Member::value || (member.type->get && member.type->set), [&] {
      return "pickle: expected values that Python knows, got " + m.type_name() + "." + std::string(member.name) +
             "; give its C++ type a BoxedAs";
    });
    return true;
  });
  return out;
}
// What state_dict holds of the module alone: its parameters, then its persistent buffers, without those that are None.
nb::list state(nb::handle self) {
  nb::list out;
  add_members(self, out, [](const nn::Member& m) { return m.kind == nn::Member::parameter && *m.tensor; });
  add_members(self, out, [](const nn::Member& m) { return m.kind == nn::Member::buffer && m.persistent && *m.tensor; });
  return out;
}

nb::object member(nb::handle self, int kind, nb::handle name) {
  module_of(self);
  Attribute* a = PyUnicode_Check(name.ptr()) ? find_attribute(py_module(self.ptr()), name.ptr()) : nullptr;
  if (a && a->member.kind == Kind(kind)) return nb::steal(get_value(py_module(self.ptr()), *a));
  PyErr_SetObject(PyExc_KeyError, name.ptr());
  throw nb::python_error();
}

void set_member(nb::handle self, int number, nb::handle name, nb::handle value) {
  if (number < 0 || number > nn::Member::value) throw nb::value_error("the kind of a member is 0 to 3");
  const Kind kind = Kind(number);
  nn::Module& m = module_of(self);
  PyModule* o = py_module(self.ptr());
  const std::string key = text_of(name);
  const bool fits = kind == nn::Member::value || value.is_none() ||
                    (kind == nn::Member::module ? is_module(value.ptr()) : is_tensor(value.ptr()));
  if (!fits) throw nb::type_error("expected a tensor for a parameter or buffer, and a module for a module");
  Attribute* a = find_attribute(o, name.ptr());
  if (a && a->member.kind != kind) m.remove_member(key), a = nullptr;
  if (!a && kind == nn::Member::value) return;  // of an older version of the class
  if (!a && !m.restore_member(key, kind)) {
    if (kind == nn::Member::module) m.register_module(key, {});
    else m.add_tensor(kind, key, {});
  }
  if (o->dict && PyDict_DelItem(o->dict, name.ptr())) PyErr_Clear();
  fill(a ? *a : *find_attribute(o, name.ptr()), value.ptr());
}

nb::object non_persistent(nb::handle self) {
  nb::object out = nb::steal(PySet_New(nullptr));
  module_of(self).visit([&](nn::Member& member) {
    if (member.kind == nn::Member::buffer && !member.persistent)
      out.attr("add")(nb::str(member.name.data(), member.name.size()));
  });
  return out;
}

// Without members, except for the listed ones in `names`, which stay and are empty.
void clear_members(nb::handle self, const nb::list& names) {
  nn::Module& m = module_of(self);
  std::vector<std::string> wanted, listed;
  for (nb::handle name : names) wanted.push_back(text_of(name));
  m.clear_members();
  m.visit([&](nn::Member& member) {
    if (member.kind != nn::Member::value) listed.emplace_back(member.name);
  });
  for (const std::string& name : listed)
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) m.remove_member(name);
}

void make_blank(nb::handle self) {
  if (!is_module(self.ptr())) throw nb::type_error("expected a module");
  if (!py_module(self.ptr())->m) attach(self.ptr(), native_of(Py_TYPE(self.ptr())).blank());
}

}  // namespace

void bind_module_members(nb::module_& m) {
  m.def("_members", &members)
      .def("_state", &state)
      .def("_member", &member)
      .def("_set_member", &set_member, nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("_remove_member",
        [](nb::handle self, nb::handle name) { return module_of(self).remove_member(text_of(name)); });
  m.def("_clear_members", &clear_members).def("_make_blank", &make_blank).def("_non_persistent", &non_persistent);
  m.def("_set_persistent",
        [](nb::handle self, nb::handle name, bool on) { return module_of(self).set_persistent(text_of(name), on); });
  m.def("_set_buffer_type", [](nb::handle type) {
    if (!PyType_Check(type.ptr())) throw nb::type_error("expected a class");
    buffer_type = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr());
  });
  m.def("_is_inside", [](nb::handle self) { return module_of(self).count.owner() != nullptr; });
  m.def("_is_bound", [](nb::handle self) { return native_of(module_of(self)) != nullptr; });
  m.def("_has_hooks", [](nb::handle self) { return is_module(self.ptr()) && py_module(self.ptr())->hooks; });
  m.def("_set_data", [](const Tensor& t, const Tensor& data) { nn::set_data(t, data); });
}

}  // namespace neura::python
