// group_norm and batch_norm: a tensor [N, C, …] as N * C rows, one per sample and channel. Each row's moments are taken
// while it is in the cache and combined as double; a second pass writes the results.
#include "neura/backend/cpu/norm/norm_channels.h"

#include <cmath>
#include <cstring>

#include "neura/backend/cpu/norm/norm_lines.h"
#include "neura/backend/cpu/rowwise.h"
#include "neura/core/scalar.h"

namespace neura {
namespace {

struct Moments {  // of `count` numbers: mean, and sum of squared differences from it (Chan, Golub, LeVeque)
  double count = 0, mean = 0, squares = 0;
  void add(double n, double m, double s) {
    if (n == 0) return;
    const double d = m - mean, all = count + n;
    mean += d * n / all, squares += s + d * d * count * n / all, count = all;
  }
  double variance() const { return squares / count; }
  template <class T> double rest() const { return mean - double(T(mean)); }  // what rounding takes from the mean
};

// The rows of [N, C, …]. Of [N, C] alone a row is a whole channel: N numbers, C apart.
struct Channels {
  std::int64_t samples, channels;
  static Rows rows(const View& v) { return v.rank() == 2 ? Rows(v, 0) : Rows::from(v, 2); }
  explicit Channels(const View& x) : samples(x.rank() == 2 ? 1 : x.size(0)), channels(x.size(1)) {}
};

struct Pair {
  double first, second;
};
struct Sums {  // of g, of g (x - mean) and of x - mean
  double g = 0, gx = 0, x = 0;
  void add(const Sums& s, double factor = 1) { g += s.g * factor, gx += s.gx * factor, x += s.x; }
  // How far the mean of n numbers is from the one that was saved: that was rounded.
  double rest(double n) const { return x / n; }
  double around_mean(double rest) const { return gx - rest * g; }  // g (x - the mean itself)
};

// The moments of each of `count` statistics; statistic_of(row).
template <class T, class F>
Moments* moments_of(Context& c, const Rows& rows, double eps, std::int64_t count, const F& statistic_of) {
  Pair* parts = c.scratch_of<Pair>(rows.count);
  const Blocks blocks(rows.count, 2 * rows.length);
  const RowAccess<T> xs(c, rows, blocks);
  const NormLines<T>& lines = norm_lines<T>();
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) moments_of_row(lines, xs.read(block, r), rows.length, eps, &parts[r].first, &parts[r].second);
  });
  Moments* all = c.scratch_of<Moments>(count);
  std::fill(all, all + count, Moments());
  for (std::int64_t r = 0; r < rows.count; ++r)
    all[statistic_of(r)].add(double(rows.length), parts[r].first, parts[r].second);
  return all;
}
// 1 / the deviation of each statistic. Of x itself where x's variance is no number of its dtype.
template <class T, class F> const double* rstds_of(Context& c, const Rows* x, const T* vars, double eps,
                                                   std::int64_t count, const F& statistic_of) {
  double* rstds = c.scratch_of<double>(count);
  bool again = false;
  for (std::int64_t k = 0; k < count; ++k)
    rstds[k] = 1 / std::sqrt(double(vars[k]) + eps), again = again || squares_lost<T>(double(vars[k]), eps);
  if (!again || !x) return rstds;
  const Moments* all = moments_of<T>(c, *x, eps, count, statistic_of);
  for (std::int64_t k = 0; k < count; ++k) rstds[k] = 1 / std::sqrt(all[k].variance() + eps);
  return rstds;
}
// The sums of every row; mean_of(row). Where the mean was given, not saved, it is the mean: `centred` is false then.
template <class T, class Mean>
void dots_of(Context& c, const Rows& g, const Rows& x, bool centred, Sums* to, const Mean& mean_of) {
  const Blocks blocks(x.count, 2 * x.length);
  const RowAccess<T> gs(c, g, blocks), xs(c, x, blocks);
  const NormLines<T>& lines = norm_lines<T>();
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (double sums[3]; r < end; ++r) {
      lines.dots(gs.read(block, r), xs.read(block, r), nullptr, mean_of(r), centred, x.length, sums);
      to[r] = {sums[0], sums[1], sums[2]};
    }
  });
}
// y = (x - mean) a + b with a row's factors(row, mean, a, b)
template <class T, class F> void apply_affine(Context& c, const Rows& x, const Rows& y, const F& factors) {
  const Blocks blocks(x.count, x.length);
  const RowAccess<T> xs(c, x, blocks), ys(c, y, blocks);
  const NormLines<T>& lines = norm_lines<T>();
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      T mean, a, b;
      factors(r, mean, a, b);
      lines.affine(xs.read(block, r), mean, a, b, ys.target(block, r), x.length);
      ys.written(block, r);
    }
  });
}
// gx = g a + (x - mean) rstd b + k with a row's factors(row, mean, rstd, a, b, k)
template <class T, class F>
void apply_affine2(Context& c, const Rows& g, const Rows& x, const Rows& gx, const F& factors) {
  const Blocks blocks(x.count, x.length);
  const RowAccess<T> gs(c, g, blocks), xs(c, x, blocks), to(c, gx, blocks);
  const NormLines<T>& lines = norm_lines<T>();
  blocks.run([&](Blocks::Block block, std::int64_t r, std::int64_t end) {
    for (; r < end; ++r) {
      T mean, rstd, a, b, k;
      factors(r, mean, rstd, a, b, k);
      lines.affine2(gs.read(block, r), xs.read(block, r), mean, rstd, a, b, k, to.target(block, r), x.length);
      to.written(block, r);
    }
  });
}

