#include "neura/ops/shape/strided.h"

#include <cstring>
#include <vector>

#include "neura/backend/transfer.h"
#include "neura/core/memory.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

// The part of a buffer with base's layout that `view` shows; both offsets are relative to one storage.
View window(const View& buffer, const Spec& base, const Spec& view) {
  return {buffer.data + (view.offset - base.offset) * size_of(view.dtype), &view};
}
template <class F> void each(const Spec& s, F f) {  // element offsets in logical order
  std::int64_t index[kMaxRank] = {}, at = 0;
  for (std::int64_t n = 0; n < s.numel; ++n) {
    f(n, at);
    for (int d = s.rank - 1; d >= 0; --d) {
      at += s.strides[d];
      if (++index[d] < s.shape[d]) break;
      at -= s.strides[d] * s.shape[d], index[d] = 0;
    }
  }
}
template <class T> void add_elements(const View& part, const View& x) {
  std::vector<std::int64_t> offsets(std::size_t(part.spec->numel));
  each(*part.spec, [&](std::int64_t n, std::int64_t o) { offsets[std::size_t(n)] = o; });
  each(*x.spec, [&](std::int64_t n, std::int64_t o) { part.as<T>()[offsets[std::size_t(n)]] += x.as<T>()[o]; });
}
// Zeros in all that y spans, gaps included.
void clear(const View& y) {
  const Spec all = Spec::dense(y.dtype(), Shape{std::max(y.spec->span(), y.numel())}, y.spec->device);
  if (all.device.is_cpu()) return void(std::memset(y.data, 0, all.bytes()));
  const char zero[16] = {};
  const Spec one = Spec::dense(y.dtype(), {});
  assign({y.data, &all}, {const_cast<char*>(zero), &one});
}
bool same_layout(const Spec& a, const Spec& b) {
  return a.same_shape(b) && std::equal(a.strides, a.strides + a.rank, b.strides);
}

}  // namespace

Tensor strided_sum(const Spec& base, const Spec& view, const Tensor& x) { return apply(StridedSum{base, view}, x); }

void scatter_window(Gradient& g, const Spec& base, Spec window) {
  window.finish();
  if (g.create_graph) g.result[0] = strided_sum(base, window, g.g[0]);
  else g.result[0] = g.g[0], g.windowed = true, g.base = base, g.window = window;
}

void AsStrided::infer(const Spec& x, Spec& y) const {
  y = view, y.dtype = x.dtype, y.device = x.device, y.offset = x.offset + view.offset - base.offset;
}
void AsStrided::gradient(Gradient& g) const {
  check<NotImplementedError>(!base.overlaps(), [] {
    return "as_strided: expected an input whose elements do not share memory, to have a gradient; clone() it first";
  });
  scatter_window(g, base, view);
}

void StridedGather::infer(const Spec& x, Spec& y) const { y = Spec::dense(x.dtype, {view.shape, view.rank}, x.device); }
void StridedGather::run(Context& c, View x, View y) const {
  Spec at = view;
  at.dtype = x.dtype();
  if (same_layout(*x.spec, base)) return assign(y, window(x, base, at));
  Spec like = base;
  like.offset = 0, like.dtype = x.dtype();
  const View buffer{c.scratch_of<char>(std::max(like.span(), like.numel) * size_of(like.dtype)), &like};
  assign(buffer, x), assign(y, window(buffer, base, at));
}
void StridedGather::gradient(Gradient& g) const { g.result[0] = strided_sum(base, view, g.g[0]); }

void StridedSum::infer(const Spec& x, Spec& y) const { y = base, y.offset = 0, y.dtype = x.dtype, y.device = x.device; }
bool StridedSum::accepts(const Backend&, const Spec& x) const { return x.device.is_cpu() || !view.overlaps(); }
Tensor StridedSum::define(const Tensor& x) const {
  const TensorOptions numbers{.dtype = DType::int64, .device = x.device()};
  Tensor at = full({}, view.offset - base.offset, numbers);
  for (int d = view.rank - 1; d >= 0; --d) {  // the innermost first: only the last sum is as large as x
    Shape along = Shape::filled(view.rank - d, 1);
    along[0] = view.shape[d];
    at = reshape(mul(arange(view.shape[d], numbers), view.strides[d]), along) + at;
  }
  const Tensor none = zeros({std::max(base.span(), base.numel)}, {.dtype = x.dtype(), .device = x.device()});
  return as_strided(index_add(none, 0, reshape(at, {-1}), reshape(x, {-1})), base.sizes(), {base.strides, base.rank},
                    0);
}
void StridedSum::run(Context& c, View x, View y) const {
  clear(y);
  Spec at = view;
  at.dtype = x.dtype();
  const View part = window(y, base, at);
  if (!at.overlaps()) return assign(part, x);
  switch (at.dtype) {
    case DType::float32:
      return add_elements<float>(part, x);
    case DType::float64:
      return add_elements<double>(part, x);
    case DType::complex64:
      return add_elements<std::complex<float>>(part, x);
    case DType::complex128:
      return add_elements<std::complex<double>>(part, x);
    default:
      break;  // halves add up in float
  }
  Spec wide = at, like = *y.spec, from = Spec::dense(DType::float32, x.spec->sizes());
  wide.dtype = like.dtype = DType::float32;
  const std::size_t bytes = std::size_t(std::max(like.span(), like.numel) * 4);
  const View sum{static_cast<char*>(c.scratch(bytes)), &like},
      terms{static_cast<char*>(c.scratch(from.bytes())), &from};
  clear(sum);
  assign(terms, x), add_elements<float>(window(sum, base, wide), terms), assign(y, sum);
}
void StridedSum::gradient(Gradient& g) const { g.result[0] = apply(StridedGather{base, view}, g.g[0]); }

void StridedPut::infer(const Spec& x, const Spec&, Spec& y) const {
  y = base, y.offset = 0, y.dtype = x.dtype, y.device = x.device;
}
void StridedPut::run(Context&, View x, View part, View y) const {
  const char zero[16] = {};
  assign(y, x);
  Spec at = view, none = Spec::dense(x.dtype(), {});
  at.dtype = x.dtype();
  assign(window(y, base, at), part ? part : View{const_cast<char*>(zero), &none});
}
void StridedPut::gradient(Gradient& g) const {
  if (g.needs(0)) g.result[0] = apply(StridedPut{base, view}, g.g[0], Operand());
  if (g.needs(1)) g.result[1] = apply(StridedGather{base, view}, g.g[0]);
}

}  // namespace neura

NEURA_DEFINE_OPERATION(as_strided, AsStrided);
NEURA_DEFINE_OPERATION(strided_gather, StridedGather);
NEURA_DEFINE_OPERATION(strided_sum, StridedSum);
NEURA_DEFINE_OPERATION(strided_put, StridedPut);
