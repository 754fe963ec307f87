// Copies between layouts, and triangles.
#include <utility>

#include "neura/backend/cpu/create/arange.h"
#include "neura/backend/cpu/visit_width.h"
#include "neura/backend/cpu/streaming_store.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

// Dimensions of a copy, those of the target outermost first, merged where both allow it.
struct Loops {
  int rank = 0;
  std::int64_t shape[kMaxRank], from[kMaxRank], to[kMaxRank];

  Loops(const Spec& f, const Spec& t) {
    int order[kMaxRank], n = 0;
    for (int d = 0; d < t.rank; ++d) {  // insertion: stable_sort would allocate
      if (t.shape[d] == 1) continue;
      int at = n++;
      for (; at > 0 && std::abs(t.strides[order[at - 1]]) < std::abs(t.strides[d]); --at) order[at] = order[at - 1];
      order[at] = d;
    }
    for (int i = 0; i < n; ++i) {
      const int d = order[i];
      if (rank && from[rank - 1] == f.strides[d] * t.shape[d] && to[rank - 1] == t.strides[d] * t.shape[d]) {
        shape[rank - 1] *= t.shape[d], from[rank - 1] = f.strides[d], to[rank - 1] = t.strides[d];
      } else {
        shape[rank] = t.shape[d], from[rank] = f.strides[d], to[rank++] = t.strides[d];
      }
    }
    if (!rank) shape[0] = 1, from[0] = to[0] = 1, rank = 1;
    if (rank > 1 && shape[rank - 1] < 8 && shape[rank - 2] > shape[rank - 1]) swap(rank - 1, rank - 2);  // longer lines
  }
  std::int64_t reach(const std::int64_t* steps) const {  // elements from the first to after the last
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n += (shape[d] - 1) * steps[d];
    return n;
  }
  template <class U> bool apart(const U* f, const U* t) const { return f + reach(from) <= t || t + reach(to) <= f; }
  // Of the target; of what it is a window of, if it takes a part of each line.
  std::int64_t target_bytes(std::size_t size) const { return shape[0] * to[0] * std::int64_t(size); }
  void swap(int a, int b) { std::swap(shape[a], shape[b]), std::swap(from[a], from[b]), std::swap(to[a], to[b]); }
};

constexpr std::int64_t kTile = 32;

template <class U> void line(const U* f, std::int64_t fs, U* t, std::int64_t ts, std::int64_t n) {
  if (fs == 1 && ts == 1) {
    std::memcpy(t, f, std::size_t(n) * sizeof(U));
  } else if (fs == 0 && ts == 1) {
    std::fill(t, t + n, *f);
  } else if (ts == 1) {
    for (std::int64_t i = 0; i < n; ++i) t[i] = f[i * fs];
  } else {
    for (std::int64_t i = 0; i < n; ++i) t[i * ts] = f[i * fs];
  }
}

// A tile by way of a buffer: whole cache lines are read, and strides of powers of two do not meet in one set of the
// cache.
template <class U> struct TileTarget {
  U* at;
  std::int64_t row, step;
  bool stream;  // past the caches
};
template <class U>
void tile(const U* f, std::int64_t fs, const TileTarget<U>& t, std::int64_t rows, std::int64_t cols) {
  U buffer[kTile][kTile + 1];
  if (rows == kTile) {
    for (std::int64_t c = 0; c < cols; ++c) {
      // The next tile's line: far from this one, where no processor guesses it.
      for (std::int64_t ahead = 0; ahead <= kTile * std::int64_t(sizeof(U)); ahead += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(f + (c + kTile) * fs) + ahead);
      for (int r = 0; r < kTile; ++r) buffer[r][c] = f[c * fs + r];
    }
  } else {
    for (std::int64_t c = 0; c < cols; ++c)
      for (std::int64_t r = 0; r < rows; ++r) buffer[r][c] = f[c * fs + r];
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    U* const to = t.at + r * t.row;
    if (t.stream)
      stream_copy(reinterpret_cast<char*>(to), reinterpret_cast<const char*>(buffer[r]), std::size_t(cols) * sizeof(U),
                  nullptr, 0);
    else line(buffer[r], std::int64_t{1}, to, t.step, cols);
  }
}

