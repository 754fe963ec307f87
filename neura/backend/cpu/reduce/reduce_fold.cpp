// The walk of a fold. What is combined with what depends on sizes and strides alone, never on the number of threads:
// the reduced elements of a result are cut into chunks, and what the chunks give is merged pairwise.
#include <algorithm>
#include <cstring>

#include "neura/backend/cpu/reduce/reduce.h"
#include "neura/backend/cpu/unsupported_dtype.h"
#include "neura/core/parallel.h"

namespace neura {
namespace {

constexpr std::int64_t kScratch = 65536;  // bytes of a task's buffer, on its stack
constexpr int kLevels = 4;                // of a column's cascade: 64 lines, 64 times 64, …

struct Axis {
  std::int64_t size, x, y;  // steps in bytes; y: in the dense array of results
};
struct Axes {
  Axis axis[kMaxRank];
  int count = 0;
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < count; ++i) n *= axis[i].size;
    return n;
  }
  void push(Axis a) {
    if (a.size != 1) axis[count++] = a;
  }
  void arrange() {  // largest steps first; neighbours that are mergeable become one
    std::stable_sort(axis, axis + count, [](const Axis& a, const Axis& b) { return a.x > b.x; });
    int n = 0;
    for (int i = 0; i < count; ++i) {
      Axis* last = n ? &axis[n - 1] : nullptr;
      const Axis a = axis[i];
      if (last && last->x == a.x * a.size && last->y == a.y * a.size) *last = {last->size * a.size, a.x, a.y};
      else axis[n++] = a;
    }
    count = n;
  }
  Axis pop() { return count ? axis[--count] : Axis{1, 0, 0}; }  // the innermost
  void at(std::int64_t index, std::int64_t& x, std::int64_t& y) const {
    for (int i = count - 1; i >= 0; --i) {
      const std::int64_t rest = index % axis[i].size;
      index /= axis[i].size;
      x += rest * axis[i].x, y += rest * axis[i].y;
    }
  }
};

struct Walk {
  FoldLoops loops;
  ConvertFn* convert;  // null: x is what the fold computes in, so that contiguous lines need no copy
  ConvertFn* same;
  Axes kept, reduced;  // without their innermost axes, which are
  Axis kept_in, red_in;
  const char* x;
  const char* p;
  std::int64_t p_scale;                // p's step over a result's step: 1, or 0 for one p for all
  std::int64_t size, x_size;           // of an element: of the computing dtype, of x
  std::int64_t outputs, count;         // results; elements of each
  std::int64_t chunks = 1, chunk = 0;  // of a result: how many, and elements (rows) or lines (columns) of each
  char* partial;                       // [chunks, outputs]

  void copy(const char* from, std::int64_t step, char* to, std::int64_t n) const {
    (convert ? convert : same)(from, step, to, size, std::size_t(n));
  }
  void merge_chunks() const {
    for (std::int64_t n = chunks; n > 1;) {
      const std::int64_t half = (n + 1) / 2;
      loops.merge(partial, partial + half * outputs * size, (n - half) * outputs);
      n = half;
    }
  }
  void cut(bool by_rows);
  void rows();
  void gathered_row(std::int64_t x_offset, std::int64_t begin, std::int64_t end, const char* q, char* out) const;
  void columns();
  void column_task(std::int64_t outer, std::int64_t tile_begin, std::int64_t tile, std::int64_t begin, std::int64_t end,
                   char* out) const;
};

void Walk::cut(bool by_rows) {
  if (by_rows) chunk = kScratch / size;
  else {
    const std::int64_t tile = std::min(kept_in.size, kScratch / 8 / size);
    const bool few = kept.numel() * ((kept_in.size + tile - 1) / tile) < 8;
    chunk = few ? std::max<std::int64_t>(64, (131072 / tile + 63) / 64 * 64) : std::max<std::int64_t>(1, count);
  }
  chunks = std::max<std::int64_t>(1, (count + chunk - 1) / chunk);
}

