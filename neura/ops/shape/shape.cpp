#include "neura/ops/shape/shape.h"

#include <algorithm>

#include "neura/backend/kernels/create.h"
#include "neura/core/checked_int.h"
#include "neura/op/apply.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/op/safe.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/shape/view.h"

namespace neura {
namespace {

struct Flip {
  static constexpr Operation op = operation("flip").linear();
  Shape dims;
  NEURA_FIELDS(dims)
  bool is_safe(const Spec& x) const { return safe::contiguous(x) && safe::has_dims(x, dims); }
  void infer(const Spec& x, Spec& out) const { out = Spec::dense(x.dtype, x.sizes(), x.device); }
  void run(Context& c, View x, View out) const {
    if (!out.numel()) return;
    Spec back = *x.spec;  // from the last element, in negative steps
    for (std::int64_t d : dims) {
      x.data += (back.shape[d] - 1) * back.strides[d] * size_of(back.dtype);
      back.strides[d] = -back.strides[d];
    }
    back.finish();
    c.backend.create->copy(c, View{x.data, &back}, out);
  }
  void gradient(Gradient& g) const { g.result[0] = apply(*this, g.g[0]); }
};

struct Roll {
  static constexpr Operation op = operation("roll").linear();
  Shape shifts, dims;  // shifts in [0, size)
  NEURA_FIELDS(shifts, dims)
  bool is_safe(const Spec& x) const {
    if (!safe::contiguous(x) || !safe::has_dims(x, dims) || shifts.size() != dims.size()) return false;
    for (int i = 0; i < dims.size(); ++i)
      if (!safe::is_between(shifts[i], 0, std::max<std::int64_t>(x.shape[dims[i]] - 1, 0))) return false;
    return true;
  }
  void infer(const Spec& x, Spec& out) const { out = Spec::dense(x.dtype, x.sizes(), x.device); }
  void run(Context& c, View x, View out) const {
    const std::int64_t width = size_of(x.dtype());
    for (unsigned part = 0; part < 1u << dims.size(); ++part) {  // bit i: the elements that come round in dims[i]
      Spec from = *x.spec, to = *out.spec;
      View f = x, t = out;
      for (int i = 0; i < dims.size(); ++i) {
        const int d = int(dims[i]);
        const std::int64_t size = x.size(d), shift = shifts[i];
        from.shape[d] = to.shape[d] = part >> i & 1 ? shift : size - shift;
        if (part >> i & 1) f.data += (size - shift) * from.strides[d] * width;
        else t.data += shift * to.strides[d] * width;
      }
      from.finish(), to.finish();
      f.spec = &from, t.spec = &to;
      c.backend.create->copy(c, f, t);
    }
  }
  void gradient(Gradient& g) const {
    Roll back = *this;
    for (int i = 0; i < dims.size(); ++i) {
      const std::int64_t size = g.g[0].size(int(dims[i]));
      back.shifts[i] = shifts[i] ? size - shifts[i] : 0;
    }
    g.result[0] = apply(back, g.g[0]);
  }
};

struct Triangle {
  std::int64_t diagonal;
  bool upper;
  NEURA_FIELDS(diagonal, upper)
  bool is_safe(const Spec& x) const {
    return safe::contiguous(x) && x.rank >= 2 && safe::is_between(diagonal, -safe::kMost, safe::kMost);
  }
  void infer_as(const char* op, const Spec& x, Spec& out) const {
    check<ShapeError>(x.rank >= 2,
                      [&] { return std::string(op) + ": expected at least two dimensions, got " + x.str(); });
    out = Spec::dense(x.dtype, x.sizes(), x.device);
  }
  void run(Context& c, View x, View out) const {
    const std::int64_t most = x.size(x.rank() - 2) + x.size(x.rank() - 1);  // beyond it a diagonal changes nothing
    c.backend.create->triangle(c, x, out, std::clamp(diagonal, -most, most), upper);
  }
};
struct Tril : Triangle {
  static constexpr Operation op = operation("tril").linear();
  void infer(const Spec& x, Spec& out) const { infer_as(op.name, x, out); }
  void run(Context& c, View x, View out) const { Triangle::run(c, x, out); }
  void gradient(Gradient& g) const { g.result[0] = apply(*this, g.g[0]); }
};
struct Triu : Triangle {
  static constexpr Operation op = operation("triu").linear();
  void infer(const Spec& x, Spec& out) const { infer_as(op.name, x, out); }
  void run(Context& c, View x, View out) const { Triangle::run(c, x, out); }
  void gradient(Gradient& g) const { g.result[0] = apply(*this, g.g[0]); }
};

Tensor copied(const Tensor& t, const Tensor& original) {  // never a view of the original
  return t.impl()->storage == original.impl()->storage ? clone(t) : t;
}

// Each slice along `dim` of x, whole, `n` times in a row.
Tensor repeat_dim(const Tensor& x, int dim, std::int64_t n) {
  Tensor y = unsqueeze(x, dim);
  Shape size = y.shape();
  size[dim] = n;
  Shape flat = x.shape();
  flat[dim] = (CheckedInt(flat[dim]) * n).of("repeat");
  return reshape(expand(y, size), flat);
}

}  // namespace

Tensor repeat(const Tensor& input, const Shape& repeats) {
  bool good = repeats.size() >= input.dim();
  for (std::int64_t r : repeats) good = good && r >= 0;
  check<ShapeError>(good, [&] {
    return "repeat: expected at least as many repeats, of at least 0, as dimensions of " + input.spec().str() +
           ", got " + repeats.str();
  });
  Tensor x = input;
  while (x.dim() < repeats.size()) x = unsqueeze(x, 0);
  Shape split, expanded, whole;  // one dimension for the repeats in front of each that is repeated
  int rank = 0;
  for (int d = 0; d < x.dim(); ++d) rank += repeats[d] == 1 || x.size(d) == 1 ? 1 : 2;
  if (rank > kMaxRank) {  // no room for all at once
    for (int d = 0; d < x.dim(); ++d)
      if (repeats[d] != 1) x = repeat_dim(x, d, repeats[d]);
    return copied(x, input);
  }
  for (int d = 0; d < x.dim(); ++d) {
    const std::int64_t r = repeats[d], s = x.size(d);
    whole.push_back((CheckedInt(r) * s).of("repeat"));
    if (r != 1 && s != 1) split.push_back(1), expanded.push_back(r);
    split.push_back(s), expanded.push_back(s == 1 ? r : s);
  }
  return copied(reshape(contiguous(expand(reshape(x, split), expanded)), whole), input);
}
Tensor tile(const Tensor& input, const Shape& dims) {
  Shape repeats = dims;
  while (repeats.size() < input.dim()) repeats.insert(0, 1);
  return repeat(input, repeats);
}

Tensor repeat_interleave(const Tensor& input, std::int64_t repeats, std::optional<int> dim) {
  check<ValueError>(repeats >= 0, [&] {
    return "repeat_interleave: expected repeats of at least 0, got " + std::to_string(repeats);
  });
  const Tensor x = dim && input.dim() ? input : reshape(input, {-1});
  const int d = wrap_dim("repeat_interleave", dim.value_or(0), x.dim());
  Tensor y = unsqueeze(x, d + 1);
  Shape size = y.shape(), flat = x.shape();
  size[d + 1] = repeats, flat[d] = (CheckedInt(flat[d]) * repeats).of("repeat_interleave");
  return copied(reshape(expand(y, size), flat), input);
}
Tensor repeat_interleave(const Tensor& repeats) {
  check<ShapeError>(repeats.dim() == 1,
                    [&] { return "repeat_interleave: expected repeats to be a vector, got " + repeats.spec().str(); });
  check<DTypeError>(repeats.dtype() == DType::int64 || repeats.dtype() == DType::int32, [&] {
    return "repeat_interleave: expected repeats of int64 or int32, got " + repeats.spec().str();
  });
  std::vector<std::int64_t> at;
  const std::vector<std::int64_t> counts = repeats.to(DType::int64).to_vector<std::int64_t>();
  CheckedInt total = 0;
  for (const std::int64_t n : counts) {
    check<ValueError>(n >= 0,
                      [&] { return "repeat_interleave: expected repeats of at least 0, got " + std::to_string(n); });
    total = total + n;
  }
  check_room("repeat_interleave", total.of("repeat_interleave"), sizeof at[0]);
  for (std::size_t i = 0; i < counts.size(); ++i) at.insert(at.end(), std::size_t(counts[i]), std::int64_t(i));
  return tensor(at, {.dtype = repeats.dtype(), .device = repeats.device()});
}
Tensor repeat_interleave(const Tensor& input, const Tensor& repeats, std::optional<int> dim) {
  const Tensor x = dim ? input : reshape(input, {-1});
  const int d = wrap_dim("repeat_interleave", dim.value_or(0), x.dim());
  const std::int64_t size = x.dim() ? x.size(d) : 1;
  Tensor counts = repeats.dim() ? repeats : reshape(repeats, {1});
  check<ShapeError>(counts.dim() == 1 && (counts.size(0) == 1 || counts.size(0) == size), [&] {
    return "repeat_interleave: expected one number of repeats or " + std::to_string(size) + ", got " +
           repeats.spec().str();
  });
  return index_select(x, d, repeat_interleave(expand(counts, {size})));
}

Tensor flip(const Tensor& input, const Dims& dims) {
  Flip op;
  for (std::int64_t d : dims) {
    const int at = wrap_dim("flip", d, input.dim());
    check<ValueError>(!op.dims.contains(at), [&] { return "flip: expected different dimensions, got " + dims.str(); });
    op.dims.push_back(at);
  }
  if (!input.dim()) op.dims = {};
  return apply(op, input);
}
Tensor fliplr(const Tensor& input) {
  check<ShapeError>(input.dim() >= 2,
                    [&] { return "fliplr: expected at least two dimensions, got " + input.spec().str(); });
  return flip(input, 1);
}
Tensor flipud(const Tensor& input) {
  check<ShapeError>(input.dim() >= 1,
                    [&] { return "flipud: expected at least one dimension, got " + input.spec().str(); });
  return flip(input, 0);
}

Tensor roll(const Tensor& input, const Shape& shifts, const Dims& dims) {
  if (dims.empty() && shifts.size() == 1) {
    return reshape(roll(reshape(input, {-1}), shifts, Dims{0}), input.shape());
  }
  check<ValueError>(dims.size() == shifts.size() && !shifts.empty(), [&] {
    return "roll: expected as many shifts as dims, got " + shifts.str() + " and " + dims.str();
  });
  check<IndexError>(input.dim() > 0, [&] {
    return "roll: expected an input with dimensions for dims=" + dims.str() + ", got a number; give no dims";
  });
  Roll op;
  for (int i = 0; i < dims.size(); ++i) {
    const int d = wrap_dim("roll", dims[i], input.dim());
    if (!input.size(d)) continue;
    const std::int64_t size = input.size(d), shift = (shifts[i] % size + size) % size;
    int known = 0;
    while (known < op.dims.size() && op.dims[known] != d) ++known;
    if (known < op.dims.size()) op.shifts[known] = (op.shifts[known] + shift) % size;
    else op.dims.push_back(d), op.shifts.push_back(shift);
  }
  return apply(op, input);
}

Tensor rot90(const Tensor& input, std::int64_t k, const Dims& dims) {
  check<ValueError>(dims.size() == 2 && input.dim() >= 2, [&] {
    return "rot90: expected two dimensions to rotate, got " + dims.str() + " for " + input.spec().str();
  });
  const int a = wrap_dim("rot90", dims[0], input.dim()), b = wrap_dim("rot90", dims[1], input.dim());
  check<ValueError>(a != b, [&] { return "rot90: expected two different dimensions, got " + dims.str(); });
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(input, b), a, b);
    case 2:
      return flip(input, {a, b});
    case 3:
      return transpose(flip(input, a), a, b);
    default:
      return clone(input);
  }
}

