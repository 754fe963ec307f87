#include "neura/backend/kernels/optim.h"

#include <cmath>
#include <functional>

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using OptimKernels = Kernels<optim_kernels>;

// Parameters, gradients and states of n elements.
template <class T> struct Memory {
  Array<T> p, g, s[3];
  explicit Memory(const Shape& size) : p(eighths<T>(size)), g(eighths<T>(size, 2)) {
    for (int k = 0; k < 3; ++k) {
      s[k] = eighths<T>(size, std::uint64_t(k) + 3);
      for (std::int64_t i = 0; i < p.numel(); ++i) s[k].at(i) = std::abs(s[k].at(i)) + T(20);  // squares: never below
    }
  }
  OptimTensors tensors(int states) {
    OptimTensors t{p, g, {}};
    for (int k = 0; k < states; ++k) t.state[k] = s[k];
    return t;
  }
  std::string bytes() const { return p.bytes() + s[0].bytes() + s[1].bytes() + s[2].bytes(); }
};
struct Numbers {  // of one element
  double p, g, s[3];
};

// One kernel, its step, how many states it has, and what it does to an element, as torch's documentation has it.
template <class Step> struct Optimizer {
  Entry<void(Context&, std::span<const OptimTensors>, std::span<const Step>, const Step*)> optim_kernels::*entry;
  Step step;
  int states;
  std::function<void(Numbers&)> rule;
};
// f(optimizer) for each of them.
template <class F> void each(F f) {
  constexpr double lr = 0.1, wd = 0.01, b1 = 0.9, b2 = 0.99, eps = 1e-3;
  const auto sign = [](double x) { return double((x > 0) - (x < 0)); };
  f(Optimizer<SgdStep>{&optim_kernels::sgd, {lr, wd, 0.9, 0.1, -1, true, false}, 1, [](Numbers& n) {
                         const double g = -n.g + wd * n.p;
                         n.s[0] = 0.9 * n.s[0] + (1 - 0.1) * g;
                         n.p -= lr * (g + 0.9 * n.s[0]);
                       }});
  f(Optimizer<SgdStep>{
      &optim_kernels::sgd, {lr, 0, 0.9, 0, 1, false, true}, 1, [](Numbers& n) { n.s[0] = n.g, n.p -= lr * n.g; }});
  f(Optimizer<AdamStep>{
      &optim_kernels::adam, {1 - lr * wd, 0, b1, b2, eps, 1, lr / (1 - b1), std::sqrt(1 - b2)}, 3, [](Numbers& n) {
        n.p -= lr * wd * n.p;
        n.s[0] = b1 * n.s[0] + (1 - b1) * n.g, n.s[1] = b2 * n.s[1] + (1 - b2) * n.g * n.g;
        n.s[2] = std::max(n.s[2], n.s[1]);
        n.p -= lr / (1 - b1) * n.s[0] / (std::sqrt(n.s[2]) / std::sqrt(1 - b2) + eps);
      }});
  f(Optimizer<RmspropStep>{&optim_kernels::rmsprop, {lr, 0.9, eps, wd, 0.5, 1, false}, 2, [](Numbers& n) {
                             const double g = n.g + wd * n.p;
                             n.s[0] = 0.9 * n.s[0] + 0.1 * g * g;
                             n.s[1] = 0.5 * n.s[1] + g / (std::sqrt(n.s[0]) + eps);
                             n.p -= lr * n.s[1];
                           }});
  f(Optimizer<AdagradStep>{&optim_kernels::adagrad, {lr, wd, eps, 1}, 1, [](Numbers& n) {
                             const double g = n.g + wd * n.p;
                             n.s[0] += g * g, n.p -= lr * g / (std::sqrt(n.s[0]) + eps);
                           }});
  f(Optimizer<AdadeltaStep>{&optim_kernels::adadelta, {lr, 0.9, eps, wd, 1}, 2, [](Numbers& n) {
                              const double g = n.g + wd * n.p;
                              n.s[0] = 0.9 * n.s[0] + 0.1 * g * g;
                              const double d = std::sqrt(n.s[1] + eps) / std::sqrt(n.s[0] + eps) * g;
                              n.s[1] = 0.9 * n.s[1] + 0.1 * d * d, n.p -= lr * d;
                            }});
  f(Optimizer<AdamaxStep>{&optim_kernels::adamax, {lr, b1, b2, eps, wd, 1}, 2, [](Numbers& n) {
                            const double g = n.g + wd * n.p;
                            n.s[0] = b1 * n.s[0] + (1 - b1) * g, n.s[1] = std::max(b2 * n.s[1], std::abs(g) + eps);
                            n.p -= lr * n.s[0] / n.s[1];
                          }});
  f(Optimizer<NadamStep>{&optim_kernels::nadam, {1, wd, b1, b2, eps, 1, 0.5, 0.2, 0.3}, 2, [](Numbers& n) {
                           const double g = n.g + wd * n.p;
                           n.s[0] = b1 * n.s[0] + (1 - b1) * g, n.s[1] = b2 * n.s[1] + (1 - b2) * g * g;
                           n.p -= (0.2 * g + 0.3 * n.s[0]) / (std::sqrt(n.s[1] / 0.5) + eps);
                         }});
  f(Optimizer<RadamStep>{&optim_kernels::radam, {1, 0, b1, b2, eps, 1, lr, 0.4}, 2, [](Numbers& n) {
                           n.s[0] = b1 * n.s[0] + (1 - b1) * n.g, n.s[1] = b2 * n.s[1] + (1 - b2) * n.g * n.g;
                           n.p -= lr * n.s[0] * 0.4 / (std::sqrt(n.s[1]) + eps);
                         }});
  f(Optimizer<AsgdStep>{&optim_kernels::asgd, {0.05, lr, 0.25, wd, 1}, 1, [](Numbers& n) {
                          const double g = n.g + wd * n.p;
                          n.p -= 0.05 * lr * n.p, n.p -= lr * g;
                          n.s[0] += 0.25 * (n.p - n.s[0]);
                        }});
  f(Optimizer<RpropStep>{&optim_kernels::rprop, {0.5, 1.2, 0.01, 26, 1}, 2, [sign](Numbers& n) {
                           const double turn = sign(n.g * n.s[0]);
                           n.s[1] = std::min(26.0, n.s[1] * (turn > 0 ? 1.2 : turn < 0 ? 0.5 : 1));
                           n.s[0] = turn < 0 ? 0 : n.g;
                           n.p -= sign(n.s[0]) * n.s[1];
                         }});
}

