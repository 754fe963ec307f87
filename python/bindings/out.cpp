// Results written into out=.
#include "out.h"

#include "neura/autograd/grad_mode.h"
#include "neura/op/apply.h"

namespace neura::python {

nb::object into(nb::handle out, const Tensor& value, const char* op, bool strict) {
  if (out.is_none()) return nb::steal(wrap(value));
  if (!is_tensor(out.ptr())) throw nb::type_error((std::string(op) + ": expected a tensor for out").c_str());
  Tensor target = tensor_in(out.ptr());
  check<AutogradError>(!is_grad_enabled() || !(value.requires_grad() || target.requires_grad()), [&] {
    return std::string(op) +
           ": expected no gradient to be needed with out=, which has none; use the form that returns "
           "a new tensor";
  });
  const bool holds = strict ? value.dtype() == target.dtype() : category(value.dtype()) <= category(target.dtype());
  check<DTypeError>(holds, [&] {
    return std::string(op) + ": expected a destination that holds " + name(value.dtype()) + ", got " +
           target.spec().str();
  });
  Operand same[3] = {Operand(Scalar(true)), Operand(value), Operand(value)};  // where it is true, the value
  Call call{&rows::where, nullptr, same, 3, &target, Destination::out};
  apply(call);
  return nb::borrow(out);
}

nb::object into_each(nb::handle out, nb::handle result, const char* op, bool strict) {
  if (is_tensor(result.ptr())) return into(out, tensor_in(result.ptr()), op, strict);
  if (!PyTuple_Check(result.ptr()) || !PySequence_Check(out.ptr()) || is_tensor(out.ptr()) ||
      nb::len(out) != nb::len(result))
    throw nb::type_error((std::string(op) + ": expected out to be a tensor for each result").c_str());
  nb::list written;
  for (std::size_t i = 0; i < nb::len(result); ++i) {
    nb::object o = nb::object(out[i]), r = nb::object(result[i]);
    if (!is_tensor(r.ptr())) throw nb::type_error((std::string(op) + ": there is no argument out").c_str());
    if (i > 0 && is_tensor(o.ptr()) &&
        tensor_in(r.ptr()).dtype() == DType::int64)  // the indices of sort and similar ones
      check<DTypeError>(tensor_in(o.ptr()).dtype() == DType::int64, [&] {
        return std::string(op) + ": expected a destination that holds int64, got " + tensor_in(o.ptr()).spec().str();
      });
    written.append(into(o, tensor_in(r.ptr()), op, strict));
  }
  nb::tuple t(written);
  if (PyTuple_CheckExact(result.ptr())) return t;
  return nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(result.ptr())))(t);  // with names
}

}  // namespace neura::python
