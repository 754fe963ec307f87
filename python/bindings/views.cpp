// Views, copies and conversions.
#include "common.h"
#include "neura/core/wrapped.h"
#include "neura/ops/to.h"

namespace neura::python {
namespace {

// 4 or 5 dimensions for neura.channels_last and channels_last_3d; 0 for the other memory formats.
int channels_last(nb::handle format) {
  if (format.is_none()) return 0;
  const nb::object text = nb::steal(PyObject_Str(format.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  const std::string name = nb::cast<std::string>(text);
  if (name == "neura.preserve_format" || name == "neura.contiguous_format") return 0;
  if (name == "neura.channels_last") return 4;
  if (name == "neura.channels_last_3d") return 5;
  throw nb::type_error("memory_format: expected neura.contiguous_format, preserve_format or channels_last");
}
Tensor channels_moved(const Tensor& x, int rank) {
  check<ShapeError>(x.dim() == rank, [&] {
    return "memory_format: expected " + std::to_string(rank) + " dimensions for channels last, got " + x.spec().str();
  });
  return movedim(x, 1, -1);
}
// The same values, in the order in memory that is asked for.
Tensor in_format(const Tensor& x, nb::handle format) {
  const int rank = channels_last(format);
  return rank ? movedim(contiguous(channels_moved(x, rank)), -1, 1) : x;
}

// to(dtype), to(device), to(device, dtype), to(other), each also by name
Tensor convert(const Tensor& x, nb::args args, std::optional<DType> dtype, std::optional<Device> device, nb::handle,
               bool non_blocking, bool copy, nb::handle format) {
  int flags = 0;  // by position: non_blocking, then copy
  for (nb::handle a : args) {
    DType d;
    Device v;
    if (is_tensor(a.ptr())) dtype = tensor_in(a.ptr()).dtype(), device = tensor_in(a.ptr()).device();
    else if (to_dtype(a.ptr(), d)) dtype = d;
    else if (to_device(a.ptr(), v)) device = v;
    else if (PyBool_Check(a.ptr())) (flags++ ? copy : non_blocking) = a.ptr() == Py_True;
    else if (!a.is_none()) throw nb::type_error("to: expected a dtype, a device or a tensor");
  }
  const Tensor y = in_format(to(x, {.dtype = dtype, .device = device, .non_blocking = non_blocking}), format);
  return copy && y.is_same(x) ? y.clone() : y;
}

void bind_copies(const Names& n) {
  n.method("to", &convert, "self"_a, "args"_a, nb::kw_only(), "dtype"_a = nb::none(), "device"_a = nb::none(),
           "other"_a = nb::none(), "non_blocking"_a = false, "copy"_a = false, "memory_format"_a = nb::none());
  const std::pair<const char*, DType> conversions[] = {
      {"float", DType::float32},     {"double", DType::float64},   {"half", DType::float16},
      {"bfloat16", DType::bfloat16}, {"int", DType::int32},        {"long", DType::int64},
      {"short", DType::int16},       {"char", DType::int8},        {"byte", DType::uint8},
      {"bool", DType::boolean},      {"cfloat", DType::complex64}, {"cdouble", DType::complex128}};
  for (const auto& [name, d] : conversions)
    n.method(
        name, [d = d](const Tensor& x, nb::handle) { return x.to(d); }, "self"_a, "memory_format"_a = nb::none());
  n.method("cpu", [](const Tensor& x) { return x.to(Device()); });
  n.method(
      "cuda",
      [](const Tensor& x, std::optional<Device> device, bool non_blocking, nb::handle format) {
        const Device d = device ? *device : Device("cuda");
        check<ValueError>(d.is_cuda(), [&] { return "cuda: expected a device of CUDA, got " + d.str(); });
        return in_format(to(x, d, non_blocking), format);
      },
      "self"_a, "device"_a = nb::none(), "non_blocking"_a = false, "memory_format"_a = nb::none());
  n.method(
      "type_as", [](const Tensor& x, const Tensor& o) { return x.to(o.dtype()); }, "self"_a, "other"_a);
  n.both(
      "clone", [](const Tensor& x, nb::handle f) { return in_format(clone(x), f); }, "input"_a, nb::kw_only(),
      "memory_format"_a = nb::none());
  n.method(
      "contiguous", [](const Tensor& x, nb::handle f) { return channels_last(f) ? in_format(x, f) : contiguous(x); },
      "self"_a, "memory_format"_a = nb::none());
  n.method(
      "copy_", [](Tensor& x, const Operand& source, bool non_blocking) { return copy_(x, source, non_blocking); },
      "self"_a, "src"_a, "non_blocking"_a = false);
  n.method(
      "fill_", [](Tensor& x, const Operand& v) { return fill_(x, v); }, "self"_a, "value"_a);
  n.both(
      "fill",
      [](const Tensor& x, const Operand& v) {
        Tensor y = clone(x);
        return fill_(y, v);
      },
      "input"_a, "value"_a);
  n.method("zero_", [](Tensor& x) { return zero_(x); });
  n.both("conj", &conj, "input"_a);
  const auto itself = [](const Tensor& x) { return x; };
  for (const char* name : {"resolve_conj", "resolve_neg", "positive"}) n.both(name, itself, "input"_a);
  n.both("real", &real, "input"_a).both("imag", &imag, "input"_a);
}

void bind_facts(const Names& n) {
  n.method("dim", [](const Tensor& x) { return x.dim(); }).method("ndimension", [](const Tensor& x) {
    return x.dim();
  });
  n.both(
       "numel", [](const Tensor& x) { return x.numel(); }, "input"_a)
      .method("nelement", [](const Tensor& x) { return x.numel(); });
  n.method(
      "size",
      [](const Tensor& x, std::optional<int> dim) -> nb::object {
        if (dim) return nb::int_(x.size(*dim));
        return nb::steal(size_of_shape(x.shape()));
      },
      "self"_a, "dim"_a = nb::none());
  n.method(
      "stride",
      [](const Tensor& x, std::optional<int> dim) -> nb::object {
        if (!dim) return nb::cast(x.strides());
        return nb::int_(x.spec().strides[wrap_dim("stride", *dim, x.dim())]);
      },
      "self"_a, "dim"_a = nb::none());
  n.method("storage_offset", [](const Tensor& x) { return x.storage_offset(); });
  n.method("element_size", [](const Tensor& x) { return size_of(x.dtype()); });
  n.method("data_ptr", [](const Tensor& x) {
    return check_readable("data_ptr", x), reinterpret_cast<std::uintptr_t>(x.raw_data());
  });
  n.method(
      "is_contiguous",
      [](const Tensor& x, nb::handle f) {
        const int rank = channels_last(f);
        return rank ? x.dim() == rank && channels_moved(x, rank).is_contiguous() : x.is_contiguous();
      },
      "self"_a, "memory_format"_a = nb::none());
  n.both(
      "is_floating_point", [](const Tensor& x) { return is_floating(x.dtype()); }, "input"_a);
  n.both(
      "is_complex", [](const Tensor& x) { return is_complex(x.dtype()); }, "input"_a);
  n.both(
      "is_nonzero", [](const Tensor& x) { return x.item<bool>(); }, "input"_a);
  n.both(
      "is_same_size", [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape(); }, "input"_a, "other"_a);
}

}  // namespace

void bind_views(const Names& n) {
  bind_copies(n);
  bind_facts(n);
}

}  // namespace neura::python
