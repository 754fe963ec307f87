// Fourier transforms.
#include "neura/ops/create/create.h"
#include "neura/ops/signal/fft.h"
#include "neura/ops/signal/stft.h"
#include "tests/contract/structs.h"

namespace neura::test {

std::vector<StructCase> fourier_cases() {
  return {
      CASE("fft", fft::fft(x[0]), complex_any({2, 5})),
      CASE("fft_real", fft::fft(x[0]), any({2, 4})),
      CASE("fft_padded", fft::fft(x[0], 6, 0, "ortho"), complex_any({4, 2})),
      CASE("fft_prime", fft::fft(x[0]), complex_any({37})),
      CASE("ifft", fft::ifft(x[0], 3), complex_any({2, 5})),
      CASE("fft2", fft::fft2(x[0], {}, {0, 2}), complex_any({2, 2, 3})),
      CASE("ifft2", fft::ifft2(x[0], Shape{2, 4}), complex_any({3, 3})),
      CASE("fftn", fft::fftn(x[0], {}, {}, "forward"), complex_any({2, 3, 2})),
      CASE("ifftn", fft::ifftn(x[0], Shape{-1, 4}), complex_any({2, 2, 3})),
      CASE("rfft", fft::rfft(x[0]), any({2, 6})),
      CASE("rfft_odd", fft::rfft(x[0], {}, 0, "ortho"), any({5, 2})),
      CASE("rfft2", fft::rfft2(x[0]), any({3, 4})),
      CASE("rfftn", fft::rfftn(x[0], Shape{3, 5}, Dims{2, 0}), any({2, 2, 3})),
      CASE("irfft", fft::irfft(x[0]), complex_any({2, 4})),
      CASE("irfft_odd", fft::irfft(x[0], 5, 0), complex_any({3, 2})),
      CASE("irfft2", fft::irfft2(x[0], {}, {-2, -1}, "ortho"), complex_any({3, 3})),
      CASE("irfftn", fft::irfftn(x[0], Shape{2, 3, 5}), complex_any({2, 3, 3})),
      CASE("hfft", fft::hfft(x[0], 7), complex_any({2, 4})),
      CASE("hfft2", fft::hfft2(x[0]), complex_any({2, 3})),
      CASE("hfftn", fft::hfftn(x[0], {}, Dims{1, 0}), complex_any({3, 2})),
      CASE("ihfft", fft::ihfft(x[0]), any({2, 6})),
      CASE("ihfft2", fft::ihfft2(x[0]), any({3, 5})),
      CASE("ihfftn", fft::ihfftn(x[0], {}, {}, "forward"), any({2, 2, 4})),
      CASE("fftshift", fft::fftshift(x[0]), any({3, 4})),
      CASE("ifftshift", fft::ifftshift(x[0], Dims{1}), any({2, 3})),
      CASE("stft_fft", stft(x[0], 4, {.hop_length = 2, .window = x[1], .return_complex = true}), any({2, 7}),
           positive({4}, 2)),
      CASE("stft_fft_complex", stft(x[0], 4, {.win_length = 3, .center = false, .normalized = true}), complex_any({8})),
      CASE("istft_fft", istft(x[0], 4, {.hop_length = 2, .window = x[1]}), complex_any({2, 3, 4}), positive({4}, 2)),
      CASE("istft_fft_complex", istft(x[0], 4, {.onesided = false, .length = 5, .return_complex = true}),
           complex_any({4, 5})),
  };
}

}  // namespace neura::test
