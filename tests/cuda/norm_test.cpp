// Normalisations and their gradients on CUDA against the CPU: every way through the kernels, by size, layout and dtype.
#include "neura/ops/nn/norm.h"

#include <cmath>
#include <functional>
#include <limits>

#include "neura/autograd/autograd.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/shape/view.h"
#include "tests/cuda/device.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

class CudaNorm : public CudaTest {
 protected:
  // The result, then the gradients of what is there.
  static Tensors results(const Function& f, const Tensors& in, const Tensor& g, Device device) {
    Tensors leaves, wanted;
    for (const Tensor& t : in) {
      leaves.push_back(t ? t.to(device).clone().requires_grad_() : t);
      if (t) wanted.push_back(leaves.back());
    }
    const Tensor y = f(leaves);
    Tensors all = {y.detach()};
    for (const Tensor& t : grad(Tensors{y}, wanted, Tensors{g.to(device)})) all.push_back(t);
    return all;
  }
  // A weight's gradient is a sum of `count` products, whose rounding grows with it.
  static void expect_the_cpus(const Function& f, const Tensors& in, double count) {
    const Tensor g = sample(in[0].shape(), in[0].dtype(), {.seed = 9});
    const Tensors want = results(f, in, g, Device()), got = results(f, in, g, kCuda);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      SCOPED_TRACE(i ? "gradient " + std::to_string(i) : "result");
      Tolerance t = tolerance(want[i].dtype()).times(4);
      if (i > 1) t.absolute *= std::max(1.0, std::sqrt(count));
      expect_close(back(got[i]), want[i], t);
    }
  }
  // With weight and bias, with each alone, and without.
  static void affine_of(const std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>& f, const Tensor& x,
                        const Shape& sizes, DType parameters, double count, bool all = true) {
    const Tensor w = sample(sizes, parameters, {.seed = 3}), b = sample(sizes, parameters, {.seed = 4});
    const Function call = [&](const Tensors& t) { return f(t[0], t[1], t[2]); };
    expect_the_cpus(call, {x, w, b}, count);
    if (!all) return;
    expect_the_cpus(call, {x, w, Tensor()}, count);
    expect_the_cpus(call, {x, Tensor(), b}, count);
    expect_the_cpus(call, {x, Tensor(), Tensor()}, count);
  }
  static Tensor numbers(const Shape& s, DType d) { return sample(s, d, {.low = -2, .high = 3, .seed = 1}); }
};