// Elements [begin, end) of one result, in the order of the walk.
void Walk::gathered_row(std::int64_t x_offset, std::int64_t begin, std::int64_t end, const char* q, char* out) const {
  const std::int64_t n = red_in.size;
  std::int64_t line = begin / n, j = begin % n;
  if (!convert && red_in.x == size && j + (end - begin) <= n) {
    std::int64_t at = x_offset + j * red_in.x, none = 0;
    reduced.at(line, at, none);
    return loops.rows(x + at, 0, end - begin, 1, q, 0, out, 0);
  }
  alignas(64) char buffer[kScratch];
  std::int64_t filled = 0;
  for (std::int64_t i = begin; i < end; ++line, j = 0) {
    std::int64_t at = x_offset + j * red_in.x, none = 0;
    reduced.at(line, at, none);
    const std::int64_t length = std::min(n - j, end - i);
    copy(x + at, red_in.x, buffer + filled * size, length);
    i += length, filled += length;
  }
  loops.rows(buffer, 0, filled, 1, q, 0, out, 0);
}

// The innermost axis is reduced: a line gives a number.
void Walk::rows() {
  const bool one_line = !convert && red_in.x == size && !reduced.count;         // what a result folds is contiguous
  const std::int64_t run = kept_in.size, whole = one_line ? count / chunk : 0;  // chunks that are full
  const std::int64_t grain = std::max<std::int64_t>(1, kSerial / std::max<std::int64_t>(1, std::min(count, chunk)));
  parallel_for(outputs * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end;) {
      const std::int64_t o = t / chunks, c = t % chunks, inner = o % run;
      std::int64_t from = inner * kept_in.x, to = inner * kept_in.y;
      kept.at(o / run, from, to);
      const char* q = p ? p + to * p_scale : nullptr;
      if (one_line && chunks == 1) {
        const std::int64_t n = std::min(end - t, run - inner);
        loops.rows(x + from, kept_in.x, count, n, q, kept_in.y * p_scale, partial + to, kept_in.y);
        t += n;
        continue;
      }
      char* out = partial + c * outputs * size + to;
      const std::int64_t n = std::min(end - t, whole - c);
      if (n > 0) loops.rows(x + from + c * chunk * size, chunk * size, chunk, n, q, 0, out, outputs * size);
      else gathered_row(from, c * chunk, std::min(count, (c + 1) * chunk), q, out);
      t += std::max<std::int64_t>(1, n);
    }
  });
}

// Lines [begin, end) into a tile of a line of results, through a cascade so that long sums stay exact.
void Walk::column_task(std::int64_t outer, std::int64_t tile_begin, std::int64_t tile, std::int64_t begin,
                       std::int64_t end, char* out) const {
  std::int64_t from = tile_begin * kept_in.x, to = tile_begin * kept_in.y;
  kept.at(outer, from, to);
  const char* q = p ? p + to * p_scale : nullptr;
  const std::int64_t q_step = kept_in.y * p_scale;
  alignas(64) char level[kLevels][kScratch / 8], lines[kScratch / 8], centres[kScratch / 8];
  if (q_step && q_step != size) same(q, q_step, centres, size, std::size_t(tile)), q = centres;
  const bool direct = !convert && kept_in.x == size;
  // narrow lines that follow each other are taken as wide ones, whose parts are merged in the end
  const std::int64_t wide =
      direct && !q_step && red_in.x == tile * size ? std::max<std::int64_t>(1, kScratch / 32 / size / tile) : 1;
  const std::int64_t width = tile * wide;
  for (auto& l : level) loops.start(l, width);
  int used[kLevels] = {};
  for (std::int64_t r = begin; r < end;) {
    const std::int64_t j = r % red_in.size, run = std::min(end - r, red_in.size - j);
    std::int64_t at = from + j * red_in.x, none = 0;
    reduced.at(r / red_in.size, at, none);
    std::int64_t n = std::min<std::int64_t>(run, 64 * wide);
    if (direct) {
      if (n >= wide) {
        n = n / wide * wide;
        loops.columns(level[0], x + at, red_in.x * wide, n / wide, width, q, q_step);
      } else loops.columns(level[0], x + at, red_in.x, n, tile, q, q_step);
    } else {
      n = std::min<std::int64_t>(n, 8);
      n = std::min<std::int64_t>(n, kScratch / 8 / (tile * size));
      for (std::int64_t i = 0; i < n; ++i) copy(x + at + i * red_in.x, kept_in.x, lines + i * tile * size, tile);
      loops.columns(level[0], lines, tile * size, n, tile, q, q_step);
    }
    r += n;
    used[0] += int((n + wide - 1) / wide);
    for (int l = 0; l + 1 < kLevels && used[l] >= 64; ++l) {
      loops.merge(level[l + 1], level[l], width), loops.start(level[l], width);
      used[l] = 0, ++used[l + 1];
    }
  }
  for (int l = 1; l < kLevels; ++l) loops.merge(level[0], level[l], width);
  for (std::int64_t n = wide; n > 1;) {
    const std::int64_t half = (n + 1) / 2;
    loops.merge(level[0], level[0] + half * tile * size, (n - half) * tile);
    n = half;
  }
  same(level[0], size, out + to, kept_in.y, std::size_t(tile));
}

