#include "neura/ops/signal/stft.h"

#include <algorithm>

#include "neura/core/checked_int.h"
#include "neura/core/wrapped.h"
#include "neura/op/call_error.h"
#include "neura/op/cast_scope.h"
#include "neura/op/pointwise/rows.h"
#include "neura/ops/create/copy.h"
#include "neura/ops/create/create.h"
#include "neura/ops/reduce/expect.h"
#include "neura/ops/reduce/reduce.h"
#include "neura/ops/shape/shape.h"
#include "neura/ops/shape/strided.h"
#include "neura/ops/shape/view.h"
#include "neura/ops/signal/fft.h"

namespace neura {
namespace {

using std::int64_t;

struct Frames {
  int64_t n_fft, hop, win;
  Tensor window;  // of n_fft, or none: ones
};

void check_complex_or_floating(const char* op, const char* what, const Tensor& t) {
  check<DTypeError>(differentiable(t.dtype()), [&] {
    return std::string(op) + ": expected a floating or complex " + what + ", got " + t.spec().str() +
           "; convert it with .to()";
  });
}

// The window in the middle of a frame.
Frames frames_of(const char* op, int64_t n_fft, std::optional<int64_t> hop, std::optional<int64_t> win,
                 const Tensor& window, const Tensor& input) {
  Frames f{n_fft, hop.value_or(n_fft / 4), win.value_or(n_fft), window};
  check<ValueError>(n_fft > 0,
                    [&] { return std::string(op) + ": expected n_fft above 0, got " + std::to_string(n_fft); });
  check<ValueError>(f.hop > 0,
                    [&] { return std::string(op) + ": expected a hop_length above 0, got " + std::to_string(f.hop); });
  check<ValueError>(f.win > 0 && f.win <= n_fft, [&] {
    return std::string(op) + ": expected a win_length from 1 to n_fft, " + std::to_string(n_fft) + ", got " +
           std::to_string(f.win);
  });
  if (window) {
    check_complex_or_floating(op, "window", window);
    check<ShapeError>(window.dim() == 1 && window.size(0) == f.win, [&] {
      return std::string(op) + ": expected a window of win_length, [" + std::to_string(f.win) + "], got " +
             window.spec().str();
    });
    check<DeviceError>(window.device() == input.device(), [&] {
      return std::string(op) + ": expected a window on the device of the input, " + input.device().str() + ", got " +
             window.spec().str() + "; move it with .to()";
    });
  }
  if (f.win == n_fft) return f;
  if (!window) f.window = ones({f.win}, {.dtype = to_real(input.dtype()), .device = input.device()});
  const int64_t before = (n_fft - f.win) / 2;
  f.window = constant_pad_nd(f.window, {before, n_fft - f.win - before});
  return f;
}

// [batch, frames, n_fft] to [batch, length]: frames `hop` apart add up.
Tensor overlap_add(const Tensor& x, int64_t hop) {
  const int64_t length = (x.size(1) - 1) * hop + x.size(2);
  const Spec base = Spec::dense(x.dtype(), Shape{x.size(0), length}, x.device());
  Spec window = Spec::dense(x.dtype(), x.shape(), x.device());
  window.strides[0] = length, window.strides[1] = hop, window.strides[2] = 1;
  window.finish();
  return strided_sum(base, window, x);
}

}  // namespace

Tensor stft(const Tensor& input, int64_t n_fft, const StftOptions& o) {
  if (const amp::CastScope cast{amp::Name::stft, input}) return stft(cast(input), n_fft, o);
  constexpr const char* op = "stft";
  check_given(op, "input", input);
  check_complex_or_floating(op, "input", input);
  check<ShapeError>(input.dim() == 1 || input.dim() == 2, [&] {
    return "stft: expected a signal [length] or signals [batch, length], got " + input.spec().str();
  });
  check<ValueError>(!o.center || !o.align_to_window, [] {
    return "stft: expected align_to_window only with center=False, got both; a frame has one place";
  });
  const auto check_length = [&](int64_t length) {
    check<ValueError>(n_fft <= length, [&] {
      return "stft: expected n_fft up to the length of the signal" + std::string(o.center ? " with its padding" : "") +
             ", " + std::to_string(length) + ", got " + std::to_string(n_fft);
    });
  };
  if (!o.center && !o.align_to_window.value_or(false))
    check_length(input.size(-1));  // before a window that long is made
  const Frames f = frames_of(op, n_fft, o.hop_length, o.win_length, o.window, input);
  const bool complex = is_complex(input.dtype()) || (f.window && is_complex(f.window.dtype()));
  check<ValueError>(o.return_complex || complex, [] {
    return "stft: expected return_complex to be given for real signals, got none; pass return_complex=True";
  });
  const bool onesided = o.onesided.value_or(!complex);
  check<ValueError>(!onesided || !complex, [] {
    return "stft: expected a real input and window for onesided=True, got a complex one; pass onesided=False";
  });
  Tensor x = input.dim() == 1 ? unsqueeze(input, 0) : input;
  if (o.center) x = squeeze(pad(unsqueeze(x, 1), {n_fft / 2, n_fft / 2}, o.pad_mode), 1);
  if (o.align_to_window.value_or(false)) {
    const int64_t before = (n_fft - f.win) / 2;
    x = constant_pad_nd(x, {before, n_fft - f.win - before});
  }
  check_length(x.size(1));
  x = unfold(x, 1, n_fft, f.hop);
  if (f.window) x = mul(x, f.window);
  const fft::Norm norm = o.normalized ? "ortho" : "backward";
  const Tensor y = transpose(onesided ? fft::rfft(x, {}, -1, norm) : fft::fft(x, {}, -1, norm), 1, 2);
  const Tensor result = input.dim() == 1 ? squeeze(y, 0) : y;
  return o.return_complex.value_or(true) ? result : view_as_real(result);
}

static void check_windows(const Tensor& squares) {
  const Tensor size = abs(innermost(squares).detach());
  if (!host_looks(size)) return expect(Rule::windows, gt(size, 1e-11));
  const double least = size.numel() ? min(size).item<double>() : 1;
  check<ValueError>(least > 1e-11, [&] {
    return "istft: expected windows whose squares add up to more than 0 everywhere, got " + Scalar(least).str() +
           "; take a smaller hop_length, another window or a shorter length";
  });
}

Tensor istft(const Tensor& input, int64_t n_fft, const IstftOptions& o) {
  constexpr const char* op = "istft";
  check_given(op, "input", input);
  check<DTypeError>(is_complex(input.dtype()), [&] {
    return "istft: expected complex numbers, got " + input.spec().str() + "; stft gives them with return_complex=True";
  });
  check<ShapeError>((input.dim() == 2 || input.dim() == 3) && input.numel() > 0, [&] {
    return "istft: expected [bins, frames] or [batch, bins, frames] with elements, got " + input.spec().str();
  });
  const Frames f = frames_of(op, n_fft, o.hop_length, o.win_length, o.window, input);
  check<ValueError>(f.hop <= f.win, [&] {
    return "istft: expected a hop_length up to win_length, " + std::to_string(f.win) + ", got " + std::to_string(f.hop);
  });
  check<DTypeError>(o.return_complex || !f.window || !is_complex(f.window.dtype()), [&] {
    return "istft: expected a real window for a real result, got " + f.window.spec().str() +
           "; pass return_complex=True";
  });
  const int64_t bins = input.size(-2);
  const bool onesided = o.onesided.value_or(bins != n_fft);
  check<ValueError>(!onesided || !o.return_complex, [] {
    return "istft: expected all n_fft bins for a complex result, got onesided ones; pass return_complex=False";
  });
  check<ShapeError>(bins == (onesided ? n_fft / 2 + 1 : n_fft), [&] {
    return "istft: expected " + std::to_string(onesided ? n_fft / 2 + 1 : n_fft) + " bins, got " + input.spec().str();
  });
  const fft::Norm norm = o.normalized ? "ortho" : "backward";
  Tensor x = transpose(input.dim() == 2 ? unsqueeze(input, 0) : input, 1, 2);
  x = o.return_complex ? fft::ifft(x, {}, -1, norm) : fft::irfft(x, n_fft, -1, norm);
  const Tensor window = f.window ? f.window : ones({n_fft}, {.dtype = to_real(x.dtype()), .device = x.device()});
  const Tensor sum = overlap_add(mul(x, window), f.hop);
  const Tensor squares = overlap_add(expand(mul(window, window), {1, x.size(1), n_fft}), f.hop);
  const int64_t whole = sum.size(1), start = o.center ? n_fft / 2 : 0;
  const int64_t end = o.length   ? std::max(start, (start + CheckedInt(*o.length)).of(op))
                      : o.center ? whole - n_fft / 2
                                 : whole;
  const Tensor divisor = slice(squares, 1, start, end);
  check_windows(divisor);
  Tensor y = div(slice(sum, 1, start, end), divisor);
  if (end > whole) y = constant_pad_nd(y, {0, end - std::max(whole, start)});
  return input.dim() == 2 ? squeeze(y, 0) : y;
}

}  // namespace neura
