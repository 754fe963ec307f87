// Adafactor, Muon and LBFGS: PyTorch's numbers, saved states, mistakes.
#include <gtest/gtest.h>

#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/create.h"
#include "neura/ops/pointwise/composed.h"
#include "neura/ops/product/matmul.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/optim/lbfgs.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::optim {
namespace {

using test::error_of;

Tensor parameter(const Shape& shape) {
  return linspace(-1, 1, shape.numel(), {.dtype = float64}).reshape(shape).requires_grad_();
}
Tensor gradient_at(int step, const Tensor& p) {
  return sin(arange(0, double(p.numel()), 1, {.dtype = float64}) + 1.7 * step).reshape(p.shape());
}
void take_steps(Optimizer& o, int from, int to) {
  for (int n = from; n < to; ++n) {
    for (ParamGroup& g : o.param_groups())
      for (Tensor& p : g.params) p.set_grad(gradient_at(n, p));
    o.step();
  }
}
void expect_values(const Tensor& got, const std::vector<double>& want) {
  const auto values = got.detach().to_vector<double>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], 1e-9) << i;
}

TEST(Adafactor, TakesTorchsSteps) {
  Tensor w = parameter({2, 3}), b = ones({2}, {.dtype = float64}).requires_grad_();
  Adafactor plain({w, b}, {.lr = 0.1});
  take_steps(plain, 0, 3);
  expect_values(w, {-1.062099658, -0.6270354698, -0.1350792664, 0.1835277179, 0.6391137787, 0.9436842348});
  expect_values(b, {0.9168122838, 0.943504141});
  w = parameter({2, 3}), b = ones({2}, {.dtype = float64}).requires_grad_();
  const AdafactorOptions options{
      .lr = 0.1, .beta2_decay = -0.5, .eps = {1e-3, 0.05}, .d = 2, .weight_decay = 0.1, .maximize = true};
  Adafactor other({w, b}, options);
  take_steps(other, 0, 3);
  expect_values(w, {-0.9224898003, -0.5388120369, -0.2448831536, 0.2258985754, 0.5285570581, 1.011391676});
  expect_values(b, {1.042728469, 1.012371521});
  EXPECT_EQ(other.state(w).tensor("row_var", zeros({2, 1}, {.dtype = float64})).shape(), Shape({2, 1}));
}

TEST(Muon, TakesTorchsSteps) {  // whose steps of Newton and Schulz are in bfloat16
  for (const auto& [options, want] : {
           std::pair{MuonOptions{.lr = 0.1},
                     std::vector{-1.053348336, -0.574208714, -0.1017445461, 0.2108257961, 0.6727160309, 1.051008453}},
           {MuonOptions{
                .lr = 0.1, .momentum = 0.5, .nesterov = false, .ns_steps = 2, .adjust_lr_fn = "match_rms_adamw"},
            {-1.004090249, -0.5928577909, -0.1728734425, 0.21314382, 0.6163680532, 0.987279133}},
       }) {
    Tensor w = parameter({2, 3});
    Muon optimizer({w}, options);
    take_steps(optimizer, 0, 3);
    const auto got = w.detach().to_vector<double>();
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 3e-3) << i;
  }
}

template <class O> void expect_resumes() {
  const Tensor start = parameter({4, 3});
  Tensor a = start.detach().clone().requires_grad_(), b = start.detach().clone().requires_grad_();
  O whole({a}), first({b});
  take_steps(whole, 0, 5), take_steps(first, 0, 3);
  O again({b});
  again.load_state_dict(first.state_dict());
  take_steps(again, 3, 5);
  test::expect_same(a.detach(), b.detach());
}
TEST(MatrixOptimizers, ResumeBitForBit) {
  expect_resumes<Adafactor>();
  expect_resumes<Muon>();
}

// How far |x w - y|² falls of what it is at first.
template <class O> double left_after(O& optimizer, const Tensor& w, int steps) {
  const Tensor x = test::sample({20, 4}, float64, {.seed = 3}),
               y = matmul(x, test::sample({4, 3}, float64, {.seed = 4}));
  double first = 0, last = 0;
  const auto loss = [&] {
    optimizer.zero_grad();
    Tensor l = square(matmul(x, w) - y).sum();
    l.backward();
    return l;
  };
  for (int i = 0; i < steps; ++i) {
    last = optimizer.step(loss).template item<double>();
    if (i == 0) first = last;
  }
  return last / first;
}
TEST(MatrixOptimizers, SolveASmallRegression) {
  Tensor a = parameter({4, 3}), b = parameter({4, 3}), c = parameter({4, 3});
  Adafactor adafactor({a}, {.lr = 0.3});
  EXPECT_LT(left_after(adafactor, a, 400), 1e-3);
  Muon muon({b}, {.lr = 0.03, .weight_decay = 0});
  EXPECT_LT(left_after(muon, b, 400), 1e-2);
  LBFGS lbfgs({c}, {.line_search_fn = "strong_wolfe"});
  EXPECT_LT(left_after(lbfgs, c, 3), 1e-8);
}

TEST(MatrixOptimizers, KeepFloatCopiesOfHalves) {
  Tensor w = parameter({4, 3}).detach().to(DType::bfloat16).requires_grad_();
  Adafactor optimizer(std::vector<ParamGroup>{{{w}, {{"master", true}}}});
  for (int i = 0; i < 3; ++i) {
    w.set_grad(ones_like(w.detach()));
    optimizer.step();
  }
  const Tensor master = *optimizer.state(w).values.find("master_param")->get<Tensor>();
  EXPECT_EQ(master.dtype(), DType::float32);
  test::expect_same(master.to(DType::bfloat16), w.detach());
  Adafactor again(std::vector<ParamGroup>{{{w}, {{"master", true}}}});
  again.load_state_dict(optimizer.state_dict());
  EXPECT_EQ(again.state(w).values.find("row_var")->get<Tensor>()->dtype(), DType::float32);
}

