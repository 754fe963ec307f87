#include "neura/ops/spatial/grid_sample.h"

#include <vector>

#include "neura/backend/kernels/grid_sample.h"
#include "neura/core/checked_int.h"
#include "neura/op/call_error.h"
#include "neura/op/pointwise/rows.h"
#include "neura/op/registry.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/index/index.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/shape/join.h"
#include "neura/ops/shape/view.h"

namespace neura {

NEURA_FIELDS_OF(GridSampling, mode, padding, align_corners)

namespace {

// One dimension of all points, as the kernels see it: elements of the image, whether they are inside, and weights.
struct Axis {
  std::int64_t size;
  GridSampling s;
  std::vector<Tensor> index, inside, weight;

  void add(const Tensor& at, const Tensor& w) {
    inside.push_back(logical_and(at >= 0, at <= size - 1));
    index.push_back(to(where(inside.back(), at, 0.0), DType::int64)), weight.push_back(w);
  }
  // The position of p after padding, and its derivative with respect to p, which is not differentiable itself.
  std::pair<Tensor, Tensor> padded(const Tensor& p) const {
    Tensor at = p, factor = ones_like(p);
    if (s.padding == SamplePadding::zeros) return {at, factor};
    if (s.padding == SamplePadding::reflection) {
      const double low = s.align_corners ? 0 : -0.5, span = double(s.align_corners ? size - 1 : size);
      if (span == 0) return {zeros_like(p), zeros_like(p)};
      const Tensor distance = abs(p - low), rest = fmod(distance, span);
      const Tensor back = fmod(floor(distance / span), 2.0) != 0;
      at = where(back, low + span - rest, low + rest);
      factor = where(logical_xor(back, p < low), -factor, factor);
    }
    const double top = double(size - 1);
    const Tensor between = logical_and(at > 0, at < top);
    return {where(at > 0, clamp(at, {.max = top}), 0.0), where(between, factor, 0.0)};
  }