// The innermost axis is kept: a line goes into a line.
void Walk::columns() {
  const std::int64_t width = kept_in.size, tile = std::min(width, kScratch / 8 / size);
  const std::int64_t tiles = (width + tile - 1) / tile, outer = kept.numel();
  const std::int64_t work = std::max<std::int64_t>(1, std::min(chunk, count) * tile);
  parallel_for(outer * tiles * chunks, std::max<std::int64_t>(1, kSerial / work), [&](std::int64_t b, std::int64_t e) {
    for (std::int64_t t = b; t < e; ++t) {
      const std::int64_t c = t % chunks, i = t / chunks % tiles, o = t / chunks / tiles;
      column_task(o, i * tile, std::min(tile, width - i * tile), c * chunk, std::min(count, (c + 1) * chunk),
                  partial + c * outputs * size);
    }
  });
}

// Dense results of the computing dtype go where they belong.
void deliver(ConvertFn* convert, const char* from, std::int64_t size, View y) {
  const std::int64_t y_size = size_of(y.spec->dtype);
  if (y.spec->contiguous) return convert(from, size, y.data, y_size, std::size_t(y.numel()));
  const int last = y.rank() - 1;
  for (std::int64_t o = 0, n = y.numel() / y.size(last); o < n; ++o) {
    std::int64_t to = 0, index = o;
    for (int d = last - 1; d >= 0; --d) to += index % y.size(d) * y.stride(d), index /= y.size(d);
    convert(from + o * y.size(last) * size, size, y.data + to * y_size, y.stride(last) * y_size,
            std::size_t(y.size(last)));
  }
}
}  // namespace

void fold(Context& c, ReduceOp which, DType computed, unsigned dims, View x, View p, View y) {
  Walk w;
  w.loops = fold_table().loops[int(which)][int(computed)];
  if (!w.loops.rows) return fail_dtype(c, computed);
  const ConvertTable& convert = *c.backend.convert;
  w.same = convert.pair[int(computed)][int(computed)];
  w.convert = x.dtype() == computed ? nullptr : convert.pair[int(x.dtype())][int(computed)];
  w.size = size_of(computed), w.x_size = size_of(x.dtype());
  w.x = x.data, w.p = p.data, w.p_scale = p && p.numel() > 1;
  std::int64_t dense = w.size;
  for (int d = x.rank() - 1; d >= 0; --d) {
    const bool reduced = dims >> d & 1;
    (reduced ? w.reduced : w.kept).push({x.size(d), x.stride(d) * w.x_size, reduced ? 0 : dense});
    if (!reduced) dense *= x.size(d);
  }
  w.outputs = w.kept.numel(), w.count = w.reduced.numel();
  if (!w.outputs) return;
  std::reverse(w.kept.axis, w.kept.axis + w.kept.count), std::reverse(w.reduced.axis, w.reduced.axis + w.reduced.count);
  w.kept.arrange(), w.reduced.arrange();
  const bool any_kept = w.kept.count, any_reduced = w.reduced.count;
  w.kept_in = w.kept.pop(), w.red_in = w.reduced.pop();
  const bool by_rows = !any_kept || (any_reduced && w.red_in.x <= w.kept_in.x);
  w.cut(by_rows);
  const bool in_place = w.chunks == 1 && y.spec->dtype == computed && y.spec->contiguous;
  w.partial = in_place ? y.data : static_cast<char*>(c.scratch(std::size_t(w.chunks * w.outputs * w.size)));
  if (!w.count) w.loops.start(w.partial, w.outputs);
  else if (by_rows) w.rows();
  else w.columns();
  w.merge_chunks();
  w.loops.finish(w.partial, w.outputs, w.p, w.p_scale * w.size, w.count);
  if (!w.count && computed == DType::boolean)
    for (std::int64_t i = 0; i < w.outputs; ++i) w.partial[i] &= 1;  // the start of a minimum is all ones
  if (!in_place) deliver(convert.pair[int(computed)][int(y.spec->dtype)], w.partial, w.size, y);
}

}  // namespace neura