TEST_F(CudaNorm, RowsOfEveryLength) {
  for (const DType d : kFloats)
    for (const auto& [rows, n] :
         {std::pair(5, 1), std::pair(5, 3), std::pair(4000, 10), std::pair(131, 64), std::pair(33, 100),
          std::pair(9, 257), std::pair(5, 1000), std::pair(700, 1024), std::pair(3, 1025), std::pair(3, 2048),
          std::pair(2, 5000), std::pair(2, 8200), std::pair(2, 16392), std::pair(1, 70000), std::pair(2, 131075)}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(n) + " " + name(d));
      const Shape sizes{n};
      const Tensor x = numbers({rows, n}, d);
      affine_of([&](auto& t, auto& w, auto& b) { return layer_norm(t, sizes, w, b); }, x, sizes, d, rows, n < 2000);
      const Tensor w = sample(sizes, d, {.seed = 3});
      expect_the_cpus([&](const Tensors& t) { return rms_norm(t[0], sizes, t[1]); }, {x, w}, rows);
      expect_the_cpus([&](const Tensors& t) { return rms_norm(t[0], sizes); }, {x}, rows);
    }
}
TEST_F(CudaNorm, MoreRowsThanTheDeviceHasRoomFor) {
  for (const auto& [rows, n] : {std::pair(3000, 1024), std::pair(20000, 24), std::pair(9000, 257)}) {
    const Shape sizes{n};
    affine_of([&](auto& t, auto& w, auto& b) { return layer_norm(t, sizes, w, b); }, numbers({rows, n}, DType::float32),
              sizes, DType::float32, rows, false);
  }
}
TEST_F(CudaNorm, ManyLongRows) {
  for (const DType d : {DType::float32, DType::bfloat16}) {
    const Shape sizes{16400};
    affine_of([&](auto& t, auto& w, auto& b) { return layer_norm(t, sizes, w, b); }, numbers({140, 16400}, d), sizes, d,
              140, false);
  }
}
TEST_F(CudaNorm, Sample) {  // small, one of each kernel
  for (const std::int64_t n : {12, 300, 2049, 16390}) {
    const Shape sizes{n};
    affine_of([&](auto& t, auto& w, auto& b) { return layer_norm(t, sizes, w, b); }, numbers({3, n}, DType::float32),
              sizes, DType::float32, 3, false);
  }
  for (const Shape& s : {Shape{40, 8}, Shape{4, 6, 5, 3}, Shape{2, 2, 9000}}) {
    affine_of([](auto& t, auto& w, auto& b) { return group_norm(t, 2, w, b); }, numbers(s, DType::float32), {s[1]},
              DType::float32, double(s.numel()), false);
    affine_of([](auto& t, auto& w, auto& b) { return batch_norm(t, {}, {}, w, b, {.training = true}); },
              numbers(s, DType::float32), {s[1]}, DType::float32, double(s.numel()), false);
  }
}
TEST_F(CudaNorm, HalvesWithParametersOfFloat) {
  for (const DType d : {DType::float16, DType::bfloat16}) {
    for (const std::int64_t n : {96, 97, 2048}) {
      const Shape sizes{n};
      affine_of([&](auto& t, auto& w, auto& b) { return layer_norm(t, sizes, w, b); }, numbers({7, n}, d), sizes,
                DType::float32, 7);
    }
    affine_of([](auto& t, auto& w, auto& b) { return group_norm(t, 2, w, b); }, numbers({3, 6, 4, 4}, d), {6},
              DType::float32, 48);
    affine_of([](auto& t, auto& w, auto& b) { return batch_norm(t, {}, {}, w, b, {.training = true}); },
              numbers({3, 6, 4, 4}, d), {6}, DType::float32, 48);
    affine_of([](auto& t, auto& w, auto& b) { return batch_norm(t, {}, {}, w, b, {.training = true}); },
              numbers({30, 8}, d), {8}, DType::float32, 30);
  }
}
TEST_F(CudaNorm, SeveralDimensionsAndAnyLayout) {
  for (const DType d : kFloats) {
    SCOPED_TRACE(name(d));
    const Shape two{6, 8};
    affine_of([&](auto& t, auto& w, auto& b) { return layer_norm(t, two, w, b); }, numbers({4, 6, 8}, d), two, d, 4);
    const Shape row{16};
    const Tensor w = sample(row, d, {.seed = 3}), b = sample(row, d, {.seed = 4});
    const Tensor x = numbers({10, 12, 40}, d), on = there(x), ws = there(w), bs = there(b);
    const Tolerance t = tolerance(d).times(4);
    for (const std::int64_t from : {3, 8, 24})
      expect_close(back(layer_norm(on.slice(2, from, from + 16), row, ws, bs)),
                   layer_norm(x.slice(2, from, from + 16), row, w, b), t);
    expect_close(back(layer_norm(on.slice(0, 1, 10, 2).slice(2, 0, 16), row, ws, bs)),
                 layer_norm(x.slice(0, 1, 10, 2).slice(2, 0, 16), row, w, b), t);
    const Tensor tall = numbers({16, 9, 5}, d);
    expect_close(back(layer_norm(there(tall).transpose(0, 2), row, ws, bs)),
                 layer_norm(tall.transpose(0, 2), row, w, b), t);
    const Tensor one = numbers({1, 16}, d);
    expect_close(back(layer_norm(there(one).expand({5, 16}), row, ws, bs)), layer_norm(one.expand({5, 16}), row, w, b),
                 t);
  }
}
TEST_F(CudaNorm, Groups) {
  for (const DType d : kFloats)
    for (const auto& [shape, groups] :
         {std::pair(Shape{2, 4, 2}, 2), std::pair(Shape{3, 6, 5, 5}, 1), std::pair(Shape{3, 6, 5, 5}, 3),
          std::pair(Shape{3, 6, 5, 5}, 6), std::pair(Shape{2, 8, 16, 16}, 2), std::pair(Shape{5, 6}, 3),
          std::pair(Shape{2, 8, 40, 64}, 1), std::pair(Shape{1, 2, 70001}, 2), std::pair(Shape{200, 4, 3, 3}, 2)}) {
      SCOPED_TRACE(shape.str() + " in " + std::to_string(groups) + " of " + name(d));
      affine_of([&, n = groups](auto& t, auto& w, auto& b) { return group_norm(t, n, w, b); }, numbers(shape, d),
                {shape[1]}, d, double(shape.numel()) / double(shape[1]), shape.numel() < 10000);
    }
}
TEST_F(CudaNorm, Batches) {
  for (const DType d : kFloats)
    for (const Shape& s :
         {Shape{3, 5, 7}, Shape{2, 3, 4, 5, 6}, Shape{64, 10}, Shape{1000, 260}, Shape{5000, 8}, Shape{333, 3, 1},
          Shape{600, 4, 2}, Shape{2, 3, 40000}, Shape{20, 6, 28, 28}, Shape{8, 300, 4, 4}, Shape{1, 3, 9}}) {
      SCOPED_TRACE(s.str() + " of " + name(d));
      const Tensor x = numbers(s, d);
      const double count = double(s.numel()) / double(s[1]);
      affine_of([](auto& t, auto& w, auto& b) { return batch_norm(t, {}, {}, w, b, {.training = true}); }, x, {s[1]}, d,
                count, s.numel() < 10000);
      const Tensor mean = sample({s[1]}, d, {.seed = 5}), var = sample({s[1]}, d, {.low = 0.5, .high = 2, .seed = 6});
      const auto fixed = [&](const Tensor& t, const Tensor& w, const Tensor& b) {
        return batch_norm(t, mean.to(t.device()), var.to(t.device()), w, b);
      };
      affine_of(fixed, x, {s[1]}, d, count, s.numel() < 10000);
    }
}
TEST_F(CudaNorm, TheNetworksBatch) {
  const Tensor x = numbers({128, 32, 28, 28}, DType::float32);
  affine_of([](auto& t, auto& w, auto& b) { return batch_norm(t, {}, {}, w, b, {.training = true}); }, x, {32},
            DType::float32, 128 * 28 * 28, false);
}
TEST_F(CudaNorm, RunningStatistics) {
  const Tensor x = numbers({30, 4, 6}, DType::float32), m = sample({4}),
               v = sample({4}, DType::float32, {.low = 1, .high = 2});
  Tensor mean = m.clone(), var = v.clone(), mean_there = there(m), var_there = there(v);
  for (int i = 0; i < 2; ++i) {
    batch_norm(x, mean, var, {}, {}, {.training = true});
    batch_norm(there(x), mean_there, var_there, {}, {}, {.training = true});
  }
  expect_close(back(mean_there), mean);
  expect_close(back(var_there), var);
}
// The difference of a mean of squares and a squared mean would have no digit left.
TEST_F(CudaNorm, TheKernelMovesRunningStatisticsOfEveryDtypeAndLayout) {
  // Columns; short and long rows; a channel that several blocks read.
  for (const Shape& shape : {Shape{64, 3}, Shape{9, 3, 5, 7}, Shape{16, 3, 40, 40}, Shape{1, 3, 1000000}})
    for (const DType d : kFloats) {
      const DType x_dtype = d == DType::float64 ? d : DType::float32;
      const Tensor x = sample(shape, x_dtype, {.seed = 5});
      for (const std::int64_t step : {1, 2}) {
        SCOPED_TRACE(std::string(name(d)) + " " + shape.str() + " " + std::to_string(step));
        Tensor here = full({2, 3 * step}, 2.0, {.dtype = d}), far = there(here);
        for (const Tensor& t : {here, far})
          batch_norm(x.to(t.device()), t[0].slice(0, 0, 3 * step, step), t[1].slice(0, 0, 3 * step, step), {}, {},
                     {.training = true, .momentum = 0.3});
        expect_close(back(far), here, tolerance(d).times(4));
      }
      const Tensor alone = there(ones({3}, {.dtype = d})), want = ones({3}, {.dtype = d});
      batch_norm(there(x), alone, {}, {}, {}, {.training = true});
      batch_norm(x, want, {}, {}, {}, {.training = true});
      expect_close(back(alone), want, tolerance(d).times(4));
    }
}
TEST_F(CudaNorm, AMeanFarFromZero) {
  for (const std::int64_t n : {100, 1024, 5000, 40000, 200000}) {
    SCOPED_TRACE(n);
    const Tensor exact = sample({2, n}, DType::float64, {.low = 4000, .high = 4002}), x = exact.to(DType::float32);
    const Tensor want = layer_norm(x.to(DType::float64), {n}).to(DType::float32);
    const Tolerance t{2e-3, 0};
    expect_close(back(layer_norm(there(x), {n})), want, t);
    const Tensor c = x.reshape({2, 1, n});
    expect_close(back(group_norm(there(c), 1)), want.reshape({2, 1, n}), t);
    const Tensor lines = contiguous(x.t());  // [n, 2]
    expect_close(back(batch_norm(there(lines), {}, {}, {}, {}, {.training = true})), contiguous(want.t()), t);
    const Tensor planes = x.reshape({1, 2, n});
    expect_close(back(batch_norm(there(planes), {}, {}, {}, {}, {.training = true})), want.reshape({1, 2, n}), t);
  }
}
TEST_F(CudaNorm, NaNAndInfinityStayInTheirRow) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType d : kFloats)
    for (const std::int64_t n : {10, 1024, 20000}) {
      const Tensor x = from_loop({4, n}, d, [&](const Shape& i) {
        return i[1] == n / 2 && i[0] < 2 ? i[0] ? inf : nan : double(i[1] % 7) - 3;
      });
      expect_close(back(layer_norm(there(x), {n})), layer_norm(x, {n}), tolerance(d).times(4));
      expect_close(back(rms_norm(there(x), {n})), rms_norm(x, {n}), tolerance(d).times(4));
    }
}
TEST_F(CudaNorm, TheSameBitsEveryTime) {
  const Tensor x = sample({3000, 72}), w = sample({72}), b = sample({72}),
               g = sample({3000, 72}, DType::float32, {.seed = 2});
  const Function f = [](const Tensors& t) { return layer_norm(t[0], {72}, t[1], t[2]); };
  const Function h = [](const Tensors& t) { return batch_norm(t[0], {}, {}, t[1], t[2], {.training = true}); };
  for (const Function& norm : {f, h}) {
    const Tensors first = results(norm, {x, w, b}, g, kCuda);
    for (int i = 0; i < 3; ++i) {
      const Tensors again = results(norm, {x, w, b}, g, kCuda);
      for (std::size_t k = 0; k < first.size(); ++k) expect_same(back(again[k]), back(first[k]));
    }
  }
}
TEST_F(CudaNorm, ARowIsTheSameAloneAndAmongMany) {
  for (const DType d : {DType::float32, DType::bfloat16})
    for (const std::int64_t n : {64, 768, 1000, 1024, 5000, 8192}) {
      const Tensor x = there(numbers({301, n}, d)), w = there(sample({n}, d, {.seed = 3}));
      const Tensor all = layer_norm(x, {n}, w, w);
      for (const std::int64_t i : {0, 7, 300})
        expect_same(back(layer_norm(x.slice(0, i, i + 1), {n}, w, w)), back(all.slice(0, i, i + 1)));
    }
}
TEST_F(CudaNorm, WithGivenStatisticsAnInfinityStaysWhereItIs) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const Shape& s : {Shape{6, 8}, Shape{4, 3, 32}, Shape{2, 2, 9000}}) {
    const Tensor x = from_loop(s, DType::float32, [](const Shape& i) { return i[0] ? double(i[1]) - 1 : inf; });
    const Tensor mean = sample({s[1]}, DType::float32), var = sample({s[1]}, DType::float32, {.low = 1, .high = 2});
    expect_close(back(batch_norm(there(x), there(mean), there(var))), batch_norm(x, mean, var), tolerance(x.dtype()));
  }
}
TEST_F(CudaNorm, NoRows) {
  const Tensor x = there(sample({0, 6})), w = there(sample({6}));
  const Tensors r = results([](const Tensors& t) { return layer_norm(t[0], {6}, t[1]); }, {x, w}, x, kCuda);
  EXPECT_EQ(r[0].shape(), (Shape{0, 6}));
  expect_close(back(r[2]), std::vector<double>(6, 0.0));
}

}  // namespace
}  // namespace neura::test