// The source runs along another dimension than the target: tiles that keep the lines of both in the cache.
template <class U> void transposed(const Loops& l, const U* f, U* t, int across) {
  const int last = l.rank - 1;
  StridedIterator<2> outer;
  for (int d = 0; d < last; ++d)
    if (d != across) outer.add(l.shape[d], {l.from[d], l.to[d]});
  const std::int64_t rows = l.shape[across], cols = l.shape[last], bands = (rows + kTile - 1) / kTile;
  const bool stream =
      l.to[last] == 1 && outer.numel() * rows * cols * std::int64_t(sizeof(U)) >= kStreamFrom && sizeof(U) >= 4;
  parallel_for(outer.numel() * bands, std::max<std::int64_t>(1, kSerial / (kTile * cols)),
               [&](std::int64_t b, std::int64_t e) {
                 StridedIterator<2> o = outer;
                 for (std::int64_t n = b; n < e; ++n) {
                   o.seek(n / bands);
                   const std::int64_t r0 = n % bands * kTile, r1 = std::min(rows, r0 + kTile);
                   for (std::int64_t c0 = 0; c0 < cols; c0 += kTile)
                     tile(f + o.at[0] + r0 * l.from[across] + c0 * l.from[last], l.from[last],
                          {t + o.at[1] + r0 * l.to[across] + c0 * l.to[last], l.to[across], l.to[last], stream},
                          r1 - r0, std::min(kTile, cols - c0));
                 }
                 if (stream) stream_done();
               });
}

void copy(Context&, View from, View to) {
  if (!to.numel()) return;
  const Loops l(*from.spec, *to.spec);
  const int last = l.rank - 1;
  visit_width(size_of(to.dtype()), [&]<class U>(U) {
    const U* f = from.as<U>();
    U* t = to.as<U>();
    for (int d = 0; d < last; ++d)
      if (l.from[d] == 1 && l.from[last] > 1 && l.shape[d] >= 8 && l.shape[last] >= 8) return transposed(l, f, t, d);
    StridedIterator<2> outer;
    for (int d = 0; d < last; ++d) outer.add(l.shape[d], {l.from[d], l.to[d]});
    const std::int64_t n = l.shape[last], pieces = (n + kSerial - 1) / kSerial, lines = outer.numel();
    const std::int64_t line_bytes = n * std::int64_t(sizeof(U));
    const bool straight = l.from[last] == 1 && l.to[last] == 1 && line_bytes >= 4096;
    const bool stream = straight && l.target_bytes(sizeof(U)) >= kStreamFrom && l.apart(f, t);
    const auto range = [&](std::int64_t b, std::int64_t e) {  // of pieces of lines
      StridedIterator<2> o = outer;
      for (std::int64_t i = b; i < e; ++i) {
        if (i == b || pieces > 1) o.seek(i / pieces);
        const std::int64_t begin = i % pieces * kSerial, m = std::min(n, begin + kSerial) - begin;
        const U* source = f + o.at[0] + begin * l.from[last];
        U* target = t + o.at[1] + begin * l.to[last];
        if (stream)
          stream_copy(reinterpret_cast<char*>(target), reinterpret_cast<const char*>(source),
                      std::size_t(m) * sizeof(U), nullptr, 0);
        else line(source, l.from[last], target, l.to[last], m);
        if (pieces == 1) o.next();
      }
      if (stream) stream_done();
    };
    if (to.numel() <= kSerial) return range(0, lines);
    parallel_for(lines * pieces, std::max<std::int64_t>(1, kSerial / n), range);
  });
}

void triangle(Context&, View x, View out, std::int64_t diagonal, bool upper) {
  if (!out.numel()) return;
  const int r = out.rank();
  const std::int64_t rows = out.size(r - 2), cols = out.size(r - 1);
  StridedIterator<1> outer;
  for (int d = 0; d < r - 1; ++d) outer.add(x.size(d), {x.stride(d)});
  visit_width(size_of(out.dtype()), [&]<class U>(U) {
    parallel_for(outer.numel(), std::max<std::int64_t>(1, kSerial / cols), [&](std::int64_t b, std::int64_t e) {
      StridedIterator<1> o = outer;
      o.seek(b);
      for (std::int64_t i = b; i < e; ++i, o.next()) {
        U* to = out.as<U>() + i * cols;
        const std::int64_t edge = std::clamp<std::int64_t>(i % rows + diagonal + (upper ? 0 : 1), 0, cols);
        const std::int64_t begin = upper ? edge : 0, end = upper ? cols : edge;
        std::memset(static_cast<void*>(to), 0, std::size_t(cols) * sizeof(U));
        line(x.as<U>() + o.at[0] + begin * x.stride(r - 1), x.stride(r - 1), to + begin, std::int64_t{1}, end - begin);
      }
    });
  });
}

}  // namespace

const create_kernels* cpu_create() {
  static constexpr create_kernels table{copy, triangle, arange};
  return &table;
}

}  // namespace neura
