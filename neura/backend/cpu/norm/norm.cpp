// layer_norm and rms_norm: a row is read from memory once. Gradients of weight and bias are summed in fixed blocks of
// rows.
#include "neura/backend/kernels/norm.h"

#include <cmath>

#include "neura/backend/cpu/norm/norm_channels.h"
#include "neura/backend/cpu/norm/norm_lines.h"
#include "neura/backend/cpu/rowwise.h"

namespace neura {
namespace {

bool wide(const View& v) { return v.dtype() == DType::float64; }

// With mean: layer_norm; without (null): rms_norm, where the mean is 0.
template <class T> void forward(Context& c, const View& x, const View& weight, const View& bias, int first, double eps,
                                const View& y, const View& mean, const View& rstd) {
  const Rows in = Rows::from(x, first), out = Rows::from(y, first);
  const std::int64_t n = in.length;
  const Blocks blocks(in.count, 4 * n);
  const RowAccess<T> from(c, in, blocks), to(c, out, blocks, StoreMode::streamed);
  const T *w = flat<T>(c, weight), *b = flat<T>(c, bias);
  const NormLines<T>& lines = norm_lines<T>();
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      const T* row = from.read(block, r);
      double m = 0, squares;
      if (mean) moments_of_row(lines, row, n, eps, &m, &squares);
      else squares = squares_of_row(lines, row, n, eps);
      const T s = T(1 / std::sqrt(squares / double(n) + eps)), centre = T(m);
      lines.normalize(row, centre, s, T((double(centre) - m) * double(s)), w, b, to.target(block, r), n);
      to.written(block, r, {&from});
      if (mean) mean.as<T>()[r] = centre;
      rstd.as<T>()[r] = s;
    }
  });
}

template <class T> void backward(Context& c, const View& g, const View& x, const View& mean, const View& rstd,
                                 const View& weight, int first, const View& gx, const View& gw, const View& gb) {
  const Rows gr = Rows::from(g, first), xr = Rows::from(x, first), out = Rows::from(gx ? gx : x, first);
  const std::int64_t n = xr.length;
  const Blocks blocks(xr.count, 4 * n, std::max<std::int64_t>(1, std::min<std::int64_t>(64, xr.count / 16)));
  const RowAccess<T> gs(c, gr, blocks), xs(c, xr, blocks), to(c, out, blocks, StoreMode::streamed);
  const T* w = flat<T>(c, weight);
  T* parts = c.scratch_of<T>(2 * blocks.count * n);  // of gw, then of gb, by block
  const NormLines<T>& lines = norm_lines<T>();
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    T* part_w = gw ? parts + block.index * n : nullptr;
    T* part_b = gb ? parts + (blocks.count + block.index) * n : nullptr;
    if (part_w) std::fill(part_w, part_w + n, T(0));
    if (part_b) std::fill(part_b, part_b + n, T(0));
    for (; r < end; ++r) {
      const T *grow = gs.read(block, r), *xrow = xs.read(block, r);
      const T m = mean ? mean.as<T>()[r] : T(0), s = rstd.as<T>()[r];
      double sums[3];  // the saved mean was rounded: the distances from it say by how much
      lines.dots(grow, xrow, w, m, bool(mean), n, sums);
      const double rest = sums[2] / double(n), c2 = (sums[1] - rest * sums[0]) / double(n) * double(s) * double(s);
      const double c1 = mean ? sums[0] / double(n) - rest * c2 : 0;
      lines.backward(grow, xrow, w, m, s, T(-rest * double(s)), T(c1), T(c2), gx ? to.target(block, r) : nullptr,
                     part_w, part_b, n);
      if (gx) to.written(block, r, {&gs, &xs});
    }
  });
  for (const View* result : {&gw, &gb}) {
    if (!*result) continue;
    T* sums = flat_target<T>(c, *result);
    const T* part = parts + (result == &gb ? blocks.count * n : 0);
    std::fill(sums, sums + n, T(0));
    for (std::int64_t k = 0; k < blocks.count; ++k, part += n)
      for (std::int64_t i = 0; i < n; ++i) sums[i] += part[i];
    flat_written<T>(c, *result, sums);
  }
}

void layer_norm(Context& c, View x, View weight, View bias, int first, double eps, View y, View mean, View rstd) {
  (wide(x) ? forward<double> : forward<float>)(c, x, weight, bias, first, eps, y, mean, rstd);
}
void layer_norm_backward(Context& c, View g, View x, View mean, View rstd, View weight, int first, View gx, View gw,
                         View gb) {
  (wide(x) ? backward<double> : backward<float>)(c, g, x, mean, rstd, weight, first, gx, gw, gb);
}
void rms_norm(Context& c, View x, View weight, int first, double eps, View y, View rstd) {
  (wide(x) ? forward<double> : forward<float>)(c, x, weight, {}, first, eps, y, {}, rstd);
}
void rms_norm_backward(Context& c, View g, View x, View rstd, View weight, int first, View gx, View gw) {
  (wide(x) ? backward<double> : backward<float>)(c, g, x, {}, rstd, weight, first, gx, gw, {});
}

}  // namespace

const norm_kernels* cpu_norm() {
  static constexpr norm_kernels table{.layer_norm = &layer_norm,
                                      .layer_norm_backward = &layer_norm_backward,
                                      .rms_norm = &rms_norm,
                                      .rms_norm_backward = &rms_norm_backward,
                                      .group_norm = &cpu_group_norm,
                                      .group_norm_backward = &cpu_group_norm_backward,
                                      .batch_norm = &cpu_batch_norm,
                                      .batch_norm_backward = &cpu_batch_norm_backward};
  return &table;
}

}  // namespace neura
