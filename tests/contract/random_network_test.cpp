// Random calls of what networks are made of, family by family, against plain loops: thousands of each (see random.h).
#include <cmath>

#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/nn/attention.h"
#include "neura/ops/nn/norm.h"
#include "neura/ops/nn/softmax.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/spatial/conv.h"
#include "neura/ops/spatial/pool.h"
#include "tests/contract/random.h"

namespace neura::test {
namespace {

DType some_float(Random& r) { return r.chance(0.3) ? float32 : float64; }
Tensor some(Random& r, const Shape& s, DType d) { return r.tensor(s, d, -1, 1); }
// None of them in a third of the calls.
Tensor perhaps(Random& r, const Shape& s, DType d) { return r.chance(0.3) ? Tensor() : some(r, s, d); }
Tensor looped(const Tensor& like, const Shape& s, const std::function<double(const Shape&)>& f) {
  return from_loop(s, like.dtype(), [&](const Shape& i) { return f(i); });
}
Shape joined(std::int64_t n, std::int64_t c, const Shape& spatial) {
  Shape s{n, c};
  for (const std::int64_t size : spatial) s.push_back(size);
  return s;
}

// A window over 1 to 3 spatial dimensions: sizes that hold at least one of its places.
struct Window {
  int dims;
  Shape kernel, stride, padding, dilation, size, out;
  Window(Random& r, bool dilated, bool half_padding) : dims(int(r.from(1, 3))) {
    for (int d = 0; d < dims; ++d) {
      kernel.push_back(r.from(1, 3)), stride.push_back(r.from(1, 3)), dilation.push_back(dilated ? r.from(1, 2) : 1);
      padding.push_back(r.from(0, half_padding ? kernel[d] / 2 : 2));
      const std::int64_t covers = dilation[d] * (kernel[d] - 1) + 1;
      size.push_back(std::max<std::int64_t>(1, covers - 2 * padding[d]) + r.from(0, 4));
      out.push_back((size[d] + 2 * padding[d] - covers) / stride[d] + 1);
    }
  }
  // f(place in the kernel, place in the input) for all of the window at `to` that are inside of the input.
  template <class F> void inside(const Shape& to, F&& f) const {
    for_each_index(kernel, [&](const Shape& k) {
      Shape from;
      for (int d = 0; d < dims; ++d) {
        from.push_back(to[d] * stride[d] - padding[d] + k[d] * dilation[d]);
        if (from[d] < 0 || from[d] >= size[d]) return;
      }
      f(k, from);
    });
  }
};
Shape spatial_of(const Shape& i) { return Shape(i.data() + 2, i.size() - 2); }

TEST(RandomNetworks, Convolutions) {
  thousands([](Random& r) {
    const Window w(r, true, false);
    const std::int64_t groups = r.from(1, 3), in = groups * r.from(1, 2), out = groups * r.from(1, 2), n = r.from(1, 2);
    const DType d = some_float(r);
    const Tensor x = some(r, joined(n, in, w.size), d), weight = some(r, joined(out, in / groups, w.kernel), d);
    const Tensor bias = perhaps(r, {out}, d);
    const ConvOptions o{.stride = w.stride, .padding = w.padding, .dilation = w.dilation, .groups = groups};
    const auto f = w.dims == 1 ? conv1d : w.dims == 2 ? conv2d : conv3d;
    const Tensor want = looped(x, joined(n, out, w.out), [&](const Shape& i) {
      double sum = bias ? at(bias, {i[1]}) : 0;
      const std::int64_t first = i[1] / (out / groups) * (in / groups);
      w.inside(spatial_of(i), [&](const Shape& k, const Shape& from) {
        for (std::int64_t c = 0; c < in / groups; ++c)
          sum += at(x, joined(i[0], first + c, from)) * at(weight, joined(i[1], c, k));
      });
      return sum;
    });
    expect_close(f(x, weight, bias, o), want, tolerance(d).times(10));
  });
}

TEST(RandomNetworks, TransposedConvolutions) {
  thousands([](Random& r) {
    const Window w(r, true, false);  // of the convolution that it transposes: from w.out to w.size
    const std::int64_t groups = r.from(1, 2), in = groups * r.from(1, 2), out = groups * r.from(1, 2), n = r.from(1, 2);
    const DType d = some_float(r);
    const Tensor x = some(r, joined(n, in, w.out), d), weight = some(r, joined(in, out / groups, w.kernel), d);
    Shape extra;
    for (int k = 0; k < w.dims; ++k)
      extra.push_back(w.size[k] -
                      ((w.out[k] - 1) * w.stride[k] - 2 * w.padding[k] + w.dilation[k] * (w.kernel[k] - 1) + 1));
    for (int k = 0; k < w.dims; ++k)
      if (extra[k] >= std::max(w.stride[k], w.dilation[k])) return;  // refused
    const ConvTransposeOptions o{
        .stride = w.stride, .padding = w.padding, .output_padding = extra, .groups = groups, .dilation = w.dilation};
    const auto f = w.dims == 1 ? conv_transpose1d : w.dims == 2 ? conv_transpose2d : conv_transpose3d;
    Tensor want = looped(x, joined(n, out, w.size), [](const Shape&) { return 0; });
    for_each_index(x.shape(), [&](const Shape& i) {
      const std::int64_t first = i[1] / (in / groups) * (out / groups);
      w.inside(spatial_of(i), [&](const Shape& k, const Shape& to) {
        for (std::int64_t c = 0; c < out / groups; ++c) {
          const Shape place = joined(i[0], first + c, to);
          store_at(want, place, at(want, place) + at(x, i) * at(weight, joined(i[1], c, k)));
        }
      });
    });
    expect_close(f(x, weight, {}, o), want, tolerance(d).times(20));
  });
}

TEST(RandomNetworks, Pools) {
  thousands([](Random& r) {
    const bool most = r.chance(0.5);
    const Window w(r, most, true);
    const DType d = some_float(r);
    const Tensor x = some(r, joined(r.from(1, 2), r.from(1, 3), w.size), d);
    const bool counted = r.chance(0.5);
    bool met = true;  // a window that misses the input is refused
    const Tensor want = looped(x, joined(x.size(0), x.size(1), w.out), [&](const Shape& i) {
      double sum = 0, greatest = -INFINITY;
      std::int64_t n = 0;
      w.inside(spatial_of(i), [&](const Shape&, const Shape& from) {
        const double v = at(x, joined(i[0], i[1], from));
        sum += v, greatest = std::max(greatest, v), ++n;
      });
      met &= n > 0;
      return most ? greatest : sum / double(counted ? w.kernel.numel() : n);
    });
    if (!met) return;
    const MaxPoolOptions max{.stride = w.stride, .padding = w.padding, .dilation = w.dilation};
    const AvgPoolOptions avg{.stride = w.stride, .padding = w.padding, .count_include_pad = counted};
    const Tensor got = w.dims == 1   ? most ? max_pool1d(x, w.kernel, max) : avg_pool1d(x, w.kernel, avg)
                         : w.dims == 2 ? most ? max_pool2d(x, w.kernel, max) : avg_pool2d(x, w.kernel, avg)
                         : most ? max_pool3d(x, w.kernel, max)
                                     : avg_pool3d(x, w.kernel, avg);
    expect_close(got, want, tolerance(d).times(4));
  });
}

// (x - mean) / sqrt(variance + eps) over all elements that have the same key.
Tensor normalised(const Tensor& x, double eps, bool centred, const std::function<std::int64_t(const Shape&)>& key) {
  struct Sums {
    double n = 0, first = 0, second = 0;
  };
  std::vector<Sums> sums(std::size_t(x.numel()) + 1);
  const auto of = [&](const Shape& i) -> Sums& { return sums[std::size_t(key(i))]; };
  for_each_index(x.shape(), [&](const Shape& i) { of(i).n += 1, of(i).first += at(x, i); });
  const auto mean = [&](const Shape& i) { return centred ? of(i).first / of(i).n : 0; };
  for_each_index(x.shape(), [&](const Shape& i) { of(i).second += std::pow(at(x, i) - mean(i), 2); });
  return looped(x, x.shape(),
                [&](const Shape& i) { return (at(x, i) - mean(i)) / std::sqrt(of(i).second / of(i).n + eps); });
}
Tensor scaled(const Tensor& x, const Tensor& w, const Tensor& b, const std::function<Shape(const Shape&)>& place) {
  return looped(x, x.shape(),
                [&](const Shape& i) { return at(x, i) * (w ? at(w, place(i)) : 1) + (b ? at(b, place(i)) : 0); });
}
TEST(RandomNetworks, Norms) {
  thousands([](Random& r) {
    const DType d = some_float(r);
    const std::int64_t groups = r.from(1, 3), channels = groups * r.from(1, 3);
    Shape s{r.from(2, 3), channels};
    for (std::int64_t k = r.from(0, 2); k > 0; --k) s.push_back(r.from(2, 4));
    const Tensor x = some(r, s, d), w = perhaps(r, {channels}, d), b = perhaps(r, {channels}, d);
    const double eps = r.chance(0.5) ? 1e-5 : 0.1;
    const auto channel = [](const Shape& i) { return Shape{i[1]}; };
    const Tolerance t = tolerance(d).times(50);
    expect_close(batch_norm(x, {}, {}, w, b, {.training = true, .eps = eps}),
                 scaled(normalised(x, eps, true, [](const Shape& i) { return i[1]; }), w, b, channel), t);
    const auto group = [&](const Shape& i) { return i[0] * groups + i[1] / (channels / groups); };
    if (channels / groups * s.numel() / (s[0] * channels) > 1)
      expect_close(group_norm(x, int(groups), w, b, {eps}), scaled(normalised(x, eps, true, group), w, b, channel), t);
    const int first = int(r.from(1, x.dim() - 1));  // the last dimensions, from this one on
    const Shape last(s.data() + first, s.size() - std::size_t(first));
    const Tensor lw = perhaps(r, last, d), lb = perhaps(r, last, d);
    const auto tail = [&](const Shape& i) { return Shape(i.data() + first, i.size() - std::size_t(first)); };
    const auto row = [&](const Shape& i) {
      std::int64_t k = 0;
      for (int j = 0; j < first; ++j) k = k * s[j] + i[j];
      return k;
    };
    if (last.numel() < 2) return;
    expect_close(layer_norm(x, last, lw, lb, {eps}), scaled(normalised(x, eps, true, row), lw, lb, tail), t);
    expect_close(rms_norm(x, last, lw, {eps}), scaled(normalised(x, eps, false, row), lw, {}, tail), t);
  });
}

TEST(RandomNetworks, Softmaxes) {
  thousands([](Random& r) {
    const DType d = some_float(r);
    const Tensor x = r.tensor(r.shape(1, 4), d, -20, 20);
    const int dim = int(r.below(x.dim()));
    const auto logarithm = [&](const Shape& i, double sign) {
      double most = -INFINITY, sum = 0;
      const auto line = [&](auto&& f) {
        Shape j = i;
        for (j[dim] = 0; j[dim] < x.size(dim); ++j[dim]) f(sign * at(x, j));
      };
      line([&](double v) { most = std::max(most, v); });
      line([&](double v) { sum += std::exp(v - most); });
      return sign * at(x, i) - most - std::log(sum);
    };
    const int named = r.chance(0.5) ? dim : dim - x.dim();
    const Tolerance t = tolerance(d).times(4);
    expect_close(log_softmax(x, named), looped(x, x.shape(), [&](const Shape& i) { return logarithm(i, 1); }), t);
    expect_close(softmax(x, named), looped(x, x.shape(), [&](const Shape& i) { return std::exp(logarithm(i, 1)); }), t);
    expect_close(softmin(x, named), looped(x, x.shape(), [&](const Shape& i) { return std::exp(logarithm(i, -1)); }),
                 t);
  });
}

// none, sum or mean of what a loss gives for each element.
Tensor reduced(const Tensor& each, Reduction how, double weights = 0) {
  if (how == Reduction::none) return each;
  double sum = 0, n = weights ? weights : double(each.numel());
  for_each_index(each.shape(), [&](const Shape& i) { sum += at(each, i); });
  return looped(each, {}, [&](const Shape&) { return how == Reduction::sum ? sum : sum / n; });
}
Reduction some_reduction(Random& r) {
  return std::array{Reduction::none, Reduction::mean, Reduction::sum}[std::size_t(r.below(3))];
}
TEST(RandomNetworks, LossesOfElements) {
  thousands([](Random& r) {
    const DType d = some_float(r);
    Shape s = r.shape(1, 3);
    if (!s.numel()) return;
    const Tensor x = some(r, s, d), y = r.tensor(s, d, 0.05, 0.95), p = r.tensor(s, d, 0.05, 0.95);
    const Reduction how = some_reduction(r);
    const double beta = r.chance(0.5) ? 1 : 0.3;
    const auto want = [&](const std::function<double(double, double)>& f, const Tensor& a) {
      return reduced(looped(x, s, [&](const Shape& i) { return f(at(a, i), at(y, i)); }), how);
    };
    const Tolerance t = tolerance(d).times(10);
    expect_close(mse_loss(x, y, {how}), want([](double a, double b) { return (a - b) * (a - b); }, x), t);
    expect_close(l1_loss(x, y, {how}), want([](double a, double b) { return std::abs(a - b); }, x), t);
    expect_close(huber_loss(x, y, {.reduction = how, .delta = beta}),
                 want(
                     [&](double a, double b) {
                       const double e = std::abs(a - b);
                       return e <= beta ? e * e / 2 : beta * (e - beta / 2);
                     },
                     x),
                 t);
    expect_close(smooth_l1_loss(x, y, {how, beta}),
                 want(
                     [&](double a, double b) {
                       const double e = std::abs(a - b);
                       return e < beta ? e * e / 2 / beta : e - beta / 2;
                     },
                     x),
                 t);
    const auto cross = [](double q, double b) { return -b * std::log(q) - (1 - b) * std::log1p(-q); };
    expect_close(binary_cross_entropy(p, y, {.reduction = how}), want(cross, p), t);
    expect_close(binary_cross_entropy_with_logits(x, y, {.reduction = how}),
                 want([&](double a, double b) { return cross(1 / (1 + std::exp(-a)), b); }, x), t);
    expect_close(poisson_nll_loss(x, y, {.reduction = how}),
                 want([](double a, double b) { return std::exp(a) - b * a; }, x), t);
    expect_close(kl_div(x, y, {.reduction = how}), want([](double a, double b) { return b * (std::log(b) - a); }, x),
                 t);
  });
}

TEST(RandomNetworks, LossesOfClasses) {
  thousands([](Random& r) {
    const DType d = some_float(r);
    const std::int64_t n = r.from(1, 4), classes = r.from(2, 5), ignored = r.chance(0.5) ? -100 : 1;
    Shape s{n, classes}, labels{n};
    for (std::int64_t k = r.from(0, 2); k > 0; --k) s.push_back(r.from(1, 3)), labels.push_back(s.back());
    const Tensor x = some(r, s, d), y = r.indices(labels, classes);
    const Tensor w = r.chance(0.5) ? r.tensor({classes}, d, 0.2, 2) : Tensor();
    const double smooth = r.chance(0.5) ? 0 : 0.2;
    const Reduction how = some_reduction(r);
    const Tensor logs = log_softmax(x, 1);
    const auto weight = [&](std::int64_t c) { return w ? at(w, {c}) : 1; };
    double weights = 0;
    const auto each = [&](double smoothing) {
      weights = 0;
      return looped(x, labels, [&](const Shape& i) {
        const std::int64_t label = scalar_at(y, i).integer();
        if (label == ignored) return 0.0;
        weights += weight(label);
        double sum = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
          Shape place = i;
          place.insert(1, c);
          sum -= at(logs, place) * weight(c) * ((c == label) * (1 - smoothing) + smoothing / double(classes));
        }
        return sum;
      });
    };
    const Tensor smoothed = each(smooth), plain = each(0);
    if (weights == 0) return;  // the mean of nothing
    const Tolerance t = tolerance(d).times(10);
    expect_close(
        cross_entropy(x, y, {.weight = w, .ignore_index = ignored, .reduction = how, .label_smoothing = smooth}),
        reduced(smoothed, how, weights), t);
    expect_close(nll_loss(logs, y, {.weight = w, .ignore_index = ignored, .reduction = how}),
                 reduced(plain, how, weights), t);
  });
}

TEST(RandomNetworks, Attention) {
  thousands([](Random& r) {
    const DType d = some_float(r);
    const std::int64_t n = r.from(1, 2), heads = r.from(1, 3), l = r.from(1, 6), m = r.from(1, 6), e = r.from(1, 5),
                       v = r.from(1, 4);
    const Tensor q = some(r, {n, heads, l, e}, d), k = some(r, {n, heads, m, e}, d), x = some(r, {n, heads, m, v}, d);
    AttentionOptions o;
    o.is_causal = r.chance(0.3);
    if (r.chance(0.5)) o.scale = 0.7;
    if (!o.is_causal && r.chance(0.5))
      o.attn_mask = r.chance(0.5) ? some(r, {l, m}, d) : r.tensor({n, 1, l, m}, boolean);
    const Tensor want = looped(q, {n, heads, l, v}, [&](const Shape& i) {
      double below = 0, above = 0;
      for (std::int64_t j = 0; j < m; ++j) {
        double score = 0;
        for (std::int64_t c = 0; c < e; ++c) score += at(q, {i[0], i[1], i[2], c}) * at(k, {i[0], i[1], j, c});
        score *= o.scale.value_or(1 / std::sqrt(double(e)));
        if (o.is_causal && j > i[2]) continue;
        if (const Tensor& mask = o.attn_mask; mask && mask.dtype() != boolean) score += at(mask, {i[2], j});
        else if (mask && !at(mask, {i[0], 0, i[2], j})) continue;
        below += std::exp(score), above += std::exp(score) * at(x, {i[0], i[1], j, i[3]});
      }
      return below ? above / below : 0;
    });
    expect_close(scaled_dot_product_attention(q, k, x, o), want, tolerance(d).times(10));
  });
}

}  // namespace
}  // namespace neura::test
