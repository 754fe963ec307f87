#include "neura/backend/kernels/loss.h"

#include <cmath>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using LossKernels = Kernels<loss_kernels>;
using Classes = Array<std::int64_t>;

// Scores [N, C, inner], classes [N, inner]; what cross_entropy and nll_loss are, sample by sample.
struct Plain {
  std::int64_t classes, inner;
  std::vector<double> loss{}, gx{};
  double total = 0;

  Plain(const Array<float>& x, const Classes& target, const Array<float>& w, const LossOptions& o,
        const Array<float>& g, bool entropy)
      : classes(x.spec().shape[1]), inner(x.spec().shape[2]), gx(std::size_t(x.numel())) {
    double sum_w = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum_w += w.at(c);
    for (std::int64_t i = 0; i < target.numel(); ++i) total += target.at(i) == o.ignore ? 0 : w.at(target.at(i));
    for (std::int64_t i = 0; i < target.numel(); ++i) {
      loss.push_back(0);
      const std::int64_t t = target.at(i);
      if (t == o.ignore) continue;
      const double incoming = o.reduction == Reduction::none   ? g.at(i)
                              : o.reduction == Reduction::mean ? g.at(0) / total
                                                               : g.at(0);
      const auto place = [&](std::int64_t c) { return (i / inner * classes + c) * inner + i % inner; };
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(double(x.at(place(c))));
      const double share = o.smoothing / double(classes), at = (1 - o.smoothing) * w.at(t);
      for (std::int64_t c = 0; c < classes; ++c) {
        const double log_p = entropy ? x.at(place(c)) - std::log(sum) : x.at(place(c));
        const double part = (c == t ? at : 0) + share * w.at(c);
        loss.back() -= part * log_p;
        gx[std::size_t(place(c))] = incoming * ((entropy ? std::exp(log_p) * (at + share * sum_w) : 0) - part);
      }
    }
  }
  std::vector<double> reduced(Reduction r) const {
    if (r == Reduction::none) return loss;
    double sum = 0;
    for (const double v : loss) sum += v;
    return {r == Reduction::mean ? sum / total : sum};
  }
};
constexpr Reduction kReductions[] = {Reduction::none, Reduction::mean, Reduction::sum};

struct Operands {
  Array<float> x, w, g;
  Classes target;
  Operands(const Shape& size, Reduction r)
      : x(eighths(size)),
        w(eighths({size[1]}, 3)),
        g(r == Reduction::none ? eighths({size[0], size[2]}, 2) : Array<float>({}, {1.5f})),
        target(eighths<std::int64_t>({size[0], size[2]}, 4)) {
    for (std::int64_t c = 0; c < w.numel(); ++c) w.at(c) = std::abs(w.at(c)) + 0.25f;
    for (std::int64_t i = 0; i < target.numel(); ++i)
      target.at(i) = target.at(i) % 7 == 0 ? -100 : target.at(i) % size[1];  // some are ignored
  }
};

TEST_F(LossKernels, CrossEntropyBothWays) {
  for (const Shape& size : {Shape{6, 5, 1}, Shape{3, 19, 70}})
    for (const Reduction r : kReductions)
      for (const double smoothing : {0.0, 0.2}) {
        Operands o(size, r);
        const LossOptions options{-100, r, smoothing};
        const Plain want(o.x, o.target, o.w, options, o.g, true);
        Array<float> loss(o.g.spec().sizes()), stats({2 * o.target.numel() + 1}), gx(size);
        run(&loss_kernels::cross_entropy, o.x, o.target, o.w, options, loss, stats);
        expect_near(loss, want.reduced(r), 1e-5);
        EXPECT_NEAR(stats.at(2 * o.target.numel()), want.total, 1e-4);
        run(&loss_kernels::cross_entropy_backward, o.g, o.x, o.target, o.w, stats, options, gx);
        expect_near(gx, want.gx, 1e-5);
      }
}
TEST_F(LossKernels, NegativeLogLikelihoodOfAnyStrides) {
  for (const Reduction r : kReductions) {
    Operands o({6, 5, 1}, r);
    Array<float> x = eighths({6, 5}), spread = x.spread();
    Classes flat({6}, o.target.values());
    Array<std::int32_t> narrow({6});
    for (int i = 0; i < 6; ++i) narrow.at(i) = std::int32_t(flat.at(i));
    narrow = narrow.spread();
    const LossOptions options{-100, r, 0};
    const Plain want(o.x, o.target, o.w, options, o.g, false);
    Array<float> g = r == Reduction::none ? Array<float>({6}, o.g.values()) : o.g;
    Array<float> loss(g.spec().sizes()), other = loss, total(Shape{}), gx({6, 5});
    run(&loss_kernels::nll_loss, x, flat, o.w, options, loss, total);
    run(&loss_kernels::nll_loss, spread, narrow, o.w, options, other, total);
    expect_near(loss, want.reduced(r), 1e-6);
    EXPECT_EQ(other.values(), loss.values());
    run(&loss_kernels::nll_loss_backward, g, flat, o.w, total, options, gx);
    expect_near(gx, want.gx, 1e-6);
  }
}
TEST_F(LossKernels, AClassThatIsNotThere) {
  Array<float> x = eighths({2, 3}), loss(Shape{}), stats({5}), gx({2, 3});
  Classes high({2}, {0, 3}), low({2}, {-1, 0});
  EXPECT_EQ(refused(&loss_kernels::cross_entropy, x, high, View{}, LossOptions{}, loss, stats), (Index{3, 3}));
  EXPECT_EQ(refused(&loss_kernels::nll_loss, x, low, View{}, LossOptions{}, loss, loss), (Index{-1, 3}));
}

