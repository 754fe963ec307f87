#include "neura/backend/kernels/create.h"

#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using CreateKernels = Kernels<create_kernels>;

template <class T> void copies(const Shape& size) {
  const Array<T> x = eighths<T>(size);
  const std::int64_t room = 2 * x.numel() + 1;
  Shape turned = calculate_strides(size);  // each dimension from the back
  for (std::int64_t& s : turned) s = -s;
  const Array<T> backwards = x.laid_out(turned, x.numel() - 1, room), spread = x.spread();
  for (Array<T> from : {x, spread, backwards})
    for (Array<T> to : {Array<T>(size), spread, backwards}) {
      for (std::int64_t i = 0; i < to.numel(); ++i) to.at(i) = T(0);
      const std::int64_t gaps = to.gaps();
      Context context(cpu_backend(), Device(), "test");
      cpu_backend().create->copy(context, from, to);
      EXPECT_EQ(to.values(), x.values());
      EXPECT_EQ(to.gaps(), gaps) << "what lies between was written";
    }
}
TEST_F(CreateKernels, CopiesBetweenAnyStrides) {
  for (const Shape& size : {Shape{1}, Shape{37}, Shape{5, 3}, Shape{70, 66}, Shape{3, 4, 5, 6}}) {
    copies<std::uint8_t>(size), copies<float>(size), copies<double>(size);
    copies<std::complex<float>>(size);
  }
}
TEST_F(CreateKernels, Triangles) {
  const Array<float> x = eighths({2, 5, 7});
  for (Array<float> from : {x, x.spread()})
    for (const std::int64_t diagonal : {-6, -2, 0, 3, 8})
      for (const bool upper : {false, true}) {
        Array<float> y({2, 5, 7});
        run(&create_kernels::triangle, from, y, diagonal, upper);
        for (int b = 0; b < 2; ++b)
          for (int i = 0; i < 5; ++i)
            for (int j = 0; j < 7; ++j)
              EXPECT_EQ(y(b, i, j), (upper ? j - i >= diagonal : j - i <= diagonal) ? from(b, i, j) : 0);
      }
}
TEST_F(CreateKernels, EvenlySpacedNumbers) {
  EvenlySpaced p{.kind = EvenlySpaced::integers, .first = 5, .by = -3};
  Array<std::int64_t> whole({4});
  run(&create_kernels::arange, p, whole);
  EXPECT_EQ(whole.values(), (std::vector<std::int64_t>{5, 2, -1, -4}));
  p = {.start = {1}, .end = {2}, .step = {0.3}, .back = 2};  // from the third on it is counted from the end
  Array<double> real({5});
  run(&create_kernels::arange, p, real);
  EXPECT_EQ(real.values(), (std::vector<double>{1, 1.3, 2 - 0.3 * 2, 2 - 0.3, 2}));
  p = {.kind = EvenlySpaced::complexes, .start = {1, 2}, .step = {0.5, -1}};
  Array<std::complex<float>> plane({3});
  run(&create_kernels::arange, p, plane);
  EXPECT_EQ(plane.values(), (std::vector<std::complex<float>>{{1, 2}, {1.5, 1}, {2, 0}}));
}
TEST_F(CreateKernels, OfNothing) {
  Array<float> x({0, 3}), y({0, 3}), matrix({3, 0}), z({3, 0});
  run(&create_kernels::arange, EvenlySpaced{}, y);
  run(&create_kernels::copy, x, y);
  run(&create_kernels::triangle, matrix, z, 0, true);
}
TEST_F(CreateKernels, SameOnAnyNumberOfThreads) {
  Array<float> x = eighths({700, 900}), turned = x.spread();
  expect_same_on_any_threads([&] {
    Array<float> y(x.spec().sizes()), z = y, low = y, line = y;
    run(&create_kernels::arange, EvenlySpaced{.start = {1}, .step = {0.1}}, line);
    run(&create_kernels::copy, x, y);
    run(&create_kernels::copy, turned, z);
    run(&create_kernels::triangle, turned, low, 3, false);
    return y.bytes() + z.bytes() + low.bytes() + line.bytes();
  });
}

}  // namespace
}  // namespace neura::test
