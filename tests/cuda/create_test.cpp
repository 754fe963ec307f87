// New tensors that the device makes: the cpu's bits, and inside a graph.
#include "neura/ops/create/create.h"

#include <cmath>

#include "neura/cuda/graph.h"
#include "tests/cuda/device.h"

namespace neura::test {
namespace {

using CudaCreate = CudaTest;

constexpr DType kAll[] = {boolean, uint8,    int8,    int16,   int32,     int64,
                          float16, bfloat16, float32, float64, complex64, complex128};
template <class F> void expect_the_cpus(DType d, const F& make) {
  SCOPED_TRACE(name(d));
  const Tensor got = make(TensorOptions{.dtype = d, .device = kCuda});
  expect_same(back(got), make(TensorOptions{.dtype = d, .device = Device()}));
}

TEST_F(CudaCreate, ProgressionsHaveTheCpusBits) {
  for (const DType d : kAll) {
    for (const std::int64_t n : {0, 1, 2, 3, 100, 257, 100003}) {
      expect_the_cpus(d, [&](const TensorOptions& o) { return arange(n, o); });
      expect_the_cpus(d, [&](const TensorOptions& o) { return linspace(0, 100, n, o); });
      if (is_integral(d)) continue;
      expect_the_cpus(d, [&](const TensorOptions& o) { return linspace(-0.1, 1.0 / 3, n, o); });
      expect_the_cpus(d, [&](const TensorOptions& o) { return linspace(7.3, -1e-3, n, o); });
    }
    expect_the_cpus(d, [](const TensorOptions& o) { return arange(5, 100, 7, o); });
    expect_the_cpus(d, [](const TensorOptions& o) { return logspace(0, 2, 17, 2.0, o); });
    if (d == uint8 || d == boolean) continue;
    expect_the_cpus(d, [](const TensorOptions& o) { return arange(40, -60, -3, o); });
    if (!is_integral(d)) expect_the_cpus(d, [](const TensorOptions& o) { return arange(-1.5, 90, 0.7, o); });
    expect_the_cpus(d, [](const TensorOptions& o) { return linspace(-100, 27, 41, o); });
  }
  using C = std::complex<double>;
  for (const DType d : {complex64, complex128})
    for (const C end : {C(1.0 / 3, -7), C(-2, 0), C(0, 1e-3)})
      expect_the_cpus(d, [&](const TensorOptions& o) { return linspace(Scalar(C(-0.3, 0.1)), Scalar(end), 1001, o); });
}

TEST_F(CudaCreate, IdentitiesHaveTheCpusBits) {
  for (const DType d : kAll)
    for (const Shape& s : {Shape{0, 0}, Shape{1, 1}, Shape{0, 4}, Shape{3, 8}, Shape{70, 9}, Shape{513, 513}})
      expect_the_cpus(d, [&](const TensorOptions& o) { return eye(s[0], s[1], o); });
}

TEST_F(CudaCreate, AGraphMakesThemAnew) {
  Tensor a, l, e;
  const TensorOptions o{.dtype = float32, .device = kCuda};
  cuda::Graph graph;
  graph.capture([&] { a = arange(1000, o), l = linspace(0, 1, 77, o), e = eye(12, 30, o); });
  for (int i = 0; i < 2; ++i) {
    for (Tensor* t : {&a, &l, &e}) t->fill_(5);
    graph.replay();
    expect_same(back(a), arange(1000, {.dtype = float32}));
    expect_same(back(l), linspace(0, 1, 77, {.dtype = float32}));
    expect_same(back(e), eye(12, 30, {.dtype = float32}));
  }
}

}  // namespace
}  // namespace neura::test