Tensor tril(const Tensor& input, std::int64_t diagonal) { return apply(Tril{{diagonal, false}}, input); }
Tensor triu(const Tensor& input, std::int64_t diagonal) { return apply(Triu{{diagonal, true}}, input); }
Tensor& tril_(Tensor& self, std::int64_t diagonal) {
  return apply_to(Destination::in_place, self, Tril{{diagonal, false}}, self);
}
Tensor& triu_(Tensor& self, std::int64_t diagonal) {
  return apply_to(Destination::in_place, self, Triu{{diagonal, true}}, self);
}

Tensor kron(const Tensor& input, const Tensor& other) {
  Tensor a = input, b = other;
  while (a.dim() < b.dim()) a = unsqueeze(a, 0);
  while (b.dim() < a.dim()) b = unsqueeze(b, 0);
  Shape whole;
  for (int d = 0; d < a.dim(); ++d) whole.push_back((CheckedInt(a.size(d)) * b.size(d)).of("kron"));
  const int rank = a.dim();
  for (int d = 0; d < rank; ++d) a = unsqueeze(a, 2 * d + 1), b = unsqueeze(b, 2 * d);
  return reshape(mul(a, b), whole);
}

Tensor pixel_shuffle(const Tensor& input, std::int64_t r) {
  const int n = input.dim();
  const CheckedInt square = CheckedInt(r) * r;
  check<ShapeError>(n >= 3 && r > 0 && square.fits() && input.size(-3) % square.of("pixel_shuffle") == 0, [&] {
    return "pixel_shuffle: expected [..., channels, height, width] with channels a multiple of the square of "
           "upscale_factor (" +
           std::to_string(r) + "), got " + input.spec().str();
  });
  const std::int64_t c = input.size(-3) / (r * r), h = input.size(-2), w = input.size(-1);
  Shape whole = input.shape();
  whole[n - 3] = c, whole[n - 2] = (CheckedInt(h) * r).of("pixel_shuffle"),
            whole[n - 1] = (CheckedInt(w) * r).of("pixel_shuffle");
  std::int64_t batch = 1;
  for (int d = 0; d < n - 3; ++d) batch *= input.size(d);
  return reshape(permute(reshape(input, {batch, c, r, r, h, w}), {0, 1, 4, 2, 5, 3}), whole);
}
Tensor pixel_unshuffle(const Tensor& input, std::int64_t r) {
  const int n = input.dim();
  check<ShapeError>(n >= 3 && r > 0 && input.size(-2) % r == 0 && input.size(-1) % r == 0, [&] {
    return "pixel_unshuffle: expected [..., channels, height, width] with height and width multiples of "
           "downscale_factor (" +
           std::to_string(r) + "), got " + input.spec().str();
  });
  const std::int64_t c = input.size(-3), h = input.size(-2) / r, w = input.size(-1) / r;
  Shape whole = input.shape();
  whole[n - 3] = (CheckedInt(c) * r * r).of("pixel_unshuffle"), whole[n - 2] = h, whole[n - 1] = w;
  std::int64_t batch = 1;
  for (int d = 0; d < n - 3; ++d) batch *= input.size(d);
  return reshape(permute(reshape(input, {batch, c, h, r, w, r}), {0, 1, 3, 5, 2, 4}), whole);
}
Tensor channel_shuffle(const Tensor& input, std::int64_t groups) {
  check<ShapeError>(input.dim() >= 3 && groups > 0 && input.size(1) % groups == 0, [&] {
    return "channel_shuffle: expected [batch, channels, ...] with channels a multiple of groups (" +
           std::to_string(groups) + "), got " + input.spec().str();
  });
  Shape split = input.shape();
  split[1] = groups, split.insert(2, input.size(1) / groups);
  return reshape(transpose(reshape(input, split), 1, 2), input.shape());
}

