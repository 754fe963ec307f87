// Properties of a tensor: sizes, layout, dtype, device.
#include <algorithm>

#include "neura/core/meta.h"
#include "neura/core/wrapped.h"
#include "neura/cuda/memory.h"
#include "neura/surface/list.h"
#include "neura/surface/options.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using N = std::int64_t;

Tuple order_of(T x) {
  Shape order;
  for (int i = 0; i < x.dim(); ++i) order.push_back(i);
  const auto& strides = x.spec().strides;
  std::stable_sort(order.begin(), order.end(), [&](N a, N b) { return strides[int(a)] > strides[int(b)]; });
  return Tuple(order);
}

void add_sizes(const List& s) {
  s.add(
       "dim(input)", [](T x) { return x.dim(); }, method, "The number of dimensions.")
      .alias("ndimension", "dim");
  s.add(
      "numel(input)", [](T x) { return x.numel(); }, both, "The number of elements.");
  s.add(
      "nelement(input)", [](T x) { return x.numel(); }, method, "The number of elements.");
  s.add(
      "size(input)", [](T x) { return x.shape(); }, method, "The shape; with dim, the size of that dimension.");
  s.add(
      "size(input, dim)", [](T x, int dim) { return x.size(dim); }, method);
  s.add(
      "size(input, dim?)", [](T x, std::optional<int>) { return x.shape(); }, method);  // None: all
  s.add(
      "is_same_size(input, other)", [](T x, T y) { return x.shape() == y.shape(); }, both,
      "True if both have the same shape.");
}
void add_layout(const List& s) {
  s.add(
      "stride(input)", [](T x) { return Tuple(x.strides()); }, method,
      "The strides in elements, as a tuple; with dim, the stride of that dimension.");
  s.add(
      "stride(input, dim)", [](T x, int dim) { return x.spec().strides[wrap_dim("stride", dim, x.dim())]; }, method);
  s.add(
      "storage_offset(input)", [](T x) { return x.storage_offset(); }, method,
      "The offset of the first element in the storage, in elements.");
  s.add(
      "is_contiguous(input, memory_format=None)", [](T x, MemoryFormat f) { return is_in_format(x, f); }, method,
      "True if the elements are contiguous in memory: row-major, or in the order of memory_format.");
  s.add("dim_order(input)", &order_of, method, "The dimensions in memory order: largest stride first.");
  s.add(
      "data_ptr(input)",
      [](T x) {
        check_readable("data_ptr", x);
        return is_meta(x.device()) ? N(0) : N(reinterpret_cast<std::uintptr_t>(x.raw_data()));
      },
      method, "The address of the first element; 0 on meta.");
  s.add(
      "is_set_to(input, tensor)",
      [](T a, T b) { return a.impl()->storage == b.impl()->storage && a.spec().same_geometry(b.spec()); }, method,
      "True if both have the same storage, offset, shape and strides.");
}
void add_dtype(const List& s) {
  s.add(
      "element_size(input)", [](T x) { return int(size_of(x.dtype())); }, method, "The size of one element in bytes.");
  s.add(
      "is_floating_point(input)", [](T x) { return is_floating(x.dtype()) || is_float8(x.dtype()); }, both,
      "True for a floating dtype, also one of 8 bits.");
  s.add(
      "is_complex(input)", [](T x) { return is_complex(x.dtype()); }, both, "True for a complex dtype.");
  s.add(
      "is_signed(input)", [](T x) { return x.dtype() > DType::uint8; }, both,
      "True for a dtype that has negative numbers.");
}
void add_place(const List& s) {
  s.add(
      "get_device(input)", [](T x) { return x.device().is_cpu() || is_meta(x.device()) ? -1 : int(x.device().index); },
      both, "The index of the CUDA device; -1 on the cpu and on meta.");
  s.add(
      "is_pinned(input, device=None)", [](T x, Ignored) { return cuda::is_pinned(x); }, method,
      "True if in page-locked (pinned) memory; never without a GPU.");
  s.add(
      "is_inference(input)", [](T x) { return x.impl()->inference; }, both,
      "True if created in inference_mode: autograd can never record such a tensor.");
  const auto never = [](T) { return false; };
  s.add("is_conj(input)", never, both, "True for a lazily conjugated view. Never here: conj computes at once.");
  s.add("is_neg(input)", never, both, "True for a lazily negated view. Never here: neg computes at once.");
  s.add("is_distributed(input)", never, both, "True if distributed over several processes. Never here.");
}

void add_value(const List& s) {
  s.add(
      "item(input)", [](T x) { return check_one_value("item", x), x.item(); }, method,
      "The value of a one-element tensor as a Python number. ValueError if there are more.");
  s.add(
      "is_nonzero(input)", [](T x) { return x.item<bool>(); }, both,
      "True if the only element is not 0. ValueError if there are more.");
}
void add_history(const List& s) {
  s.add("detach(input)", &detach_all, both, "A view of the same memory, detached from the autograd graph.");
  s.add(
      "requires_grad_(input, requires_grad=True)", [](Tensor& x, bool on) { x.requires_grad_(on); }, method,
      "Sets requires_grad of a leaf; returns it. AutogradError for a result of an operation or a dtype without "
      "gradients.");
  s.add(
      "retain_grad(input)", [](Tensor x) { x.retain_grad(); }, method,
      "Makes backward store the gradient of this non-leaf tensor in .grad. AutogradError if it requires none.");
}

}  // namespace

void add_properties(std::deque<Function>& all) {
  const List s(all, "");
  add_sizes(s);
  add_layout(s);
  add_dtype(s);
  add_place(s);
  add_value(s);
  add_history(s);
}

}  // namespace neura::surface