TEST_F(OptimKernels, DoWhatTheRulesSay) {
  for (const std::int64_t n : {1, 7, 40})  // below, around and above a vector
    each([&]<class Step>(const Optimizer<Step>& o) {
      Memory<double> a({n}), b({n + 3});
      std::vector<Numbers> want;
      for (Memory<double>* m : {&a, &b})
        for (std::int64_t i = 0; i < m->p.numel(); ++i) {
          Numbers x{m->p.at(i), m->g.at(i), {m->s[0].at(i), m->s[1].at(i), m->s[2].at(i)}};
          o.rule(x);
          want.push_back(x);
        }
      const OptimTensors both[] = {a.tensors(o.states), b.tensors(o.states)};
      const Step steps[] = {o.step, o.step};
      run(o.entry, both, steps, nullptr);
      std::size_t at = 0;
      for (Memory<double>* m : {&a, &b})
        for (std::int64_t i = 0; i < m->p.numel(); ++i, ++at) {
          EXPECT_NEAR(m->p.at(i), want[at].p, 1e-12);
          for (int k = 0; k < o.states; ++k) EXPECT_NEAR(m->s[k].at(i), want[at].s[k], 1e-12) << "state " << k;
        }
    });
}
TEST_F(OptimKernels, ElementsAreReadAsTheyLie) {  // a column-major parameter, its gradient and state alike
  Memory<float> a({6}), b({2, 3});
  Array<float> turned[] = {b.p.laid_out({1, 2}, 0, 6), b.g.laid_out({1, 2}, 0, 6), b.s[0].laid_out({1, 2}, 0, 6)};
  for (std::int64_t i = 0; i < 6; ++i) {
    const std::int64_t at = i / 3 + i % 3 * 2;
    a.p.at(at) = turned[0].at(i), a.g.at(at) = turned[1].at(i), a.s[0].at(at) = turned[2].at(i);
  }
  const AdagradStep step{0.1, 0, 1e-3, 1};
  const OptimTensors straight = a.tensors(1), t{turned[0], turned[1], {turned[2], View{}, View{}}};
  run(&optim_kernels::adagrad, {&straight, 1}, {&step, 1}, nullptr);
  run(&optim_kernels::adagrad, {&t, 1}, {&step, 1}, nullptr);
  EXPECT_EQ(turned[0].bytes(), a.p.bytes());
  EXPECT_EQ(turned[2].bytes(), a.s[0].bytes());
}
TEST_F(OptimKernels, OfNothing) {
  each([&]<class Step>(const Optimizer<Step>& o) {
    Memory<float> m({0});
    const OptimTensors t = m.tensors(o.states);
    run(o.entry, {&t, 1}, {&o.step, 1}, nullptr);
    run(o.entry, {}, {}, nullptr);
  });
}
TEST_F(OptimKernels, SameOnAnyNumberOfThreads) {
  each([&]<class Step>(const Optimizer<Step>& o) {
    expect_same_on_any_threads([&] {
      Memory<float> m({100003});
      const OptimTensors t = m.tensors(o.states);
      run(o.entry, {&t, 1}, {&o.step, 1}, nullptr);
      return m.bytes();
    });
  });
}

