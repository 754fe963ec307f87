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

// A result in the place of the tensor, whose dtype must be able to hold it.
Tensor& written(const char* op, Tensor& self, const Tensor& value) {
  check<ShapeError>(value.shape() == self.shape(), [&] {
    return std::string(op) + ": expected operands that broadcast to self's shape " + self.shape().str() + ", got " +
           value.shape().str();
  });
  check<DTypeError>(category(value.dtype()) <= category(self.dtype()), [&] {
    return std::string(op) + ": expected a tensor that holds " + name(value.dtype()) + ", got " + self.spec().str() +
           "; use the form that returns a new tensor";
  });
  return copy_(self, value);
}

// What an operation reads that is then written over x: a copy where a derivative may read it again.
Tensor read(const Tensor& x) { return x.requires_grad() && is_grad_enabled() ? x.clone() : x; }
// A scan in place has no other dtype than its tensor's.
template <class F> Tensor& scanned(const char* op, Tensor& x, int dim, std::optional<DType> dtype, F scan) {
  check<DTypeError>(!dtype || *dtype == x.dtype(), [&] {
    return std::string(op) + ": expected dtype to be the tensor's " + name(x.dtype()) + ", got " + name(*dtype);
  });
  return written(op, x, scan(read(x), dim, x.dtype()));
}

void bind_results(const Names& n) {
  using D = std::optional<DType>;
  using O = const Operand&;
  n.method(
      "cumsum_", [](Tensor& x, int dim, D d) { return scanned("cumsum_", x, dim, d, &cumsum); }, "self"_a, "dim"_a,
      nb::kw_only(), "dtype"_a = nb::none());
  n.method(
      "cumprod_", [](Tensor& x, int dim, D d) { return scanned("cumprod_", x, dim, d, &cumprod); }, "self"_a, "dim"_a,
      nb::kw_only(), "dtype"_a = nb::none());
  n.method(
      "float_power_",
      [](Tensor& x, O e) {
        const Tensor value = float_power(read(x), e);
        check<DTypeError>(value.dtype() == x.dtype(), [&] {
          return std::string("float_power_: expected a tensor that holds ") + name(value.dtype()) + ", got " +
                 x.spec().str() + "; use the form that returns a new tensor";
        });
        return written("float_power_", x, value);
      },
      "self"_a, "exponent"_a);
  n.method(
      "igamma_", [](Tensor& x, const Tensor& y) { return written("igamma_", x, igamma(read(x), y)); }, "self"_a,
      "other"_a);
  n.method(
      "igammac_", [](Tensor& x, const Tensor& y) { return written("igammac_", x, igammac(read(x), y)); }, "self"_a,
      "other"_a);
  n.method(
      "ldexp_", [](Tensor& x, const Tensor& y) { return written("ldexp_", x, ldexp(read(x), y)); }, "self"_a,
      "other"_a);
  n.method(
      "nextafter_", [](Tensor& x, const Tensor& y) { return written("nextafter_", x, nextafter(read(x), y)); },
      "self"_a, "other"_a);
  n.method(
      "mvlgamma_", [](Tensor& x, int p) { return written("mvlgamma_", x, mvlgamma(read(x), p)); }, "self"_a, "p"_a);
  n.method(
      "polygamma_", [](Tensor& x, int k) { return written("polygamma_", x, polygamma(k, read(x))); }, "self"_a, "n"_a);
  n.method(
      "renorm_",
      [](Tensor& x, double p, int dim, double maxnorm) {
        return written("renorm_", x, renorm(read(x), p, dim, maxnorm));
      },
      "self"_a, "p"_a, "dim"_a, "maxnorm"_a);
  add_method("subtract_", n.methods.attr("sub_"));
  for (const char* name : {"divide_", "true_divide_"}) add_method(name, n.methods.attr("div_"));
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
  bind_results(n);
  bind_history(n);
  n.both(
      "view", [](const Tensor& x, DType dtype) { return view(x, dtype); }, "input"_a, "dtype"_a);
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
