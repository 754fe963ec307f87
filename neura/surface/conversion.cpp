// Conversions of dtype, device and order in memory; copies and fills.
#include "neura/ops/create/copy.h"
#include "neura/ops/create/to.h"
#include "neura/ops/shape/view.h"
#include "neura/surface/list.h"
#include "neura/surface/options.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using O = const Operand&;
using D = std::optional<DType>;
using V = std::optional<Device>;
using Format = MemoryFormat;

Tensor moved(T x, D dtype, V device, bool non_blocking, bool copy, Format format) {
  const Tensor y = in_format(to(x, {.dtype = dtype, .device = device, .non_blocking = non_blocking}), format);
  return copy && y.is_same(x) ? y.clone() : y;
}
template <DType d> Tensor converted(T x, Format format) { return in_format(to(x, d), format); }
template <DType d> void add_dtype(const List& s, const char* name, const char* text) {
  s.add((std::string(name) + "(input, memory_format=None)").c_str(), &converted<d>, method, text);
}

void add_moves(const List& s) {
  s.add(
      "to(input, dtype, non_blocking=False, copy=False, *, memory_format=None)",
      [](T x, DType d, bool non_blocking, bool copy, Format f) { return moved(x, d, {}, non_blocking, copy, f); },
      method,
      "Converted to a dtype, moved to a device, or both; itself if nothing changes and copy is False. Differentiable.");
  s.add(
      "to(input, device=None, dtype=None, non_blocking=False, copy=False, *, memory_format=None)",
      [](T x, V v, D d, bool non_blocking, bool copy, Format f) { return moved(x, d, v, non_blocking, copy, f); },
      method);
  s.add(
      "to(input, other, non_blocking=False, copy=False, *, memory_format=None)",
      [](T x, T other, bool non_blocking, bool copy, Format f) {
        return moved(x, other.dtype(), other.device(), non_blocking, copy, f);
      },
      method);
  s.add(
      "type_as(input, other)", [](T x, T other) { return moved(x, other.dtype(), other.device(), {}, {}, {}); }, method,
      "Converted to the dtype and device of other; itself if nothing changes.");
  s.add(
      "cpu(input, memory_format=None)", [](T x, Format f) { return in_format(to(x, Device()), f); }, method,
      "A copy on the CPU; input itself if it is there.");
  s.add(
      "cuda(input, device=None, non_blocking=False, memory_format=None)",
      [](T x, V device, bool non_blocking, Format f) {
        const Device d = device ? *device : Device("cuda");
        check<ValueError>(d.is_cuda(), [&] { return "cuda: expected a device of CUDA, got " + d.str(); });
        return in_format(to(x, d, non_blocking), f);
      },
      method, "A copy on a CUDA device; input itself if it is there. DeviceError without one.");
  s.add(
      "pin_memory(input, device=None)", [](T x, Ignored) { return pinned(true, x); }, method,
      "A copy in page-locked memory, for asynchronous copies to a GPU; input itself if it is there. DeviceError "
      "without a GPU.");
}
void add_dtypes(const List& s) {
  add_dtype<DType::float32>(s, "float", "Converted to float32; itself if it is.");
  add_dtype<DType::float64>(s, "double", "Converted to float64; itself if it is.");
  add_dtype<DType::float16>(s, "half", "Converted to float16; itself if it is.");
  add_dtype<DType::bfloat16>(s, "bfloat16", "Converted to bfloat16; itself if it is.");
  add_dtype<DType::int32>(s, "int", "Converted to int32; itself if it is.");
  add_dtype<DType::int64>(s, "long", "Converted to int64; itself if it is.");
  add_dtype<DType::int16>(s, "short", "Converted to int16; itself if it is.");
  add_dtype<DType::int8>(s, "char", "Converted to int8; itself if it is.");
  add_dtype<DType::uint8>(s, "byte", "Converted to uint8; itself if it is.");
  add_dtype<DType::boolean>(s, "bool", "Converted to bool: is the element other than 0? Itself if it is bool.");
  add_dtype<DType::complex64>(s, "cfloat", "Converted to complex64; itself if it is.");
  add_dtype<DType::complex128>(s, "cdouble", "Converted to complex128; itself if it is.");
}
void add_copies(const List& s) {
  s.add(
      "clone(input, *, memory_format=None)", [](T x, Format f) { return in_format(clone(x), f); }, both,
      "A copy with memory of its own; the gradient passes through.");
  s.add(
      "contiguous(input, memory_format=None)",
      [](T x, Format f) { return in_format(x, f == Format::preserve ? Format::contiguous : f); }, method,
      "A contiguous tensor, in memory_format if given: input itself if it is so already, else a copy.");
  s.add(
      "copy_(input, src, non_blocking=False)",
      [](Tensor& x, O source, bool non_blocking) { copy_(x, source, non_blocking); }, method,
      "Copies src, a tensor or a number, into input; src broadcasts and is converted.");
  s.add(
      "fill(input, value)",
      [](T x, O value) {
        Tensor y = clone(x);
        return fill_(y, value);
      },
      both, "A copy filled with value, a number or a tensor of no dimensions.");
  s.add(
      "fill_(input, value)", [](Tensor& x, O value) { fill_(x, value); }, both,
      "In place. Filled with value, a number or a tensor of no dimensions.");
  s.add(
      "zero_(input)", [](Tensor& x) { zero_(x); }, both, "In place. Filled with 0.");
}
void add_parts(const List& s) {
  s.add("conj(input)", &conj, both, "The complex conjugate; input itself if it is real.");
  const auto itself = [](T x) { return x; };
  s.add("positive(input)", itself, both, "Itself.");
  s.add("resolve_conj(input)", itself, both, "Itself: nothing is conjugated lazily.");
  s.add("resolve_neg(input)", itself, both, "Itself: nothing is negated lazily.");
}

}  // namespace

void add_conversion(std::deque<Function>& all) {
  const List s(all, "");
  add_moves(s);
  add_dtypes(s);
  add_copies(s);
  add_parts(s);
}

}  // namespace neura::surface
