// The losses: cross entropy with classes in one pass over the scores, and nll. What is summed over samples is summed as
// double and in order, so that threads do not change it.
#include "neura/backend/kernels/loss.h"

#include "neura/backend/cpu/loss/loss_lines.h"
#include "neura/backend/cpu/rowwise.h"

namespace neura {
namespace {

bool wide(const View& v) { return v.dtype() == DType::float64; }

// Scores [N, C, inner…], or one sample [C].
struct Scores {
  int dim;
  std::int64_t classes, inner = 1, samples;
  explicit Scores(const View& x) : dim(x.rank() > 1 ? 1 : 0), classes(x.size(dim)) {
    for (int d = 2; d < x.rank(); ++d) inner *= x.size(d);
    samples = (x.rank() > 1 ? x.size(0) : 1) * inner;
  }
};

// Classes as contiguous int64; null if one of them is not there.
const std::int64_t* classes_of(Context& c, const View& target, std::int64_t samples, std::int64_t classes,
                               std::int64_t ignore) {
  const std::int64_t* t = target.as<std::int64_t>();
  if (target.dtype() != DType::int64 || !target.spec->contiguous) {
    std::int64_t* copy = c.scratch_of<std::int64_t>(samples);
    const Rows rows(target, target.rank() - 1);
    for (std::int64_t r = 0; r < rows.count && rows.length; ++r)
      c.backend.convert->pair[int(target.dtype())][int(DType::int64)](
          rows.at(r), rows.stride, reinterpret_cast<char*>(copy + r * rows.length), 8, std::size_t(rows.length));
    t = copy;
  }
  for (std::int64_t i = 0; i < samples; ++i)
    if (t[i] != ignore && (t[i] < 0 || t[i] >= classes)) return c.fail_index(t[i], classes), nullptr;
  return t;
}

// Of each sample `loss(i)` and its weight, by the reduction: all of them, or their sum over `total`.
template <class T, class F>
void reduce(Context& c, const View& to, std::int64_t samples, Reduction reduction, double total, const F& loss) {
  T* values = flat_target<T>(c, to);
  if (reduction == Reduction::none) {
    for (std::int64_t i = 0; i < samples; ++i) values[i] = T(loss(i));
  } else {
    double sum = 0;
    for (std::int64_t i = 0; i < samples; ++i) sum += loss(i);
    values[0] = T(reduction == Reduction::mean ? sum / total : sum);
  }
  flat_written<T>(c, to, values);
}
template <class T> double total_weight(const std::int64_t* t, const T* w, std::int64_t samples, std::int64_t ignore) {
  double total = 0;
  for (std::int64_t i = 0; i < samples; ++i)
    if (t[i] != ignore) total += w ? double(w[t[i]]) : 1;
  return total;
}
// g of sample i, divided by the total for a mean
template <class T> struct Incoming {
  const T* g;
  T factor;
  Incoming(Context& c, const View& v, Reduction reduction, T total) : g(flat<T>(c, v)), factor(1) {
    if (reduction != Reduction::none) factor = reduction == Reduction::mean ? *g / total : *g, g = nullptr;
  }
  T at(std::int64_t i) const { return g ? g[i] : factor; }
};

bool by_columns(const Scores& s, const View& x) { return s.inner > 1 && x.spec->contiguous && size_of(x.dtype()) > 2; }
// f(first sample, columns, offset in x, slot) for pieces of neighbouring samples
template <class F> void for_columns(const Scores& s, const Blocks& blocks, const F& f) {
  const std::int64_t pieces = (s.inner + kLossColumns - 1) / kLossColumns;
  blocks.run([&](Blocks::Block block, std::int64_t piece, std::int64_t end) {
    for (; piece < end; ++piece) {
      const std::int64_t first = piece % pieces * kLossColumns, n = piece / pieces;
      f(n * s.inner + first, std::min(kLossColumns, s.inner - first), n * s.classes * s.inner + first, block.slot);
    }
  });
}
Blocks column_blocks(const Scores& s) {
  const std::int64_t pieces =
      s.samples / std::max<std::int64_t>(s.inner, 1) * ((s.inner + kLossColumns - 1) / kLossColumns);
  return Blocks(pieces, 4 * s.classes * kLossColumns, std::max<std::int64_t>(pieces, 1));
}

template <class T> void forward(Context& c, const View& x, const View& target, const View& weight, const LossOptions& o,
                                const View& loss, const View& stats) {
  const Scores s(x);
  const std::int64_t* t = classes_of(c, target, s.samples, s.classes, o.ignore);
  if (!t) return;
  const T* w = flat<T>(c, weight);
  T *most = stats.as<T>(), *logs = most + s.samples;
  T* picked = c.scratch_of<T>(s.samples);  // the score of the right class
  double* smooth = o.smoothing ? c.scratch_of<double>(s.samples) : nullptr;
  const LossLines<T>& lines = loss_lines<T>();
  const auto one = [&](std::int64_t i, const T* row) {
    if (t[i] != o.ignore) picked[i] = row[t[i]];
    if (smooth) smooth[i] = lines.weighted(row, w, most[i], s.classes);
  };
  if (by_columns(s, x) && !smooth) {
    const Blocks blocks = column_blocks(s);
    T* buffers = c.scratch_of<T>(s.classes * kLossColumns * blocks.slots.count);
    for_columns(s, blocks, [&](std::int64_t first, std::int64_t count, std::int64_t at, int slot) {
      const T* scores = x.as<T>() + at;
      lines.columns(scores, buffers + slot * s.classes * kLossColumns, s.classes, s.inner, count, most + first,
                    logs + first);
      for (std::int64_t k = 0; k < count; ++k)
        if (t[first + k] != o.ignore) picked[first + k] = scores[t[first + k] * s.inner + k];
    });
  } else {
    const Rows rows(x, s.dim);
    const Blocks blocks(rows.count, 4 * s.classes);
    const RowAccess<T> xs(c, rows, blocks);
    blocks.run([&](Blocks::Block block, std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) {
        const T* row = xs.read(block, i);
        lines.log_sum(row, s.classes, most + i, logs + i);
        one(i, row);
      }
    });
  }
  double sum_w = double(s.classes);
  if (w && smooth) sum_w = 0;
  for (std::int64_t k = 0; w && smooth && k < s.classes; ++k) sum_w += double(w[k]);
  const double total = total_weight(t, w, s.samples, o.ignore);
  stats.as<T>()[2 * s.samples] = T(total);
  reduce<T>(c, loss, s.samples, o.reduction, total, [&](std::int64_t i) {
    if (t[i] == o.ignore) return 0.;
    const double nll = (double(most[i] - picked[i]) + double(logs[i])) * (w ? double(w[t[i]]) : 1);
    if (!smooth) return nll;
    return (1 - o.smoothing) * nll + o.smoothing / double(s.classes) * (smooth[i] + sum_w * double(logs[i]));
  });
}

template <class T> void backward(Context& c, const View& g, const View& x, const View& target, const View& weight,
                                 const View& stats, const LossOptions& o, const View& gx) {
  const Scores s(x);
  const std::int64_t* t = classes_of(c, target, s.samples, s.classes, o.ignore);
  if (!t) return;
  const T *w = flat<T>(c, weight), *most = stats.as<T>(), *logs = most + s.samples;
  const Incoming<T> incoming(c, g, o.reduction, most[2 * s.samples]);
  T sum_w = T(s.classes);
  if (w) sum_w = 0;
  for (std::int64_t k = 0; w && k < s.classes; ++k) sum_w += w[k];
  const T share = T(o.smoothing / double(s.classes)), rest = T(1 - o.smoothing);
  // gx = a p - b w, and at the right class - at
  const auto factors = [&](std::int64_t i, T& a, T& b, T& at) {
    a = b = at = 0;
    if (t[i] == o.ignore) return;
    const T v = incoming.at(i);
    at = v * rest * (w ? w[t[i]] : T(1)), b = v * share, a = at + b * sum_w;
  };
  const LossLines<T>& lines = loss_lines<T>();
  if (by_columns(s, x) && gx.spec->contiguous) {
    for_columns(s, column_blocks(s), [&](std::int64_t first, std::int64_t count, std::int64_t offset, int) {
      T a[kLossColumns], b[kLossColumns], at[kLossColumns];
      for (std::int64_t k = 0; k < count; ++k) factors(first + k, a[k], b[k], at[k]);
      T* to = gx.as<T>() + offset;
      lines.columns_backward(x.as<T>() + offset, w, most + first, logs + first, a, b, to, s.classes, s.inner, count);
      for (std::int64_t k = 0; k < count; ++k)
        if (t[first + k] != o.ignore) to[t[first + k] * s.inner + k] -= at[k];
    });
    return;
  }
  const Rows rows(x, s.dim), out(gx, s.dim);
  const Blocks blocks(rows.count, 4 * s.classes);
  const RowAccess<T> xs(c, rows, blocks), to(c, out, blocks);
  blocks.run([&](Blocks::Block block, std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) {
      T a, b, at, *row = to.target(block, i);
      factors(i, a, b, at);
      if (t[i] == o.ignore) std::fill(row, row + s.classes, T(0));
      else {
        lines.backward(xs.read(block, i), w, most[i], logs[i], a, b, row, s.classes);
        row[t[i]] -= at;
      }
      to.written(block, i);
    }
  });
}

