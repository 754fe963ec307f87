// Fourier transforms against PyTorch's stored answers.
#include "neura/ops/signal/fft.h"

#include <gtest/gtest.h>

#include "neura/ops/signal/stft.h"
#include "tests/golden/arguments.h"

namespace neura {
namespace {
using namespace stored;
using Calls = std::map<std::string, CaseFunction>;

fft::Lengths lengths(C c) {
  const Value& s = c.argument(0, "s");
  return s ? fft::Lengths(H(s)) : fft::Lengths();
}
fft::Dimensions dimensions(const Value& v) { return v ? fft::Dimensions(Dims(H(v))) : fft::Dimensions(); }

template <class Along, class Two, class Many>
void add(Calls& m, const std::string& name, Along along, Two two, Many many) {
  m["fft." + name] = one([along](C c) {
    return along(T(c.input), O(c.argument(0, "n")), int(I(c.argument(1, "dim"), -1)),
                 W(c.argument(2, "norm"), "backward"));
  });
  m["fft." + name + "2"] = one([two](C c) {
    return two(T(c.input), lengths(c), dimensions(c.argument(1, "dim")).value_or(Dims{-2, -1}),
               W(c.argument(2, "norm"), "backward"));
  });
  m["fft." + name + "n"] = one([many](C c) {
    return many(T(c.input), lengths(c), dimensions(c.argument(1, "dim")), W(c.argument(2, "norm"), "backward"));
  });
}

std::optional<bool> flag(const Value& v) { return v ? std::optional(B(v, false)) : std::nullopt; }
Tensor window(C c) { return c.argument(3, "window") ? T(c.argument(3, "window")) : Tensor(); }

TEST(Fft, StoredAnswers) {
  Calls m;
  add(m, "fft", fft::fft, fft::fft2, fft::fftn), add(m, "ifft", fft::ifft, fft::ifft2, fft::ifftn);
  add(m, "rfft", fft::rfft, fft::rfft2, fft::rfftn), add(m, "irfft", fft::irfft, fft::irfft2, fft::irfftn);
  add(m, "hfft", fft::hfft, fft::hfft2, fft::hfftn), add(m, "ihfft", fft::ihfft, fft::ihfft2, fft::ihfftn);
  m["fft.fftshift"] = one([](C c) { return fft::fftshift(T(c.input), dimensions(c.argument(0, "dim"))); });
  m["fft.ifftshift"] = one([](C c) { return fft::ifftshift(T(c.input), dimensions(c.argument(0, "dim"))); });
  m["stft"] = one([](C c) {
    return stft(T(c.input), I(c.argument(0, "n_fft")),
                {.hop_length = O(c.argument(1, "hop_length")),
                 .win_length = O(c.argument(2, "win_length")),
                 .window = window(c),
                 .center = B(c.argument(4, "center"), true),
                 .normalized = B(c.argument(6, "normalized"), false),
                 .onesided = flag(c.argument(7, "onesided")),
                 .return_complex = flag(c.argument(8, "return_complex"))});
  });
  m["istft"] = one([](C c) {
    return istft(T(c.input), I(c.argument(0, "n_fft")),
                 {.hop_length = O(c.argument(1, "hop_length")),
                  .win_length = O(c.argument(2, "win_length")),
                  .window = window(c),
                  .center = B(c.argument(4, "center"), true),
                  .normalized = B(c.argument(5, "normalized"), false),
                  .onesided = flag(c.argument(6, "onesided")),
                  .length = O(c.argument(7, "length"))});
  });
  judge_all("fft", m);
}

}  // namespace
}  // namespace neura
