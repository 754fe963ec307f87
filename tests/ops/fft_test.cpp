#include "neura/ops/signal/fft.h"

#include <cmath>
#include <numbers>

#include "neura/autograd/autograd.h"
#include "neura/core/parallel.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/random/random.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/signal/stft.h"
#include "neura/ops/signal/window.h"
#include "tests/support/gradients.h"
#include "tests/support/loop.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using Wide = std::complex<double>;

// The sum itself, along the last dimension of a matrix or a vector.
Tensor plain(const Tensor& x, bool inverse, double scale) {
  const std::int64_t n = x.size(-1);
  return from_loop(x.shape(), complex128, [&](const Shape& at) {
    Wide sum = 0;
    Shape from = at;
    for (std::int64_t j = 0; j < n; ++j) {
      from.back() = j;
      const double turn = 2 * std::numbers::pi * double(j * at.back() % n) / double(n);
      const Scalar v = scalar_at(x, from);
      sum += Wide(v.real(), v.imag()) * std::polar(1.0, inverse ? turn : -turn);
    }
    return Scalar(sum * scale);
  });
}
Tensor complexes(const Shape& s, std::uint64_t seed = 1) { return sample(s, complex128, {.seed = seed}); }

TEST(Fft, EachNormDividesAsItSays) {
  const Tensor x = complexes({2, 6});
  expect_close(fft::fft(x), plain(x, false, 1));
  expect_close(fft::fft(x, {}, -1, "ortho"), plain(x, false, 1 / std::sqrt(6)));
  expect_close(fft::fft(x, {}, -1, "forward"), plain(x, false, 1.0 / 6));
  expect_close(fft::ifft(x), plain(x, true, 1.0 / 6));
  expect_close(fft::ifft(x, {}, -1, "ortho"), plain(x, true, 1 / std::sqrt(6)));
  expect_close(fft::ifft(x, {}, -1, "forward"), plain(x, true, 1));
  for (const char* norm : {"backward", "ortho", "forward"}) {
    expect_close(fft::ifftn(fft::fftn(x, {}, {}, norm), {}, {}, norm), x);
    const Tensor r = sample({3, 5, 4}, float64);
    expect_close(fft::irfftn(fft::rfftn(r, {}, {}, norm), r.shape(), {}, norm), r);
    expect_close(fft::hfft(fft::ihfft(r, {}, 1, norm), 5, 1, norm), r);
    expect_close(fft::hfftn(fft::ihfftn(r, {}, {}, norm), r.shape(), {}, norm), r);
  }
}
TEST(Fft, LengthsCutAndFillWithZeros) {
  const Tensor x = complexes({2, 5});
  expect_close(fft::fft(x, 3), plain(narrow(x, 1, 0, 3), false, 1));
  expect_close(fft::fft(x, 8), plain(constant_pad_nd(x, {0, 3}), false, 1));
  expect_close(fft::fftn(x, Shape{4, -1}, Dims{0, 1}), fft::fft(fft::fft(x, 4, 0), 5, 1));
  expect_close(fft::fftn(x, Shape{7}), fft::fft(x, 7));
  expect_close(fft::fft2(x, Shape{1, 9}), fft::fft(fft::fft(x, 1, 0), 9, 1));
  const Tensor r = sample({2, 7}, float64);
  expect_close(fft::rfft(r, 4), narrow(fft::fft(r, 4), 1, 0, 3));
  expect_close(fft::irfft(x, 12), fft::irfft(constant_pad_nd(x, {0, 2}), 12));
  expect_close(fft::irfft(x, 5), fft::irfft(narrow(x, 1, 0, 3), 5));
  EXPECT_EQ(fft::irfft(x).shape(), (Shape{2, 8}));
  EXPECT_EQ(fft::hfft2(x).shape(), (Shape{2, 8}));
}
TEST(Fft, HalvesOfTheOthers) {
  const Tensor r = sample({3, 4, 6}, float64), z = complexes({3, 4, 4});
  expect_close(fft::rfftn(r), narrow(fft::fftn(r), 2, 0, 4));
  expect_close(fft::rfft2(r, {}, {2, 0}), narrow(fft::fft2(r, {}, {2, 0}), 0, 0, 2));
  expect_close(fft::ihfft(r), conj(fft::rfft(r, {}, -1, "forward")));
  expect_close(fft::ihfft2(r), narrow(fft::ifft2(r), 2, 0, 4));
  expect_close(fft::hfft(z), fft::irfft(conj(z), {}, -1, "forward"));
  expect_close(fft::hfft2(z), fft::hfft(fft::fft(z, {}, 1)));
  expect_close(fft::irfft2(z, {}, {0, 2}), fft::irfft(fft::ifft(z, {}, 0)));
}
TEST(Fft, ImaginaryPartsOfBinsThatAreTheirOwnConjugatesAreNotRead) {
  for (const std::int64_t n : {8, 7, 4096, 3 * 4096 + 2}) {
    Tensor z = complexes({n / 2 + 1});
    const Tensor want = fft::irfft(z, n);
    store_at(z, {0}, Scalar(Wide(scalar_at(z, {0}).real(), 5)));
    if (n % 2 == 0) store_at(z, {n / 2}, Scalar(Wide(scalar_at(z, {n / 2}).real(), -3)));
    expect_same(fft::irfft(z, n), want);
  }
}
TEST(Fft, DTypes) {
  EXPECT_EQ(fft::fft(tensor({1, 2, 3})).dtype(), complex64);
  EXPECT_EQ(fft::rfft(tensor({true, false})).dtype(), complex64);
  EXPECT_EQ(fft::irfft(tensor({1, 2, 3})).dtype(), float32);
  EXPECT_EQ(fft::fft(sample({3}, float64)).dtype(), complex128);
  EXPECT_EQ(fft::hfft(sample({3}, complex64)).dtype(), float32);
  EXPECT_EQ(error_of<DTypeError>([] { fft::fft(sample({3}, float16)); }),
            "fft: expected float32, float64 or their complex dtypes, got float16 [3]; convert it with .to()");
  EXPECT_EQ(error_of<DTypeError>([] {
              fft::rfft2(complexes({3, 2}));
            }),
            "rfft2: expected real numbers, got complex128 [3, 2]; fft takes complex ones");
}
TEST(Fft, Mistakes) {
  const Tensor x = sample({2, 5}, float64);
  EXPECT_EQ(error_of<ValueError>([&] { fft::fft(x, {}, -1, "none"); }),
            "fft: expected norm to be 'backward', 'ortho' or 'forward', got 'none'");
  EXPECT_EQ(error_of<ShapeError>([&] { fft::fft(x, 0); }), "fft: expected at least one element in dimension 1, got 0");
  EXPECT_EQ(error_of<ShapeError>([&] {
              fft::rfftn(zeros({2, 0}));
            }),
            "rfftn: expected at least one element in dimension 1, got 0");
  EXPECT_EQ(error_of<ShapeError>([&] {
              fft::irfft(zeros({2, 1}));
            }),
            "irfft: expected at least one element in dimension 1, got 0 of 1 bins; give n");
  EXPECT_EQ(error_of<IndexError>([&] { fft::ifft(x, {}, 2); }), "ifft: expected a dimension from -2 to 1, got 2");
  EXPECT_EQ(error_of<IndexError>([&] { fft::fft(scalar_tensor(1)); }),
            "fft: expected a tensor with dimension -1, got a 0-d one");
  EXPECT_EQ(error_of<ValueError>([&] {
              fft::fftn(x, {}, Dims{1, -1});
            }),
            "fftn: expected each dimension once, got dim [1, -1]");
  EXPECT_EQ(error_of<ShapeError>([&] {
              fft::fftn(x, Shape{1, 2, 3});
            }),
            "fftn: expected at most one length for each of 2 dimensions, got s [1, 2, 3]");
  EXPECT_EQ(error_of<ShapeError>([&] { fft::fft2(x, Shape{2}); }),
            "fft2: expected as many lengths as dimensions, got s [2] and dim [-2, -1]");
  EXPECT_EQ(error_of<ValueError>([&] { fft::rfftn(x, {}, Dims()); }),
            "rfftn: expected at least one dimension to transform, got none");
  EXPECT_EQ(error_of<ValueError>([&] { fft::fft(Tensor()); }), "fft: expected a tensor as input, got none");
  expect_close(fft::fftn(x, {}, Dims()), x.to(complex128));
  EXPECT_EQ(fft::fft(zeros({0, 3})).shape(), (Shape{0, 3}));
}
TEST(Fft, FrequenciesAndShifts) {
  expect_close(fft::fftfreq(5, 0.1, {.dtype = float64}), {0, 2, 4, -4, -2});
  expect_close(fft::fftfreq(4, 0.5, {.dtype = float64}), {0, 0.5, -1, -0.5});
  expect_close(fft::rfftfreq(5, 0.1, {.dtype = float64}), {0, 2, 4});
  expect_close(fft::rfftfreq(4), {0, 0.25, 0.5});
  EXPECT_EQ(fft::fftfreq(0).numel(), 0);
  EXPECT_EQ(error_of<DTypeError>([] { fft::fftfreq(3, 1, {.dtype = int64}); }),
            "fftfreq: expected a floating or complex dtype, got int64");
  expect_close(fft::fftshift(tensor({0, 1, 2, 3, 4})), {3, 4, 0, 1, 2});
  expect_close(fft::ifftshift(tensor({0, 1, 2, 3, 4})), {2, 3, 4, 0, 1});
  const Tensor x = sample({2, 3, 4});
  expect_same(fft::ifftshift(fft::fftshift(x)), x);
  expect_same(fft::fftshift(x, Dims{-1}), roll(x, {2}, {2}));
  expect_same(fft::fftshift(scalar_tensor(2)), scalar_tensor(2));
}
// The third derivative, which the contract tests do not reach: along u, that of the sum of y^3 is 6 times the sum of
// the transform of u cubed.
TEST(Fft, DerivativesOfAnyOrder) {
  const auto cubes = [](const Tensor& x) {
    const Tensor y = fft::rfft(x, 7);
    return sum(real(y * y * y));
  };
  const Tensor x = sample({2, 5}, float64).requires_grad_(), u = sample({2, 5}, float64, {.seed = 7});
  Tensor along = cubes(x);
  for (int order = 0; order < 3; ++order) along = sum(grad(along, x, {}, {.create_graph = true}) * u);
  expect_close(along.detach(), mul(cubes(u), 6));
}
TEST(Fft, ALongTransformInFloat) {
  const Tensor x = randn({1 << 16}), y = fft::fft(x), wide = fft::fft(x.to(float64));
  const double most = max(abs(wide)).item<double>();
  EXPECT_LT(max(abs(sub(y.to(complex128), wide))).item<double>(), 3e-7 * most);
}

