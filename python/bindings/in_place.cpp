// In-place forms that only Python has: of views, which change how a tensor looks at its bytes, and of functions whose
// result is written into it. Bytes as another dtype, and the facts around history.
#include "common.h"
#include "neura/nn/parameter.h"
#include "neura/ops/record.h"
#include "neura/ops/view_dtype.h"

namespace neura::python {

void bind_in_place_forms(const Names&);

namespace {

// The tensor becomes what f makes of it: another look at the same bytes.
template <class F> void become(const char* op, Tensor& self, const F& f) {
  const bool recorded = self.requires_grad();
  if (recorded && self.is_leaf()) {
    check<InplaceError>(!is_grad_enabled(), [&] {
      return std::string(op) +
             ": expected no leaf that requires gradients; write under no_grad or use the form that returns a new "
             "tensor";
    });
    return nn::set_data(self, f(self.detach()));
  }
  TensorImpl* t = self.impl();
  check<InplaceError>(!recorded || !t->locked_view, [&] {
    return std::string(op) + ": expected no view that one call made together with others; clone() it first";
  });
  const Tensor seen = [&] {
    const NoGrad mode(!recorded);  // gradients follow the sizes, whether writes are recorded or not
    return f(self);
  }();
  if (seen.is_same(self)) return;
  if (recorded) {
    const Edge e = edge_of(seen.impl());
    adopt_history(t, Ref<Node>::share(e.node.get()), int(e.output));  // views of it keep theirs: no value changes
  }
  t->spec = seen.spec();
}
Tensor& tensor_of(nb::handle self, const char* op) {
  if (!is_tensor(self.ptr())) throw nb::type_error((std::string(op) + ": expected a tensor").c_str());
  return tensor_in(self.ptr());
}

void bind_looks(const Names& n) {
  n.method(
      "unsqueeze_",
      [](nb::object self, int dim) {
        become("unsqueeze_", tensor_of(self, "unsqueeze_"), [&](const Tensor& x) { return unsqueeze(x, dim); });
        return self;
      },
      "self"_a, "dim"_a);
  n.method(
      "squeeze_",
      [](nb::object self, const std::optional<Dims>& dim) {
        become("squeeze_", tensor_of(self, "squeeze_"), [&](const Tensor& x) {
          if (!dim) return squeeze(x);
          return dim->empty() ? x : squeeze(x, *dim);
        });
        return self;
      },
      "self"_a, "dim"_a = nb::none());
  n.method("t_", [](nb::object self) {
    become("t_", tensor_of(self, "t_"), [](const Tensor& x) { return t(x); });
    return self;
  });
  const auto swap = [](nb::object self, int a, int b) {
    become("transpose_", tensor_of(self, "transpose_"), [&](const Tensor& x) { return transpose(x, a, b); });
    return self;
  };
  n.method("transpose_", swap, "self"_a, "dim0"_a, "dim1"_a).method("swapdims_", swap, "self"_a, "dim0"_a, "dim1"_a);
  n.method("swapaxes_", swap, "self"_a, "axis0"_a, "axis1"_a);
  n.method(
      "as_strided_",
      [](nb::object self, const Shape& size, const Shape& stride, std::optional<std::int64_t> offset) {
        become("as_strided_", tensor_of(self, "as_strided_"),
               [&](const Tensor& x) { return as_strided(x, size, stride, offset); });
        return self;
      },
      "self"_a, "size"_a, "stride"_a, "storage_offset"_a = nb::none());
}

void bind_history(const Names& n) {
  n.method("detach_", [](nb::object self) {
    Tensor& t = tensor_of(self, "detach_");
    check<AutogradError>(!t.impl()->base || !t.requires_grad(), [] {
      return std::string("detach_: expected no view of a tensor that requires gradients, got one; use detach()");
    });
    if (t.requires_grad() && t.is_leaf()) {
      t.requires_grad_(false);
    } else if (t.requires_grad()) {
      adopt_history(t.impl(), {}, 0);
      ++t.impl()->generation;
    }
    return self;
  });
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

void bind_in_place_forms(const Names& n) {
  bind_looks(n);
  bind_history(n);
  n.method("get_device", [](const Tensor& x) { return x.device().is_cpu() ? -1 : int(x.device().index); });
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
