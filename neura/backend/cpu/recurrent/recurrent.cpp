// A layer of a recurrent network in one direction. Rows of the batch are independent: each thread takes some
// of them through all times. Of fewer rows than that is worth, all threads share the units of each time instead.
#include "neura/backend/cpu/recurrent/recurrent.h"

#include <algorithm>
#include <vector>

#include "neura/backend/cpu/split_complex.h"
#include "neura/backend/cpu/product/gemm.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

constexpr int64_t kRows = 28;              // that go through the times together: two tiles
constexpr int64_t kFewRows = 4;            // fewer read the weights too often for what they compute
constexpr int64_t kDepth = 256;            // of a product at once: what tiles share stays in the first cache
constexpr int64_t kSums = kRows * 4 * 32;  // the most sums of some rows: of four gates, in slivers of 32 units

// The rows of a time, and where their states before are: of the first `kept` rows in those from `before`, of the others
// in h0 and c0.
struct Place {
  int64_t row, count, before, kept;
};
std::vector<Place> places_of(const RecurrentShape& r, int64_t batch, int64_t rows) {  // in the order of steps
  const auto size = [&](int64_t t) { return r.sizes ? r.sizes[t] : batch; };
  std::vector<Place> places;
  places.reserve(std::size_t(r.times));
  for (int64_t i = 0, row = r.reverse ? rows : 0; i < r.times; ++i) {
    const int64_t t = r.reverse ? r.times - 1 - i : i, count = size(t);
    if (r.reverse) row -= count;
    const int64_t before = !i ? 0 : r.reverse ? row + count : row - size(t - 1);
    places.push_back({row, count, before, !i ? 0 : std::min(count, size(r.reverse ? t + 1 : t - 1))});
    if (!r.reverse) row += count;
  }
  return places;
}

// Matrices b[depth, columns], packed once for the products of all times.
template <class T> class Packed {
 public:
  Packed(Context& c, int64_t matrices, int64_t depth, int64_t columns)
      : depth_(depth),
        columns_(columns),
        slivers(parts(columns, kernels_.width)),
        width(kernels_.width),
        data_(c.scratch_of<T>(matrices * slivers * width * depth)),
        matrices_(matrices) {}
  // b: of the first matrix; the others follow `matrix` elements apart.
  void pack(const T* b, int64_t matrix, int64_t row, int64_t column) {
    parallel_for(matrices_ * slivers, kSerial / (depth_ * width) + 1, [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin) {
        const int64_t i = begin / slivers, s = begin % slivers;
        kernels_.pack_b(b + i * matrix + s * width * column, row, column, depth_, units(s), data_ + at(i, s));
      }
    });
  }
  void pack_rows(const T* a, int64_t rows, T* to) const {  // of `depth` elements, side by side
    for (int64_t p = 0; p < pieces(); ++p)
      kernels_.pack_a(a + begin(p), depth_, 1, rows, begin(p + 1) - begin(p), to + rows * begin(p));
  }
  // c[rows, units(sliver)] = a b + init
  void multiply(const T* a, int64_t rows, int64_t matrix, int64_t sliver, T* c, int64_t c_row, const T* init,
                int64_t init_row) const {
    for (int64_t p = 0; p < pieces(); ++p) {
      const GemmEpilogue<T> e{T(1), p ? c : init, p ? c_row : init_row, 1};
      kernels_.block({rows,
                      units(sliver),
                      begin(p + 1) - begin(p),
                      {a + rows * begin(p)},
                      {data_ + at(matrix, sliver) + begin(p) * width},
                      c,
                      c_row,
                      e});
    }
  }
  int64_t units(int64_t sliver) const { return std::min(width, columns_ - sliver * width); }

 private:
  int64_t pieces() const { return parts(depth_, kDepth); }
  int64_t begin(int64_t piece) const { return part_begin(depth_, pieces(), piece); }
  int64_t at(int64_t matrix, int64_t sliver) const { return (matrix * slivers + sliver) * depth_ * width; }
  const GemmKernels<T>& kernels_ = gemm_kernels<T>();
  const int64_t depth_, columns_;

 public:
  const int64_t slivers, width;

 private:
  T* const data_;
  const int64_t matrices_;
};