Tensor swapaxes(const Tensor& input, int axis0, int axis1) { return transpose(input, axis0, axis1); }
Tensor swapdims(const Tensor& input, int dim0, int dim1) { return transpose(input, dim0, dim1); }
Tensor moveaxis(const Tensor& input, const Dims& source, const Dims& destination) {
  return movedim(input, source, destination);
}
Tensor broadcast_to(const Tensor& input, const Shape& size) { return expand(input, size); }
Tensor expand_as(const Tensor& input, const Tensor& other) { return expand(input, other.shape()); }
Tensor view_as(const Tensor& input, const Tensor& other) { return view(input, other.shape()); }
Tensor reshape_as(const Tensor& input, const Tensor& other) { return reshape(input, other.shape()); }
Tensor ravel(const Tensor& input) { return reshape(contiguous(input), {-1}); }
Tensor atleast_1d(const Tensor& input) { return input.dim() ? input : reshape(input, {1}); }
Tensor atleast_2d(const Tensor& input) {
  return input.dim() == 0 ? reshape(input, {1, 1}) : input.dim() == 1 ? unsqueeze(input, 0) : input;
}
Tensor atleast_3d(const Tensor& input) {
  switch (input.dim()) {
    case 0:
      return reshape(input, {1, 1, 1});
    case 1:
      return unsqueeze(unsqueeze(input, 0), 2);
    case 2:
      return unsqueeze(input, 2);
    default:
      return input;
  }
}

}  // namespace neura

NEURA_DEFINE_OPERATION(flip, Flip);
NEURA_DEFINE_OPERATION(roll, Roll);
NEURA_DEFINE_OPERATION(tril, Tril);
NEURA_DEFINE_OPERATION(triu, Triu);