// gw[c] and gb[c]: sums over the samples of what each row gives
template <class T, class F> void parameter_gradients(Context& c, const View& gw, const View& gb, std::int64_t channels,
                                                     std::int64_t samples, const F& f) {
  T *w = flat_target<T>(c, gw), *b = flat_target<T>(c, gb);
  for (std::int64_t k = 0; k < channels; ++k) {
    double sum_w = 0, sum_b = 0;
    for (std::int64_t n = 0; n < samples; ++n) f(n * channels + k, sum_w, sum_b);
    if (w) w[k] = T(sum_w);
    if (b) b[k] = T(sum_b);
  }
  flat_written<T>(c, gw, w);
  flat_written<T>(c, gb, b);
}

template <class T> void group_forward(Context& c, const View& x, const View& weight, const View& bias, int groups,
                                      double eps, const View& y, const View& mean, const View& var) {
  const Rows in = Rows::from(x, 2), out = Rows::from(y, 2);
  const std::int64_t channels = x.size(1), each = channels / groups;
  const T *w = flat<T>(c, weight), *b = flat<T>(c, bias);
  const std::int64_t groups_in_all = mean.numel();
  const Moments* all = moments_of<T>(c, in, eps, groups_in_all, [each](std::int64_t r) { return r / each; });
  for (std::int64_t g = 0; g < groups_in_all; ++g)
    mean.as<T>()[g] = T(all[g].mean), var.as<T>()[g] = T(all[g].variance());
  apply_affine<T>(c, in, out, [&](std::int64_t r, T& m, T& a, T& k) {
    const Moments& of = all[r / each];
    const std::int64_t channel = r % channels;
    m = T(of.mean), a = T(1 / std::sqrt(of.variance() + eps)) * (w ? w[channel] : T(1));
    k = T((b ? double(b[channel]) : 0) - of.rest<T>() * double(a));
  });
}

template <class T> void group_backward(Context& c, const View& g, const View& x, const View& mean, const View& var,
                                       const View& weight, double eps, const View& gx, const View& gw, const View& gb) {
  const Rows gr = Rows::from(g, 2), xr = Rows::from(x, 2);
  const std::int64_t channels = x.size(1), samples = x.size(0);
  const std::int64_t each = samples * channels / std::max<std::int64_t>(mean.numel(), 1);
  const T *w = flat<T>(c, weight), *means = mean.as<T>(), *vars = var.as<T>();
  Sums *parts = c.scratch_of<Sums>(xr.count), *sums = c.scratch_of<Sums>(mean.numel());
  dots_of<T>(c, gr, xr, true, parts, [&](std::int64_t r) { return means[r / each]; });
  const double n = double(each * xr.length);
  for (std::int64_t k = 0; k < mean.numel(); ++k) {
    sums[k] = {};
    for (std::int64_t r = k * each; r < (k + 1) * each; ++r) sums[k].add(parts[r], w ? double(w[r % channels]) : 1);
  }
  const double* rstd = rstds_of(c, &xr, vars, eps, mean.numel(), [each](std::int64_t r) { return r / each; });
  if (gx)
    apply_affine2<T>(c, gr, xr, Rows::from(gx, 2), [&](std::int64_t r, T& m, T& d, T& a, T& b, T& k) {
      const std::int64_t group = r / each;
      const double s = rstd[group], rest = sums[group].rest(n), slope = -s * s * sums[group].around_mean(rest) / n;
      m = means[group], d = T(s), a = T(s * (w ? double(w[r % channels]) : 1));
      b = T(slope), k = T(-s * sums[group].g / n - slope * s * rest);
    });
  parameter_gradients<T>(c, gw, gb, channels, samples, [&](std::int64_t r, double& sum_w, double& sum_b) {
    sum_w += parts[r].around_mean(sums[r / each].rest(n)) * rstd[r / each], sum_b += parts[r].g;
  });
}

// running = (1 - momentum) running + momentum factor value
template <class T>
void move_towards(const View& running, const T* value, std::int64_t channels, double momentum, double factor) {
  if (!running) return;
  const DType d = running.dtype();
  for (std::int64_t k = 0; k < channels; ++k) {
    char* const p = running.data + k * running.stride(0) * size_of(d);
    const auto moved = [&](double r) { return r * (1 - momentum) + double(value[k]) * (momentum * factor); };
    if (d == (sizeof(T) == 8 ? DType::float64 : DType::float32)) {
      T r;
      std::memcpy(&r, p, sizeof r), r = T(moved(double(r))), std::memcpy(p, &r, sizeof r);
    } else {
      Scalar(moved(Scalar::load(d, p).real())).store(d, p);
    }
  }
}