struct Rows {  // of the batch
  int64_t first, count;
};
// prepare(place, rows) and then unit(place, rows, sliver) for all of a time's rows and slivers, time after time.
// `work`: multiplications of a row in a time.
template <class Prepare, class Unit> void take_steps(const std::vector<Place>& places, int64_t batch, int64_t slivers,
                                                     int64_t work, const Prepare& prepare, const Unit& unit) {
  const int64_t threads = get_num_threads();
  const bool small = batch * work * int64_t(places.size()) < kGemmSerial;
  int64_t groups = parts(batch, kRows);
  if (!small) groups = std::max(groups, std::min(parts(groups, threads) * threads, parts(batch, kFewRows)));
  const bool share_times = 2 * groups <= threads && batch * work >= kGemmSerial;
  if (share_times) groups = parts(batch, kRows);
  const auto rows_of = [&](const Place& p, int64_t group) {
    const int64_t first = part_begin(batch, groups, group), end = part_begin(batch, groups, group + 1);
    return Rows{first, std::min(end, p.count) - first};
  };
  if (!share_times)
    return parallel_for(groups, small ? groups : 1, [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g)
        for (const Place& p : places) {
          const Rows rows = rows_of(p, g);
          if (rows.count <= 0) continue;
          prepare(p, rows);
          for (int64_t s = 0; s < slivers; ++s) unit(p, rows, s);
        }
    });
  for (const Place& p : places) {
    for (int64_t g = 0; g < groups && rows_of(p, g).count > 0; ++g) prepare(p, rows_of(p, g));
    parallel_for(groups * slivers, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (const Rows rows = rows_of(p, i / slivers); rows.count > 0) unit(p, rows, i % slivers);
    });
  }
}

template <class T> T* copied(const T* from, int64_t count, T* to) {  // zeros where there is nothing
  if (from) std::copy_n(from, count, to);
  else std::fill_n(to, count, T(0));
  return to;
}

template <class T> void forward(Context& context, View x, View h0, View c0, View w, View b, const RecurrentShape& r,
                                View y, View last, View kept) {
  const int64_t batch = h0.size(0), hidden = w.size(1), states = batch * hidden;
  const int gates = gates_of(r.cell);
  const bool gru = r.cell == RecurrentCell::gru;
  CellForward<T> all{};
  all.hidden = hidden, all.slot = y.size(0) * hidden;
  all.h = copied(h0.as<const T>(), states, last.as<T>());
  if (r.cell == RecurrentCell::lstm) all.c = copied(c0.as<const T>(), states, last.as<T>() + states);
  if (!y.numel()) return;
  Packed<T> weights(context, gates, hidden, hidden);
  weights.pack(w.as<const T>(), hidden * hidden, 1, hidden);
  T* const packed = context.scratch_of<T>(states);
  const auto line = cell_lines<T>().forward[int(r.cell)];
  const auto prepare = [&](const Place&, Rows n) {
    weights.pack_rows(all.h + n.first * hidden, n.count, packed + n.first * hidden);
  };
  const auto unit = [&](const Place& p, Rows n, int64_t sliver) {
    alignas(64) T sums[kSums];
    const int64_t first = sliver * weights.width, width = weights.width, row = p.row + n.first;
    const T* const from_x = x.as<const T>() + row * gates * hidden + first;
    for (int g = 0; g < gates; ++g) {
      const T* const init = !gru ? from_x + g * hidden : b ? b.as<const T>() + g * hidden + first : nullptr;
      weights.multiply(packed + n.first * hidden, n.count, g, sliver, sums + g * width, gates * width, init,
                       gru ? 0 : gates * hidden);
    }
    CellForward<T> s = all;
    s.rows = n.count, s.units = weights.units(sliver);
    s.sums = sums, s.sums_row = gates * width, s.sums_gate = width, s.x = from_x;
    s.h += n.first * hidden + first, s.y = y.as<T>() + row * hidden + first;
    if (all.c) s.c += n.first * hidden + first;
    if (kept.numel()) s.kept = kept.as<T>() + row * hidden + first;
    line(s);
  };
  take_steps(places_of(r, batch, y.size(0)), batch, weights.slivers, gates * hidden * hidden, prepare, unit);
}

