// Views, copies and conversions.
#include "common.h"
#include "neura/core/wrapped.h"
#include "neura/ops/to.h"

namespace neura::python {
namespace {

// f(x, (2, 3)), f(x, name=(2, 3)) and x.f(2, 3)
template <Tensor (*f)(const Tensor&, const Shape&)>
void with_sizes(const Names& n, const char* name, const char* argument) {
  n.both(
      name, [](const Tensor& x, const Shape& s) { return f(x, s); }, "input"_a, nb::arg(argument));
  n.both(
      name, [](const Tensor& x, nb::args s) { return f(x, sizes_of(s)); }, "input"_a, nb::arg(argument));
}
Tensor reshaped(const Tensor& x, const Shape& s) { return reshape(x, s); }
Tensor permuted(const Tensor& x, const Shape& s) { return permute(x, Dims(s)); }
Tensor flipped(const Tensor& x, const Shape& s) { return flip(x, Dims(s)); }

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

void bind_dimensions(const Names& n) {
  n.both("flatten", &flatten, "input"_a, "start_dim"_a = 0, "end_dim"_a = -1);
  n.both(
      "unflatten", [](const Tensor& x, int dim, const Shape& sizes) { return unflatten(x, dim, sizes); }, "input"_a,
      "dim"_a, "sizes"_a);
  n.both("transpose", nb::overload_cast<const Tensor&, int, int>(&transpose), "input"_a, "dim0"_a, "dim1"_a);
  n.both("swapaxes", &swapaxes, "input"_a, "axis0"_a, "axis1"_a)
      .both("swapdims", &swapdims, "input"_a, "dim0"_a, "dim1"_a);
  n.both("t", &t, "input"_a)
      .both(
          "adjoint", [](const Tensor& x) { return conj(mT(x)); }, "input"_a);
  n.both("movedim", &movedim, "input"_a, "source"_a, "destination"_a)
      .both("moveaxis", &moveaxis, "input"_a, "source"_a, "destination"_a);
  n.both("unsqueeze", &unsqueeze, "input"_a, "dim"_a);
  n.both(
      "squeeze", [](const Tensor& x) { return squeeze(x); }, "input"_a);
  n.both(
      "squeeze", [](const Tensor& x, const Dims& dim) { return dim.empty() ? x : squeeze(x, dim); }, "input"_a,
      "dim"_a);
  n.both("select", &select, "input"_a, "dim"_a, "index"_a);
  n.both(
      "narrow",
      [](const Tensor& x, int dim, std::int64_t start, std::int64_t length) { return narrow(x, dim, start, length); },
      "input"_a, "dim"_a, "start"_a, "length"_a);
  n.both(
      "narrow",
      [](const Tensor& x, int dim, const Tensor& start, std::int64_t length) {
        check<ShapeError>(start.dim() == 0 && category(start.dtype()) == Category::integer, [&] {
          return "narrow: expected start to be an integer or a 0-d tensor of one, got " + start.spec().str();
        });
        return narrow(x, dim, start.item<std::int64_t>(), length);
      },
      "input"_a, "dim"_a, "start"_a, "length"_a);
  n.both(
      "narrow_copy",
      [](const Tensor& x, int dim, std::int64_t start, std::int64_t length) {
        return clone(narrow(x, dim, start, length));
      },
      "input"_a, "dim"_a, "start"_a, "length"_a);
  n.both("diagonal", &diagonal, "input"_a, "offset"_a = 0, "dim1"_a = 0, "dim2"_a = 1);
  n.method("unfold", nb::overload_cast<const Tensor&, int, std::int64_t, std::int64_t>(&unfold), "self"_a,
           "dimension"_a, "size"_a, "step"_a);
  n.both("as_strided", &as_strided, "input"_a, "size"_a, "stride"_a, "storage_offset"_a = nb::none());
  n.both("view_as_real", &view_as_real, "input"_a).both("view_as_complex", &view_as_complex, "input"_a);
  n.both("ravel", &ravel, "input"_a);
}

void bind_arranged(const Names& n) {
  n.both("roll", &roll, "input"_a, "shifts"_a, "dims"_a = nb::none());
  n.both("rot90", &rot90, "input"_a, "k"_a = 1, "dims"_a = Shape{0, 1});
  n.both("fliplr", &fliplr, "input"_a).both("flipud", &flipud, "input"_a);
  n.both("tril", &tril, "input"_a, "diagonal"_a = 0).both("triu", &triu, "input"_a, "diagonal"_a = 0);
  n.method("tril_", &tril_, "self"_a, "diagonal"_a = 0).method("triu_", &triu_, "self"_a, "diagonal"_a = 0);
  n.method("fill_diagonal_", &fill_diagonal_, "self"_a, "fill_value"_a, "wrap"_a = false);
  n.both("diag", &diag, "input"_a, "diagonal"_a = 0).both("diagflat", &diagflat, "input"_a, "offset"_a = 0);
  n.both("diag_embed", &diag_embed, "input"_a, "offset"_a = 0, "dim1"_a = -2, "dim2"_a = -1);
  n.both("kron", &kron, "input"_a, "other"_a);
  n.both("select_scatter", &select_scatter, "input"_a, "src"_a, "dim"_a, "index"_a);
  n.both("slice_scatter", &slice_scatter, "input"_a, "src"_a, "dim"_a = 0, "start"_a = nb::none(), "end"_a = nb::none(),
         "step"_a = 1);
  n.both("diagonal_scatter", &diagonal_scatter, "input"_a, "src"_a, "offset"_a = 0, "dim1"_a = 0, "dim2"_a = 1);
  n.both(
      "as_strided_scatter",
      [](const Tensor& x, const Tensor& src, const Shape& size, const Shape& stride,
         std::optional<std::int64_t> offset) { return as_strided_scatter(x, src, size, stride, offset.value_or(0)); },
      "input"_a, "src"_a, "size"_a, "stride"_a, "storage_offset"_a = nb::none());
  n.both(
      "repeat_interleave",
      [](const Tensor& x, std::int64_t r, std::optional<int> dim, nb::handle) { return repeat_interleave(x, r, dim); },
      "input"_a, "repeats"_a, "dim"_a = nb::none(), nb::kw_only(), "output_size"_a = nb::none());
  n.both(
      "repeat_interleave",
      [](const Tensor& x, const Tensor& r, std::optional<int> dim, nb::handle) { return repeat_interleave(x, r, dim); },
      "input"_a, "repeats"_a, "dim"_a = nb::none(), nb::kw_only(), "output_size"_a = nb::none());
  n.both(
      "repeat_interleave", [](const Tensor& r) { return repeat_interleave(r); }, "repeats"_a);
}

void bind_view_copies(const Names& n) {
  n.both(
      "alias_copy", [](const Tensor& x) { return clone(x); }, "input"_a);
  n.both(
      "t_copy", [](const Tensor& x) { return clone(t(x)); }, "input"_a);
  n.both(
      "transpose_copy", [](const Tensor& x, int a, int b) { return clone(transpose(x, a, b)); }, "input"_a, "dim0"_a,
      "dim1"_a);
  n.both(
      "permute_copy", [](const Tensor& x, const Dims& d) { return clone(permute(x, d)); }, "input"_a, "dims"_a);
  n.both(
      "expand_copy", [](const Tensor& x, const Shape& s) { return clone(expand(x, s)); }, "input"_a, "size"_a);
  n.both(
      "view_copy", [](const Tensor& x, const Shape& s) { return clone(view(x, s)); }, "input"_a, "size"_a);
  n.both(
      "unsqueeze_copy", [](const Tensor& x, int d) { return clone(unsqueeze(x, d)); }, "input"_a, "dim"_a);
  n.both(
      "squeeze_copy", [](const Tensor& x) { return clone(squeeze(x)); }, "input"_a);
  n.both(
      "squeeze_copy", [](const Tensor& x, const Dims& d) { return clone(d.empty() ? x : squeeze(x, d)); }, "input"_a,
      "dim"_a);
  n.both(
      "diagonal_copy", [](const Tensor& x, int o, int a, int b) { return clone(diagonal(x, o, a, b)); }, "input"_a,
      "offset"_a = 0, "dim1"_a = 0, "dim2"_a = 1);
  n.both(
      "unfold_copy",
      [](const Tensor& x, int d, std::int64_t size, std::int64_t step) { return clone(unfold(x, d, size, step)); },
      "input"_a, "dimension"_a, "size"_a, "step"_a);
  n.both(
      "as_strided_copy",
      [](const Tensor& x, const Shape& size, const Shape& stride, std::optional<std::int64_t> offset) {
        return clone(as_strided(x, size, stride, offset));
      },
      "input"_a, "size"_a, "stride"_a, "storage_offset"_a = nb::none());
}

}  // namespace

void bind_views(const Names& n) {
  with_sizes<view>(n, "view", "size"), with_sizes<reshaped>(n, "reshape", "shape");
  with_sizes<expand>(n, "expand", "size"), with_sizes<permuted>(n, "permute", "dims");
  with_sizes<flipped>(n, "flip", "dims"), with_sizes<repeat>(n, "repeat", "repeats");
  with_sizes<tile>(n, "tile", "dims"), with_sizes<broadcast_to>(n, "broadcast_to", "size");
  with_sizes<sum_to_size>(n, "sum_to_size", "size");
  n.both("expand_as", &expand_as, "input"_a, "other"_a).both("view_as", &view_as, "input"_a, "other"_a);
  n.both("reshape_as", &reshape_as, "input"_a, "other"_a);
  bind_copies(n);
  bind_facts(n);
  bind_dimensions(n);
  bind_arranged(n);
  bind_view_copies(n);
}

}  // namespace neura::python