template <class T> void batch_forward(Context& c, const View& x, const View& weight, const View& bias, bool training,
                                      double eps, const View& y, const View& mean, const View& var,
                                      const RunningStatistics& running) {
  const Channels shape(x);
  const Rows in = Channels::rows(x);
  const T *w = flat<T>(c, weight), *b = flat<T>(c, bias);
  T *means = mean.as<T>(), *vars = var.as<T>();
  const Moments* all = nullptr;
  if (training) {
    all = moments_of<T>(c, in, eps, shape.channels, [&](std::int64_t r) { return r % shape.channels; });
    for (std::int64_t k = 0; k < shape.channels; ++k) means[k] = T(all[k].mean), vars[k] = T(all[k].variance());
    const double n = double(shape.samples * in.length);
    move_towards(running.mean, means, shape.channels, running.momentum, 1);
    move_towards(running.var, vars, shape.channels, running.momentum, n / (n - 1));
  }
  const T* m = training ? means : flat<T>(c, mean);
  const T* v = training ? vars : flat<T>(c, var);
  apply_affine<T>(c, in, Channels::rows(y), [&](std::int64_t r, T& center, T& a, T& k) {
    const std::int64_t channel = r % shape.channels;
    const double variance = all ? all[channel].variance() : double(v[channel]);
    center = m[channel], a = T(1 / std::sqrt(variance + eps)) * (w ? w[channel] : T(1));
    k = T((b ? double(b[channel]) : 0) - (all ? all[channel].rest<T>() * double(a) : 0));
  });
}

template <class T> void batch_backward(Context& c, const View& g, const View& x, const View& mean, const View& var,
                                       const View& weight, bool training, double eps, const View& gx, const View& gw,
                                       const View& gb) {
  const Channels shape(x);
  const Rows gr = Channels::rows(g), xr = Channels::rows(x);
  const std::int64_t channels = shape.channels;
  const T *w = flat<T>(c, weight), *means = flat<T>(c, mean), *vars = flat<T>(c, var);
  const auto channel_of = [channels](std::int64_t r) { return r % channels; };
  const double* rstd = rstds_of(c, training ? &xr : nullptr, vars, eps, channels, channel_of);
  const double n = double(shape.samples * xr.length);
  Sums *parts = nullptr, *sums = nullptr;
  if (training || gw || gb) {
    parts = c.scratch_of<Sums>(xr.count), sums = c.scratch_of<Sums>(channels);
    dots_of<T>(c, gr, xr, training, parts, [&](std::int64_t r) { return means[channel_of(r)]; });
    for (std::int64_t k = 0; k < channels; ++k) {
      sums[k] = {};
      for (std::int64_t r = k; r < xr.count; r += channels) sums[k].add(parts[r]);
    }
  }
  if (gx && training)
    apply_affine2<T>(c, gr, xr, Channels::rows(gx), [&](std::int64_t r, T& m, T& d, T& a, T& b, T& k) {
      const std::int64_t channel = channel_of(r);
      const double s = rstd[channel], factor = s * (w ? double(w[channel]) : 1), rest = sums[channel].rest(n);
      const double slope = -factor * s * sums[channel].around_mean(rest) / n;
      m = means[channel], d = T(s), a = T(factor), b = T(slope),
      k = T(-factor * sums[channel].g / n - slope * s * rest);
    });
  else if (gx)
    apply_affine<T>(c, gr, Channels::rows(gx), [&](std::int64_t r, T& m, T& a, T& k) {
      m = 0, a = T(rstd[channel_of(r)]) * (w ? w[channel_of(r)] : T(1)), k = 0;
    });
  if (gw || gb)
    parameter_gradients<T>(c, gw, gb, channels, 1, [&](std::int64_t k, double& sum_w, double& sum_b) {
      sum_w = sums[k].around_mean(sums[k].rest(n)) * rstd[k], sum_b = sums[k].g;
    });
}

bool wide(const View& v) { return v.dtype() == DType::float64; }

}  // namespace

void cpu_group_norm(Context& c, View x, View weight, View bias, int groups, double eps, View y, View mean, View var) {
  (wide(x) ? group_forward<double> : group_forward<float>)(c, x, weight, bias, groups, eps, y, mean, var);
}
void cpu_group_norm_backward(Context& c, View g, View x, View mean, View var, View weight, double eps, View gx, View gw,
                             View gb) {
  (wide(x) ? group_backward<double> : group_backward<float>)(c, g, x, mean, var, weight, eps, gx, gw, gb);
}
void cpu_batch_norm(Context& c, View x, View weight, View bias, bool training, double eps, View y, View mean, View var,
                    const RunningStatistics& running) {
  (wide(x) ? batch_forward<double> : batch_forward<float>)(c, x, weight, bias, training, eps, y, mean, var, running);
}
void cpu_batch_norm_backward(Context& c, View g, View x, View mean, View var, View weight, bool training, double eps,
                             View gx, View gw, View gb) {
  (wide(x) ? batch_backward<double> : batch_backward<float>)(c, g, x, mean, var, weight, training, eps, gx, gw, gb);
}

}  // namespace neura
