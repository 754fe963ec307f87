// Recurrences in ONNX's order of gates, against plain loops.
#include <cmath>

#include "neura/ops/shape/view.h"
#include "tests/onnx/build.h"
#include "tests/support/close.h"
#include "tests/support/sample.h"

namespace neura::test {
namespace {

using namespace onnx;

constexpr std::int64_t T = 4, N = 2, I = 3, H = 5;
using Vector = std::vector<double>;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  int gates;
  Tensor x, w, r, b, h0, c0, p;
  Vector xs, ws, rs, bs, hs, cs, ps;
  explicit Case(int g) : gates(g) {
    int seed = 0;
    const auto make = [&](const Shape& s) {
      return sample(s, float32, {.low = -1, .high = 1, .seed = std::uint64_t(++seed)});
    };
    x = make({T, N, I}), w = make({1, g * H, I}), r = make({1, g * H, H}), b = make({1, 2 * g * H});
    h0 = make({1, N, H}), c0 = make({1, N, H}), p = make({1, 3 * H});
    const auto flat = [](const Tensor& t) { return t.to(float64).to_vector<double>(); };
    xs = flat(x), ws = flat(w), rs = flat(r), bs = flat(b), hs = flat(h0), cs = flat(c0), ps = flat(p);
  }
  // The two shares of a gate's argument.
  double of_x(std::int64_t t, std::int64_t n, std::int64_t gate, std::int64_t j) const {
    const std::int64_t row = gate * H + j;
    double s = bs[std::size_t(row)];
    for (std::int64_t i = 0; i < I; ++i) s += ws[std::size_t(row * I + i)] * xs[std::size_t((t * N + n) * I + i)];
    return s;
  }
  double of_h(const Vector& h, std::int64_t gate, std::int64_t j) const {
    const std::int64_t row = gate * H + j;
    double s = bs[std::size_t(gates * H + row)];
    for (std::int64_t i = 0; i < H; ++i) s += rs[std::size_t(row * H + i)] * h[std::size_t(i)];
    return s;
  }
};

struct Lstm {
  bool peepholes = false;
  double clip = 0;
  Integers lengths = {T, T};
  Vector ys = Vector(T * N * H, 0);

  void run(const Case& k, bool reverse = false) {
    const auto cut = [&](double v) { return clip > 0 ? std::max(-clip, std::min(clip, v)) : v; };
    for (std::int64_t n = 0; n < N; ++n) {
      Vector h(k.hs.begin() + n * H, k.hs.begin() + (n + 1) * H), c(k.cs.begin() + n * H, k.cs.begin() + (n + 1) * H);
      for (std::int64_t s = 0; s < lengths[std::size_t(n)]; ++s) {
        const std::int64_t t = reverse ? lengths[std::size_t(n)] - 1 - s : s;
        const Vector before = h, cell = c;
        for (std::int64_t j = 0; j < H; ++j) {
          const auto u = std::size_t(j);
          const auto gate = [&](std::int64_t g) { return k.of_x(t, n, g, j) + k.of_h(before, g, j); };  // i, o, f, c
          const auto peep = [&](std::int64_t at, double of) {
            return peepholes ? k.ps[std::size_t(at * H + j)] * of : 0;
          };
          const double i = sigmoid_of(cut(gate(0) + peep(0, cell[u]))), f = sigmoid_of(cut(gate(2) + peep(2, cell[u])));
          c[u] = f * cell[u] + i * std::tanh(cut(gate(3)));
          h[u] = sigmoid_of(cut(gate(1) + peep(1, c[u]))) * std::tanh(c[u]);
          ys[std::size_t((t * N + n) * H + j)] = h[u];
        }
      }
    }
  }
};
const AttributeProto kHidden = attribute("hidden_size", H);
Tensor y_of(const Results& r) { return r[0].tensor.reshape({T, N, H}); }

TEST(Recurrent, AnLstmHasItsGatesInOnnxsOrder) {
  const Case k(4);
  Lstm plain;
  plain.run(k);
  expect_close(y_of(run_node("LSTM", {k.x, k.w, k.r, k.b, Tensor(), k.h0, k.c0}, {kHidden}, 14, 3)), plain.ys);
}

TEST(Recurrent, AnLstmMayHavePeepholesClippingLengthsAndRunBackwards) {
  const Case k(4);
  Lstm all;
  all.peepholes = true, all.clip = 0.4, all.lengths = {2, 4};
  all.run(k, true);
  const Tensor lengths = tensor({2, 4}, {.dtype = int32});
  expect_close(y_of(run_node("LSTM", {k.x, k.w, k.r, k.b, lengths, k.h0, k.c0, k.p},
                             {kHidden, attribute("clip", 0.4), attribute("direction", "reverse")}, 14, 3)),
               all.ys);
}

TEST(Recurrent, ALayoutPutsTheBatchFirst) {
  const Case k(4);
  Lstm plain;
  plain.run(k);
  const auto first = [](const Tensor& t) { return transpose(t, 0, 1).contiguous(); };
  const Results r = run_node("LSTM", {first(k.x), k.w, k.r, k.b, Tensor(), first(k.h0), first(k.c0)},
                             {kHidden, attribute("layout", std::int64_t{1})}, 14, 3);
  expect_close(permute(r[0].tensor, {1, 2, 0, 3}).contiguous().reshape({T, N, H}), plain.ys);
  EXPECT_EQ(r[1].tensor.shape(), (Shape{N, 1, H}));
}

Vector gru(const Case& k, bool before_reset) {
  Vector ys(T * N * H);
  for (std::int64_t n = 0; n < N; ++n) {
    Vector h(k.hs.begin() + n * H, k.hs.begin() + (n + 1) * H);
    for (std::int64_t t = 0; t < T; ++t) {
      Vector z(H), r(H), reset(H);
      for (std::int64_t j = 0; j < H; ++j) {
        const auto u = std::size_t(j);
        z[u] = sigmoid_of(k.of_x(t, n, 0, j) + k.of_h(h, 0, j)),
        r[u] = sigmoid_of(k.of_x(t, n, 1, j) + k.of_h(h, 1, j));
        reset[u] = r[u] * h[u];
      }
      Vector next(H);
      for (std::int64_t j = 0; j < H; ++j) {
        const auto u = std::size_t(j);
        const double candidate =
            std::tanh(k.of_x(t, n, 2, j) + (before_reset ? r[u] * k.of_h(h, 2, j) : k.of_h(reset, 2, j)));
        next[u] = (1 - z[u]) * candidate + z[u] * h[u];
        ys[std::size_t((t * N + n) * H + j)] = next[u];
      }
      h = next;
    }
  }
  return ys;
}
TEST(Recurrent, AGruAppliesItsResetBeforeOrAfterTheProduct) {
  const Case k(3);
  for (std::int64_t before : {0, 1})
    expect_close(y_of(run_node("GRU", {k.x, k.w, k.r, k.b, Tensor(), k.h0},
                               {kHidden, attribute("linear_before_reset", before)}, 14, 2)),
                 gru(k, before));
}

}  // namespace
}  // namespace neura::test
