// Fourier transforms: the functions of neura.fft, and those of short frames.
#include <nanobind/stl/string.h>

#include "common.h"
#include "neura/ops/fft.h"
#include "neura/ops/stft.h"
#include "out.h"

namespace neura::python {
namespace {

using T = const Tensor&;
using N = const std::optional<std::string>&;
std::string_view norm_of(N norm) { return norm ? std::string_view(*norm) : "backward"; }
#define OUT "out"_a = nb::none()

using Along = Tensor (*)(T, fft::Length, int, fft::Norm);
using OverTwo = Tensor (*)(T, const fft::Lengths&, const Dims&, fft::Norm);
using Over = Tensor (*)(T, const fft::Lengths&, const fft::Dimensions&, fft::Norm);
using Numbers = Tensor (*)(std::int64_t, double, const TensorOptions&);
using Shift = Tensor (*)(T, const fft::Dimensions&);

// name: of the one-dimensional function; the others end in 2 and n.
void transforms(nb::module_& m, const char* name, Along along, const char* two, OverTwo over_two, const char* many,
                Over over) {
  m.def(
      name,
      [along, name](T x, fft::Length n, int dim, N norm, nb::handle out) {
        return into(out, along(x, n, dim, norm_of(norm)), name);
      },
      text_of(name).c_str(), "input"_a, "n"_a = nb::none(), "dim"_a = -1, "norm"_a = nb::none(), nb::kw_only(), OUT);
  m.def(
      two,
      [over_two, two](T x, const fft::Lengths& s, const Dims& dim, N norm, nb::handle out) {
        return into(out, over_two(x, s, dim, norm_of(norm)), two);
      },
      text_of(two).c_str(), "input"_a, "s"_a = nb::none(), "dim"_a = nb::make_tuple(-2, -1), "norm"_a = nb::none(),
      nb::kw_only(), OUT);
  m.def(
      many,
      [over, many](T x, const fft::Lengths& s, const fft::Dimensions& dim, N norm, nb::handle out) {
        return into(out, over(x, s, dim, norm_of(norm)), many);
      },
      text_of(many).c_str(), "input"_a, "s"_a = nb::none(), "dim"_a = nb::none(), "norm"_a = nb::none(), nb::kw_only(),
      OUT);
}
void frequencies(nb::module_& m, const char* name, Numbers f) {
  m.def(
      name,
      [f, name](std::int64_t n, double d, nb::handle out, std::optional<DType> dtype, nb::handle,
                std::optional<Device> device, bool requires_grad) {
        const TensorOptions options{
            .dtype = dtype, .device = device.value_or(default_device()), .requires_grad = requires_grad};
        return into(out, f(n, d, options), name);
      },
      text_of(name).c_str(), "n"_a, "d"_a = 1.0, nb::kw_only(), OUT, "dtype"_a = nb::none(), "layout"_a = nb::none(),
      "device"_a = nb::none(), "requires_grad"_a = false);
}
void shift(nb::module_& m, const char* name, Shift f) {
  m.def(
      name, [f](T x, const fft::Dimensions& dim) { return f(x, dim); }, text_of(name).c_str(), "input"_a,
      "dim"_a = nb::none());
}

void bind_transforms(nb::module_ m) {
  transforms(m, "fft", fft::fft, "fft2", fft::fft2, "fftn", fft::fftn);
  transforms(m, "ifft", fft::ifft, "ifft2", fft::ifft2, "ifftn", fft::ifftn);
  transforms(m, "rfft", fft::rfft, "rfft2", fft::rfft2, "rfftn", fft::rfftn);
  transforms(m, "irfft", fft::irfft, "irfft2", fft::irfft2, "irfftn", fft::irfftn);
  transforms(m, "hfft", fft::hfft, "hfft2", fft::hfft2, "hfftn", fft::hfftn);
  transforms(m, "ihfft", fft::ihfft, "ihfft2", fft::ihfft2, "ihfftn", fft::ihfftn);
  frequencies(m, "fftfreq", fft::fftfreq), frequencies(m, "rfftfreq", fft::rfftfreq);
  shift(m, "fftshift", fft::fftshift), shift(m, "ifftshift", fft::ifftshift);
}

using Count = std::optional<std::int64_t>;
void bind_frames(const Names& n) {
  n.both(
      "stft",
      [](T x, std::int64_t n_fft, Count hop_length, Count win_length, const std::optional<Tensor>& window, bool center,
         const std::string& pad_mode, bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex,
         std::optional<bool> align_to_window) {
        return stft(x, n_fft,
                    {hop_length, win_length, window.value_or(Tensor()), center, pad_mode, normalized, onesided,
                     return_complex, align_to_window});
      },
      "input"_a, "n_fft"_a, "hop_length"_a = nb::none(), "win_length"_a = nb::none(), "window"_a = nb::none(),
      "center"_a = true, "pad_mode"_a = "reflect", "normalized"_a = false, "onesided"_a = nb::none(),
      "return_complex"_a = nb::none(), "align_to_window"_a = nb::none());
  n.both(
      "istft",
      [](T x, std::int64_t n_fft, Count hop_length, Count win_length, const std::optional<Tensor>& window, bool center,
         bool normalized, std::optional<bool> onesided, Count length, bool return_complex) {
        return istft(
            x, n_fft,
            {hop_length, win_length, window.value_or(Tensor()), center, normalized, onesided, length, return_complex});
      },
      "input"_a, "n_fft"_a, "hop_length"_a = nb::none(), "win_length"_a = nb::none(), "window"_a = nb::none(),
      "center"_a = true, "normalized"_a = false, "onesided"_a = nb::none(), "length"_a = nb::none(),
      "return_complex"_a = false);
}

}  // namespace

void bind_fourier(const Names& n) {
  bind_transforms(nb::module_(n.functions).def_submodule("fft", "Discrete Fourier transforms."));
  bind_frames(n);
}

}  // namespace neura::python
