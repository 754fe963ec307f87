// Fourier transforms against sums in float64, of every kind of length.
#include "neura/backend/kernels/fft.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "neura/backend/cpu/instruction_sets.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using FftKernels = Kernels<fft_kernels>;
using Wide = std::complex<double>;
using std::int64_t;
template <class T> constexpr double kTolerance = sizeof(T) == 4 ? 6e-7 : 4e-15;  // of the largest result

template <class T> T drawn(std::uint64_t& seed) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return T(double(seed >> 40) / double(1 << 23) - 1);
}
template <class T> Array<T> numbers(const Shape& sizes, std::uint64_t seed = 1) {
  Array<T> x(sizes);
  for (int64_t i = 0; i < x.numel(); ++i) x.at(i) = drawn<T>(seed);
  return x;
}
template <class T> Array<std::complex<T>> complexes(const Shape& sizes, std::uint64_t seed = 2) {
  Array<std::complex<T>> x(sizes);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const T re = drawn<T>(seed);
    x.at(i) = {re, drawn<T>(seed)};
  }
  return x;
}

Wide root(int64_t turns, int64_t n) { return std::polar(1.0, 2 * std::numbers::pi * double(turns % n) / double(n)); }
// The sums along the middle of [outer, n, inner].
std::vector<Wide> sums(const std::vector<Wide>& x, int64_t n, int64_t inner, bool inverse) {
  std::vector<Wide> y(x.size()), roots;
  for (int64_t j = 0; j < n; ++j) roots.push_back(inverse ? root(j, n) : std::conj(root(j, n)));
  for (int64_t at = 0; at < int64_t(x.size()); ++at) {
    const int64_t k = at / inner % n, first = at - k * inner;
    double re = 0, im = 0;
    for (int64_t j = 0, turn = 0; j < n; ++j, turn = (turn + k) % n) {
      const Wide v = x[std::size_t(first + j * inner)], w = roots[std::size_t(turn)];
      re += v.real() * w.real() - v.imag() * w.imag(), im += v.real() * w.imag() + v.imag() * w.real();
    }
    y[std::size_t(at)] = {re, im};
  }
  return y;
}
template <class A> std::vector<Wide> widened(const A& x) {
  std::vector<Wide> all;
  for (const auto& v : x.values()) all.push_back(Wide(v));
  return all;
}
// The first n / 2 + 1 of each n along the middle, times 2 where they stand for two.
std::vector<Wide> halved(const std::vector<Wide>& x, int64_t n, int64_t inner, bool two_fold) {
  std::vector<Wide> y;
  for (int64_t at = 0; at < int64_t(x.size()); ++at) {
    const int64_t k = at / inner % n;
    if (k <= n / 2) y.push_back(x[std::size_t(at)] * (two_fold && k && 2 * k != n ? 2.0 : 1.0));
  }
  return y;
}
// And back, with half of each for its conjugate, or all.
std::vector<Wide> mirrored(const std::vector<Wide>& bins, int64_t n, int64_t inner, bool two_fold) {
  const int64_t half = n / 2 + 1, outer = int64_t(bins.size()) / (half * inner);
  std::vector<Wide> x(std::size_t(outer * n * inner));
  for (int64_t at = 0; at < int64_t(x.size()); ++at) {
    const int64_t i = at % inner, k = at / inner % n, o = at / inner / n;
    const Wide bin = bins[std::size_t((o * half + (k < half ? k : n - k)) * inner + i)];
    const bool own = k == 0 || 2 * k == n;
    x[std::size_t(at)] = own ? Wide(bin.real()) : (k < half ? bin : std::conj(bin)) * (two_fold ? 1.0 : 0.5);
  }
  return x;
}

template <class A> void expect_these(const A& got, const std::vector<Wide>& want, double tolerance) {
  ASSERT_EQ(std::size_t(got.numel()), want.size());
  double most = 0;
  for (const Wide& w : want) most = std::max(most, std::abs(w));
  for (int64_t i = 0; i < got.numel(); ++i)
    ASSERT_NEAR(std::abs(Wide(got.at(i)) - want[std::size_t(i)]), 0, tolerance * most) << "element " << i;
}

