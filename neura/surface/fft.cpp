// Fourier transforms: neura.fft, and those of short frames.
#include "neura/ops/create/create.h"
#include "neura/ops/signal/fft.h"
#include "neura/ops/signal/stft.h"
#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using T = const Tensor&;
using Norm = const std::optional<std::string>&;
using Count = std::optional<std::int64_t>;
using Flag = std::optional<bool>;
using Lengths = const fft::Lengths&;

fft::Norm given(Norm norm) { return norm ? std::string_view(*norm) : "backward"; }

template <Tensor (*f)(T, fft::Length, int, fft::Norm)> Tensor along(T x, Count n, int dim, Norm norm) {
  return f(x, n, dim, given(norm));
}
template <Tensor (*f)(T, Lengths, const Dims&, fft::Norm)> Tensor over_two(T x, Lengths s, const Dims& dim, Norm norm) {
  return f(x, s, dim, given(norm));
}
template <Tensor (*f)(T, Lengths, const fft::Dimensions&, fft::Norm)>
Tensor over(T x, Lengths s, const fft::Dimensions& dim, Norm norm) {
  return f(x, s, dim, given(norm));
}
template <auto one, auto two, auto many> void add_transforms(const List& s, const std::string& name, const char* text,
                                                             const char* text_of_two, const char* text_of_many) {
  s.add((name + "(input, n=None, dim=-1, norm=None)").c_str(), &along<one>, function | out, text);
  s.add((name + "2(input, s=None, dim=(-2, -1), norm=None)").c_str(), &over_two<two>, function | out, text_of_two);
  s.add((name + "n(input, s=None, dim=None, norm=None)").c_str(), &over<many>, function | out, text_of_many);
}

void add_complex(const List& s) {
  add_transforms<fft::fft, fft::fft2, fft::fftn>(
      s, "fft",
      "The discrete Fourier transform along dim, of real or complex numbers; n: the length of the signal, cut or "
      "filled "
      "with zeros. norm: 'backward' divides by nothing, 'forward' by n, 'ortho' by its root. DTypeError for float16 "
      "and "
      "bfloat16.",
      "The discrete Fourier transform over two dimensions, by default the last two; s: the lengths of the signal in "
      "them. norm: as in fft.",
      "The discrete Fourier transform over the dimensions dim, by default the last len(s), or all; s: the lengths of "
      "the "
      "signal in them. norm: as in fft.");
  add_transforms<fft::ifft, fft::ifft2, fft::ifftn>(
      s, "ifft",
      "The inverse discrete Fourier transform along dim, complex; n: the length of the signal, cut or filled with "
      "zeros. "
      "norm: 'backward' divides by n, 'forward' by nothing, 'ortho' by its root.",
      "The inverse discrete Fourier transform over two dimensions, by default the last two; s: the lengths of the "
      "signal "
      "in them. norm: as in ifft.",
      "The inverse discrete Fourier transform over the dimensions dim, by default the last len(s), or all; s: the "
      "lengths of the signal in them. norm: as in ifft.");
}
void add_real(const List& s) {
  add_transforms<fft::rfft, fft::rfft2, fft::rfftn>(
      s, "rfft",
      "The discrete Fourier transform of real numbers along dim: the first n / 2 + 1 bins, which determine the others. "
      "n, norm: as in fft. DTypeError for complex numbers.",
      "The discrete Fourier transform of real numbers over two dimensions, by default the last two; s: the lengths of "
      "the signal in them. norm: as in fft.",
      "The discrete Fourier transform of real numbers over the dimensions dim, by default the last len(s), or all; s: "
      "the lengths of the signal in them. norm: as in fft.");
  add_transforms<fft::irfft, fft::irfft2, fft::irfftn>(
      s, "irfft",
      "The inverse of the transform of real numbers along dim, from n / 2 + 1 bins to n real numbers; n: 2 (bins - 1) "
      "unless given. norm: as in ifft.",
      "The inverse of the transform of real numbers over two dimensions, by default the last two; s: the lengths of "
      "the "
      "signal in them. norm: as in ifft.",
      "The inverse of the transform of real numbers over the dimensions dim, by default the last len(s), or all; s: "
      "the "
      "lengths of the signal in them. norm: as in ifft.");
}
void add_hermitian(const List& s) {
  add_transforms<fft::hfft, fft::hfft2, fft::hfftn>(
      s, "hfft",
      "The discrete Fourier transform of a Hermitian-symmetric signal, given by its first half: n real numbers along "
      "dim, 2 (size - 1) unless given. norm: as in fft.",
      "The discrete Fourier transform of a Hermitian-symmetric signal, given by its first half: real numbers, over two "
      "dimensions, by default the last two; s: the lengths of the signal in them. norm: as in fft.",
      "The discrete Fourier transform of a Hermitian-symmetric signal, given by its first half: real numbers, over the "
      "dimensions dim, by default the last len(s), or all; s: the lengths of the signal in them. norm: as in fft.");
  add_transforms<fft::ihfft, fft::ihfft2, fft::ihfftn>(
      s, "ihfft",
      "The inverse of hfft along dim: the first n / 2 + 1 elements of a Hermitian-symmetric signal, from n real "
      "numbers. norm: as in ifft.",
      "The inverse of hfft over two dimensions, by default the last "
      "two; s: the lengths of the signal in them. norm: as "
      "in ifft.",
      "The inverse of hfft over the dimensions dim, by default the "
      "last len(s), or all; s: the lengths of the signal in "
      "them. norm: as in ifft.");
}