Tensor frames(const Tensor& x, std::int64_t n, std::int64_t hop, const Tensor& window) {
  return transpose(fft::rfft(unfold(x, 0, n, hop) * window), 0, 1);
}
TEST(Stft, IsTheTransformOfFrames) {
  const Tensor x = sample({20}, float64), w = windows::hann(6, {.sym = false, .tensor = {.dtype = float64}});
  expect_close(stft(x, 6, {.hop_length = 2, .window = w, .center = false, .return_complex = true}), frames(x, 6, 2, w));
  const Tensor padded = squeeze(pad(unsqueeze(x, 0), {3, 3}, "reflect"), 0);
  expect_close(stft(x, 6, {.window = w, .return_complex = true}), frames(padded, 6, 1, w));
  const Tensor short_window = constant_pad_nd(narrow(w, 0, 0, 4), {1, 1});
  expect_close(stft(x, 6, {.hop_length = 3, .win_length = 4, .window = narrow(w, 0, 0, 4), .return_complex = true}),
               frames(padded, 6, 3, short_window));
  expect_close(stft(x, 6, {.hop_length = 3, .win_length = 4, .return_complex = false}),
               view_as_real(frames(padded, 6, 3, constant_pad_nd(ones({4}, {.dtype = float64}), {1, 1}))));
  const Tensor batch = sample({3, 20}, float64), all = stft(batch, 5, {.onesided = false, .return_complex = true});
  EXPECT_EQ(all.shape(), (Shape{3, 5, 20}));
  expect_close(select(all, 0, 1), stft(select(batch, 0, 1), 5, {.onesided = false, .return_complex = true}));
}
TEST(Stft, WindowsMayBeginWhereTheSignalDoes) {
  const Tensor x = sample({23}, float64), w = windows::hann(6, {.sym = false, .tensor = {.dtype = float64}});
  for (const std::int64_t n : {6, 9, 10}) {  // of frames around windows of 6
    const Tensor y = stft(x, n,
                          {.hop_length = 4,
                           .win_length = 6,
                           .window = w,
                           .center = false,
                           .return_complex = true,
                           .align_to_window = true});
    const Tensor at = unfold(x, 0, 6, 4) * w;  // [frames, 6]
    const std::int64_t before = (n - 6) / 2;
    expect_close(y, transpose(fft::rfft(constant_pad_nd(at, {before, n - 6 - before})), 0, 1));
  }
}
TEST(Stft, AndBack) {
  const Tensor x = sample({2, 33}, float64), w = windows::hamming(8, {.sym = false, .tensor = {.dtype = float64}});
  for (const bool onesided : {false, true})
    for (const bool normalized : {false, true}) {
      const Tensor y =
          stft(x, 8, {.window = w, .normalized = normalized, .onesided = onesided, .return_complex = true});
      const IstftOptions o{.window = w, .normalized = normalized, .onesided = onesided, .length = 33};
      expect_close(istft(y, 8, o), x);
    }
  const Tensor z = complexes({24}), y = stft(z, 8, {.hop_length = 4, .center = false});
  expect_close(istft(y, 8, {.hop_length = 4, .center = false, .return_complex = true}), z);
  EXPECT_EQ(istft(stft(x, 8, {.return_complex = true}), 8, {.length = 50}).shape(), (Shape{2, 50}));
}
TEST(Stft, Mistakes) {
  const Tensor x = sample({10}, float64);
  EXPECT_EQ(error_of<ValueError>([&] { stft(x, 4); }),
            "stft: expected return_complex to be given for real signals, got none; pass return_complex=True");
  EXPECT_EQ(error_of<ValueError>([&] { stft(x, 11, {.center = false, .return_complex = true}); }),
            "stft: expected n_fft up to the length of the signal, 10, got 11");
  constexpr int64_t most = int64_t(1) << 45;  // a window of that length is not made first
  EXPECT_EQ(error_of<ValueError>([&] { stft(x, most, {.win_length = 4, .center = false, .return_complex = true}); }),
            "stft: expected n_fft up to the length of the signal, 10, got 35184372088832");
  EXPECT_EQ(error_of<ShapeError>([&] { stft(x, 4, {.window = ones({3}), .return_complex = true}); }),
            "stft: expected a window of win_length, [4], got float32 [3]");
  EXPECT_EQ(error_of<ValueError>([&] { stft(complexes({10}), 4, {.onesided = true}); }),
            "stft: expected a real input and window for onesided=True, got a complex one; pass onesided=False");
  EXPECT_EQ(error_of<ValueError>([&] { stft(x, 4, {.return_complex = true, .align_to_window = false}); }),
            "stft: expected align_to_window only with center=False, got both; a frame has one place");
  const Tensor y = stft(x, 4, {.return_complex = true});
  EXPECT_EQ(error_of<DTypeError>([&] { istft(x, 4); }),
            "istft: expected complex numbers, got float64 [10]; stft gives them with return_complex=True");
  EXPECT_EQ(error_of<ShapeError>([&] { istft(y, 6); }), "istft: expected 4 bins, got complex128 [3, 11]");
  EXPECT_EQ(error_of<ValueError>([&] { istft(y, 4, {.window = zeros({4})}); }),
            "istft: expected windows whose squares add up to more than 0 everywhere, got 0; take a smaller "
            "hop_length, another window or a shorter length");
  EXPECT_EQ(error_of<ValueError>([&] { istft(y, 4, {.hop_length = 5}); }),
            "istft: expected a hop_length up to win_length, 4, got 5");
}
TEST(Stft, ParallelCallsShareOnePlan) {
  const Tensor x = sample({64, 1009}), want = fft::fft(x);
  std::vector<Tensor> got(8);
  parallel_for(8, 1, [&](std::int64_t b, std::int64_t e) {
    for (; b < e; ++b) got[std::size_t(b)] = fft::fft(x);
  });
  for (const Tensor& y : got) expect_same(y, want);
}

}  // namespace
}  // namespace neura::test
