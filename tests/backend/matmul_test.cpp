#include "neura/backend/kernels/matmul.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using MatmulKernels = Kernels<matmul_kernels>;

// y = alpha * a b + beta * init, each [batch, rows, columns]
template <class T> std::vector<T> plain(Array<T> a, Array<T> b, Array<T> init, T alpha, T beta) {
  const std::int64_t batch = a.spec().shape[0], m = a.spec().shape[1], k = a.spec().shape[2], n = b.spec().shape[2];
  Array<T> y({batch, m, n});
  for (std::int64_t o = 0; o < batch; ++o)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a(o, i, l) * b(o, l, j);
        y(o, i, j) = alpha * sum + (init.numel() > 1 ? beta * init(o, i, j) : T(0));
      }
  return y.values();
}

TEST_F(MatmulKernels, ProductsOfAnyStrides) {  // sums of eighths: exact
  for (const Shape& s : {Shape{1, 1, 1}, Shape{3, 1, 40}, Shape{33, 20, 1}, Shape{5, 300, 17}, Shape{70, 64, 65}}) {
    const Array<float> a = eighths({2, s[0], s[1]}), b = eighths({2, s[1], s[2]}, 2);
    for (Array<float> left : {a, a.spread()})
      for (Array<float> right : {b, b.spread()}) {
        Array<float> y({2, s[0], s[2]});
        run(&matmul_kernels::matmul, left, right, View{}, y, Product{});
        EXPECT_EQ(y.values(), plain<float>(a, b, Array<float>(), 1, 0)) << s.str();
      }
  }
}
TEST_F(MatmulKernels, ProductsOfATurnedMatrix) {  // with so many columns that it is packed
  for (const std::int64_t m : {1, 13, 14, 45, 131})
    for (const std::int64_t k : {1, 3, 17, 300}) {
      Array<float> a = eighths({1, m, k}), turned = a.laid_out({m * k, 1, m}, 0, m * k), y({1, m, 130});
      Array<float> b = eighths({1, k, 130}, 2);
      run(&matmul_kernels::matmul, turned, b, View{}, y, Product{});
      EXPECT_EQ(y.values(), plain<float>(a, b, Array<float>(), 1, 0)) << m << " " << k;
    }
}
TEST_F(MatmulKernels, FactorsAndWhatIsAdded) {
  Array<float> a = eighths({2, 9, 6}), b = eighths({2, 6, 10}, 2), init = eighths({2, 9, 10}, 3), y({2, 9, 10});
  run(&matmul_kernels::matmul, a, b, init, y, Product{2, -0.5});
  EXPECT_EQ(y.values(), plain<float>(a, b, init, 2, -0.5));
}
TEST_F(MatmulKernels, IntegersAndOneMatrixForAllOfABatch) {
  Array<std::int64_t> a = eighths<std::int64_t>({2, 3, 4}), b = eighths<std::int64_t>({4, 5}), y({2, 3, 5});
  run(&matmul_kernels::matmul, a, b, View{}, y, Product{});
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 5; ++j) {
        std::int64_t sum = 0;
        for (int l = 0; l < 4; ++l) sum += a(o, i, l) * b(l, j);
        EXPECT_EQ(y(o, i, j), sum);
      }
}
TEST_F(MatmulKernels, ConjugatesOnTheWay) {
  using C = std::complex<float>;
  Array<C> a({1, 2}, {C(1, 2), C(0, 1)}), b({2, 1}, {C(3, -1), C(2, 2)}), y({1, 1});
  run(&matmul_kernels::matmul, a, b, View{}, y, Product{1, 1, true, false});
  EXPECT_EQ(y.at(0), C(1, -2) * C(3, -1) + C(0, -1) * C(2, 2));
  run(&matmul_kernels::matmul, a, b, View{}, y, Product{1, 1, false, true});
  EXPECT_EQ(y.at(0), C(1, 2) * C(3, 1) + C(0, 1) * C(2, -2));
}
TEST_F(MatmulKernels, OfNothing) {
  Array<float> a({2, 0}), b({0, 3}), init = eighths({2, 3}), y = filled<float>({2, 3}, 5), none({0, 3}), left({0, 0});
  run(&matmul_kernels::matmul, a, b, View{}, y, Product{});  // a sum of nothing
  EXPECT_EQ(y.values(), std::vector<float>(6, 0));
  run(&matmul_kernels::matmul, a, b, init, y, Product{1, 2});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.at(i), 2 * init.at(i));
  run(&matmul_kernels::matmul, left, b, View{}, none, Product{});
}
TEST_F(MatmulKernels, SameOnAnyNumberOfThreads) {
  for (const Shape& s : {Shape{1, 700, 900}, Shape{300, 257, 129}, Shape{2000, 9, 3}}) {
    Array<float> a = eighths({2, s[0], s[1]}), b = eighths({2, s[1], s[2]}, 2);
    for (std::int64_t i = 0; i < a.numel(); ++i) a.at(i) = 1 / (a.at(i) + 5);  // no exact sums
    expect_same_on_any_threads([&] {
      Array<float> y({2, s[0], s[2]});
      run(&matmul_kernels::matmul, a, b, View{}, y, Product{});
      return y.bytes();
    });
  }
}

}  // namespace
}  // namespace neura::test