template <class T> struct Check : FftKernels {
  static void complex(const Shape& size, bool inverse) {
    const FftShape s{{1}, 0.5, inverse, true};
    const Array<std::complex<T>> x = complexes<T>(size);
    std::vector<Wide> want = sums(widened(x), size[1], size[2], inverse);
    for (Wide& w : want) w *= 0.5;
    for (Array<std::complex<T>> from : {x, x.spread()}) {
      Array<std::complex<T>> y(size);
      run(&fft_kernels::complex, from, y, s);
      expect_these(y, want, kTolerance<T>);
    }
  }
  static void real(const Shape& size, bool two_fold) {
    const Shape bins{size[0], size[1] / 2 + 1, size[2]};
    const FftShape s{{1}, 1, false, two_fold};
    const Array<T> x = numbers<T>(size);
    const Array<std::complex<T>> z = complexes<T>(bins);
    const std::vector<Wide> of_x = halved(sums(widened(x), size[1], size[2], false), size[1], size[2], two_fold);
    const std::vector<Wide> of_z = sums(mirrored(widened(z), size[1], size[2], two_fold), size[1], size[2], true);
    for (Array<T> from : {x, x.spread()}) {
      Array<std::complex<T>> y(bins);
      run(&fft_kernels::real, from, y, s);
      expect_these(y, of_x, kTolerance<T>);
    }
    for (Array<std::complex<T>> from : {z, z.spread()}) {
      Array<T> y(size);
      run(&fft_kernels::real_inverse, from, y, s);
      expect_these(y, of_z, kTolerance<T>);
    }
  }
  static void all(const Shape& size) {
    SCOPED_TRACE(size.str());
    const bool odd = (size[0] + size[1]) % 2;
    complex(size, odd), real(size, odd);
  }
};

