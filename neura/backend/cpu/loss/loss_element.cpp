// Losses that are a function of input and target element by element, summed as they are made.
#include "neura/backend/cpu/loss/loss_lines.h"
#include "neura/backend/cpu/rowwise.h"

namespace neura {
namespace {

constexpr std::int64_t kPiece = 4096;  // what a register sums before a double takes over

template <class T> void forward(Context& c, const View& x, const View& t, ElementLoss kind, double parameter,
                                Reduction reduction, const View& loss) {
  const LossLines<T>& lines = loss_lines<T>();
  const Rows xr = Rows::pieces(x, kPiece), tr = Rows::pieces(t, kPiece);
  const Blocks blocks(xr.count, 2 * xr.length);
  const RowAccess<T> xs(c, xr, blocks), ts(c, tr, blocks);
  if (reduction == Reduction::none) {
    const RowAccess<T> to(c, Rows::pieces(loss, kPiece), blocks);
    blocks.run([&](Blocks::Block b, std::int64_t r, std::int64_t end) {
      for (; r < end; ++r) {
        lines.map[int(kind)](xs.read(b, r), ts.read(b, r), T(parameter), to.target(b, r), xr.length_of(r));
        to.written(b, r);
      }
    });
    return;
  }
  double *sums = c.scratch_of<double>(xr.count), sum = 0;
  blocks.run([&](Blocks::Block b, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) sums[r] = lines.sum[int(kind)](xs.read(b, r), ts.read(b, r), T(parameter), xr.length_of(r));
  });
  for (std::int64_t r = 0; r < xr.count; ++r) sum += sums[r];
  T* value = flat_target<T>(c, loss);
  *value = T(reduction == Reduction::mean ? sum / double(x.numel()) : sum);
  flat_written<T>(c, loss, value);
}

template <class T> void backward(Context& c, const View& g, const View& x, const View& t, ElementLoss kind,
                                 double parameter, Reduction reduction, const View& gx) {
  const LossLines<T>& lines = loss_lines<T>();
  const Rows xr = Rows::pieces(x, kPiece), tr = Rows::pieces(t, kPiece), out = Rows::pieces(gx, kPiece);
  const bool each = reduction == Reduction::none;
  T scale = 1;
  if (reduction == Reduction::sum) scale = *flat<T>(c, g);
  if (reduction == Reduction::mean) scale = T(double(*flat<T>(c, g)) / double(x.numel()));
  const Blocks blocks(xr.count, 2 * xr.length);
  const RowAccess<T> gs(c, each ? Rows::pieces(g, kPiece) : xr, blocks), xs(c, xr, blocks), ts(c, tr, blocks);
  const RowAccess<T> to(c, out, blocks);
  blocks.run([&](Blocks::Block b, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      lines.slope[int(kind)](each ? gs.read(b, r) : nullptr, scale, xs.read(b, r), ts.read(b, r), T(parameter),
                             to.target(b, r), xr.length_of(r));
      to.written(b, r);
    }
  });
}

}  // namespace

void cpu_element_loss(Context& c, View x, View target, ElementLoss kind, double parameter, Reduction reduction,
                      View loss) {
  (x.dtype() == DType::float64 ? forward<double> : forward<float>)(c, x, target, kind, parameter, reduction, loss);
}
void cpu_element_loss_backward(Context& c, View g, View x, View target, ElementLoss kind, double parameter,
                               Reduction reduction, View gx) {
  (x.dtype() == DType::float64 ? backward<double> : backward<float>)(c, g, x, target, kind, parameter, reduction, gx);
}

}  // namespace neura
