// Gates and states of a recurrence, forward and back; once per instruction set.
#include "neura/backend/cpu/recurrent/recurrent.h"

#include "neura/backend/number/prelude.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "neura/backend/cpu/recurrent/recurrent_lines.cpp"
#include "neura/backend/cpu/target.h"

HWY_BEFORE_NAMESPACE();
namespace neura {
namespace HWY_NAMESPACE {
#include "neura/backend/cpu/lanes.h"
#include "neura/tables/slopes.h"
namespace {  // names that other files have too

template <RecurrentCell C, class N, class T> void cell_forward(const CellForward<T>& s) {
  constexpr int G = gates_of(C);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const T *const sums = s.sums + r * s.sums_row, *const x = s.x + r * G * s.hidden;
    const std::int64_t row = r * s.hidden;
    each<N>(s.units, [&](std::int64_t j, auto part) {
      const auto sum = [&](int g) { return part.load(sums + g * s.sums_gate + j, 0); };
      const auto keep = [&](int k, N v) {
        if (s.kept) part.store(v, s.kept + k * s.slot + row + j);
      };
      N h;
      if constexpr (C == RecurrentCell::tanh) {
        h = tanh(sum(0));
      } else if constexpr (C == RecurrentCell::relu) {
        h = max(sum(0), N(0_c));
      } else if constexpr (C == RecurrentCell::gru) {
        const N r0 = sigmoid_of(sum(0) + part.load(x + j, 0)), z = sigmoid_of(sum(1) + part.load(x + s.hidden + j, 0));
        const N from_h = sum(2), n = tanh(fma(r0, from_h, part.load(x + 2 * s.hidden + j, 0)));
        h = fma(z, part.load(s.h + row + j, 0) - n, n);
        keep(0, r0), keep(1, z), keep(2, n), keep(3, from_h);
      } else {
        const N i = sigmoid_of(sum(0)), f = sigmoid_of(sum(1)), g = tanh(sum(2)), o = sigmoid_of(sum(3));
        const N c = fma(f, part.load(s.c + row + j, 0), i * g);
        h = o * tanh(c);
        part.store(c, s.c + row + j);
        keep(0, i), keep(1, f), keep(2, g), keep(3, o), keep(4, c);
      }
      part.store(h, s.h + row + j);
      part.store(h, s.y + row + j);
    });
  }
}

template <RecurrentCell C, class N, class T> void cell_backward(const CellBackward<T>& s) {
  constexpr int G = gates_of(C);
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const std::int64_t row = r * s.hidden, gates = r * G * s.hidden;
    each<N>(s.units, [&](std::int64_t j, auto part) {
      const auto at = [&](const T* p) { return part.load(p + row + j, 0); };
      const auto kept = [&](int k) { return at(s.kept + k * s.slot); };
      const auto give = [&](T* to, int g, N v) { part.store(v, to + gates + g * s.hidden + j); };
      N d = at(s.dh);
      if (s.gy) d = d + at(s.gy);
      if constexpr (C == RecurrentCell::tanh) {
        const N y = at(s.y);
        give(s.gx, 0, d * (1_c - y * y));
      } else if constexpr (C == RecurrentCell::relu) {
        give(s.gx, 0, where(at(s.y) <= 0_c, N(0_c), d));
      } else if constexpr (C == RecurrentCell::gru) {
        const N r0 = kept(0), z = kept(1), n = kept(2), from_h = kept(3);
        const N gn = d * (1_c - z) * (1_c - n * n), gz = d * (at(s.h) - n) * z * (1_c - z);
        const N gr = gn * from_h * r0 * (1_c - r0);
        give(s.gx, 0, gr), give(s.gx, 1, gz), give(s.gx, 2, gn);
        give(s.gh, 0, gr), give(s.gh, 1, gz), give(s.gh, 2, gn * r0);
        part.store(d * z, s.dh + row + j);
      } else {
        const N i = kept(0), f = kept(1), g = kept(2), o = kept(3), t = tanh(kept(4));
        const N all = fma(d * o, 1_c - t * t, at(s.dc));
        give(s.gx, 0, all * g * i * (1_c - i));
        give(s.gx, 1, all * at(s.c) * f * (1_c - f));
        give(s.gx, 2, all * i * (1_c - g * g));
        give(s.gx, 3, d * t * o * (1_c - o));
        part.store(all * f, s.dc + row + j);
      }
    });
  }
}

template <class N, class T>
constexpr CellLines<T> lines{{&cell_forward<RecurrentCell::tanh, N, T>, &cell_forward<RecurrentCell::relu, N, T>,
                              &cell_forward<RecurrentCell::gru, N, T>, &cell_forward<RecurrentCell::lstm, N, T>},
                             {&cell_backward<RecurrentCell::tanh, N, T>, &cell_backward<RecurrentCell::relu, N, T>,
                              &cell_backward<RecurrentCell::gru, N, T>, &cell_backward<RecurrentCell::lstm, N, T>}};
constexpr CellTable table{lines<Floats, float>, lines<Doubles, double>};

}  // namespace
const CellTable* recurrence_lines_table() { return &table; }

}  // namespace HWY_NAMESPACE
#if HWY_ONCE
HWY_EXPORT(recurrence_lines_table);
const CellTable& cell_table() { return *HWY_DYNAMIC_DISPATCH(recurrence_lines_table)(); }
#endif
}  // namespace neura
HWY_AFTER_NAMESPACE();