TEST(MatrixOptimizers, NameMistakes) {
  const Tensor w = parameter({2, 2}), v = parameter({2});
  EXPECT_EQ(error_of<ValueError>([&] { Adafactor({w}, {.d = 0.5}); }), "Adafactor: expected d >= 1, got 0.5");
  EXPECT_EQ(error_of<DTypeError>([&] { Adafactor({zeros({2}, {.dtype = complex64})}); }),
            "Adafactor: expected real parameters, got complex64 [2]");
  EXPECT_EQ(error_of<ValueError>([&] { Muon({v}); }), "Muon: expected real matrices, got float64 [2]");
  EXPECT_EQ(error_of<ValueError>([&] { Muon({w}, {.ns_steps = 100}); }), "Muon: expected ns_steps below 100, got 100");
  EXPECT_EQ(error_of<ValueError>([&] { Muon({w}, {.adjust_lr_fn = "x"}); }),
            "Muon: expected adjust_lr_fn None, \"original\" or \"match_rms_adamw\", got x");
}

// ---- LBFGS

struct Rosenbrock {
  Tensor p = tensor({-1.2, 1.0}, {.dtype = float64}).requires_grad_();
  LBFGS optimizer;
  int calls = 0;
  explicit Rosenbrock(const LBFGSOptions& o) : optimizer({p}, o) {}
  double steps(int n) {
    double loss = 0;
    for (int i = 0; i < n; ++i)
      loss = optimizer
                 .step([&] {
                   ++calls;
                   optimizer.zero_grad();
                   const Tensor x = p[0], y = p[1];
                   Tensor l = square(1 - x) + 100 * square(y - square(x));
                   l.backward();
                   return l;
                 })
                 .item<double>();
    return loss;
  }
};

TEST(LBFGS, GoesTorchsWay) {
  struct Case {
    LBFGSOptions options;
    int calls;
    double x, y, loss;
  };
  const Case cases[] = {
      {{}, 62, 0.999998790, 0.999997448, 3.8814e-08},
      {{.line_search_fn = "strong_wolfe"}, 46, 0.999981421, 0.999961965, 4.22145751e-10},
      {{.max_iter = 7, .history_size = 2, .line_search_fn = "strong_wolfe"}, 33, 0.659578889, 0.422681256, 0.82377123},
      {{.lr = 0.1, .max_iter = 5}, 20, -1.044719588, 1.062377391, 4.52808755},
  };
  for (const Case& c : cases) {
    Rosenbrock r(c.options);
    EXPECT_NEAR(r.steps(4), c.loss, 1e-4 * c.loss);
    EXPECT_EQ(r.calls, c.calls);
    EXPECT_NEAR(r.p[0].item<double>(), c.x, 1e-8);
    EXPECT_NEAR(r.p[1].item<double>(), c.y, 1e-8);
    EXPECT_EQ(r.optimizer.state(r.p).number("func_evals"), c.calls);
  }
}

TEST(LBFGS, ResumesBitForBit) {
  Rosenbrock whole({.max_iter = 5, .line_search_fn = "strong_wolfe"}), other({});
  whole.steps(2);
  other.p.detach().copy_(whole.p.detach());
  other.optimizer.load_state_dict(whole.optimizer.state_dict());
  whole.steps(2), other.steps(2);
  test::expect_same(whole.p.detach(), other.p.detach());
}

TEST(LBFGS, KeepsItsStateWhereTheClosureFails) {
  Rosenbrock r({.max_iter = 3});
  r.steps(1);
  const double before = r.optimizer.state(r.p).number("n_iter");
  int calls = 0;
  EXPECT_EQ(error_of<ValueError>([&] {
              r.optimizer.step([&]() -> Tensor {
                if (++calls == 2) throw ValueError("stop");
                r.p.set_grad(ones({2}, {.dtype = float64}));
                return tensor(1.0);
              });
            }),
            "stop");
  EXPECT_GT(r.optimizer.state(r.p).number("n_iter"), before);
  EXPECT_NO_THROW(r.steps(1));
}

TEST(LBFGS, NamesMistakes) {
  const Tensor w = parameter({2});
  LBFGS optimizer({w});
  EXPECT_EQ(optimizer.param_groups()[0].number("max_eval"), 25);
  EXPECT_EQ(error_of<ValueError>([&] { static_cast<Optimizer&>(optimizer).step(); }),
            "LBFGS: expected a closure that computes the loss and its gradients, got none; call step(closure)");
  EXPECT_EQ(error_of<ValueError>([&] { optimizer.add_param_group({{parameter({1})}}); }),
            "LBFGS: expected one parameter group, got another");
  EXPECT_EQ(error_of<ValueError>([&] { LBFGS({w}, {.line_search_fn = "armijo"}); }),
            "LBFGS: expected line_search_fn None or \"strong_wolfe\", got armijo");
  EXPECT_EQ(error_of<ValueError>([&] { optimizer.step([] { return Tensor(); }); }),
            "LBFGS: expected a loss of the closure, got none");
}

}  // namespace
}  // namespace neura::optim
