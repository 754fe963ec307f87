// What Python's older methods ask of neura._legacy, and whether the gradient of a result is kept.
#include "common.h"
#include "neura/op/record.h"

namespace neura::python {

void bind_legacy(const Names&);

namespace {

void bind_history() {
  const nb::object retains = nb::cpp_function([](const Tensor& t) {
    if (!may_need_gradient(t.impl())) return false;
    const Edge e = edge_of(t.impl());
    return e.node && !e.node->leaf && e.node->hooks && e.output < e.node->hooks->keep.size() &&
           e.node->hooks->keep[e.output] != nullptr;
  });
  nb::handle(reinterpret_cast<PyObject*>(tensor_type)).attr("retains_grad") =
      nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(retains);
}

}  // namespace

void bind_legacy(const Names& n) {
  bind_history();
  const auto legacy = [](const char* function) { return nb::module_::import_("neura._legacy").attr(function); };
  n.method(
      "type",
      [legacy](nb::handle self, nb::handle dtype, bool non_blocking) {
        return nb::object(legacy("type_of")(self, dtype, non_blocking));
      },
      "self"_a, "dtype"_a = nb::none(), "non_blocking"_a = false);
  n.method("share_memory_", [legacy](nb::handle self) { return nb::object(legacy("share_memory")(self)); });
  n.method("is_shared", [legacy](nb::handle self) { return nb::object(legacy("is_shared")(self)); });
}

}  // namespace neura::python