TEST_F(FftKernels, EveryLengthToSeventy) {
  for (int64_t n = 1; n <= 70; ++n)
    for (const Shape& size : {Shape{1, n, 1}, Shape{2, n, 1}, Shape{19, n, 1}, Shape{1, n, 3}, Shape{1, n, 16}}) {
      Check<float>::all(size), Check<double>::all(size);
      if (HasFatalFailure()) return;
    }
}
TEST_F(FftKernels, LongLinesOfEveryKindOfLength) {
  for (const int64_t n : {128, 210, 243, 343, 509, 514, 625, 864, 1024}) {
    Check<float>::all({1, n, 1}), Check<double>::all({1, n, 1});
    Check<float>::all({1, n, 17}), Check<double>::all({9, n, 1});
    if (HasFatalFailure()) return;
  }
}
// Of 16 and 8, of 5 and 3 as well; adjacent lines, of which some are left over; every instruction set.
TEST_F(FftKernels, LengthsWhoseNumbersStaySideBySide) {
  struct Best {
    ~Best() { use_cpu_target(-1); }
  } best;
  for (int t = 0; t < cpu_targets(); ++t) {
    SCOPED_TRACE(use_cpu_target(t));
    for (const int64_t n : {64, 128, 192, 256, 320, 512, 576, 960, 2048}) {
      Check<float>::all({3, n, 1}), Check<double>::all({2, n, 1});
      if (HasFatalFailure()) return;
    }
    for (const int64_t n : {2, 3, 4, 5, 8, 15, 16, 32, 48, 64, 250, 512}) {
      Check<float>::all({2, n, 19}), Check<double>::all({1, n, 9});
      if (HasFatalFailure()) return;
    }
  }
}
TEST_F(FftKernels, ImageByImageAsAllAtOnce) {
  const Array<std::complex<float>> x = complexes<float>({5, 64, 192});
  Array<std::complex<float>> in = x, both(x.spec().sizes()), turns(x.spec().sizes());
  run(&fft_kernels::complex, in, both, FftShape{{1, 2}, 0.25, true, true});
  run(&fft_kernels::complex, in, turns, FftShape{{2}, 1, true, true});
  run(&fft_kernels::complex, turns, turns, FftShape{{1}, 0.25, true, true});
  EXPECT_EQ(both.bytes(), turns.bytes());
  Array<float> r = numbers<float>({5, 64, 256}), back({5, 64, 256});
  Array<std::complex<float>> bins({5, 64, 129}), first({5, 64, 129});
  run(&fft_kernels::real, r, bins, FftShape{{1, 2}, 1, false, false});
  run(&fft_kernels::real, r, first, FftShape{{2}, 1, false, false});
  run(&fft_kernels::complex, first, first, FftShape{{1}, 1, false, false});
  EXPECT_EQ(bins.bytes(), first.bytes());
  run(&fft_kernels::real_inverse, bins, back, FftShape{{1, 2}, 1.0 / (64 * 256), true, true});
  expect_these(back, widened(r), 1e-6);
}
// Where a sum takes too long: one exponential has one bin, and the way back leads home.
TEST_F(FftKernels, LinesBeyondTheCache) {
  for (const int64_t n : {8192, 5 * 8192, 10007, 1 << 17})
    for (const int64_t lines : {1, 3, 20}) {
      Array<std::complex<float>> x({lines, n}), y({lines, n}), z({lines, n});
      for (int64_t i = 0; i < x.numel(); ++i)
        x.at(i) = std::complex<float>(root((i / n + 1) * 1001 % n * (i % n), n) + Wide(i % n == 0));
      run(&fft_kernels::complex, x, y, FftShape{{1}, 1, false, true});
      for (int64_t i = 0; i < y.numel(); ++i) {
        const Wide want = Wide(i % n == (i / n + 1) * 1001 % n ? double(n) : 0) + 1.0;
        ASSERT_NEAR(std::abs(Wide(y.at(i)) - want), 0, 1e-6 * double(n)) << n << " " << i;
      }
      run(&fft_kernels::complex, y, z, FftShape{{1}, 1 / double(n), true, true});
      for (int64_t i = 0; i < z.numel(); ++i) ASSERT_NEAR(std::abs(Wide(z.at(i)) - Wide(x.at(i))), 0, 2e-6);
    }
}
// Long lines whose rows and columns are transformed as vectors, into aligned memory and other, on every instruction
// set.
template <class T> struct LongLine : FftKernels {
  static void there_and_back(int64_t n) {
    constexpr double close = sizeof(T) == 4 ? 1e-6 : 1e-14;
    SCOPED_TRACE(n);
    const Array<std::complex<T>> x = complexes<T>({n});
    Array<std::complex<T>> in = x, y({n}), back({n}), wave({n});
    Array<std::complex<T>> apart = y.laid_out({1}, 1, n + 2);
    run(&fft_kernels::complex, in, y, FftShape{{0}, 1, false, true});
    run(&fft_kernels::complex, in, apart, FftShape{{0}, 1, false, true});
    EXPECT_EQ(apart.values(), y.values());
    EXPECT_EQ(apart.gaps(), 2);
    run(&fft_kernels::complex, y, back, FftShape{{0}, 1 / double(n), true, true});
    expect_these(back, widened(x), 2 * close);
    for (int64_t i = 0; i < n; ++i) wave.at(i) = std::complex<T>(root(1001 * i, n) + Wide(i == 0));
    run(&fft_kernels::complex, wave, wave, FftShape{{0}, 1, false, true});
    for (int64_t i = 0; i < n; ++i)
      ASSERT_NEAR(std::abs(Wide(wave.at(i)) - Wide(i == 1001 ? double(n) : 0) - 1.0), 0, close * double(n)) << i;
  }
};
TEST_F(FftKernels, LongLinesAsMatricesOfVectors) {
  struct Best {
    ~Best() { use_cpu_target(-1); }
  } best;
  for (int t = 0; t < cpu_targets(); ++t) {
    SCOPED_TRACE(use_cpu_target(t));
    for (const int64_t n : {5 * 4096, 3 * 8192, 32768, 62208, 100000, 1 << 18}) {
      LongLine<float>::there_and_back(n), LongLine<double>::there_and_back(n);
      if (HasFatalFailure()) return;
    }
    LongLine<float>::there_and_back(1 << 19);  // written past the caches
  }
}
TEST_F(FftKernels, SeveralDimensions) {
  const Array<double> x = numbers<double>({3, 4, 6});
  // along the last one, then along the first: [3, 4, 6] is [1, 3, 24] as well
  const std::vector<Wide> whole = sums(sums(widened(x), 6, 1, false), 3, 24, false);
  Array<Wide> z(Shape{3, 4, 6}), y({3, 4, 6}), bins({3, 4, 4});
  for (int64_t i = 0; i < x.numel(); ++i) z.at(i) = x.at(i);
  run(&fft_kernels::complex, z, y, FftShape{{0, 2}, 1, false, true});
  expect_these(y, whole, kTolerance<double>);
  Array<double> in = x, out({3, 4, 6});
  run(&fft_kernels::real, in, bins, FftShape{{0, 2}, 1, false, false});
  expect_these(bins, halved(whole, 6, 1, false), kTolerance<double>);
  run(&fft_kernels::real_inverse, bins, out, FftShape{{0, 2}, 1.0 / 18, true, true});
  expect_these(out, widened(x), kTolerance<double>);
}
TEST_F(FftKernels, LinesDoNotTouchOneAnother) {
  for (const int64_t n : {12, 37, 128}) {
    Array<float> x = numbers<float>({20, n});
    x(3, 1) = std::numeric_limits<float>::quiet_NaN();
    Array<std::complex<float>> y({20, n / 2 + 1});
    run(&fft_kernels::real, x, y, FftShape{{1}, 1, false, false});
    for (int64_t i = 0; i < 20; ++i)
      for (int64_t k = 0; k <= n / 2; ++k) EXPECT_EQ(std::isnan(y(i, k).real()), i == 3) << i << " " << k;
  }
}
TEST_F(FftKernels, AnExpandedSignal) {  // strides of 0
  Array<float> one({1}, {2}), x = one.laid_out({0}, 0, 1), y({8});
  Spec spec = Spec::dense(DType::float32, Shape{8});
  spec.strides[0] = 0;
  spec.finish();
  Array<std::complex<float>> bins({5});
  run(&fft_kernels::real, View{View(x).data, &spec}, bins, FftShape{{0}, 1, false, false});
  expect_these(bins, {16, 0, 0, 0, 0}, 1e-7);
}
TEST_F(FftKernels, OfNothing) {
  Array<std::complex<float>> x(Shape{0, 3}), y(Shape{0, 3});
  Array<float> r(Shape{0, 4});
  run(&fft_kernels::complex, x, y, FftShape{{1}, 1, false, true});
  run(&fft_kernels::real, r, y, FftShape{{1}, 1, false, true});
  run(&fft_kernels::real_inverse, x, r, FftShape{{1}, 1, true, true});
}
TEST_F(FftKernels, SameOnAnyNumberOfThreads) {
  for (const Shape& size :
       {Shape{300, 96}, Shape{300, 128}, Shape{2, 30000}, Shape{9, 10007}, Shape{40, 6000}, Shape{1, 1 << 18}}) {
    Array<std::complex<float>> x = complexes<float>(size);
    Array<float> r = numbers<float>(size);
    expect_same_on_any_threads([&] {
      Array<std::complex<float>> y(size), bins({size[0], size[1] / 2 + 1});
      Array<float> back(size);
      run(&fft_kernels::complex, x, y, FftShape{{0, 1}, 1, false, true});
      run(&fft_kernels::real, r, bins, FftShape{{1}, 1, false, false});
      run(&fft_kernels::real_inverse, bins, back, FftShape{{1}, 1, true, true});
      return y.bytes() + bins.bytes() + back.bytes();
    });
  }
}

}  // namespace
}  // namespace neura::test
