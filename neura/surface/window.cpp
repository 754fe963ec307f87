// Windows for signals: neura.signal.windows, and the older functions, which are periodic.
#include "neura/ops/signal/window.h"

#include "neura/surface/list.h"

namespace neura::surface {
namespace {

using int64 = std::int64_t;
using D = std::optional<DType>;
using V = std::optional<Device>;
constexpr const char* kMade = "dtype=None, layout=None, device=None, requires_grad=False)";

windows::Options options(bool sym, D dtype, V device, bool requires_grad) {
  return {sym, {.dtype = dtype, .device = device.value_or(default_device()), .requires_grad = requires_grad}};
}

using Window = Tensor (*)(int64, const windows::Options&);
template <Window f> Tensor plain(int64 M, bool sym, D dtype, Ignored, V device, bool g) {
  return f(M, options(sym, dtype, device, g));
}
template <Window f> Tensor periodic(int64 M, bool periodic, D dtype, Ignored, V device, bool g) {
  return f(M, options(!periodic, dtype, device, g));
}
template <Tensor (*f)(int64, double, const windows::Options&)>
Tensor shaped(int64 M, double shape, bool sym, D dtype, Ignored, V device, bool g) {
  return f(M, shape, options(sym, dtype, device, g));
}

void add_windows(const List& s) {
  const auto add = [&](const char* name, auto f, const char* text) {
    s.add((name + std::string("(M, *, sym=True, ") + kMade).c_str(), f, function, text);
  };
  const auto add_shaped = [&](const char* name, const char* shape, auto f, const char* text) {
    s.add((name + std::string("(M, *, ") + shape + ", sym=True, " + kMade).c_str(), f, function, text);
  };
  add("bartlett", &plain<windows::bartlett>,
      "The triangular window of M points that ends in zeros; sym=False for spectral analysis (periodic).");
  add("blackman", &plain<windows::blackman>,
      "Blackman's window of M points, of three cosines; sym=False for spectral analysis (periodic).");
  add("cosine", &plain<windows::cosine>,
      "Half a period of the sine, M points; sym=False for spectral analysis (periodic).");
  add("hamming", &plain<windows::hamming>,
      "Hamming's window of M points, a raised cosine; sym=False for spectral analysis (periodic).");
  add("hann", &plain<windows::hann>,
      "Hann's window of M points, a raised cosine that ends in zeros; sym=False for spectral analysis (periodic).");
  add("nuttall", &plain<windows::nuttall>,
      "Nuttall's window of M points, of four cosines; sym=False for spectral analysis (periodic).");
  add_shaped("gaussian", "std=1", &shaped<windows::gaussian>, "exp(-n^2 / (2 std^2)) around the centre, M points.");
  add_shaped("general_hamming", "alpha=0.54", &shaped<windows::general_hamming>,
             "alpha - (1 - alpha) cos(x), M points.");
  add_shaped("kaiser", "beta=12", &shaped<windows::kaiser>, "Kaiser's window of M points; beta narrows it.");
  add_shaped(
      "exponential", "center=None, tau=1",
      [](int64 M, std::optional<double> center, double tau, bool sym, D dtype, Ignored, V device, bool g) {
        return windows::exponential(M, center, tau, options(sym, dtype, device, g));
      },
      "exp(-|n - center| / tau), M points; center may be given for sym=False only.");
  add_shaped(
      "general_cosine", "a",
      [](int64 M, const Numbers& a, bool sym, D dtype, Ignored, V device, bool g) {
        return windows::general_cosine(M, a, options(sym, dtype, device, g));
      },
      "The sum of (-1)^i a[i] cos(i x), M points.");
}

void add_older(const List& s) {
  const auto add = [&](const char* name, const char* shape, auto f, const char* text) {
    s.add((name + std::string("(window_length, periodic=True, ") + shape + "*, " + kMade).c_str(), f, function, text);
  };
  add("bartlett_window", "", &periodic<windows::bartlett>, "The triangular window; periodic unless periodic=False.");
  add("blackman_window", "", &periodic<windows::blackman>, "Blackman's window; periodic unless periodic=False.");
  add("hann_window", "", &periodic<windows::hann>, "Hann's window; periodic unless periodic=False.");
  add(
      "hamming_window", "alpha=0.54, beta=0.46, ",
      [](int64 M, bool periodic, double alpha, double beta, D dtype, Ignored, V device, bool g) {
        return windows::general_cosine(M, {alpha, beta}, options(!periodic, dtype, device, g));
      },
      "alpha - beta cos(x); periodic unless periodic=False.");
  add(
      "kaiser_window", "beta=12, ",
      [](int64 M, bool periodic, double beta, D dtype, Ignored, V device, bool g) {
        return windows::kaiser(M, beta, options(!periodic, dtype, device, g));
      },
      "Kaiser's window; periodic unless periodic=False.");
}

}  // namespace

void add_signal(std::deque<Function>& all) {
  add_windows(List(all, "windows"));
  add_older(List(all, ""));
}

}  // namespace neura::surface