TEST_F(OptimKernels, ClipsManyTensorsByOneNorm) {
  for (const std::int64_t n : {3, 100000}) {
    Array<float> a = eighths({n}), b = eighths({7, 5}, 2), norm(Shape{});
    Array<double> c = eighths<double>({n}, 3);
    double sum = 0;
    const auto add = [&](const auto& x) {
      for (const auto v : x.values()) sum += double(v) * double(v);
    };
    add(a), add(b), add(c);
    const View tensors[] = {a, b, c};
    run(&optim_kernels::norm_of_all, tensors, norm);
    EXPECT_NEAR(norm.at(0), std::sqrt(sum), 1e-5 * std::sqrt(sum));
    const std::vector<float> before = a.values();
    run(&optim_kernels::clip_all, tensors, norm, 2 * std::sqrt(sum));
    EXPECT_EQ(a.values(), before) << "below the limit nothing is written";
    run(&optim_kernels::clip_all, tensors, norm, 1.5);
    sum = 0, add(a), add(b), add(c);
    EXPECT_NEAR(std::sqrt(sum), 1.5, 1e-4);
    EXPECT_FLOAT_EQ(a.at(0), float(double(before[0]) * 1.5 / (double(norm.at(0)) + 1e-6)));
  }
}

TEST_F(OptimKernels, UnscalesManyTensorsAndFindsWhatIsNotFinite) {
  for (const std::int64_t n : {3, 100000})
    for (const double bad : {0.0, double(INFINITY), double(NAN)}) {
      Array<float> a = eighths({n}), by(Shape{}), found(Shape{});
      Array<double> b = eighths<double>({n}, 3);
      by.at(0) = 0.25f, found.at(0) = 0;
      const std::vector<float> before = a.values();
      if (bad != 0) b.at(n - 1) = bad;
      const View tensors[] = {a, b};
      run(&optim_kernels::unscale_all, tensors, by, found);
      EXPECT_EQ(found.at(0), bad != 0);
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(a.at(i), before[std::size_t(i)] / 4);
      EXPECT_EQ(b.at(0), eighths<double>({n}, 3).at(0) / 4);
      if (bad == 0) found.at(0) = 1, run(&optim_kernels::unscale_all, tensors, by, found);
      EXPECT_EQ(found.at(0), 1) << "what was found before stays";
    }
}

}  // namespace
}  // namespace neura::test