template <class T> struct Backward {
  View gy, h0, c0, y, kept, gx, gh;
  RecurrentCell cell;
  int64_t hidden;
  T *dh, *dc;

  // Rows whose previous states are at h and c.
  void lines(const Place& p, Rows n, const T* h, const T* c) const {
    if (n.count <= 0) return;
    const int64_t row = p.row + n.first, at = row * hidden, state = n.first * hidden;
    CellBackward<T> s{};
    s.rows = n.count, s.units = s.hidden = hidden, s.slot = y.size(0) * hidden;
    s.gy = gy ? gy.as<const T>() + at : nullptr, s.y = y.as<const T>() + at, s.h = h, s.c = c;
    if (kept_of(cell)) s.kept = kept.as<const T>() + at;
    s.dh = dh + state, s.dc = dc ? dc + state : nullptr;
    s.gx = gx.as<T>() + at * gates_of(cell);
    if (cell == RecurrentCell::gru) s.gh = gh.as<T>() + at * gates_of(cell);
    cell_lines<T>().backward[int(cell)](s);
  }
  void gates(const Place& p, Rows n) const {
    const int64_t goes_on = std::clamp(p.kept - n.first, int64_t(0), n.count), at = (p.before + n.first) * hidden;
    const T* const cells = cell == RecurrentCell::lstm ? kept.as<const T>() + 4 * y.numel() : nullptr;
    lines(p, {n.first, goes_on}, y.as<const T>() + at, cells ? cells + at : nullptr);
    const int64_t begun = n.first + goes_on;
    lines(p, {begun, n.count - goes_on}, h0.as<const T>() + begun * hidden,
          cells ? c0.as<const T>() + begun * hidden : nullptr);
  }
};

template <class T> void backward(Context& context, View gy, View glast, View h0, View c0, View w, View y, View kept,
                                 const RecurrentShape& r, View gx, View gh, View gfirst) {
  const int64_t batch = h0.size(0), hidden = w.size(1), states = batch * hidden, width = gates_of(r.cell) * hidden;
  const bool gru = r.cell == RecurrentCell::gru;
  T* const dh = gfirst.as<T>();
  copied(glast.as<const T>(), gfirst.numel(), dh);
  if (!y.numel()) return;
  const Backward<T> all{
      gy, h0, c0, y, kept, gx, gh, r.cell, hidden, dh, r.cell == RecurrentCell::lstm ? dh + states : nullptr};
  Packed<T> weights(context, 1, width, hidden);
  weights.pack(w.as<const T>(), 0, hidden, 1);
  T* const packed = context.scratch_of<T>(batch * width);
  const auto prepare = [&](const Place& p, Rows n) {
    all.gates(p, n);
    weights.pack_rows((gru ? gh : gx).as<const T>() + (p.row + n.first) * width, n.count, packed + n.first * width);
  };
  const auto unit = [&](const Place&, Rows n, int64_t sliver) {
    T* const to = dh + n.first * hidden + sliver * weights.width;
    weights.multiply(packed + n.first * width, n.count, 0, sliver, to, hidden, gru ? to : nullptr, hidden);
  };
  std::vector<Place> places = places_of(r, batch, y.size(0));
  std::reverse(places.begin(), places.end());
  take_steps(places, batch, weights.slivers, width * hidden, prepare, unit);
}

void forward(Context& c, View x, View h0, View c0, View w, View b, const RecurrentShape& r, View y, View last,
             View kept) {
  if (y.dtype() == DType::float64) return forward<double>(c, x, h0, c0, w, b, r, y, last, kept);
  if (y.dtype() == DType::float32) return forward<float>(c, x, h0, c0, w, b, r, y, last, kept);
  const FloatCopy fx(c, x), fh(c, h0), fc(c, c0), fw(c, w), fb(c, b), fy(c, y, false), flast(c, last, false);
  forward<float>(c, fx.view(), fh.view(), fc.view(), fw.view(), fb.view(), r, fy.view(), flast.view(), kept);
  fy.store(y), flast.store(last);
}

void backward(Context& c, View gy, View glast, View h0, View c0, View w, View y, View kept, const RecurrentShape& r,
              View gx, View gh, View gfirst) {
  if (y.dtype() == DType::float64) return backward<double>(c, gy, glast, h0, c0, w, y, kept, r, gx, gh, gfirst);
  if (y.dtype() == DType::float32) return backward<float>(c, gy, glast, h0, c0, w, y, kept, r, gx, gh, gfirst);
  const FloatCopy fgy(c, gy), fglast(c, glast), fh(c, h0), fc(c, c0), fw(c, w), fy(c, y);
  const FloatCopy fgx(c, gx, false), fgh(c, gh, false), ffirst(c, gfirst, false);
  backward<float>(c, fgy.view(), fglast.view(), fh.view(), fc.view(), fw.view(), fy.view(), kept, r, fgx.view(),
                  fgh.view(), ffirst.view());
  fgx.store(gx), fgh.store(gh), ffirst.store(gfirst);
}

}  // namespace

const recurrent_kernels* cpu_recurrent() {
  static constexpr recurrent_kernels kernels = {.forward = &forward, .backward = &backward};
  return &kernels;
}

}  // namespace neura