template <Tensor (*f)(std::int64_t, double, const TensorOptions&)>
Tensor frequencies(std::int64_t n, double d, std::optional<DType> dtype, Ignored, std::optional<Device> device,
                   bool requires_grad) {
  return f(n, d, {.dtype = dtype, .device = device.value_or(default_device()), .requires_grad = requires_grad});
}
void add_bins(const List& s) {
  using namespace fft;
#include "neura/surface/entries.h"
#include "neura/tables/functions/fft.def"
#include "neura/tables/functions/end.h"
  const std::string made = "(n, d=1, *, dtype=None, layout=None, device=None, requires_grad=False)";
  s.add(("fftfreq" + made).c_str(), &frequencies<fft::fftfreq>, function | out,
        "The frequencies of the n bins of fft in cycles per unit, of samples d apart: 0, 1, ..., -2, -1 over n d.");
  s.add(("rfftfreq" + made).c_str(), &frequencies<fft::rfftfreq>, function | out,
        "The frequencies of the n / 2 + 1 bins of rfft in cycles per unit, of samples d apart: 0, 1, ... over n d.");
}

void add_frames(const List& s) {
  s.add(
      "stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', "
      "normalized=False, onesided=None, return_complex=None, align_to_window=None)",
      [](T x, std::int64_t n_fft, Count hop, Count width, T window, bool center, const std::string& pad_mode,
         bool normalized, Flag onesided, Flag return_complex, Flag align) {
        return stft(x, n_fft, {hop, width, window, center, pad_mode, normalized, onesided, return_complex, align});
      },
      both,
      "The short-time Fourier transform: frames of n_fft elements, hop_length apart (n_fft / 4), times a window of "
      "win_length in their middle, transformed. [..., length] -> [..., bins, frames]; onesided: n_fft / 2 + 1 bins, "
      "for "
      "real signals. center: frame t is around t hop_length, with padding by pad_mode. normalized: divided by the root "
      "of n_fft. return_complex must be given for real signals; False: a last dimension of two.");
  s.add(
      "istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, "
      "onesided=None, "
      "length=None, return_complex=False)",
      [](T x, std::int64_t n_fft, Count hop, Count width, T window, bool center, bool normalized, Flag onesided,
         Count length, bool return_complex) {
        return istft(x, n_fft, {hop, width, window, center, normalized, onesided, length, return_complex});
      },
      both,
      "The least-squares inverse of stft: frames [..., bins, frames] add up, divided by the sum of the squared "
      "windows. "
      "length: of the result, cut or filled with zeros. ValueError where the windows add up to 0.");
}

}  // namespace

void add_fourier(std::deque<Function>& all) {
  const List s(all, "fft");
  add_complex(s);
  add_real(s);
  add_hermitian(s);
  add_bins(s);
  add_frames(List(all, ""));
}

}  // namespace neura::surface
