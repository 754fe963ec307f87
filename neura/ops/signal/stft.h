// Short-time Fourier transforms: of windowed frames of a signal, and back.
#pragma once
#include <optional>
#include <string_view>

#include "neura/core/tensor.h"

namespace neura {

struct StftOptions {
  std::optional<std::int64_t> hop_length = {};  // between frames; n_fft / 4
  std::optional<std::int64_t> win_length = {};  // n_fft; a shorter window is centred in the frame
  Tensor window = {};                           // [win_length]; ones
  bool center = true;                           // frame t is around t hop_length: the signal is padded on both sides
  std::string_view pad_mode = "reflect";
  bool normalized = false;                   // divided by the root of n_fft
  std::optional<bool> onesided = {};         // n_fft / 2 + 1 bins; unless something is complex
  std::optional<bool> return_complex = {};   // false: a last dimension of two; must be given unless one is complex
  std::optional<bool> align_to_window = {};  // without center: windows, not frames, begin at t hop_length
};
// Signals [length] or [batch, length], floating or complex, to [bins, frames] or [batch, bins, frames].
Tensor stft(const Tensor& input, std::int64_t n_fft, const StftOptions& options = {});

struct IstftOptions {
  std::optional<std::int64_t> hop_length = {}, win_length = {};
  Tensor window = {};
  bool center = true, normalized = false;
  std::optional<bool> onesided = {};        // unless there are n_fft bins
  std::optional<std::int64_t> length = {};  // of the result: cut, or with zeros after
  bool return_complex = false;
};
// The least-squares inverse: frames add up, divided by the sum of the squared windows. ValueError where that is 0.
Tensor istft(const Tensor& input, std::int64_t n_fft, const IstftOptions& options = {});

}  // namespace neura