template <class T> void nll_forward(Context& c, const View& x, const View& target, const View& weight,
                                    const LossOptions& o, const View& loss, const View& total) {
  const Scores s(x);
  const std::int64_t* t = classes_of(c, target, s.samples, s.classes, o.ignore);
  if (!t) return;
  const T* w = flat<T>(c, weight);
  const Rows rows(x, s.dim);
  T* picked = c.scratch_of<T>(s.samples);
  const auto convert = c.backend.convert->pair[int(x.dtype())][int(sizeof(T) == 4 ? DType::float32 : DType::float64)];
  for (std::int64_t i = 0; i < s.samples; ++i)
    if (t[i] != o.ignore)
      convert(rows.at(i) + t[i] * rows.stride, 0, reinterpret_cast<char*>(picked + i), sizeof(T), 1);
  const double sum = total_weight(t, w, s.samples, o.ignore);
  *total.as<T>() = T(sum);
  reduce<T>(c, loss, s.samples, o.reduction, sum,
            [&](std::int64_t i) { return t[i] == o.ignore ? 0. : -double(picked[i]) * (w ? double(w[t[i]]) : 1); });
}

template <class T> void nll_backward(Context& c, const View& g, const View& target, const View& weight,
                                     const View& total, const LossOptions& o, const View& gx) {
  const Scores s(gx);
  const std::int64_t* t = classes_of(c, target, s.samples, s.classes, o.ignore);
  if (!t) return;
  const T* w = flat<T>(c, weight);
  const Incoming<T> incoming(c, g, o.reduction, *total.as<T>());
  const Rows rows(gx, s.dim);
  const std::size_t bytes = gx.spec->bytes();  // contiguous
  parallel_for(std::int64_t(bytes), 4 * kSerial,
               [&](std::int64_t b, std::int64_t e) { std::fill(gx.data + b, gx.data + e, char(0)); });
  const auto convert = c.backend.convert->pair[int(sizeof(T) == 4 ? DType::float32 : DType::float64)][int(gx.dtype())];
  for (std::int64_t i = 0; i < s.samples; ++i)
    if (t[i] != o.ignore) {
      const T v = -incoming.at(i) * (w ? w[t[i]] : T(1));
      convert(reinterpret_cast<const char*>(&v), 0, rows.at(i) + t[i] * rows.stride, size_of(gx.dtype()), 1);
    }
}

