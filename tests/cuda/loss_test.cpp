// Losses on CUDA against the CPU: every path of the kernels, special scores, every reduction, both gradients.
#include <cmath>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/loss/loss.h"
#include "neura/ops/random/random.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

constexpr Reduction kReductions[] = {Reduction::none, Reduction::mean, Reduction::sum};
const DType kFloating[] = {float32, float64, bfloat16, float16};

// loss(x) and x's gradient are the CPU's; of the loss, `g` comes in.
template <class F> void expect_loss(const Tensor& x, const F& loss, double factor = 16) {
  const Tensor h = x.detach().requires_grad_(), d = there(x).requires_grad_();
  const Tensor want = loss(h), got = loss(d), g = randn(want.shape()).to(want.dtype());
  const Tolerance t = tolerance(x.dtype()).times(factor);
  expect_close(back(got.detach()), want.detach(), t);
  want.backward(g), got.backward(there(g));
  expect_close(back(d.grad()), h.grad(), t);
}
Tensor on(const Tensor& like, const Tensor& t) { return t ? t.to(like.device()) : t; }

using CudaLosses = CudaTest;

TEST_F(CudaLosses, CrossEntropyOfEverySize) {
  manual_seed(1);
  for (const DType dtype : kFloating)
    for (const auto& [samples, classes] : {std::pair{1, 1},
                                           {1, 10},
                                           {32, 10},
                                           {128, 7},
                                           {129, 7},
                                           {3, 1000},
                                           {200, 1024},
                                           {5, 1025},
                                           {300, 3001},
                                           {2, 50304},
                                           {0, 5},
                                           {1, 70001}}) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(samples) + " x " + std::to_string(classes));
      const Tensor x = (randn({samples, classes}) * 3).to(dtype);
      const Tensor y = randint(0, classes, {samples}, {.dtype = int64});
      if (samples > 2) const_cast<Tensor&>(y).slice(0, 1, 2).fill_(-100);
      for (const Reduction r : kReductions)
        expect_loss(x, [&](const Tensor& t) { return cross_entropy(t, on(t, y), {.reduction = r}); });
    }
}
TEST_F(CudaLosses, CrossEntropyWithWeightsAndSmoothing) {
  manual_seed(2);
  for (const DType dtype : kFloating)
    for (const Shape& shape :
         {Shape{9}, Shape{40, 9}, Shape{6, 2000}, Shape{3, 5, 7}, Shape{2, 40, 33}, Shape{1, 3, 2, 2}})
      for (const double smoothing : {0., 0.1})
        for (const bool weighted : {false, true}) {
          SCOPED_TRACE(std::string(name(dtype)) + " " + shape.str());
          const std::int64_t classes = shape[shape.size() > 1 ? 1 : 0];
          Shape sizes = shape;
          sizes.erase(shape.size() > 1 ? 1 : 0);
          const Tensor x = randn(shape).to(dtype), w = (rand({classes}) + 0.5).to(dtype);
          Tensor y = randint(0, classes, sizes, {.dtype = int64});
          if (y.numel() > 4) y = where(y == 1, 3, y);
          for (const Reduction r : kReductions)
            expect_loss(x, [&](const Tensor& t) {
              return cross_entropy(t, on(t, y),
                                   {.weight = weighted ? on(t, w) : Tensor(),
                                    .ignore_index = 2,
                                    .reduction = r,
                                    .label_smoothing = smoothing});
            });
        }
}
TEST_F(CudaLosses, ScoresThatLieApart) {
  manual_seed(3);
  const Tensor y = randint(0, 30, {50}, {.dtype = int64});
  for (const DType dtype : {float32, bfloat16})
    for (const std::int64_t classes : {30, 1500}) {
      const Tensor wide = randn({50, classes + 13}).to(dtype), other = randn({classes, 50}).to(dtype);
      for (const std::int64_t begin : {0, 3, 8}) {
        const auto loss = [&](const Tensor& t) { return cross_entropy(t.slice(1, begin, begin + classes), on(t, y)); };
        expect_loss(wide, loss);
      }
      expect_loss(other, [&](const Tensor& t) { return cross_entropy(t.t(), on(t, y)); });
      expect_loss(other, [&](const Tensor& t) { return nll_loss(t.t(), on(t, y)); });
    }
}
TEST_F(CudaLosses, ScoresThatAreNotFinite) {
  for (const std::int64_t classes : {6, 1600}) {
    Tensor x = zeros({5, classes});
    x.slice(0, 0, 1).slice(1, 1, 2).fill_(-INFINITY);  // a class that cannot be
    x.slice(0, 1, 2).fill_(-INFINITY);
    x.slice(0, 2, 3).slice(1, 3, 4).fill_(INFINITY);
    x.slice(0, 3, 4).slice(1, 4, 5).fill_(NAN);
    x.slice(0, 4, 5).fill_(1e4);
    const Tensor y = tensor({0, 1, 2, 3, 4});
    expect_loss(x, [&](const Tensor& t) { return cross_entropy(t, on(t, y), {.reduction = Reduction::none}); });
    const Tensor none = tensor({-100, -100, -100, -100, 4});  // the others' gradients are zero, whatever they hold
    expect_loss(x, [&](const Tensor& t) { return cross_entropy(t, on(t, none)); });
    const Tensor nothing = full({5}, -100, {.dtype = int64});
    expect_loss(x, [&](const Tensor& t) { return cross_entropy(t, on(t, nothing)); });
  }
}
TEST_F(CudaLosses, ManySamples) {
  manual_seed(4);
  const Tensor x = randn({2, 3, 200, 200}), y = randint(0, 3, {2, 200, 200}, {.dtype = int64});
  for (const Reduction r : {Reduction::mean, Reduction::sum})
    expect_loss(x, [&](const Tensor& t) { return cross_entropy(t, on(t, y), {.reduction = r}); });
  const Tensor a = randn({40000, 5}), b = randint(0, 5, {40000}, {.dtype = int64});
  expect_loss(a, [&](const Tensor& t) { return cross_entropy(t, on(t, b)); });
  expect_loss(a, [&](const Tensor& t) { return nll_loss(t, on(t, b)); });
}
TEST_F(CudaLosses, AreTheSameEachTime) {
  manual_seed(5);
  const Tensor x = there(randn({3000, 1200})), y = there(randint(0, 1200, {3000}, {.dtype = int64}));
  const Tensor first = cross_entropy(x, y), other = mse_loss(x, -x);
  for (int i = 0; i < 3; ++i) {
    expect_same(back(cross_entropy(x, y)), back(first));
    expect_same(back(mse_loss(x, -x)), back(other));
  }
}
TEST_F(CudaLosses, NllOfEveryLayout) {
  manual_seed(6);
  for (const DType dtype : kFloating)
    for (const Shape& shape : {Shape{9}, Shape{300, 9}, Shape{3, 5, 7}, Shape{2, 4, 33, 2}, Shape{0, 3}})
      for (const bool weighted : {false, true}) {
        const std::int64_t classes = shape[shape.size() > 1 ? 1 : 0];
        Shape sizes = shape;
        sizes.erase(shape.size() > 1 ? 1 : 0);
        const Tensor x = randn(shape).to(dtype), w = (rand({classes}) + 0.5).to(dtype);
        const Tensor y = randint(0, classes, sizes, {.dtype = int64});
        for (const Reduction r : kReductions)
          expect_loss(x, [&](const Tensor& t) {
            return nll_loss(t, on(t, y), {.weight = weighted ? on(t, w) : Tensor(), .ignore_index = 2, .reduction = r});
          });
        if (shape.size() > 2)
          expect_loss(x.transpose(0, -1).contiguous(),
                      [&](const Tensor& t) { return nll_loss(t.transpose(0, -1), on(t, y)); });
      }
}
TEST_F(CudaLosses, AClassOutOfRangeIsToldAndTheDeviceGoesOn) {
  const Tensor x = there(randn({4, 3})), wide = there(randn({4, 2000})), inner = there(randn({4, 3, 2}));
  for (const auto& [scores, bad] : {std::pair{x, 3}, {x, -1}, {wide, 2000}}) {
    const Tensor y = there(tensor({0, bad, 1, 2}));
    const std::string said = error_of<IndexError>([&] { back(cross_entropy(scores, y)); });
    EXPECT_NE(said.find("cross_entropy: expected indices from 0 to"), said.npos) << said;
    EXPECT_NE(said.find("got " + std::to_string(bad)), said.npos) << said;
    EXPECT_NE(error_of<IndexError>([&] { back(nll_loss(scores, y)); }).find("nll_loss"), said.npos);
  }
  error_of<IndexError>([&] { back(cross_entropy(inner, there(full({4, 2}, 3, {.dtype = int64})))); });
  EXPECT_TRUE(std::isfinite(back(cross_entropy(x, there(tensor({0, 1, 2, 0})))).item<double>()));
}