double element(ElementLoss kind, double x, double t, double p) {
  const double d = std::abs(x - t);
  switch (kind) {
    case ElementLoss::mse:
      return d * d;
    case ElementLoss::l1:
      return d;
    case ElementLoss::smooth_l1:
      return d < p ? d * d / (2 * p) : d - p / 2;
    case ElementLoss::huber:
      return d < p ? d * d / 2 : p * (d - p / 2);
    case ElementLoss::bce:
      return -t * std::log(x) - (1 - t) * std::log(1 - x);
    case ElementLoss::bce_logits:
      return -t * std::log(1 / (1 + std::exp(-x))) - (1 - t) * std::log(1 / (1 + std::exp(x)));
  }
  return 0;
}
TEST_F(LossKernels, ElementByElement) {
  const Shape size{5, 37};
  for (const auto kind : {ElementLoss::mse, ElementLoss::l1, ElementLoss::smooth_l1, ElementLoss::huber,
                          ElementLoss::bce, ElementLoss::bce_logits})
    for (const Reduction r : kReductions) {
      Array<double> x = eighths<double>(size), t = eighths<double>(size, 2), gx(size);
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        x.at(i) += 1.0 / 32, t.at(i) = (t.at(i) + 4) / 8;  // never equal: no kink
        if (kind == ElementLoss::bce) x.at(i) = (x.at(i) + 4) / 8;
      }
      const bool each = r == Reduction::none;
      Array<double> g = each ? eighths<double>(size, 3) : Array<double>({}, {1.5}), loss(g.spec().sizes());
      constexpr double parameter = 0.7, h = 1e-6;
      std::vector<double> want, back;
      double sum = 0;
      for (std::int64_t i = 0; i < x.numel(); ++i) {
        const auto f = [&](double v) { return element(kind, v, t.at(i), parameter); };
        want.push_back(f(x.at(i))), sum += want.back();
        const double incoming = each ? g.at(i) : r == Reduction::mean ? 1.5 / double(x.numel()) : 1.5;
        back.push_back(incoming * (f(x.at(i) + h) - f(x.at(i) - h)) / (2 * h));
      }
      if (!each) want = {r == Reduction::mean ? sum / double(x.numel()) : sum};
      run(&loss_kernels::element_loss, x, t, kind, parameter, r, loss);
      expect_near(loss, want, 1e-12);
      run(&loss_kernels::element_loss_backward, g, x, t, kind, parameter, r, gx);
      expect_near(gx, back, 1e-7);
    }
}
TEST_F(LossKernels, OfNothing) {
  Array<float> x({0, 3}), none({0}), loss = filled<float>(Shape{}, 5), total = loss, stats({1}), g({}, {1});
  Classes target({0});
  const LossOptions sum{-100, Reduction::sum, 0}, mean;
  run(&loss_kernels::cross_entropy, x, target, View{}, sum, loss, stats);
  EXPECT_EQ(loss.at(0), 0);
  run(&loss_kernels::cross_entropy, x, target, View{}, mean, loss, stats);
  EXPECT_TRUE(std::isnan(loss.at(0)));  // a mean of nothing
  run(&loss_kernels::cross_entropy_backward, g, x, target, View{}, stats, sum, x);
  run(&loss_kernels::nll_loss, x, target, View{}, sum, loss, total);
  EXPECT_EQ(loss.at(0), 0);
  run(&loss_kernels::nll_loss_backward, g, target, View{}, total, sum, x);
  run(&loss_kernels::element_loss, none, none, ElementLoss::mse, 0.0, Reduction::sum, loss);
  EXPECT_EQ(loss.at(0), 0);
  run(&loss_kernels::element_loss_backward, g, none, none, ElementLoss::mse, 0.0, Reduction::sum, none);
}
TEST_F(LossKernels, SameOnAnyNumberOfThreads) {
  for (const Shape& size : {Shape{3000, 50, 1}, Shape{8, 21, 900}})
    for (const Reduction r : kReductions)
      expect_same_on_any_threads([&] {
        Operands o(size, r);
        const LossOptions options{-100, r, 0.1};
        Array<float> loss(o.g.spec().sizes()), nll = loss, stats({2 * o.target.numel() + 1}), total(Shape{}), gx(size),
                                               gn(size);
        run(&loss_kernels::cross_entropy, o.x, o.target, o.w, options, loss, stats);
        run(&loss_kernels::cross_entropy_backward, o.g, o.x, o.target, o.w, stats, options, gx);
        run(&loss_kernels::nll_loss, o.x, o.target, o.w, options, nll, total);
        run(&loss_kernels::nll_loss_backward, o.g, o.target, o.w, total, options, gn);
        const bool each = r == Reduction::none;
        Array<float> t = eighths(size, 7), one(each ? size : Shape{}), go = filled(one.spec().sizes(), 0.3f), ge(size);
        run(&loss_kernels::element_loss, o.x, t, ElementLoss::huber, 0.7, r, one);
        run(&loss_kernels::element_loss_backward, go, o.x, t, ElementLoss::huber, 0.7, r, ge);
        return loss.bytes() + stats.bytes() + gx.bytes() + nll.bytes() + gn.bytes() + one.bytes() + ge.bytes();
      });
}

}  // namespace
}  // namespace neura::test