void cross_entropy(Context& c, View x, View target, View weight, const LossOptions& o, View loss, View stats) {
  (wide(x) ? forward<double> : forward<float>)(c, x, target, weight, o, loss, stats);
}
void cross_entropy_backward(Context& c, View g, View x, View target, View weight, View stats, const LossOptions& o,
                            View gx) {
  (wide(x) ? backward<double> : backward<float>)(c, g, x, target, weight, stats, o, gx);
}
void nll_loss(Context& c, View x, View target, View weight, const LossOptions& o, View loss, View total) {
  (wide(x) ? nll_forward<double> : nll_forward<float>)(c, x, target, weight, o, loss, total);
}
void nll_loss_backward(Context& c, View g, View target, View weight, View total, const LossOptions& o, View gx) {
  (wide(gx) ? nll_backward<double> : nll_backward<float>)(c, g, target, weight, total, o, gx);
}

}  // namespace

const loss_kernels* cpu_loss() {
  static constexpr loss_kernels table{.cross_entropy = &cross_entropy,
                                      .cross_entropy_backward = &cross_entropy_backward,
                                      .nll_loss = &nll_loss,
                                      .nll_loss_backward = &nll_loss_backward,
                                      .element_loss = &cpu_element_loss,
                                      .element_loss_backward = &cpu_element_loss_backward,
                                      .ctc_loss = &cpu_ctc_loss,
                                      .ctc_loss_backward = &cpu_ctc_loss_backward};
  return &table;
}

}  // namespace neura
