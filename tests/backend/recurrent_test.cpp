// Recurrences against plain loops, and their gradients against finite differences.
#include <cmath>
#include <utility>

#include "neura/backend/cpu/instruction_sets.h"
#include "neura/backend/kernels/recurrent.h"
#include "tests/backend/kernels.h"

namespace neura::test {
namespace {

using RecurrentKernels = Kernels<recurrent_kernels>;
using Sizes = std::vector<std::int64_t>;
constexpr RecurrentCell kCells[] = {RecurrentCell::tanh, RecurrentCell::relu, RecurrentCell::gru, RecurrentCell::lstm};

template <class T> struct Layer {
  RecurrentCell cell;
  bool reverse;
  Sizes sizes;  // of each time
  std::int64_t hidden, batch = sizes.empty() ? 0 : sizes[0], rows = 0;
  Array<T> x, h0, c0, w, b;
  Array<T> y, last, kept, gy, glast, gx, gh, gfirst;

  Layer(RecurrentCell c, bool back, Sizes n, std::int64_t units, bool keep = true)
      : cell(c), reverse(back), sizes(std::move(n)), hidden(units) {
    const std::int64_t gates = gates_of(cell) * hidden;
    const bool gru = cell == RecurrentCell::gru, lstm = cell == RecurrentCell::lstm;
    for (const std::int64_t s : sizes) rows += s;
    x = drawn({rows, gates}, 1), h0 = drawn({batch, hidden}, 2), w = drawn({gates, hidden}, 3);
    for (std::int64_t i = 0; i < w.numel(); ++i) w.at(i) /= T(std::sqrt(double(hidden)));
    if (lstm) c0 = drawn({batch, hidden}, 4);
    if (gru) b = drawn({gates}, 5);
    gy = drawn({rows, hidden}, 6), glast = drawn({lstm ? 2 : 1, batch, hidden}, 7);
    y = Array<T>({rows, hidden}), last = Array<T>({lstm ? 2 : 1, batch, hidden});
    kept = Array<T>({keep ? kept_of(cell) : 0, rows, hidden});
    gx = Array<T>({rows, gates}), gh = Array<T>({gru ? rows : 0, gates}),
    gfirst = Array<T>({lstm ? 2 : 1, batch, hidden});
  }
  static Array<T> drawn(const Shape& s, std::uint64_t seed) {  // no exact sums, never 0
    Array<T> to = eighths<T>(s, seed);
    for (std::int64_t i = 0; i < to.numel(); ++i) to.at(i) = (to.at(i) + T(0.0391)) / T(3.7);
    return to;
  }
  RecurrentShape form() const { return {cell, reverse, std::int64_t(sizes.size()), sizes.data()}; }
  std::string bytes() const {
    std::string all;
    for (const Array<T>* a : {&y, &last, &kept, &gx, &gh, &gfirst}) all += a->bytes();
    return all;
  }
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// What the kernel must give: y, then the states.
template <class T> std::pair<std::vector<double>, std::vector<double>> plain(Layer<T> l) {
  const std::int64_t H = l.hidden, G = gates_of(l.cell), n = std::ssize(l.sizes);
  std::vector<double> y(std::size_t(l.rows * H)), h, c;
  for (std::int64_t i = 0; i < l.batch * H; ++i)
    h.push_back(double(l.h0.at(i))),
        c.push_back(l.c0.numel() > 1 || l.cell == RecurrentCell::lstm ? double(l.c0.at(i)) : 0);
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t t = l.reverse ? n - 1 - step : step;
    std::int64_t row = 0;
    for (std::int64_t before = 0; before < t; ++before) row += l.sizes[std::size_t(before)];
    std::vector<double> next = h;
    for (std::int64_t i = 0; i < l.sizes[std::size_t(t)]; ++i)
      for (std::int64_t j = 0; j < H; ++j) {
        double from_h[4] = {}, x[4] = {};
        for (std::int64_t g = 0; g < G; ++g) {
          for (std::int64_t k = 0; k < H; ++k)
            from_h[g] += h[std::size_t(i * H + k)] * double(l.w.at((g * H + j) * H + k));
          if (l.cell == RecurrentCell::gru) from_h[g] += double(l.b.at(g * H + j));
          x[g] = double(l.x.at(((row + i) * G + g) * H + j));
        }
        const auto sum = [&](int g) { return x[g] + from_h[g]; };
        double& state = next[std::size_t(i * H + j)];
        double& cell = c[std::size_t(i * H + j)];
        if (l.cell == RecurrentCell::tanh) {
          state = std::tanh(sum(0));
        } else if (l.cell == RecurrentCell::relu) {
          state = std::max(sum(0), 0.0);
        } else if (l.cell == RecurrentCell::gru) {
          const double z = logistic(sum(1)), new_one = std::tanh(x[2] + logistic(sum(0)) * from_h[2]);
          state = (1 - z) * new_one + z * state;
        } else {
          cell = logistic(sum(1)) * cell + logistic(sum(0)) * std::tanh(sum(2));
          state = logistic(sum(3)) * std::tanh(cell);
        }
        y[std::size_t((row + i) * H + j)] = state;
      }
    h = next;
  }
  if (l.cell == RecurrentCell::lstm) h.insert(h.end(), c.begin(), c.end());
  return {y, h};
}

class RecurrenceOf : public RecurrentKernels {
 public:
  template <class T> static void forward(Layer<T>& l) {
    run(&recurrent_kernels::forward, l.x, l.h0, l.c0, l.w, l.b, l.form(), l.y, l.last, l.kept);
  }
  template <class T> static void backward(Layer<T>& l) {
    run(&recurrent_kernels::backward, l.gy, l.glast, l.h0, l.c0, l.w, l.y, l.kept, l.form(), l.gx, l.gh, l.gfirst);
  }
};

template <class T> void expect_formula(RecurrentCell cell, bool reverse, const Sizes& sizes, std::int64_t hidden) {
  SCOPED_TRACE("cell " + std::to_string(int(cell)) + " reverse " + std::to_string(reverse) + " batch " +
               std::to_string(sizes[0]) + " hidden " + std::to_string(hidden));
  Layer<T> l(cell, reverse, sizes, hidden), forgets(cell, reverse, sizes, hidden, false);
  RecurrenceOf::forward(l), RecurrenceOf::forward(forgets);
  const auto [y, last] = plain(l);
  expect_near(l.y, y, sizeof(T) == 4 ? 3e-6 : 1e-13);
  expect_near(l.last, last, sizeof(T) == 4 ? 3e-6 : 1e-13);
  EXPECT_EQ(forgets.y.bytes(), l.y.bytes());  // what is kept for a gradient changes nothing
  EXPECT_EQ(forgets.last.bytes(), l.last.bytes());
}
TEST_F(RecurrentKernels, EqualTheirFormulas) {
  for (const RecurrentCell cell : kCells)
    for (const bool reverse : {false, true}) {
      for (const auto& [sizes, hidden] : std::vector<std::pair<Sizes, std::int64_t>>{{{1}, 1},
                                                                                     {{3, 3, 3, 3}, 5},
                                                                                     {{2, 2}, 33},
                                                                                     {{60, 60}, 16},
                                                                                     {{9, 7, 7, 1}, 70},
                                                                                     {{40, 30, 29, 28, 2}, 17},
                                                                                     {{4, 4}, 300}})
        expect_formula<float>(cell, reverse, sizes, hidden);
      expect_formula<double>(cell, reverse, {5, 3, 3}, 39);
      expect_formula<double>(cell, reverse, {30, 30}, 9);
    }
}
TEST_F(RecurrentKernels, OnEveryInstructionSet) {
  struct Best {
    ~Best() { use_cpu_target(-1); }
  } best;
  for (int i = 0; i < cpu_targets(); ++i) {
    SCOPED_TRACE(use_cpu_target(i));
    for (const RecurrentCell cell : kCells) {
      expect_formula<float>(cell, false, {5, 5}, 37), expect_formula<double>(cell, true, {5, 4}, 19);
    }
  }
}

// What gy and glast weigh the results with.
double weighed(Layer<double> l) {
  RecurrenceOf::forward(l);
  double sum = 0;
  for (std::int64_t i = 0; i < l.y.numel(); ++i) sum += l.gy.at(i) * l.y.at(i);
  for (std::int64_t i = 0; i < l.last.numel(); ++i) sum += l.glast.at(i) * l.last.at(i);
  return sum;
}
// Along a line through all of an operand, whose gradient in flat order is g(i).
template <class G> void expect_slope(const Layer<double>& l, Array<double> Layer<double>::*operand, const G& g) {
  constexpr double step = 1e-5;
  Layer<double> up = l, down = l;
  const Array<double> line = Layer<double>::drawn((l.*operand).spec().sizes(), 11);
  double slope = 0;
  for (std::int64_t i = 0; i < line.numel(); ++i) {
    (up.*operand).at(i) += step * line.at(i), (down.*operand).at(i) -= step * line.at(i);
    slope += g(i) * line.at(i);
  }
  EXPECT_NE(slope, 0);
  EXPECT_NEAR(slope, (weighed(up) - weighed(down)) / (2 * step), 1e-7 * (1 + std::abs(slope)));
}
TEST_F(RecurrentKernels, GradientsAreSlopes) {
  for (const RecurrentCell cell : kCells)
    for (const bool reverse : {false, true})
      for (const auto& [sizes, hidden] :
           std::vector<std::pair<Sizes, std::int64_t>>{{{3, 3, 3}, 5}, {{31, 30, 2, 1}, 19}, {{2, 1}, 70}}) {
        SCOPED_TRACE("cell " + std::to_string(int(cell)) + " reverse " + std::to_string(reverse) + " hidden " +
                     std::to_string(hidden));
        Layer<double> l(cell, reverse, sizes, hidden);
        RecurrenceOf::forward(l), RecurrenceOf::backward(l);
        const std::int64_t states = l.h0.numel(), gates = gates_of(cell) * hidden;
        expect_slope(l, &Layer<double>::x, [&](std::int64_t i) { return l.gx.at(i); });
        expect_slope(l, &Layer<double>::h0, [&](std::int64_t i) { return l.gfirst.at(i); });
        if (cell == RecurrentCell::lstm)
          expect_slope(l, &Layer<double>::c0, [&](std::int64_t i) { return l.gfirst.at(states + i); });
        if (cell == RecurrentCell::gru)
          expect_slope(l, &Layer<double>::b, [&](std::int64_t i) {
            double sum = 0;
            for (std::int64_t r = 0; r < l.rows; ++r) sum += l.gh.at(r * gates + i);
            return sum;
          });
      }
}
TEST_F(RecurrentKernels, GradientsWhereSomeDoNotArrive) {
  for (const RecurrentCell cell : kCells) {
    Layer<double> zero(cell, false, {4, 2, 1}, 6), absent = zero;
    RecurrenceOf::forward(zero), RecurrenceOf::forward(absent);
    zero.gy = filled<double>(zero.gy.spec().sizes(), 0), absent.gy = {};
    RecurrenceOf::backward(zero), RecurrenceOf::backward(absent);
    EXPECT_EQ(absent.bytes(), zero.bytes());
    zero.gy = absent.gy = Layer<double>::drawn({7, 6}, 6);
    zero.glast = filled<double>(zero.glast.spec().sizes(), 0), absent.glast = {};
    RecurrenceOf::backward(zero), RecurrenceOf::backward(absent);
    EXPECT_EQ(absent.bytes(), zero.bytes());
  }
}
TEST_F(RecurrentKernels, OfNothing) {
  for (const RecurrentCell cell : kCells) {
    Layer<float> rows(cell, false, {0, 0}, 5), units(cell, true, {3, 2}, 0), times(cell, false, {}, 4);
    for (Layer<float>* l : {&rows, &units, &times}) RecurrenceOf::forward(*l), RecurrenceOf::backward(*l);
    Layer<float> none(cell, false, {0}, 4);  // two sequences of no time: their first states are their last
    none.sizes.clear(), none.h0 = none.glast = Array<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    none.h0 = Array<float>({2, 4}, none.h0.values()), none.last = none.gfirst = Array<float>({1, 2, 4});
    if (cell == RecurrentCell::lstm) continue;  // has two of each
    RecurrenceOf::forward(none), RecurrenceOf::backward(none);
    EXPECT_EQ(none.last.values(), none.h0.values());
    EXPECT_EQ(none.gfirst.values(), none.glast.values());
  }
}
TEST_F(RecurrentKernels, SameOnAnyNumberOfThreads) {
  for (const RecurrentCell cell : kCells)
    for (const auto& each : std::vector<std::pair<Sizes, std::int64_t>>{
             {{61, 61, 40}, 70}, {{5, 5, 5, 4}, 200}, {{1, 1}, 1100}, {{3, 2}, 640}})
      expect_same_on_any_threads([&] {
        Layer<float> l(cell, each.second == 70, each.first, each.second);
        RecurrenceOf::forward(l), RecurrenceOf::backward(l);
        return l.bytes();
      });
}

}  // namespace
}  // namespace neura::test