  void linear(const Tensor& position, const Tensor& moved) {
    const Tensor low = floor(position), part = moved - low;
    add(low, 1 - part), add(low + 1, part);
  }
  void cubic(const Tensor& p, const Tensor& low) {  // Keys's kernel with a = -0.75; each element is padded by itself
    constexpr double a = -0.75;
    const auto near = [](const Tensor& x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [](const Tensor& x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    const Tensor t = p - low;
    const Tensor weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (int k = 0; k < 4; ++k) add(round(padded(low + (k - 1)).first), weights[k]);
  }

  Axis(const Tensor& coordinate, std::int64_t n, const GridSampling& sampling) : size(n), s(sampling) {
    const Tensor c = masked_fill(coordinate, isnan(coordinate.detach()), -1.0);
    const Tensor p = s.align_corners ? (c + 1) / 2 * double(size - 1) : ((c + 1) * double(size) - 1) / 2;
    const Tensor fixed = p.detach();
    if (s.mode == Sampling::cubic) {
      cubic(p, floor(fixed));
      return;
    }
    const auto [at, factor] = padded(fixed);
    const Tensor moves = masked_fill(p - fixed, logical_not(isfinite(fixed)), 0.0);  // 0, with p's derivative
    if (s.mode == Sampling::linear) linear(at, at + factor * moves);
    else add(round(at), 1 + 0 * moves);
  }
};

// One element of each point: of every dimension's list the one that `k` names.
Tensor picked(const Tensor& x, const std::vector<Axis>& axes, std::size_t k) {
  Tensor place, inside, weight;
  std::size_t all = 1;
  for (const Axis& a : axes) all *= a.index.size();
  for (const Axis& a : axes) {
    all /= a.index.size();
    const std::size_t at = k / all % a.index.size();
    place = place ? place * a.size + a.index[at] : a.index[at];
    inside = inside ? logical_and(inside, a.inside[at]) : a.inside[at];
    weight = weight ? weight * a.weight[at] : a.weight[at];
  }
  const Shape sizes{x.size(0), x.size(1), place.size(1)};
  const Tensor values = gather(x, 2, expand(unsqueeze(place, 1), sizes)), there = unsqueeze(inside, 1);
  return where(there, values, 0.0) * where(there, unsqueeze(weight, 1), 0.0);
}

Shape result_of(const Spec& x, const Spec& grid) {
  Shape sizes{x.shape[0], x.shape[1]};
  for (int d = 1; d + 1 < grid.rank; ++d) sizes.push_back(grid.shape[d]);
  return sizes;
}

struct GridSampleBackward {
  NEURA_OPERANDS(grad_output, input, grid)
  static constexpr Operation op = operation("grid_sample_backward").optional(in(In::input));
  GridSampling s;
  Shape sizes;  // of the image
  bool needs_x, needs_grid;
  NEURA_FIELDS(s, sizes, needs_x, needs_grid)
  void infer(const Spec& g, const Spec&, const Spec& grid, Spec& gx, Spec& ggrid) const {
    gx = Spec::dense(g.dtype, needs_x ? sizes : Shape{0}, g.device);
    ggrid = Spec::dense(g.dtype, needs_grid ? grid.sizes() : Shape{0}, g.device);
  }
  void run(Context& c, View g, View x, View grid, View gx, View ggrid) const {
    c.backend.grid_sample->backward(c, g, x, grid, needs_x ? gx : View(), needs_grid ? ggrid : View(), s);
  }
};

struct GridSample {
  NEURA_OPERANDS(input, grid)
  static constexpr Operation op =
      operation("grid_sample").saves(In::input, in(In::grid)).saves(In::grid, in(In::input, In::grid));
  GridSampling s;
  NEURA_FIELDS(s)
  void infer(const Spec& x, const Spec& grid, Spec& y) const {
    const auto both = [&] { return x.str() + " and " + grid.str(); };
    check<DTypeError>(x.dtype == grid.dtype && is_floating(x.dtype), [&] {
      return std::string(op.name) + ": expected an input and a grid of one floating dtype, got " + both();
    });
    bool fits = (x.rank == 4 || x.rank == 5) && grid.rank == x.rank && grid.shape[0] == x.shape[0] &&
                grid.shape[x.rank - 1] == x.rank - 2;
    check<ShapeError>(fits, [&] {
      return std::string(op.name) +
             ": expected an input [N, C, H, W] with a grid [N, h, w, 2], or [N, C, D, H, W] with [N, d, h, w, 3], "
             "got " +
             both();
    });
    for (int d = 2; d < x.rank; ++d) fits &= x.shape[d] > 0;
    check<ShapeError>(fits,
                      [&] { return std::string(op.name) + ": expected an image with no size of 0, got " + x.str(); });
    check<ValueError>(s.mode != Sampling::cubic || x.rank == 4, [&] {
      return std::string(op.name) + ": expected two spatial dimensions for mode bicubic, got " + x.str();
    });
    y = Spec::dense(x.dtype, result_of(x, grid), x.device);
  }
  bool accepts(const Backend& b, const Spec&, const Spec&) const {
    return b.grid_sample->forward.fn && b.grid_sample->backward.fn;
  }
  void run(Context& c, View x, View grid, View y) const { c.backend.grid_sample->forward(c, x, grid, y, s); }
  Tensor define(const Tensor& x, const Tensor& grid) const {
    const DType wide = accumulation(x.dtype());
    const Tensor image = flatten(to(x, wide), 2), points = to(grid, wide);
    const int dims = x.dim() - 2;
    std::vector<Axis> axes;
    std::size_t count = 1;
    for (int d = 0; d < dims; ++d) {
      axes.emplace_back(flatten(select(points, -1, dims - 1 - d), 1), x.size(d + 2), s);
      count *= axes.back().index.size();
    }
    Tensor y = picked(image, axes, 0);
    for (std::size_t k = 1; k < count; ++k) y = y + picked(image, axes, k);
    return to(reshape(y, result_of(x.spec(), grid.spec())), x.dtype());
  }
  void gradient(Gradient& g) const {
    const Shape sizes = g.needs(In::input) ? g.meta[In::input]->sizes() : g.input(In::input).shape();
    const GridSampleBackward backward{s, sizes, g.needs(In::input), g.needs(In::grid)};
    const Operand image = g.needs(In::grid) ? Operand(g.input(In::input)) : Operand();
    auto r = apply(backward, contiguous(g.g[0]), image, g.input(In::grid));
    for (int i = 0; i < In::count; ++i)
      if (g.needs(i)) g.result[i] = r[std::size_t(i)];
  }
};

template <class Word> Word word(const char* what, std::string_view given, std::initializer_list<const char*> words) {
  std::string list;
  int i = 0;
  for (const char* w : words) {
    if (given == w) return Word(i);
    list += (i++ ? ", " : "") + std::string(w);
  }
  throw ValueError("grid_sample: expected a " + std::string(what) + " of " + list + ", got " + std::string(given));
}
template <class Word> Word numbered(const char* op, const char* what, std::int64_t given) {
  check<ValueError>(given >= 0 && given <= 2, [&] {
    return std::string(op) + ": expected " + what + " to be 0, 1 or 2, got " + std::to_string(given);
  });
  return Word(given);
}
Tensor sampled(const char* op, int dims, const Tensor& input, const Tensor& grid, std::int64_t mode,
               std::int64_t padding, bool align_corners) {
  check_given(op, "input", input), check_given(op, "grid", grid);
  check<ShapeError>(!dims || input.dim() == dims + 2, [&] {
    return std::string(op) + ": expected an input of " + std::to_string(dims + 2) + " dimensions, got " +
           input.spec().str();
  });
  const GridSampling s{numbered<Sampling>(op, "interpolation_mode", mode),
                       numbered<SamplePadding>(op, "padding_mode", padding), align_corners};
  return apply(GridSample{s}, contiguous(input), contiguous(grid));
}

// The centres of n elements from -1 to 1.
Tensor centres(std::int64_t n, bool align_corners, const TensorOptions& o) {
  const double end = n == 1 ? 0 : align_corners ? 1 : double(n - 1) / double(n);
  return linspace(-end, end, n, o);
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleOptions& o) {
  check_given("grid_sample", "input", input), check_given("grid_sample", "grid", grid);
  const GridSampling s{word<Sampling>("mode", o.mode, {"bilinear", "nearest", "bicubic"}),
                       word<SamplePadding>("padding_mode", o.padding_mode, {"zeros", "border", "reflection"}),
                       o.align_corners};
  return apply(GridSample{s}, contiguous(input), contiguous(grid));
}
Tensor grid_sampler(const Tensor& input, const Tensor& grid, std::int64_t mode, std::int64_t padding, bool corners) {
  return sampled("grid_sampler", 0, input, grid, mode, padding, corners);
}
Tensor grid_sampler_2d(const Tensor& input, const Tensor& grid, std::int64_t mode, std::int64_t padding, bool corners) {
  return sampled("grid_sampler_2d", 2, input, grid, mode, padding, corners);
}
Tensor grid_sampler_3d(const Tensor& input, const Tensor& grid, std::int64_t mode, std::int64_t padding, bool corners) {
  return sampled("grid_sampler_3d", 3, input, grid, mode, padding, corners);
}

Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners) {
  check_given("affine_grid", "theta", theta);
  check<DTypeError>(is_floating(theta.dtype()),
                    [&] { return "affine_grid: expected a floating theta, got " + theta.spec().str(); });
  const int dims = size.size() - 2;
  bool fits = dims == 2 || dims == 3;
  for (int d = 0; fits && d < size.size(); ++d) fits = size[d] > 0;
  check<ShapeError>(fits, [&] {
    return "affine_grid: expected a size [N, C, H, W] or [N, C, D, H, W], each above 0, got " + size.str();
  });
  check<ShapeError>(theta.shape() == Shape{size[0], dims, dims + 1}, [&] {
    return "affine_grid: expected a theta " + Shape{size[0], dims, dims + 1}.str() + " for the size " + size.str() +
           ", got " + theta.shape().str();
  });
  CheckedInt numbers = size[0];
  Shape points, result{size[0]};
  for (int d = 2; d < size.size(); ++d)
    points.push_back(size[d]), result.push_back(size[d]), numbers = numbers * size[d];
  check_room("affine_grid", (numbers * (dims + 1)).of("affine_grid"), sizeof(float));
  const TensorOptions wide{.dtype = accumulation(theta.dtype()), .device = theta.device()};
  std::vector<Tensor> columns;  // x, y, (z,) 1
  for (int d = dims; d--;) {
    Shape along = Shape::filled(dims - d, 1);
    along[0] = size[d + 2];
    columns.push_back(flatten(expand(reshape(centres(size[d + 2], align_corners, wide), along), points)));
  }
  columns.push_back(ones({columns[0].numel()}, wide));
  const Tensor grid = matmul(stack(columns, 1), mT(to(theta, *wide.dtype)));
  result.push_back(dims);
  return to(reshape(grid, result), theta.dtype());
}

}  // namespace neura

NEURA_DEFINE_OPERATION(grid_sample_backward, GridSampleBackward);
NEURA_DEFINE_OPERATION(grid_sample, GridSample);