TEST_F(CudaLosses, OfElements) {
  manual_seed(7);
  for (const DType dtype : kFloating)
    for (const std::int64_t n : {1, 3, 1000, 16384, 150007}) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(n));
      if (n > 100000 && dtype != float32 && dtype != bfloat16) continue;
      const Tensor x = (randn({n}) * 2).to(dtype), y = (randn({n}) * 2).to(dtype),
                   p = (rand({n}) * 0.98 + 0.01).to(dtype);
      const Tensor q = rand({n}).to(dtype);
      for (const Reduction r : kReductions) {
        expect_loss(x, [&](const Tensor& t) { return mse_loss(t, on(t, y), {r}); });
        expect_loss(x, [&](const Tensor& t) { return l1_loss(t, on(t, y), {r}); });
        expect_loss(x, [&](const Tensor& t) { return smooth_l1_loss(t, on(t, y), {.reduction = r, .beta = 0.5}); });
        expect_loss(x, [&](const Tensor& t) { return huber_loss(t, on(t, y), {.reduction = r, .delta = 0.7}); });
        expect_loss(x,
                    [&](const Tensor& t) { return binary_cross_entropy_with_logits(t, on(t, q), {.reduction = r}); });
        expect_loss(
            p, [&](const Tensor& t) { return binary_cross_entropy(t, on(t, q), {.reduction = r}); }, 64);
      }
      if (n < 10) continue;
      expect_loss(x, [&](const Tensor& t) { return mse_loss(t.slice(0, 1, n), on(t, y).slice(0, 0, n - 1)); });
    }
  const Tensor ends = tensor({0., 1., 0., 1.}, {.dtype = float32}), q = tensor({0., 1., 1., 0.}, {.dtype = float32});
  expect_loss(ends, [&](const Tensor& t) { return binary_cross_entropy(t, on(t, q), {.reduction = Reduction::none}); });
  expect_loss(zeros({0}), [&](const Tensor& t) { return mse_loss(t, t * 0, {Reduction::mean}); });
}

TEST_F(CudaLosses, TellAtTheNextWaitWhatTheyDoNotTake) {
  const Tensor far = there(full({5}, 1.5)), half = there(full({5}, 0.5));
  Tensor loss;
  EXPECT_NO_THROW(loss = binary_cross_entropy(far, half));
  EXPECT_EQ(error_of<ValueError>([&] { loss.item<double>(); }),
            "binary_cross_entropy: expected an input between 0 and 1, got other elements; for any numbers use "
            "binary_cross_entropy_with_logits");
  EXPECT_NO_THROW(loss = gaussian_nll_loss(half, half, -far));
  EXPECT_EQ(error_of<ValueError>([&] { loss.item<double>(); }),
            "gaussian_nll_loss: expected a var of at least 0, got a negative element");
  EXPECT_TRUE(std::isfinite(binary_cross_entropy(half, half).item<double>()));
}

}  // namespace
}  // namespace neura::test
