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
      "size(input)", [](T x) { return x.shape(); }, method, "Its sizes as a tuple; with dim, one of them.");
  s.add(
      "size(input, dim)", [](T x, int dim) { return x.size(dim); }, method);
  s.add(
      "size(input, dim?)", [](T x, std::optional<int>) { return x.shape(); }, method);  // None: all
  s.add(
      "is_same_size(input, other)", [](T x, T y) { return x.shape() == y.shape(); }, both,
      "Do both have the same shape?");
}
void add_layout(const List& s) {
  s.add(
      "stride(input)", [](T x) { return Tuple(x.strides()); }, method,
      "Its strides in elements as a tuple; with dim, one of them.");
  s.add(
      "stride(input, dim)", [](T x, int dim) { return x.spec().strides[wrap_dim("stride", dim, x.dim())]; }, method);
  s.add(
      "storage_offset(input)", [](T x) { return x.storage_offset(); }, method,
      "Where its first element lies in its storage, in elements.");
  s.add(
      "is_contiguous(input, memory_format=None)", [](T x, MemoryFormat f) { return is_in_format(x, f); }, method,
      "Do the elements lie in order in memory, in that of memory_format if it is given?");
  s.add("dim_order(input)", &order_of, method, "The dimensions by falling strides.");
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
      "Do both show the same memory in the same way?");
}
void add_dtype(const List& s) {
  s.add(
      "element_size(input)", [](T x) { return int(size_of(x.dtype())); }, method, "The bytes of one element.");
  s.add(
      "is_floating_point(input)", [](T x) { return is_floating(x.dtype()); }, both, "Is the dtype a floating one?");
  s.add(
      "is_complex(input)", [](T x) { return is_complex(x.dtype()); }, both, "Is the dtype a complex one?");
  s.add(
      "is_signed(input)", [](T x) { return x.dtype() > DType::uint8; }, both, "Can the dtype hold negative numbers?");
}
void add_place(const List& s) {
  s.add(
      "get_device(input)", [](T x) { return x.device().is_cpu() || is_meta(x.device()) ? -1 : int(x.device().index); },
      both, "The index of the CUDA device; -1 on the cpu and on meta.");
  s.add(
      "is_pinned(input, device=None)", [](T x, Ignored) { return cuda::is_pinned(x); }, method,
      "Does it lie in page-locked memory? Never, without a GPU.");
  s.add(
      "is_inference(input)", [](T x) { return x.impl()->inference; }, both,
      "Was it made in inference mode? Then it can never be recorded.");
  const auto never = [](T) { return false; };
  s.add("is_conj(input)", never, both, "Is it a lazily conjugated view? Never here: conj computes.");
  s.add("is_neg(input)", never, both, "Is it a lazily negated view? Never here: neg computes.");
  s.add("is_distributed(input)", never, both, "Is it spread over several processes? Never here.");
}

void add_value(const List& s) {
  s.add(
      "item(input)", [](T x) { return check_one_value("item", x), x.item(); }, method,
      "The value of a tensor of one element as a Python number. ValueError if there are more.");
  s.add(
      "is_nonzero(input)", [](T x) { return x.item<bool>(); }, both,
      "Is the one element other than 0? ValueError if there are more.");
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

void add_facts(std::deque<Function>& all) {
  const List s(all, "");
  add_sizes(s);
  add_layout(s);
  add_dtype(s);
  add_place(s);
  add_value(s);
  add_history(s);
}

}  // namespace neura::surface
